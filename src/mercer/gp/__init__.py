"""Gaussian processes: regression with a variance, and kernels fitted by their likelihood."""

from mercer.gp.estimate import (
    log_likelihood_gradient_interval as log_likelihood_gradient_interval,
)
from mercer.gp.estimate import log_likelihood_interval as log_likelihood_interval
from mercer.gp.maximum_likelihood import Optimum as Optimum
from mercer.gp.process import GaussianProcess as GaussianProcess
from mercer.gp.sampled_maximum import SampledOptimum as SampledOptimum
