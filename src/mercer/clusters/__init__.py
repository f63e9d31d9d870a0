"""Classes of individuals on the axes of a model, or in the whole space of its kernel."""

from mercer.clusters.classes import Clusters as Clusters
from mercer.clusters.finding import cluster as cluster
