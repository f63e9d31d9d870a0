"""Regression in the space of a kernel, with any loss and functions that are not penalised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points, as_numpy, chunks, shares_of, weights_of
from mercer.display import kept, warn
from mercer.engines.engine import Engine
from mercer.engines.held import Held, given_back, move_beside
from mercer.errors import InvalidInput, InvalidParameter, SingularSystem
from mercer.estimator import OF_KERNELS, KernelModel, as_kernel, on_engine
from mercer.gram import Gram, in_doubles
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.progress import Progress
from mercer.regression.convex import ConvexOptimum, optima_of
from mercer.regression.limits import Limits
from mercer.regression.loss_functions import Loss, check_labels, loss_named, natural, probability
from mercer.regression.observations import WeightedTargets, band, refuse_light
from mercer.regression.penalty_choice import choose_penalty
from mercer.regression.squared_loss import Decomposition, decomposition, fit_span
from mercer.rkhs.functions import Function
from mercer.settings import CONFIDENCE, number, spelled, whole
from mercer.solve import Explained, Saddle
from mercer.targets import Functions, Origin, keep_points, read_targets
from mercer.tensors import like_given

ROUNDOFF = 16 * float(np.finfo(float).eps)
"""Targets this near to the null space, relatively, lie in it."""


class KernelRegression(RegressorMixin, KernelModel):
    r"""The function that balances a mean loss and the norm in the space H of a kernel.

    .. math:: \min_{h \in H,\, \eta}\; \sum_i p_i\, \ell(y_i, g(x_i)) + \gamma \|h\|_H^2,
        \quad g = h + \sum_j \eta_j q_j, \quad \textstyle\sum_i p_i = 1

    By the representer theorem h = Σ αᵢ k(xᵢ, ·). The functions q of the null space are not
    penalised. Every fit carries a duality gap: no function of H has an objective lower by more.

    Parameters
    ----------
    kernel : Kernel, str or function
        A kernel, its written form, a Python function of two points, or ``"precomputed"``.
    penalty : float or None
        γ; None chooses it by the criterion. With squared loss 0 interpolates, and infinity leaves
        the null space alone. The α of scikit-learn's `KernelRidge`, which adds up the squares and
        does not divide by n, is n·γ.
    null_space : None, "constant", "linear", a function or several
        Functions of the points, each with one value or one row of values for each point.
    loss : {"squared", "absolute", "huber", "quantile", "logistic", "hinge"}
        Or another convex one, `mercer.regression.convex_loss`. Logistic and hinge loss are of
        labels -1 and 1, and what is predicted is g: its sign is the label, and under logistic loss
        `probability` is that of 1.
    criterion : {"auto", "gcv", "loo", "reml", "cv"}
        Generalised cross-validation, leave-one-out, restricted likelihood (these for squared
        loss, and up to 3 000 points) or cross-validation; "auto" is the first where it can be.
    quantile : float
        The level of the quantile loss.
    threshold : float
        Where the loss of Huber turns from square to linear.
    landmarks : int or None
        Seek the function in the span of so many points only, an approximation for squared loss
        and any number of points: ``gap_`` says how much all of H could gain.
    tol : float
        The duality gap allowed, as a share of the objective.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.

    Attributes
    ----------
    dual_coef_, null_weights_ : α and η
    weights_ : the weights p of the points, which sum to 1
    penalty_ : the penalty, given or chosen
    objective_, gap_ : the value of the objective, and how far the least one can be from it
    rounding_ : what of the gap is owed to rounding, of the kernel's values too
    criterion_ : the value of the criterion, None for a given penalty
    kernel_ : the kernel with its rules resolved
    is_approximate_ : whether the function was sought in a span of landmarks

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 20)[:, None]
    >>> model = KernelRegression(Gaussian(0.3), penalty=1e-4).fit(x, np.sin(6.0 * x[:, 0]))
    >>> model.predict([[0.25]])
    array([0.99])
    >>> model.gap_ <= 1e-8 * model.objective_
    True

    References
    ----------
    Kroese et al., §6.5; the system is theirs, (6.23), without the square of its condition number.
    """

    dual_coef_: Any

    limits: ClassVar[Limits] = Limits()

    equivalents: ClassVar[Mapping[str, str]] = {
        **OF_KERNELS,
        "alpha": "n·penalty for n points",
        "fit_intercept": 'null_space="constant"',
    }

    def __init__(  # noqa: PLR0913  (each is one choice of the model, most of them by name)
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Gaussian("median"),  # noqa: B008
        penalty: float | None = None,
        null_space: Functions = None,
        loss: str | Loss = "squared",
        *,
        criterion: str = "auto",
        quantile: float = 0.5,
        threshold: float = 1.0,
        landmarks: int | None = None,
        tol: float = 1e-8,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.penalty = penalty
        self.null_space = null_space
        self.loss = loss
        self.criterion = criterion
        self.quantile = quantile
        self.threshold = threshold
        self.landmarks = landmarks
        self.tol = tol
        self.engine = engine
        self.threads = threads
        self.memory = memory

    @on_engine
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> KernelRegression:
        """Find the function; y has one value for each point, or several.

        ``progress`` counts the tiles of each pass over the matrix.
        """
        points = self._read(X, reset=True, stays=self._stays)
        targets = self._targets(points, y)
        weights = weights_of(sample_weight, len(points), is_summed=False)
        self.weights_ = shares_of(weights)
        self._used = np.flatnonzero(weights > 0)
        kernel = None if self._is_precomputed else as_kernel(self.kernel)
        self._origin = Origin.of(kernel, points, self.null_space)
        given = WeightedTargets(points, targets, weights, self._is_precomputed).part(self._used)
        data = replace(given, points=self._origin.points(given.points))
        if self.penalty is None and len(data) == 1:
            raise InvalidInput("a penalty cannot be chosen from n_samples = 1; give it")
        loss = loss_named(self.loss, quantile=self.quantile, threshold=self.threshold)
        check_labels(loss, targets, self._used)
        if loss.name != "squared":
            refuse_light(weights, f"the {loss.name} loss")
        saddle = self._system(data, None if kernel is None else kernel.resolve(given.points), loss)
        self.kernel_ = saddle.gram.kernel
        self.X_fit_, self._p = given.points if data.is_matrix else keep_points(given.points), data.p
        self._points = self.X_fit_ if self._origin.point is None else data.points
        if isinstance(self.X_fit_, Held):
            self.X_fit_ = given_back(self.X_fit_, X)
        self.is_approximate_ = self.landmarks is not None
        if self.is_approximate_:
            self._span(saddle, data)
        else:
            self.penalty_ = self._penalty(saddle, data, loss)
            self._keep(optima_of(saddle, data, self.penalty_, loss, self.tol), loss)
        self.dual_coef_ = given_back(self.dual_coef_, X)
        return self

    @property
    def _stays(self) -> bool:
        """Whether points on a device are computed with there: functions of them are the host's."""
        if self._is_precomputed or self.landmarks is not None:
            return False
        is_constant = isinstance(self.null_space, str) and self.null_space == "constant"
        return self.null_space is None or (is_constant and not as_kernel(self.kernel).inner_weight)

    def _span(self, saddle: Saddle, data: WeightedTargets) -> None:
        """Find the best function in the span of landmarks."""
        count = whole(self.landmarks, "landmarks", least=1)
        if self.loss != "squared" or data.is_matrix or self.criterion not in ("auto", "gcv"):
            raise InvalidParameter(
                "landmarks are for squared loss, points and a penalty that is given or chosen by "
                "criterion='gcv'"
            )
        penalty = self.penalty if self.penalty is None else number(self.penalty, "penalty", above=0)
        self._spanned = fit_span(saddle.gram, saddle.Q, data, count, penalty)
        of = self._spanned
        self._points, self.penalty_, self.criterion_ = of.landmarks, of.penalty, of.score
        self.X_fit_ = self._origin.back(of.landmarks)
        self._keep_weights(of.weights, of.null_weights)
        self.objective_, self.gap_, self.n_iter_ = of.objective, of.gap, 1
        self.rounding_ = of.rounding
        self._square_sums = of.square_sums

    def _targets(self, points: Points, y: Any) -> Array:
        targets = read_targets(y, len(points), type(self).__name__)
        self._is_flat = targets.ndim == 1
        return targets[:, None] if self._is_flat else targets

    def _system(self, data: WeightedTargets, kernel: Kernel | None, loss: Loss) -> Saddle:
        tol, gram = number(self.tol, "tol", above=0.0), data.gram(kernel)
        if np.issubdtype(gram.cut().dtype, np.complexfloating):
            raise InvalidInput(
                f"KernelRegression needs a real kernel, and {gram.kernel} is complex"
            )
        if loss.name == "squared" or loss.is_smooth:
            return Saddle(gram, self._functions(data.points), tol=0.1 * tol)
        if len(data) > self.limits.stored:
            raise InvalidParameter(
                f"the {loss.name} loss needs the whole matrix, which is stored for up to "
                f"{self.limits.stored} points, found {len(data)}; the squared and the logistic "
                "loss do not"
            )
        return Saddle(gram, self._functions(data.points), method="direct")

    @property
    def _fixed_kernel(self) -> Kernel | None:
        """The kernel with its rules resolved on all points, None for a precomputed matrix."""
        return None if self._is_precomputed else self.kernel_

    def _functions(self, points: Points) -> Array:
        """Return the functions of the null space at points as the kernel sees them."""
        if self._is_precomputed and self.null_space not in (None, "constant"):
            raise InvalidParameter(
                "a precomputed kernel knows no points: null_space must be None or 'constant'"
            )
        return self._origin.columns(self.null_space, points)

    def _penalty(self, saddle: Saddle, data: WeightedTargets, loss: Loss) -> float:
        self.criterion_ = None
        is_squared = loss.name == "squared"
        if self.penalty is not None:
            if is_squared and self.penalty == np.inf:
                return np.inf
            return number(self.penalty, "penalty", above=0.0, allowed=0.0 if is_squared else None)
        criterion = self._criterion(is_squared, len(data))
        if criterion == "cv":
            unit = natural(loss, data.p, data.y, saddle.Q)
            middle = np.log10(unit) + np.log10(float(np.mean(np.abs(saddle.gram.diag()))) or 1.0)
            low, high = (float(end + middle) for end in self.limits.span)
            penalty, self.criterion_ = choose_penalty(
                lambda g: self._cross_validated(data, g, loss), low, high, refine=False
            )
            return penalty
        of = decomposition(saddle, data.p, data.y)
        size = float(np.linalg.norm(np.sqrt(data.p)[:, None] * data.y))
        if float(np.linalg.norm(of.targets)) <= ROUNDOFF * size:
            return np.inf  # the null space explains everything
        score: Callable[[float], float] = getattr(of, criterion)
        penalty, self.criterion_ = choose_penalty(score, *of.limits)
        return penalty

    def _criterion(self, is_squared: bool, n: int) -> str:
        if self.criterion not in ("auto", "gcv", "loo", "reml", "cv"):
            raise InvalidParameter(
                f"criterion must be auto, gcv, loo, reml or cv, found {self.criterion!r}"
            )
        is_closed = is_squared and n <= Saddle.limits.direct
        if self.criterion == "auto":
            return "gcv" if is_closed else "cv"
        if self.criterion != "cv" and not is_closed:
            raise InvalidParameter(
                f"the criterion {self.criterion} is for squared loss and up to "
                f"{Saddle.limits.direct} points; take criterion='cv' or give a penalty"
            )
        return self.criterion

    def _cross_validated(self, data: WeightedTargets, penalty: float, loss: Loss) -> float:
        """Return the mean loss of predicting each fold from the others."""
        if penalty == np.inf:
            return np.inf
        fold = data.folds(min(self.limits.folds, len(data)), is_of_labels=loss.is_of_labels)
        total, kernel = 0.0, self._fixed_kernel
        for k in range(fold.max() + 1):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            part, held_out = data.part(train), data.part(test)
            try:
                optima = optima_of(self._system(part, kernel, loss), part, penalty, loss, self.tol)
            except (InvalidInput, SingularSystem) as error:
                raise InvalidInput(
                    f"cross-validation fits {len(train)} of {len(data)} points at a time, where "
                    f"{error}. Or give a penalty"
                ) from None
            values = data.cross(kernel, test, train) @ np.column_stack([o.weights for o in optima])
            rows = self._functions(held_out.points)
            values = values + rows @ np.column_stack([o.null_weights for o in optima])
            total += float(data.p[test] @ loss.value(held_out.y, values).sum(axis=1))
        return total

    def _keep(self, optima: list[ConvexOptimum], loss: Loss) -> None:
        self._keep_weights(
            np.column_stack([o.weights for o in optima]),
            np.column_stack([o.null_weights for o in optima]),
        )
        if loss.name == "squared":
            self._square_sums = self._squares(optima)
        self.objective_ = float(sum(o.objective for o in optima))
        self.rounding_ = float(sum(o.rounding for o in optima))
        self.gap_ = float(sum(o.gap for o in optima)) + self.rounding_
        self.n_iter_ = max(1, *(o.steps for o in optima))
        if self.penalty_ > 0 and not all(o.is_proved for o in optima):
            warn(
                f"the objective {self.objective_:.6g} is proved only to within {self.gap_:.2g}, "
                f"more than tol={self.tol:g} of it; the {loss.name} loss with a larger penalty is "
                "better conditioned",
                ConvergenceWarning,
            )
        elif self.penalty_ > 0 and any(o.is_lost for o in optima):
            warn(
                f"rounding of the kernel's values can change the objective {self.objective_:.6g} "
                f"by {self.gap_:.2g}: centre the points, or use a larger penalty",
                ConvergenceWarning,
            )

    def _keep_weights(self, alpha: Array, eta: Array) -> None:
        """Keep α and η, the latter for points as they came and as the kernel sees them."""
        outside = self._origin.null_weights(eta, self.kernel_, alpha, self._points)
        self._alpha, self._null_weights = alpha, eta
        self.dual_coef_ = alpha[:, 0] if self._is_flat else alpha
        self.null_weights_ = outside[:, 0] if self._is_flat else outside

    @property
    def _weights(self) -> Array:
        """α on the host, one column for each output; of models stored before it was kept there."""
        if not hasattr(self, "_alpha"):
            return np.atleast_2d(as_numpy(self.dual_coef_).T).T
        return self._alpha

    def _squares(self, optima: list[ConvexOptimum]) -> Array:
        """Return Σ p (y - g)² of each output."""
        if self.penalty_ == np.inf:
            return np.array([o.objective for o in optima])
        # y - g = γα/p: the residuals of a regularised system are its weights.
        return np.array([np.sum((self.penalty_ * o.weights) ** 2 / self._p) for o in optima])

    @on_engine
    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Return g at points, with its standard deviation under squared loss if asked for.

        The standard deviation is that of a Gaussian process with the same kernel whose noise is
        estimated by the residuals of each output; a new observation has the variance of the noise
        on top.
        """
        check_is_fitted(self)
        points = self._origin.points(self._read(X, reset=False, stays=self._stays))
        alpha, eta = self._weights, self._null_weights
        if self._is_precomputed:
            cross = np.asarray(points)[:, self._used]
            values = cross @ alpha
        else:
            values = Gram(self.kernel_, points, self._points).product(move_beside(alpha, points))
        if eta.shape[0]:
            values = values + self._functions(points) @ eta
        result = like_given(values[:, 0] if self._is_flat else values, X)
        return (result, like_given(self._deviations(points), X)) if return_std else result

    @spelled
    @on_engine
    def confidence_band(
        self, X: Any, confidence: float = CONFIDENCE, *, observation: bool = False
    ) -> tuple[Array, Array]:
        """Return the ends of intervals for g, or for new observations, where `predict` has them."""
        values, deviation = self.predict(X, return_std=True)
        return band(values, deviation, self.noise_variance_ if observation else 0.0, confidence)

    def _deviations(self, points: Points) -> Array:
        r"""Return standard deviations, with v the variance of `Explained`.

        .. math:: \mathrm{var}\, g(x) = \frac{\sigma^2}{n\gamma}\, v(x)
        """
        if self.loss != "squared" or self._is_precomputed or self.is_approximate_:
            raise InvalidParameter(
                "standard deviations need the squared loss, points and no landmarks: other losses "
                "are not the likelihood of a Gaussian process"
            )
        if self.penalty_ == 0.0:
            raise InvalidParameter("a standard deviation needs a penalty > 0")
        if len(self._p) > Saddle.limits.direct:
            raise InvalidParameter(
                f"the noise is estimated for up to {Saddle.limits.direct} points, found "
                f"{len(self._p)}; for more, use a GaussianProcess with a noise_variance"
            )
        saddle, p = self._again(), self._p
        if self.penalty_ == np.inf:
            return self._line_deviations(saddle.Q, points)
        of = Explained(saddle, np.sqrt(p), self.penalty_)
        parts = [self._variances(of, points[rows]) for rows in chunks(len(points), of.count)]
        scale = self.noise_variance_ / (len(p) * self.penalty_)
        variances = np.maximum(np.concatenate(parts), 0.0)
        return np.asarray(np.sqrt(np.multiply.outer(variances, scale)))

    def _variances(self, of: Explained, points: Points) -> Array:
        k = Gram(self.kernel_, self._points, points).dense()
        own = as_numpy(self.kernel_.diag(in_doubles(points))).astype(float)
        return of.variances(own, k, self._functions(points).T)

    def _line_deviations(self, Q: Array, points: Points) -> Array:
        """Return those of least squares in the null space, σ² qₓᵀ (n QᵀPQ)⁻¹ qₓ."""
        _, triangle = np.linalg.qr(np.sqrt(len(Q) * self._p)[:, None] * Q)
        white = np.linalg.solve(triangle.T, self._functions(points).T)
        variances = np.multiply.outer(np.sum(white * white, axis=0), self.noise_variance_)
        return np.asarray(np.sqrt(variances))

    @kept
    def degrees_of_freedom_(self) -> float:
        """The trace of the smoother, under squared loss and up to 3 000 points."""
        check_is_fitted(self)
        if self.is_approximate_:
            return self._spanned.degrees_of_freedom
        if self.loss != "squared" or len(self._p) > Saddle.limits.direct:
            raise AttributeError(
                "degrees of freedom are counted under squared loss and up to "
                f"{Saddle.limits.direct} points"
            )
        if self.penalty_ == 0:
            return float(len(self._p))
        nothing = np.zeros((len(self._p), 1))
        return decomposition(self._again(), self._p, nothing).degrees_of_freedom(self.penalty_)

    def decomposition(self) -> Decomposition:
        """Return the eigenvectors of a fit with squared loss, by which penalties are compared."""
        check_is_fitted(self)
        p, penalty = self._p, self.penalty_
        is_exact = self.loss == "squared" and not self.is_approximate_
        if not is_exact or len(p) > Saddle.limits.direct or not 0.0 < penalty < np.inf:
            raise InvalidParameter(
                "criteria are known for squared loss without landmarks, up to "
                f"{Saddle.limits.direct} points and a penalty between 0 and infinity"
            )
        saddle = self._again()
        alpha, eta = self._weights, self._null_weights
        # y - g = γα/p gives back the targets, which a fitted model does not keep.
        targets = saddle.product(alpha) + saddle.Q @ eta + penalty / p[:, None] * alpha
        return decomposition(saddle, p, targets)

    def _again(self) -> Saddle:
        """Return the system of the fit, which a fitted model does not keep."""
        data = WeightedTargets(self._points, self._p[:, None], self._p, self._is_precomputed)
        return self._system(data, self._fixed_kernel, loss_named("squared"))

    @kept
    def noise_variance_(self) -> Any:
        """The weighted sum of squared residuals divided by its degrees of freedom, per output."""
        n, left = len(self._p), len(self._p) - self.degrees_of_freedom_
        variances = n * self._square_sums / left if left > 0 else 0.0 * self._square_sums
        return float(variances[0]) if self._is_flat else variances

    @property
    def function_(self) -> Function:
        """The penalised part h as a function of H, with its norm."""
        check_is_fitted(self)
        if not self._is_flat or self._is_precomputed:
            raise AttributeError("a function of H needs points and one output")
        here = self.on_host()
        return Function(self.kernel_, here.X_fit_, here.dual_coef_)

    def probability(self, X: Any) -> Array:
        """Return the probability of the label 1 under logistic loss."""
        if self.loss != "logistic":
            raise InvalidParameter(
                f"only logistic loss models a probability, and the loss is {self.loss!r}"
            )
        return probability(self.predict(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
