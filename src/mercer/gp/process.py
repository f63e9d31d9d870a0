"""Regression by a Gaussian process, with its kernel fitted by likelihood."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points, is_foreign, real_array
from mercer.display import warn
from mercer.engines.engine import Engine
from mercer.engines.held import Held, given_back, move_beside, to_host
from mercer.errors import InvalidInput, InvalidParameter, Jittered, NoNoise
from mercer.estimator import (
    OF_KERNELS,
    KernelModel,
    all_or_nothing,
    as_kernel,
    on_engine,
)
from mercer.gp.likelihood import Conditioned, NoisyObservations, condition, diagonal_of_P, gradient
from mercer.gp.limits import Limits
from mercer.gp.maximum_likelihood import Optimum, maximise_likelihood, variance_of
from mercer.gp.parameters import NOISE, Prior, Tuned, each_noise
from mercer.gp.posterior import (
    Iterated,
    IterativePredictive,
    LeaveOneOut,
    Posterior,
    Predictive,
    condition_by_iteration,
    covariance_root,
    leave_one_out,
)
from mercer.gp.sampled_maximum import SampledOptimum, maximise_by_sampling
from mercer.gram import Gram
from mercer.kernels.base import Kernel, with_parameters
from mercer.kernels.given import Precomputed
from mercer.kernels.radial import USUAL_KERNEL
from mercer.progress import Progress
from mercer.settings import RandomState, nonnegative, number, seed_of, whole
from mercer.targets import Functions, Origin, keep_points, read_targets
from mercer.tensors import like_given

Mean: TypeAlias = Functions

INTERVALS = (
    "optimum_.likelihood is an interval at parameters that were fitted; "
    "mercer.gp.log_likelihood_interval and log_likelihood_gradient_interval give intervals for "
    "the likelihood of any number of points and for its derivatives"
)


class GaussianProcess(RegressorMixin, KernelModel):
    r"""Observations y = m + g(x) + noise of a random function g with a kernel as covariance.

    .. math:: g(x) \mid y \sim N\left(k_x^\top A^{-1} y,\; k(x, x) - k_x^\top A^{-1} k_x\right),
        \quad A = K + \sigma^2 I

    A new observation has the variance σ² on top. Parameters of the kernel and σ² are those of the
    largest likelihood (empirical Bayes), or of the largest posterior density given priors. The
    matrix of more than 12 000 points is never stored: the likelihood and its derivatives are
    sampled, and ``optimum_`` is a `SampledOptimum` that says up to which intervals it is known.

    Parameters
    ----------
    kernel : Kernel, str or function
        A kernel, its written form, a Python function of two points, or ``"precomputed"``.
    noise_variance : float, array or None
        σ², or where its search starts; None is a tenth of the variance of y. An array has the
        variance of each observation, which is known and not fitted: A is then K + diag(σ²).
    mean : None, "constant", "linear", a list of functions, or a function
        A function is the known mean. The others are functions of unknown weight, with an
        improper flat prior: the likelihood is then the restricted one.
    optimise : bool or names
        Whether to fit parameters, or which; those that are 0 stay 0.
    bounds : mapping from names to pairs
        Where to look for a parameter; else within a factor 10⁵ of its start.
    priors : mapping from names to laws
        Prior laws of the values: objects with ``logpdf``, such as frozen laws of scipy.stats.
    n_starts : int
        Starts of the search, the first being the given values. They are tried on some of many
        points.
    tol : float
        The largest derivative of the log likelihood per observation at which a search has
        converged, in logarithms of parameters; beyond 12 000 points, where derivatives are
        sampled, an interval that holds 0 is enough.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.
    random_state : int, generator or None
        The seed of the starts, of the points they are tried on and of what is sampled.

    Attributes
    ----------
    kernel_, noise_variance_ : with the values found
    dual_coef_, null_weights_ : weights of the sections of the kernel, and of the functions of m
    optimum_ : an `Optimum` that says how the search ended, None without one
    seed_ : the seed that repeats the fit as ``random_state``; after `sample`, ``sample_seed_`` that
        of the functions drawn
    jitter_ : what was added to the diagonal beyond the noise, 0 unless the matrix is singular

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 20)[:, None]
    >>> y = np.sin(6.0 * x[:, 0])
    >>> import mercer as mc
    >>> model = mc.GaussianProcess(mc.Gaussian(0.3), noise_variance=0.01, optimise=False).fit(x, y)
    >>> mean, deviation = model.predict([[0.25]], return_std=True)
    >>> round(float(mean[0]), 3), round(float(deviation[0]), 3)
    (0.99, 0.048)

    References
    ----------
    Kroese et al., §6.7, (6.33)-(6.37); their (6.34) is the variance of g, not of an observation.
    """

    dual_coef_: Any
    _state: Conditioned | Iterated

    limits: ClassVar[Limits] = Limits()

    equivalents: ClassVar[Mapping[str, str]] = {
        **OF_KERNELS,
        "alpha": "noise_variance",
        "normalize_y": 'mean="constant"',
        "n_restarts_optimizer": "n_starts - 1",
        "optimizer": "optimise, True or False",
    }

    def __init__(  # noqa: PLR0913  (each is one choice of the model, all but the kernel by name)
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = 1.0 * USUAL_KERNEL,  # noqa: B008
        *,
        noise_variance: float | Array | None = None,
        mean: Mean = None,
        optimise: bool | Collection[str] = True,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        priors: Mapping[str, Prior] | None = None,
        n_starts: int = 3,
        tol: float = 1e-5,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.mean = mean
        self.optimise = optimise
        self.bounds = bounds
        self.priors = priors
        self.n_starts = n_starts
        self.tol = tol
        self.engine = engine
        self.threads = threads
        self.memory = memory
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> GaussianProcess:
        """Condition on observations; y has one value for each point, or several.

        ``progress`` counts the evaluations of the derivatives on all points, of which there may
        be as many as the search allows and are fewer.
        """
        with self._at_work(progress, "evaluations", (X,)) as tell, all_or_nothing(self):
            points = self._read(X, reset=True)
            self.seed_ = seed_of(self.random_state)
            points = points if self._is_precomputed else keep_points(points)
            self._data, kernel = self._observations(points, y)
            data = self._data
            tuned = self._tuned(data, kernel)
            logs, self.optimum_ = self._search(tuned, data, tell)
            self.kernel_, self._shared_noise = tuned.at(logs)
            self.noise_variance_ = self._shared_noise if data.noise is None else data.noise
            given = data.gram(self.kernel_), self._shared_noise, data
            self._state = (
                condition(*given)
                if len(data) <= self.limits.stored
                else condition_by_iteration(*given)
            )
            self.X_fit_ = data.points if self._is_precomputed else points
            self._keep()
            if isinstance(self.dual_coef_, Held) or is_foreign(X):
                self.dual_coef_ = given_back(self.dual_coef_, X)
        return self

    def _search(
        self, tuned: Tuned, data: NoisyObservations, progress: Progress | None
    ) -> tuple[Array, Optimum | None]:
        """Return the logarithms of the parameters, and how they were found."""
        is_sampled = tuned.entries and len(data) > self.limits.stored
        return (maximise_by_sampling if is_sampled else maximise_likelihood)(
            tuned,
            data,
            tuned.bounds(self.bounds or {}, variance_of(data.y)),
            dict(self.priors or {}),
            count=whole(self.n_starts, "n_starts", least=1),
            tol=number(self.tol, "tol", above=0.0),
            seed=self.seed_,
            progress=progress,
            limits=self.limits,
        )

    def _observations(self, points: Points, y: Any) -> tuple[NoisyObservations, Kernel]:
        targets = read_targets(y, len(points), type(self).__name__)
        if self.optimise and len(targets) == 1:
            raise InvalidInput(
                "no parameter can be fitted to n_samples = 1: give more observations, or "
                "optimise=False"
            )
        self._is_flat = targets.ndim == 1
        targets = targets[:, None] if self._is_flat else targets
        known = self._known_mean(points)
        kernel = None if self._is_precomputed else as_kernel(self.kernel).resolve(points)
        self._origin = Origin.of(kernel, points, None if callable(self.mean) else self.mean)
        seen = self._origin.points(points)
        Q = self._functions(seen)
        if kernel is None:
            seen, kernel = np.arange(len(targets)), Precomputed(np.asarray(points))
        noise = each_noise(self.noise_variance, len(targets))
        return NoisyObservations(seen, targets - known, Q, noise), kernel

    def _functions(self, seen: Points) -> Array:
        """Return the unknown functions of the mean at points as the kernel sees them."""
        if callable(self.mean):
            return np.zeros((len(seen), 0))
        if self._is_precomputed and self.mean not in (None, "constant"):
            raise InvalidParameter(
                "a precomputed kernel knows no points: mean must be None or 'constant'"
            )
        return self._origin.columns(self.mean, seen, "mean")

    def _known_mean(self, points: Points) -> Array:
        if not callable(self.mean):
            return np.zeros((len(points), 1))
        values = real_array(self.mean(points), "the mean function")
        if values.ndim not in (1, 2) or len(values) != len(points):
            raise InvalidParameter(
                f"the mean function must give a value for each of {len(points)} points; found "
                f"shape {values.shape}"
            )
        return values.reshape(len(points), -1)

    def _tuned(self, data: NoisyObservations, kernel: Kernel) -> Tuned:
        which = self.optimise
        if isinstance(which, str) or not isinstance(which, bool | Collection):
            raise InvalidParameter(
                f"optimise must be True, False or names of parameters, found {which!r}"
            )
        noise: Any = self.noise_variance
        if data.noise is not None:
            if not isinstance(which, bool) and NOISE in which:
                raise InvalidParameter(
                    "noise_variance has a value for each observation: these are known, and cannot "
                    "be fitted"
                )
            return Tuned.of(kernel, 0.0, data.points, which)
        start = 0.1 * variance_of(data.y) if noise is None else nonnegative(noise, NOISE)
        return Tuned.of(kernel, start, data.points, which)

    def _keep(self) -> None:
        state = self._state
        self.jitter_ = state.jitter
        self.dual_coef_ = state.weights[:, 0] if self._is_flat else state.weights
        given = state.null_weights, self.kernel_, state.weights, self._data.points
        eta = self._origin.null_weights(*given)
        self.null_weights_ = eta[:, 0] if self._is_flat else eta
        optimum = self.optimum_
        if optimum is not None and not optimum.is_converged:
            warn(
                "the search stopped where the likelihood still rises by "
                f"{optimum.gradient_norm:.2g} per unit of the logarithm of a parameter and "
                f"observation, more than tol={self.tol:g}"
                f"{' and its interval' if isinstance(optimum, SampledOptimum) else ''}; try other "
                "starts or bounds",
                ConvergenceWarning,
            )
        if state.jitter > 0.0:
            warn(
                f"K + {np.min(self.noise_variance_):.3g} I is singular to working precision "
                f"(points repeat, or the kernel is very smooth): {state.jitter:.2g} was added to "
                "its diagonal. A larger noise_variance needs none",
                Jittered,
            )

    @on_engine
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        observation: bool = False,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
    ) -> Any:
        """Return the mean at points, with the standard deviation or covariance if asked for.

        They are those of the function g, and with ``observation`` those of a new y. ``progress``
        counts the tiles of each pass over the matrix.
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise InvalidParameter("ask for return_std or return_cov, not for both")
        points = self._read(X, reset=False, stays=self._stays)
        mean = self._mean_at(points)
        if isinstance(points, Held) and (return_std or return_cov):
            points = to_host(points)  # which computes variances
        extra = self._new_noise() if observation else 0.0
        others: tuple[Array, ...] = ()
        if return_std:
            deviation = np.sqrt(self._variances(points) + extra)
            others = (deviation if self._is_flat else _for_each(deviation, mean),)
        if return_cov:
            covariance = self._covariance(points) + extra * np.eye(len(points))
            others = (covariance if self._is_flat else _for_each(covariance, mean),)
        found = tuple(like_given(values, X) for values in (mean, *others))
        return found if others else found[0]

    @property
    def _stays(self) -> bool:
        """Whether new points on a device are computed with there: functions of them are not."""
        is_constant = isinstance(self.mean, str) and self.mean == "constant"
        is_plain = self.mean is None or is_constant
        return is_plain and self._origin.point is None and not self._is_precomputed

    @on_engine
    def posterior(
        self,
        X: Any,
        *,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
    ) -> Posterior:
        """Return the mean and the variances of g and of y at points, by their names.

        ``progress`` counts the tiles of each pass over the matrix.
        """
        check_is_fitted(self)
        points = self._read(X, reset=False)
        noise = self._shared_noise if self._data.noise is None else None
        return Posterior(self._mean_at(points), self._variances(points), noise)

    def _new_noise(self) -> float:
        """Return the noise variance of a new observation."""
        if self._data.noise is not None:
            raise NoNoise
        return self._shared_noise

    def _mean_at(self, points: Points) -> Array:
        state, seen = self._state, self._origin.points(points)
        if self._is_precomputed:
            values = np.asarray(points) @ state.weights
        else:
            weights = move_beside(state.weights, seen)
            values = Gram(self.kernel_, seen, self._data.points).product(weights)
        values = values + self._functions(seen) @ state.null_weights + self._known_mean(points)
        found: Array = values[:, 0] if self._is_flat else values
        return found

    def _variances(self, points: Points) -> Array:
        seen = self._origin.points(points)
        return self._predictive().variances(seen, self._functions(seen))

    def _covariance(self, points: Points) -> Array:
        seen = self._origin.points(points)
        return self._predictive().covariance(seen, self._functions(seen))

    def _predictive(self) -> Predictive | IterativePredictive:
        """Return what computes variances at points, which takes k(x, x)."""
        if self._is_precomputed:
            raise InvalidParameter(
                "a variance needs k(x, x) of new points, which a precomputed matrix does not hold"
            )
        of = self.kernel_, self._shared_noise, self._data
        if isinstance(self._state, Conditioned):
            return Predictive(*of, self._state)
        return IterativePredictive(*of)

    def _stored(self) -> Conditioned:
        """Return the factored matrix, which likelihoods need."""
        if not isinstance(self._state, Conditioned):
            raise InvalidParameter(
                "the likelihood and leave-one-out values need the stored matrix, which is limited "
                f"to {self.limits.stored} points, found {len(self._data)}. {INTERVALS}"
            )
        return self._state

    @on_engine
    def sample(
        self,
        X: Any,
        count: int = 1,
        *,
        prior: bool = False,
        observation: bool = False,
        random_state: RandomState = None,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
    ) -> Array:
        """Return functions drawn at points, one column each: given the data, or from the prior.

        The prior has the given parameters before `fit` and those found after it, and is that of g
        about the known mean. ``sample_seed_`` is the seed that repeats the last sample;
        ``progress`` counts the tiles of each pass over the matrix.
        """
        points = self._read(X, reset=prior and not hasattr(self, "kernel_"))
        if not prior:
            check_is_fitted(self)
            mean, covariance = self._mean_at(points), self._covariance(points)
            noise = self._new_noise() if observation else 0.0
        else:
            kernel = getattr(self, "kernel_", None) or as_kernel(self.kernel).resolve(points)
            mean, covariance = self._known_mean(points)[:, 0], Gram(kernel, points).dense()
            noise = self._prior_noise() if observation else 0.0
        F = covariance_root(covariance)
        self.sample_seed_ = seed_of(random_state)
        rng = np.random.default_rng(self.sample_seed_)
        number_of = whole(count, "count", least=1)
        columns = mean[:, None] if mean.ndim == 1 else mean
        draws = [c[:, None] + F @ rng.standard_normal((len(F), number_of)) for c in columns.T]
        result = np.stack(draws, axis=1)
        if observation:
            result += np.sqrt(noise) * rng.standard_normal(result.shape)
        drawn: Array = like_given(result[:, 0] if mean.ndim == 1 else result, X)
        return drawn

    def _prior_noise(self) -> float:
        """Return the noise variance of an observation before and after a fit."""
        given: Any = self.noise_variance
        if np.ndim(given) > 0:
            raise NoNoise
        return float(getattr(self, "noise_variance_", None) or given or 0.0)

    def log_likelihood(self, parameters: Mapping[str, Any] | None = None) -> float:
        """Return the log likelihood, at other values of some parameters if they are given."""
        check_is_fitted(self)
        state = self._stored()
        return (state if parameters is None else self._at(parameters)[1]).log_likelihood

    def log_likelihood_gradient(
        self, parameters: Mapping[str, Any] | None = None
    ) -> dict[str, float | Array]:
        """Return the derivative of the log likelihood in the value of every parameter.

        Where noise variances were given for each observation, there is one in each of them.
        """
        check_is_fitted(self)
        gram, state = self._at(parameters or {})
        each = self._data.noise is not None
        return gradient(gram, state, overwrite=True, each=each)

    def _at(self, parameters: Mapping[str, Any]) -> tuple[Gram, Conditioned]:
        self._stored()
        values, data = dict(parameters), self._data
        noise = values.pop(NOISE, self.noise_variance_)
        gram = data.gram(with_parameters(self.kernel_, values))
        each = each_noise(noise, len(data))
        shared = nonnegative(noise, NOISE) if each is None else 0.0
        return gram, condition(gram, shared, replace(data, noise=each))

    def likelihood_surface(self, grid: Mapping[str, Sequence[float] | Array]) -> Array:
        """Return the log likelihood at all combinations of values, one axis for each parameter."""
        check_is_fitted(self)
        values = [
            self._at(dict(zip(grid, point, strict=True)))[1].log_likelihood
            for point in product(*grid.values())
        ]
        return np.array(values).reshape([len(axis) for axis in grid.values()])

    def leave_one_out(self) -> LeaveOneOut:
        """Return what the process says of each observation given all others, in closed form."""
        check_is_fitted(self)
        y, state = self._data.y + self._known_mean(self.X_fit_), self._stored()
        of = leave_one_out(y, state.weights, diagonal_of_P(state))
        if not self._is_flat:
            return of
        return LeaveOneOut(*(getattr(of, f.name)[:, 0] for f in fields(of)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _for_each(values: Array, mean: Array) -> Array:
    """Return what all outputs share once for each of them, on a last axis."""
    return np.repeat(values[..., None], mean.shape[1], axis=-1)
