"""What pictures read of models: shares of axes, elements that stand on them, the first picture."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.check import Array, real_array
from mercer.data.dialect import is_number
from mercer.display import listing
from mercer.errors import InvalidInput, InvalidParameter, MercerError, NotAvailable, ReadingWarning
from mercer.estimator import Model, require_fit
from mercer.pictures.scene import Axis, Linked
from mercer.reading import Categories, Individuals, Variables
from mercer.settings import whole
from mercer.spectrum import Spectrum

ROUNDING = 1e-9
"""By how much shares may exceed 1 through rounding."""


@dataclass(frozen=True, eq=False)
class Shares:
    """The shares of the axes in the inertia, and what must be said about them.

    ``clusters`` are groups of axes, counted from 0, with one eigenvalue between them. ``notes``
    say of which total the shares are, where it is not the inertia. ``names`` are titles of their
    own, for columns that are no axes.
    """

    shares: Array
    clusters: tuple[tuple[int, ...], ...] = ()
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def title(self, axis: int) -> str:
        """Return the title of an axis, counted from 1.

        >>> Shares(np.array([0.4321])).title(1)
        'Dim 1 (43.2 %)'
        """
        if axis <= len(self.names):
            return self.names[axis - 1]
        if axis > len(self.shares) or not np.isfinite(self.shares[axis - 1]):
            return f"Dim {axis}"
        return f"Dim {axis} ({percent(self.shares[axis - 1])})"

    def remarks(self, axes: Sequence[int]) -> tuple[str, ...]:
        """Return what must be said beside a picture of some axes.

        >>> Shares(np.array([0.4, 0.4]), ((0, 1),)).remarks((1, 2))
        ('Dim 1 and 2 are equal in size: any rotation of them is as good.',)
        """
        found = list(self.notes)
        for cluster in self.clusters:
            if not set(cluster) & {a - 1 for a in axes}:
                continue
            if len(cluster) == 1:
                found.append(
                    f"Dim {cluster[0] + 1} is equal in size to the next axis: any rotation of the "
                    "two is as good."
                )
            else:
                names = listing([str(k + 1) for k in cluster])
                found.append(f"Dim {names} are equal in size: any rotation of them is as good.")
        return tuple(found)


def percent(share: float) -> str:
    """Return a share as text.

    >>> percent(0.248), percent(0.00004)
    ('24.8 %', '<0.1 %')
    """
    return "<0.1 %" if 0.0 < share < 0.0005 else f"{100.0 * share:.1f} %"


def as_shares(spectrum: Any) -> Shares:
    """Return the shares of a `Spectrum`, or given as numbers, or the names of the axes.

    >>> as_shares([0.5, 0.3]).title(2)
    'Dim 2 (30.0 %)'
    """
    if spectrum is None:
        return Shares(np.zeros(0))
    if isinstance(spectrum, Shares):
        return spectrum
    if isinstance(spectrum, Spectrum):
        return _of_spectrum(spectrum)
    if isinstance(spectrum, Sequence) and all(isinstance(name, str) for name in spectrum):
        return Shares(np.zeros(0), names=tuple(spectrum))
    shares = np.atleast_1d(real_array(spectrum, "spectrum"))
    if shares.ndim != 1 or np.any(shares < -ROUNDING) or shares.sum() > 1.0 + ROUNDING:
        raise InvalidInput(
            "spectrum must be a Spectrum or shares of the inertia, none negative, that sum to at "
            f"most 1; found numbers from {shares.min():.4g} to {shares.max():.4g} that sum to "
            f"{shares.sum():.4g}"
        )
    return Shares(shares)


def _of_spectrum(spectrum: Spectrum) -> Shares:
    r"""Divide by the trace, or by Σ|λ| = trace/(1 - 2·negative mass) where some are negative."""
    values = np.asarray(spectrum.values, dtype=np.float64)
    mass = spectrum.negative_mass or 0.0
    total = float(spectrum.trace)
    negative = mass > ROUNDING
    if negative:
        total = total / (1.0 - 2.0 * mass) if mass < 0.5 else 0.0
    if total <= 0.0 or np.maximum(values, 0.0).sum() > total * (1.0 + 1e-6):
        note = "Eigenvalues not computed are negative: shares of the axes are not known."
        return Shares(np.full(len(values), np.nan), spectrum.clusters, (note,) if total else ())
    shares = np.maximum(values, 0.0) / total
    notes = (_of_moduli(mass),) if negative else ()
    return Shares(np.minimum(shares, 1.0), spectrum.clusters, notes)


def _of_moduli(mass: float) -> str:
    return (
        f"Some eigenvalues are negative ({percent(mass)} of Σ|λ|): shares are those of Σ|λ|, "
        "which never exceed 100 %."
    )


def shares_of(values: Array, total: float | None) -> Shares:
    """Return the shares of eigenvalues in a total, or in Σ|λ| where none is given.

    >>> shares_of(np.array([3.0, 1.0]), 8.0).shares
    array([0.375, 0.125])
    >>> shares_of(np.array([3.0, -1.0]), None).shares
    array([0.75, 0.  ])
    """
    moduli = float(np.abs(values).sum())
    positive = np.maximum(values, 0.0)
    if np.any(values < -ROUNDING * np.abs(values).max(initial=0.0)):
        notes = (_of_moduli(float(-values[values < 0].sum()) / moduli),)
        return Shares(positive / moduli, (), notes)
    whole_total = moduli if total is None else float(total)
    if whole_total < positive.sum() * (1.0 - 1e-6):
        raise InvalidParameter(
            f"total is {whole_total:.6g}, less than the sum {positive.sum():.6g} of the inertias "
            "given: shares would exceed 100 %"
        )
    return Shares(positive / whole_total if whole_total > 0 else positive)


def choose_axes(axes: Any, count: int, *, how_many: int | None = 2) -> tuple[int, ...]:
    """Return axes counted from 1, a number being so many first ones, or say which there are.

    >>> choose_axes((1, 3), 5), choose_axes(2, 5)
    ((1, 3), (1, 2))
    """
    axes = range(1, whole(axes, "axes", least=1) + 1) if np.ndim(axes) == 0 else axes
    listed = tuple(whole(a, "axes", least=1) for a in np.asarray(axes).tolist())
    if how_many is not None and len(listed) != how_many:
        raise InvalidParameter(f"axes must name {how_many} axes, found {axes!r}")
    if max(listed, default=0) > count:
        raise InvalidParameter(f"axes are counted from 1 to {count}, found {axes!r}")
    return listed


def axis(shares: Shares, number: int, limits: tuple[float, float]) -> Axis:
    """Return the side of a panel that shows one axis."""
    return Axis(shares.title(number), limits, axis=number)


KINDS: dict[Linked, tuple[str, str]] = {
    "variables": ("Variables", "variable"),
    "supplementary variables": ("Supplementary variables", "variable"),
    "categories": ("Categories", "category"),
    "supplementary categories": ("Supplementary categories", "category"),
    "columns": ("Columns", "column"),
}
"""The title of a table of each kind of elements, and what one of them is called."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Elements of one kind: where they lie on each axis, and how they are measured there.

    ``coordinates`` are where they are drawn: the correlations of variables, which are arrows. Each
    of the ``measures`` has a column for each axis; "cos2" says how well an axis shows an element.
    ``read`` is the value that they come from.
    """

    of: Linked
    names: tuple[str, ...]
    coordinates: Array
    measures: Mapping[str, Array]
    read: Any = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def are_arrows(self) -> bool:
        return "variables" in self.of

    @property
    def title(self) -> str:
        return KINDS[self.of][0]

    @property
    def one(self) -> str:
        """What one of them is called."""
        return KINDS[self.of][1]

    def rank(self, axes: tuple[int, ...], most: int) -> Array:
        """Return the elements that two axes, counted from 0, show best: the best first."""
        known = np.asarray(np.isfinite(self.coordinates[:, axes]).all(axis=1))
        shown = np.nan_to_num(self.measures["cos2"][:, axes]).sum(axis=1)
        order = np.argsort(-np.where(known, shown, -1.0), kind="stable")
        return order[known[order]][:most]


def of_variables(found: Variables, of: Linked = "variables") -> Elements:
    """Return variables as elements."""
    measures = {"correlation": found.correlations.real, "cos2": found.cos2}
    if found.weights is not None:
        measures["contrib"] = found.contributions
    return Elements(of, found.names, found.correlations.real, measures, found)


def of_categories(
    found: Categories,
    of: Linked = "categories",
    taken: Collection[str] = (),
    counted: int | None = None,
) -> Elements:
    """Return categories as elements; levels of two columns alike are called by both names.

    So are those whose names are ``taken`` by categories that stand beside these, and numbers, which
    say nothing by themselves.

    >>> two = np.zeros((2, 1))
    >>> ones = np.ones(2)
    >>> some = Categories(two, ones, ("yes", "yes"), ("a", "b"), ones, ones / 2, np.ones(1))
    >>> of_categories(some).names
    ('a=yes', 'b=yes')
    >>> coded = Categories(two, ones, ("0", "no"), ("smoker", "b"), ones, ones / 2, np.ones(1))
    >>> of_categories(coded).names
    ('smoker=0', 'no')
    """
    levels = [*found.levels, *taken]
    pairs = zip(found.variables_of, found.levels, strict=True)
    names = tuple(g if levels.count(g) == 1 and not is_number(g) else f"{v}={g}" for v, g in pairs)
    v_test = (found if counted is None else found.of_counted(counted)).v_test
    measures = {"Dim": found.coordinates, "cos2": found.cos2, "v-test": v_test}
    if hasattr(found, "contributions"):
        measures["contrib"] = found.contributions
    return Elements(of, names, found.coordinates, measures)


def of_profiles(found: Individuals) -> Elements:
    """Return the columns of a table of counts as elements."""
    measures = {"Dim": found.coordinates, "cos2": found.cos2, "contrib": found.contributions}
    return Elements("columns", tuple(map(str, found.labels)), found.coordinates, measures)


def elements_of(
    model: Any,
    numbers: Mapping[str, Array] | None = None,
    labels: Mapping[str, Any] | None = None,
    counted: int | None = None,
) -> Iterator[Elements]:
    """Yield what a fitted model places on its axes, then supplementary numbers and labels.

    ``counted`` individuals stand in the rows, where their weights say how often each was seen.

    >>> from mercer import PCA, datasets
    >>> [found.of for found in elements_of(PCA().fit(datasets.decathlon()))]
    ['variables']
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadingWarning)
        for name, read in (
            ("columns_", of_profiles),
            ("variables_", of_variables),
            ("categories_", partial(of_categories, counted=counted)),
        ):
            try:
                found = getattr(model, name, None)
                if found is not None:
                    yield read(found)
            except (NotAvailable, MercerError):
                continue
        if not hasattr(model, "supplementary"):
            return
        if numbers:
            passive = model.supplementary(variables=dict(numbers)).variables
            yield of_variables(passive, "supplementary variables")
        if labels:
            beside = model.supplementary(categories=dict(labels)).categories
            active = getattr(model, "categories_", None)
            taken = () if active is None else set(active.levels)
            yield of_categories(beside, "supplementary categories", taken, counted)


