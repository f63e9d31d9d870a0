"""Smoothing splines: least squares with a penalty on the second derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.check import (
    Array,
    in_dtype_of,
    refuse_lazy,
    refuse_non_finite,
    refuse_sparse,
    shares_of,
    weights_of,
)
from mercer.display import warn
from mercer.errors import InvalidInput, InvalidParameter, NearlyInterpolating
from mercer.estimator import Model, numbers_of
from mercer.regression.observations import band, refuse_light
from mercer.regression.penalty_choice import choose_penalty
from mercer.regression.spline_curve import LIGHTEST, Curve, Places, curve, pool_places
from mercer.settings import CONFIDENCE, number, spelled, whole
from mercer.targets import check_size, read_numbers

ROUNDOFF = 16 * float(np.finfo(float).eps)
"""Observations this near to a line, relatively, lie on it."""

FLATTEST = 1e2
"""At this multiple of the sum of weights a spline has about 2 + 2e-5 degrees of freedom."""

ROUGHEST = 1e-4
"""At this multiple of the cubed mean gap a spline misses about one observation in a hundred."""

ROUGH = 0.5
"""A curve with more degrees of freedom than this share of the places nearly interpolates."""

EXTREME = 90.0
"""Powers of ten, without dimension, within which a penalty of given df is sought."""

SOUGHT = 1e-12
"""Decimal logarithms of penalties of given degrees of freedom are found to within this."""


class SmoothingSpline(RegressorMixin, Model):
    r"""The function that balances nearness to observations and roughness.

    .. math:: \min_g\; \sum_i w_i (y_i - g(x_i))^2 + \lambda \int g''(x)^2\, dx

    It is a natural cubic spline: cubic between the observations and linear beyond them. Penalty 0
    gives the interpolating spline, infinity the weighted least squares line, both exactly. Time
    and memory are linear in the number of observations, and the precision does not depend on how
    near two of them are.

    Parameters
    ----------
    penalty : float or None
        λ, in the units of x and y as they are; None chooses it by ``df``, or by the criterion.
    df : float, optional
        The degrees of freedom that the curve is to have, from 2 (the line) to the number of
        different x (through all of them). They fall as λ rises, which is found to about 1e-9 of
        them.
    criterion : {"gcv", "loo", "reml"}
        Generalised cross-validation, leave-one-out or restricted likelihood. Cross-validation
        takes weights for inverse variances of the noise. Where they are not, and now and then by
        chance, it follows the observations; `NearlyInterpolating` tells where restricted
        likelihood, which seldom does, finds fewer than half as many degrees of freedom.

    Attributes
    ----------
    penalty_ : the penalty, given or chosen
    degrees_of_freedom_ : the trace of the smoother, between 2 and the number of different x
    fitted_values_ : the curve at the observations
    leverages_ : the diagonal of the smoother
    roughness_ : the integral of the squared second derivative
    noise_variance_ : the residual sum of squares divided by its degrees of freedom
    criterion_ : the value of the criterion, None for a given penalty

    Examples
    --------
    The five observations of the text, r = 0.8 and so λ = nγ = (1 - r)/r:

    >>> x, y = [0.05, 0.2, 0.5, 0.75, 1.0], [0.4, 0.2, 0.6, 0.7, 1.0]
    >>> SmoothingSpline(penalty=0.25).fit(x, y).predict([0.0])
    array([0.22484794])
    >>> SmoothingSpline(penalty=0.0).fit(x, y).predict([0.35, 0.9])
    array([0.34853333, 0.85187556])
    >>> round(SmoothingSpline(df=3.5).fit(x, y).degrees_of_freedom_, 9)
    3.5

    References
    ----------
    Kroese et al., §6.6 and Example 6.15. Wahba, *Journal of the Royal Statistical Society* B 40
    (1978), for the state space form and, B 45 (1983), the confidence bands.
    """

    def __init__(
        self, penalty: float | None = None, *, df: float | None = None, criterion: str = "gcv"
    ) -> None:
        self.penalty = penalty
        self.df = df
        self.criterion = criterion

    def fit(self, x: Any, y: Any, sample_weight: Any = None) -> SmoothingSpline:
        """Find the curve; x is one-dimensional, or a table of one column."""
        column = _column(x)
        if len(column) == 1:
            raise InvalidInput("a curve needs two observations or more, found n_samples = 1")
        at, values = validate_data(self, column, read_numbers(y), dtype=np.float64, y_numeric=True)
        self._check_width()
        check_size(values, "y")
        weights = weights_of(sample_weight, len(at), is_summed=False)
        refuse_light(weights, "a spline", LIGHTEST)
        self.weights_ = shares_of(weights)
        used = weights > 0
        seen = slice(None) if np.all(used) else used
        places = pool_places(at[seen, 0], np.asarray(values, np.float64)[seen], weights[seen])
        self._curve = self._chosen(places)
        self.penalty_ = self._curve.penalty * places.unit
        if self.penalty is not None:
            self.penalty_ = float(self.penalty)
        self.degrees_of_freedom_ = self._curve.degrees_of_freedom
        self.fitted_values_, self.leverages_ = self._at_observations(at, used)
        left = self._curve.freedom_left
        noise = self._curve.square_sum / left if left > 0 else 0.0
        self.noise_variance_ = noise * places.mean_weight
        return self

    def _at_observations(self, at: Array, used: Array) -> tuple[Array, Array]:
        """Return the curve and its leverages at all rows, of weight 0 or not."""
        of, places = self._curve, self._curve.places
        fitted = (places.means - of.residuals)[places.rows]
        leverages = np.array(of.leverages[places.rows])
        if places.at.size < places.count:
            leverages = leverages * (places.row_weights / places.weights[places.rows])
        if np.all(used):
            return fitted, leverages
        spread = np.zeros(len(at))
        spread[used] = leverages
        return self.predict(at), spread

    def _chosen(self, places: Places) -> Curve:
        """Return the curve of the penalty, given or chosen."""
        if self.criterion not in CRITERIA:
            raise InvalidParameter(
                f"criterion must be one of {', '.join(CRITERIA)}, found {self.criterion!r}"
            )
        self.criterion_ = None
        if self.df is not None:
            if self.penalty is not None:
                raise InvalidParameter("give penalty or df, not both: each determines the other")
            return curve_of_freedom(places, number(self.df, "df"))
        if self.penalty is not None:
            return curve(places, _without_dimension(self.penalty, places))
        scale = float(np.max(np.abs(places.means), initial=0.0))
        spread = float(np.sqrt(places.weights @ places.values**2 + places.within))
        if places.at.size == 2 or spread <= ROUNDOFF * np.sqrt(places.count) * scale:
            return curve(places, np.inf)  # every spline is the line
        found, self.criterion_ = best_curve(places, CRITERIA[self.criterion])
        if self.criterion != "reml" and found.degrees_of_freedom > ROUGH * places.at.size:
            _warn_rough(found, self.criterion)
        return found

    def _check_width(self) -> None:
        if self.n_features_in_ != 1:
            raise InvalidInput(
                f"a smoothing spline reads one column and x has {self.n_features_in_}; for several "
                "use mercer.KernelRegression"
            )

    @property
    def curve(self) -> Curve:
        """The curve in units without dimension, which criteria read."""
        check_is_fitted(self)
        return self._curve

    @property
    def roughness_(self) -> float:
        """The integral of the squared second derivative."""
        check_is_fitted(self)
        return self._curve.roughness / self._curve.places.range**3

    def predict(self, x: Any, derivative: int = 0, *, return_std: bool = False) -> Any:
        """Return the curve or one of its derivatives, with its standard deviation if asked for.

        The standard deviation is that of g (or g') given the observations, g'' being white noise a
        priori (Wahba); it is not that of a new observation, whose noise comes on top.
        """
        check_is_fitted(self)
        column = validate_data(self, _column(x), dtype=np.float64, reset=False)[:, 0]
        order = whole(derivative, "derivative")
        places = self._curve.places
        at = (column - places.origin) / places.range
        values = self._curve.pieces(at, order) / places.range**order
        if order >= 3:
            values = np.where((at < 0) | (at > 1) | (order > 3), 0.0, values)
        values = in_dtype_of(x, values)
        if not return_std:
            return values
        if order > 1:
            raise InvalidParameter(
                "the second derivative is white noise a priori: only the curve and its slope have "
                f"a standard deviation, found derivative={derivative}"
            )
        variance = self._curve.variances(at)[order] * self.noise_variance_ / places.mean_weight
        return values, in_dtype_of(x, np.sqrt(variance) / places.range**order)

    @spelled
    def confidence_band(
        self, x: Any, confidence: float = CONFIDENCE, *, observation: bool = False
    ) -> tuple[Array, Array]:
        """Return the ends of Wahba's intervals for the curve, right on average over x.

        With ``observation`` they are of new observations of weight 1, which have noise on top.

        >>> x = np.linspace(0.0, 1.0, 200)
        >>> noise = np.random.default_rng(0).normal(scale=0.1, size=200)
        >>> lower, upper = SmoothingSpline().fit(x, x**2 + noise).confidence_band(x)
        >>> bool(np.mean((lower < x**2) & (x**2 < upper)) > 0.9)
        True
        """
        values, deviation = self.predict(x, return_std=True)
        return band(values, deviation, self.noise_variance_ if observation else 0.0, confidence)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _column(x: Any) -> Any:
    """Return a one-dimensional array as a column, and anything else as it is."""
    refuse_lazy(x, "x")
    refuse_sparse(x, "x")
    column = x if hasattr(x, "columns") else np.asarray(x)
    column = column[:, None] if np.ndim(column) == 1 else column
    refuse_non_finite(numbers_of(column, "x"), "x")
    return column


def best_curve(places: Places, criterion: Callable[[Curve], float]) -> tuple[Curve, float]:
    """Return the curve of the least criterion, and that.

    >>> x = np.linspace(0.0, 1.0, 30)
    >>> places = pool_places(x, np.sin(9.0 * x) + 0.1 * np.cos(99.0 * x), np.ones(30))
    >>> found, least = best_curve(places, generalised_cross_validation)
    >>> bool(np.isclose(least, generalised_cross_validation(found)))
    True
    """
    last = curve(places, np.inf)

    def score(penalty: float) -> float:
        nonlocal last
        last = curve(places, penalty)
        return criterion(last)

    penalty, least = choose_penalty(score, *limits_of(places))
    return last if last.penalty == penalty else curve(places, penalty), least


def curve_of_freedom(places: Places, df: float) -> Curve:
    r"""Return the curve with so many degrees of freedom.

    .. math:: \log \frac{\mathrm{df}(\lambda) - 2}{m - \mathrm{df}(\lambda)} =
        \log \frac{\mathrm{df} - 2}{m - \mathrm{df}}

    for m places; the left side falls almost linearly in log λ, so that few trials suffice.

    >>> places = pool_places(np.arange(5.0), np.array([0.0, 2.0, 1.0, 4.0, 3.0]), np.ones(5))
    >>> round(curve_of_freedom(places, 3.25).degrees_of_freedom, 9)
    3.25
    """
    m = places.at.size
    if not 2.0 <= df <= m:
        raise InvalidParameter(
            f"df must be between 2, the line, and the number of different x, {m}; found {df:g}"
        )
    if df in (2.0, float(m)):
        return curve(places, np.inf if df == 2.0 else 0.0)
    tried: dict[float, Curve] = {}

    def excess(power: float) -> float:
        tried[power] = of = curve(places, 10.0**power)
        left = float(of.remainders.sum())  # m - df, which keeps its digits near m
        return float(np.log((m - 2.0 - left) / left)) - float(np.log((df - 2.0) / (m - df)))

    low, high = limits_of(places)
    with np.errstate(divide="ignore", invalid="ignore"):
        while low > -EXTREME and not excess(low) > 0.0:
            low -= 4.0
        while high < EXTREME and not excess(high) < 0.0:
            high += 4.0
        try:
            power = float(brentq(excess, low, high, xtol=SOUGHT, rtol=4 * np.finfo(float).eps))
        except ValueError:
            raise InvalidParameter(
                f"df = {df!r} is too close to a limit: its penalty leaves the range of double "
                f"precision; give 2 for the line, or {m} for the curve through all places"
            ) from None
    return tried.get(power) or curve(places, 10.0**power)


def _warn_rough(found: Curve, criterion: str) -> None:
    """Say where a curve has many degrees of freedom and restricted likelihood finds few."""
    other, _ = best_curve(found.places, restricted_likelihood)
    if other.degrees_of_freedom >= ROUGH * found.degrees_of_freedom:
        return
    warn(
        f'criterion="{criterion}" chose {found.degrees_of_freedom:.3g} degrees of freedom for '
        f"{found.places.at.size} different x, a curve that nearly interpolates, where "
        f'criterion="reml" chooses {other.degrees_of_freedom:.3g}. Cross-validation does so by '
        "chance, or where weights are not inverse variances of the noise: compare with "
        'criterion="reml", or give df=',
        NearlyInterpolating,
    )


def limits_of(places: Places) -> tuple[float, float]:
    """Return the decimal logarithms, without dimension, between which a penalty is chosen."""
    low = np.log10(ROUGHEST) - 3.0 * np.log10(places.at.size - 1)
    return float(low), float(np.log10(FLATTEST * places.count))


def _without_dimension(penalty: Any, places: Places) -> float:
    if penalty == np.inf:
        return np.inf
    given = number(penalty, "penalty", above=0.0, allowed=0.0)
    return given / places.unit


def generalised_cross_validation(of: Curve) -> float:
    r"""Return the generalised cross-validation of a curve with N observations.

    .. math:: \frac{\tfrac{1}{N} \sum_i w_i (y_i - g(x_i))^2}{(1 - \mathrm{df}/N)^2}
    """
    return of.places.count * of.square_sum / of.freedom_left**2


def leave_one_out(of: Curve) -> float:
    r"""Return the mean squared error of predicting each observation from all others.

    .. math:: \frac{1}{N} \sum_i w_i \left(\frac{y_i - g(x_i)}{1 - h_i}\right)^2

    Of observations at one place only the one left out is missing, hence the shares.
    """
    p = of.places
    if p.count == p.at.size:
        return float(p.weights @ (of.residuals / of.remainders) ** 2) / p.count
    shares = p.row_weights / p.weights[p.rows]
    remainders = (1.0 - shares) + shares * of.remainders[p.rows]
    return (
        float(p.row_weights @ ((of.residuals[p.rows] + p.deviations) / remainders) ** 2) / p.count
    )


def restricted_likelihood(of: Curve) -> float:
    r"""Return minus twice the restricted log-likelihood, the noise variance profiled out.

    With :math:`V = K + \lambda W^{-1}`, K the kernel of cubic splines at the N observations, Q
    the values of 1 and x there, and :math:`S = y^\top P y`,
    :math:`P = V^{-1} - V^{-1} Q (Q^\top V^{-1} Q)^{-1} Q^\top V^{-1}`, it is up to a constant

    .. math:: (N - 2) \log S + \log |V| + \log |Q^\top V^{-1} Q|

    in linear time, see `Curve.restricted` (Patterson & Thompson, *Biometrika* 58, 1971; Wahba,
    *Annals of Statistics* 13, 1985, compares it with cross-validation).
    """
    return of.restricted


CRITERIA: dict[str, Callable[[Curve], float]] = {
    "gcv": generalised_cross_validation,
    "loo": leave_one_out,
    "reml": restricted_likelihood,
}
