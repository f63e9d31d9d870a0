"""Ridge regression and Gaussian processes under scikit-learn's signatures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import gaussian_process, kernel_ridge
from sklearn.base import _fit_context
from sklearn.gaussian_process import kernels as theirs
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer.check import Array
from mercer.errors import MercerError, SingularSystem
from mercer.gp import GaussianProcess
from mercer.gp.parameters import NOISE
from mercer.gram import Gram
from mercer.kernels.algebra import Constant, Product, Sum
from mercer.kernels.base import Kernel, parameters
from mercer.kernels.given import Precomputed
from mercer.kernels.laplacian_matern import Matern, RationalQuadratic
from mercer.kernels.powers import Power
from mercer.kernels.radial import Gaussian
from mercer.kernels.spectral import Periodic
from mercer.kernels.vectors import Linear
from mercer.settings import FIXED
from mercer.sklearn.kernels import PairwiseKernels, in_precision
from mercer.solve import solve

LARGEST = 12_000
"""Points whose matrix scikit-learn stores; mercer's search would sample the likelihood of more."""


@dataclass(frozen=True)
class Entry:
    """A number of scikit-learn's θ: log of a parameter of mercer's is ``factor`` times it."""

    name: str
    index: int | None = None
    factor: float = 1.0

    def inside(self, child: str) -> Entry:
        """Return the entry of the same number once its kernel is part of another."""
        name = self.name if self.name == NOISE else f"{child}__{self.name}"
        return Entry(name, self.index, self.factor)


@dataclass(frozen=True)
class Translation:
    """A kernel, None where only noise is left, its noise variance, and an entry for each θ.

    >>> of = translate(2.0 * theirs.RBF(3.0) + theirs.WhiteKernel(0.1), 1)
    >>> of.kernel, of.noise
    (Constant(constant=2.0) * Gaussian(bandwidth=3.0), 0.1)
    >>> [entry.name for entry in of.entries]
    ['0__constant', '1__bandwidth', 'noise_variance']
    """

    kernel: Kernel | None
    entries: tuple[Entry, ...] = ()
    noise: float = 0.0

    def theta(self, values: dict[str, Any]) -> Array:
        """Return θ from the values of parameters by name."""
        found = [
            np.log(values[e.name] if e.index is None else values[e.name][e.index]) / e.factor
            for e in self.entries
        ]
        return np.array(found, dtype=float)

    def bounds(self, bounds: Array) -> dict[str, tuple[float, float]]:
        """Return the bounds of parameters by name; those of one sequence are taken together."""
        result: dict[str, tuple[float, float]] = {}
        for entry, pair in zip(self.entries, bounds, strict=True):
            low, high = np.exp(entry.factor * np.asarray(pair, float)).tolist()
            other = result.get(entry.name, (low, high))
            result[entry.name] = min(low, other[0]), max(high, other[1])
        return result


class NoTranslation(Exception):
    """A kernel of scikit-learn's that mercer does not have."""


def translate(kernel: Any, columns: int) -> Translation:
    """Return a kernel of scikit-learn's on points of so many coordinates as one of mercer's."""
    if isinstance(kernel, theirs.WhiteKernel):
        entries = () if _is_fixed(kernel) else (Entry(NOISE),)
        return Translation(None, entries, float(kernel.noise_level))
    if isinstance(kernel, theirs.Sum):
        return _sum(translate(kernel.k1, columns), translate(kernel.k2, columns))
    if isinstance(kernel, theirs.Product):
        return _product(translate(kernel.k1, columns), translate(kernel.k2, columns))
    if isinstance(kernel, theirs.Exponentiation):
        return _power(translate(kernel.kernel, columns), float(kernel.exponent))
    return _leaf(kernel, columns)


def _sum(a: Translation, b: Translation) -> Translation:
    if a.noise and b.noise:
        raise NoTranslation
    noise = a.noise + b.noise
    if a.kernel is None or b.kernel is None:
        entries = a.entries + b.entries
        return Translation(a.kernel or b.kernel, entries, noise)
    return Translation(Sum((a.kernel, b.kernel)), _joined(a.entries, b.entries), noise)


def _product(a: Translation, b: Translation) -> Translation:
    if a.kernel is None or b.kernel is None or a.noise or b.noise:
        raise NoTranslation
    return Translation(Product((a.kernel, b.kernel)), _joined(a.entries, b.entries))


def _power(base: Translation, exponent: float) -> Translation:
    if base.kernel is None or base.noise or not exponent.is_integer() or exponent < 0:
        raise NoTranslation
    entries = tuple(entry.inside("kernel") for entry in base.entries)
    return Translation(Power(base.kernel, int(exponent)), entries)


def _joined(a: Sequence[Entry], b: Sequence[Entry]) -> tuple[Entry, ...]:
    return (*(e.inside("0") for e in a), *(e.inside("1") for e in b))