PLACES = 300
"""Points of a curve, across what was observed and a tenth of it on either side."""


def is_model(values: Any) -> bool:
    """Whether a fitted model was given in place of its values."""
    if isinstance(values, Model):
        require_fit(values)
        return True
    return False


def shares_of_model(model: Any) -> Any:
    """Return what the titles of a model's axes say: the shares of the axes, where there are any."""
    shares = getattr(model, "explained_variance_ratio_", getattr(model, "shares_", None))
    spectrum = getattr(model, "spectrum_", None)
    if shares is None:
        return as_shares(spectrum)
    clusters = () if spectrum is None else spectrum.clusters
    return type(as_shares(None))(np.asarray(shares), clusters)


def inertias_of_model(model: Any) -> tuple[Array, float | None]:
    """Return the inertias of a model's axes and their total; None where it is Σ|λ|."""
    if hasattr(model, "inertias_"):
        return model.inertias_, model.inertia_
    if not hasattr(model, "eigenvalues_"):
        raise InvalidInput(
            f"the axes of {type(model).__name__} have no inertias, which a scree plot shows"
        )
    return model.eigenvalues_, None


def variables_of_model(model: Any) -> Any:
    """Return the variables on a model's axes, or say what has none."""
    if not hasattr(type(model), "variables_"):
        raise InvalidInput(
            f"{type(model).__name__} knows distances and no variables, which a circle of "
            "correlations shows: mercer.fit_variables fits them to its map"
        )
    return model.variables_


