"""Networks inferred from replicates, and how many replicates they need."""

from typing import TYPE_CHECKING

from mercer.networks.expression import Simulation as Simulation
from mercer.networks.expression import simulate_expression as simulate_expression
from mercer.networks.inference import Inference as Inference
from mercer.networks.inference import Network as Network
from mercer.networks.inference import infer_network as infer_network
from mercer.networks.inference import infer_networks as infer_networks
from mercer.networks.study import ReplicateStudy as ReplicateStudy
from mercer.networks.study import replicate_study as replicate_study
from mercer.settings import hints_in

if not TYPE_CHECKING:  # a checker of types would take every name to exist
    __getattr__ = hints_in(__name__)