def _leaf(kernel: Any, columns: int) -> Translation:
    """Return a kernel that is made of no others; θ has its parameters in alphabetic order."""
    kind = type(kernel)
    made: Kernel
    if kind is theirs.ConstantKernel:
        made, names = Constant(float(kernel.constant_value)), {"constant_value": "constant"}
    elif kind is theirs.RBF:
        made, names = Gaussian(_lengths(kernel, columns)), {"length_scale": "bandwidth"}
    elif kind is theirs.Matern:
        made = Matern(float(kernel.nu), _lengths(kernel, columns))
        names = {"length_scale": "bandwidth"}
    elif kind is theirs.RationalQuadratic:
        made = RationalQuadratic(float(kernel.alpha), float(kernel.length_scale))
        names = {"alpha": "shape", "length_scale": "bandwidth"}
    elif kind is theirs.ExpSineSquared and columns == 1:
        made = Periodic(float(kernel.periodicity), float(kernel.length_scale))
        names = {"length_scale": "bandwidth", "periodicity": "period"}
    elif kind is theirs.DotProduct:
        return _dot_product(kernel)
    else:
        raise NoTranslation
    return Translation(made, _entries(kernel, names))


def _dot_product(kernel: Any) -> Translation:
    entries = () if _is_fixed(kernel) else (Entry("1__constant", factor=2.0),)
    return Translation(Sum((Linear(), Constant(float(kernel.sigma_0) ** 2))), entries)


def _lengths(kernel: Any, columns: int) -> Any:
    lengths = np.atleast_1d(np.asarray(kernel.length_scale, float))
    if lengths.size not in (1, columns):
        raise NoTranslation
    return float(lengths[0]) if lengths.size == 1 else tuple(lengths.tolist())


def _entries(kernel: Any, names: dict[str, str]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        name = names[parameter.name]
        several = parameter.n_elements > 1
        found += [Entry(name, i if several else None) for i in range(parameter.n_elements)]
    return tuple(found)


def _is_fixed(kernel: Any) -> bool:
    return all(parameter.fixed for parameter in kernel.hyperparameters)


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

    predict = in_precision(gaussian_process.GaussianProcessRegressor.predict)
    sample_y = in_precision(gaussian_process.GaussianProcessRegressor.sample_y)

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
            random_state=FIXED,
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


class KernelRidge(PairwiseKernels, kernel_ridge.KernelRidge):
    r"""scikit-learn's `KernelRidge`, and without the kernel matrix if it is large.

    .. math:: c = (K + \alpha W^{-1})^{-1} y, \quad f = \sum_i c_i\, k(x_i, \cdot)

    `mercer.KernelRegression` minimises the mean of the squared errors plus penalty · ‖f‖², so that
    alpha = n · penalty for n points of weight 1. What differs from scikit-learn:

    - Beyond 3 000 points the system is solved by conjugate gradients, to a residual of 1e-10 of
      the targets, and no matrix is stored; so are predictions, tile by tile. With weights of
      points, as for Python functions, the matrix is stored.
    - ``kernel`` may be a kernel of mercer.

    Examples
    --------
    >>> import mercer as mc
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.5])
    >>> ours = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(x, y)
    >>> same = mc.KernelRegression(mc.Gaussian(1.0), penalty=0.3 / 3).fit(x, y)
    >>> bool(np.allclose(ours.predict(x), same.predict(x), rtol=1e-12))
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Find the weights of the rows of X."""
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), multi_output=True, y_numeric=True
        )
        if sample_weight is not None and not isinstance(sample_weight, float):
            sample_weight = _check_sample_weight(sample_weight, X)
        self.gamma_ = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        self._kernel = self._tiled()
        if issparse(X) and self._kernel is not None and not self._kernel.reads_sparse:
            self._kernel = None
        gram = self._gram(X)
        self._kernel = None if self._kernel is None else gram.kernel
        targets = np.asarray(y, np.float64).reshape(len(y), -1)
        weights = None if sample_weight is None else np.broadcast_to(sample_weight, len(y))
        self.dual_coef_ = self._solved(gram, targets, weights).reshape(np.shape(y))
        self.X_fit_ = X
        return self

    def _solved(self, gram: Gram, y: Array, weights: Array | None) -> Array:
        """Return (K + αW⁻¹)⁻¹ y, with a penalty for each column of y if there are several."""
        alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if len(alphas) not in (1, y.shape[1]):
            raise ValueError(
                "The number of targets does not match the number of penalties: "
                f"{y.shape[1]} and {len(alphas)}"
            )
        roots = np.ones(len(y)) if weights is None else np.sqrt(weights)
        if weights is not None:
            matrix = np.outer(roots, roots) * gram.dense()
            gram = Gram(Precomputed(matrix), np.arange(len(y)))
        b = roots[:, None] * y
        if len(alphas) == 1:
            return np.asarray(roots[:, None] * _solution(gram, b, float(alphas[0])))
        columns = [_solution(gram, c[:, None], a) for c, a in zip(b.T, alphas, strict=True)]
        return np.asarray(roots[:, None] * np.hstack(columns))

    @in_precision
    def predict(self, X: Any) -> Array:
        """Return the values of the function at the rows of X."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        if self._is("precomputed"):
            return np.asarray(X @ self.dual_coef_)
        block = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        values = self._product(X, self.X_fit_, block)
        return values.reshape(len(values), *self.dual_coef_.shape[1:])


def _solution(gram: Gram, b: Array, alpha: float) -> Array:
    try:
        return np.asarray(solve(gram, b, alpha, random_state=FIXED).weights)
    except SingularSystem:  # as scikit-learn does where no penalty makes the solution one
        K = gram.dense()
        return np.asarray(np.linalg.lstsq(K + alpha * np.eye(len(K)), b)[0])