def first_picture(model: Any, **options: Any) -> Any:
    """Draw the individuals of a model with axes, or the curve of one that predicts from a number.

    Of correspondence analysis and its kin, with the columns or categories that place them.

    >>> from mercer import PCA, datasets
    >>> ax = first_picture(PCA(standardize=True).fit(datasets.decathlon()))
    >>> ax.get_xlabel()
    'Dim 1 (32.7 %)'
    """
    from mercer.pictures.circle import biplot
    from mercer.pictures.curves import curves
    from mercer.pictures.planes import individuals
    from mercer.pictures.spectra import scree

    is_model(model)
    if hasattr(model, "individuals_"):
        if model.individuals_.coordinates.shape[1] < 2:
            return scree(model, **options)
        # Categories and columns of counts are points among the individuals, and say what they mean.
        has_points = hasattr(type(model), "categories_") or hasattr(type(model), "columns_")
        return (biplot if has_points else individuals)(model, **options)
    at, band = _curve(model)
    what = {"the curve": np.asarray(model.predict(at[:, None]))}
    return curves(at, what, bands=band, **{"title": type(model).__name__, **options})


def _curve(model: Any) -> tuple[Array, dict[str, tuple[Array, Array]]]:
    """Return places across what a model of one variable has seen, and its band there."""
    seen = getattr(model, "X_fit_", None)
    if seen is None and hasattr(model, "curve"):
        seen = model.curve.places.at
    values = np.asarray(seen)
    is_one = values.dtype.kind in "iuf" and values.ndim > 0 and values.size == len(values)
    if not is_one or hasattr(model, "classes_") or getattr(model, "n_features_in_", 0) != 1:
        raise InvalidParameter(
            f"{type(model).__name__} has no default picture: it has no axes, and is not a function "
            "of one variable; mercer.pictures has pictures for its values"
        )
    low, high = float(values.min()), float(values.max())
    at = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), PLACES)
    try:
        if hasattr(model, "posterior"):
            return at, {"95 % band": model.posterior(at[:, None]).band()}
        return at, {"95 % band": model.confidence_band(at[:, None])}
    except (InvalidParameter, NotAvailable):  # a loss or a penalty without a law
        return at, {}
