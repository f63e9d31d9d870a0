"""Learning in a space of functions: smoothing splines and regression with any kernel and loss."""

from mercer.regression.criterion_path import PenaltyPath as PenaltyPath
from mercer.regression.criterion_path import penalty_path as penalty_path
from mercer.regression.kernel_regression import KernelRegression as KernelRegression
from mercer.regression.loss_functions import Loss as Loss
from mercer.regression.own_losses import convex_loss as convex_loss
from mercer.regression.spline import SmoothingSpline as SmoothingSpline
