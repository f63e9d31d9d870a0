"""Models under scikit-learn's exact signatures: a script that uses them changes its import only.

Each class inherits from the one it replaces, whose parameters, attributes, methods and refusals it
has; its docstring says what differs.
"""

from typing import TYPE_CHECKING

from mercer.settings import hints_in
from mercer.sklearn.components import PCA as PCA
from mercer.sklearn.embeddings import MDS as MDS
from mercer.sklearn.embeddings import KernelPCA as KernelPCA
from mercer.sklearn.embeddings import Nystroem as Nystroem
from mercer.sklearn.embeddings import RBFSampler as RBFSampler
from mercer.sklearn.regressors import GaussianProcessRegressor as GaussianProcessRegressor
from mercer.sklearn.regressors import KernelRidge as KernelRidge
from mercer.sklearn.svm import SVC as SVC
from mercer.sklearn.svm import SVR as SVR
from mercer.sklearn.svm import OneClassSVM as OneClassSVM

if not TYPE_CHECKING:  # a checker of types would take every name to exist
    __getattr__ = hints_in(__name__)
