"""Gaussian processes under scikit-learn's signature."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn import gaussian_process

from mercer.check import Array
from mercer.errors import MercerError
from mercer.gp import GaussianProcess
from mercer.gp.parameters import NOISE
from mercer.kernels.tree import parameters
from mercer.sklearn.covariance import NoTranslation, Translation, translate

LARGEST = 12_000
"""Points whose matrix scikit-learn stores; mercer's search would sample the likelihood of more."""


class GaussianProcessRegressor(gaussian_process.GaussianProcessRegressor):
    r"""scikit-learn's `GaussianProcessRegressor` with mercer's search for the parameters.

    .. math:: \log p(y) = -\tfrac{1}{2} y^\top (K_\theta + \alpha I)^{-1} y
        - \tfrac{1}{2} \log\det(K_\theta + \alpha I) - \tfrac{n}{2} \log 2\pi

    Parameters, attributes and methods are those of scikit-learn's class, from which it inherits,
    the factor ``L_`` of the stored matrix among them. Its kernels are translated: `RBF`, `Matern`,
    `RationalQuadratic`, `ExpSineSquared` of one column, `DotProduct`, `ConstantKernel`, sums,
    products and whole powers of them, and one `WhiteKernel`, whose level is the noise variance.
    Each search for the optimum is then mercer's, which goes on until the derivative in the
    logarithm of a parameter is at most 1e-5 for one observation and says how it ended: ``optimum_``
    is that of the best start. Bounds, fixed parameters and restarts are scikit-learn's. Other
    kernels, ``alpha`` for each observation and functions as ``optimizer`` are left to scikit-learn,
    and ``optimum_`` is None.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> x = np.linspace(0.0, 1.0, 20)[:, None]
    >>> y = np.sin(6.0 * x[:, 0]) + 0.1 * np.cos(50.0 * x[:, 0])
    >>> model = GaussianProcessRegressor(RBF() + WhiteKernel(0.1)).fit(x, y)
    >>> model.optimum_.is_converged, bool(abs(model.predict([[0.25]])[0] - 1.0) < 0.1)
    (True, True)
    """

    optimum_: Any

    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Find the parameters, and condition on the observations."""
        self.optimum_, self._best = None, -np.inf
        super().fit(X, y)
        return self

    def _constrained_optimization(self, obj_func: Any, initial_theta: Array, bounds: Array) -> Any:
        translation = self._translated(initial_theta)
        if translation is not None:
            found = self._searched(translation, bounds)
            if found is not None:
                theta = np.clip(found, bounds[:, 0], bounds[:, 1])
                return theta, obj_func(theta, eval_gradient=False)
        return super()._constrained_optimization(obj_func, initial_theta, bounds)

    def _translated(self, theta: Array) -> Translation | None:
        X = self.X_train_
        is_table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
        usual = isinstance(self.optimizer, str) and self.optimizer == "fmin_l_bfgs_b"
        if not usual or not is_table or np.ndim(self.alpha) > 0 or not 1 < len(X) <= LARGEST:
            return None
        try:
            return translate(self.kernel_.clone_with_theta(theta), X.shape[1])
        except NoTranslation:
            return None

    def _searched(self, of: Translation, bounds: Array) -> Array | None:
        """Return θ at the optimum from a start, None where mercer's search refuses the problem."""
        if of.kernel is None:
            return None
        within, shift = of.bounds(bounds), float(self.alpha)
        noise = of.noise + shift
        if NOISE in within:
            low, high = within[NOISE]
            within[NOISE] = low + shift, high + shift
        model = GaussianProcess(
            of.kernel,
            noise_variance=noise,
            optimise=list(within),
            bounds=within,
            n_starts=1,
            random_state=0,
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # scikit-learn's own words follow
                model.fit(self.X_train_, self.y_train_)
        except MercerError:
            return None
        values = {**parameters(model.kernel_), NOISE: model.noise_variance_ - shift}
        if model.log_likelihood() > self._best:
            self._best, self.optimum_ = model.log_likelihood(), model.optimum_
        return of.theta(values) if values[NOISE] > 0 or NOISE not in within else None
