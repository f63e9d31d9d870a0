"""Columns of a table with their kernels, and principal components of features of a kernel."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import clone

from mercer.check import Array, Points, as_numpy, is_missing, members, refuse_non_finite
from mercer.data.frames import rows
from mercer.data.missing import MISSING_LEVEL
from mercer.display import kept
from mercer.errors import InvalidInput, InvalidParameter, NotAvailable, Row
from mercer.estimator import all_or_nothing, weights_of
from mercer.kernels.base import Kernel
from mercer.kernels.tables import Columns
from mercer.kernels.variables import OBSERVED, POLICIES, Category, Standardised
from mercer.operators import shares
from mercer.pca import PCA
from mercer.points import Rows
from mercer.progress import Progress


class FeaturePCA(PCA):
    r"""The kernel PCA of a kernel with features φ, found from their inner products.

    .. math:: k(x, y) = \langle \varphi(x), \varphi(y) \rangle, \quad
        \sum_i w_i\, (\varphi(x_i) - \mu)(\varphi(x_i) - \mu)^\top = V \Lambda V^\top

    A model says which kernel it takes and how the individuals weigh; all that is read of a PCA is
    read of it.
    """

    kernel_: Kernel
    standardize: bool = False  # the kernel has done so
    column_weight = None
    constant_columns: str = "exclude"
    equivalents: ClassVar[Any] = {}

    def __init__(self, n_components: float | None = None) -> None:
        self.n_components = n_components

    def _points(self, X: Any, *, reset: bool) -> Points:
        """Return the data as the kernel reads them, their columns noted or compared."""
        raise NotImplementedError

    def _stated_kernel(self, points: Any, weights: Array) -> Kernel:
        """Return the kernel of the analysis, its parameters found from the weighted points."""
        raise NotImplementedError

    def _individual_weights(self, points: Any, given: Array) -> Array:
        """Return how much individuals weigh, given how often each is counted."""
        return given

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> Any:
        """Find the axes of the individuals X; ``progress`` is that of `PCA.fit`."""
        with all_or_nothing(self):
            points = self._points(X, reset=True)
            weights = self._individual_weights(points, weights_of(sample_weight, len(points)))
            self.kernel_ = self._stated_kernel(points, shares(weights, len(points)))
            self._given = points
            super().fit(X, sample_weight=weights, progress=progress)
        return self

    def _read(self, X: Any, *, reset: bool) -> Array:
        if reset:
            return self._fitted_features()
        return np.asarray(self.kernel_.features(self._points(X, reset=False)))

    def _fitted_features(self) -> Array:
        """Return the features of the individuals of the fit."""
        return np.asarray(self.kernel_.features(self._given))

    @kept
    def feature_rank(self) -> int:
        """How many axes there can be: of q factors with m levels in all, m - q."""
        features, w = self._fitted_features(), self.weights_
        R = np.linalg.qr(np.sqrt(w)[:, None] * (features - w @ features), "r")
        return int(np.linalg.matrix_rank(R))

    @property
    def X_fit_(self) -> Any:  # noqa: N802  (scikit-learn's name)
        """The individuals of the fit."""
        return self._given

    @kept
    def _loadings(self) -> Array:
        """The axes in the features, one column for each axis."""
        return self.components_.T

    def _refit(self, weights: Array) -> Any:
        model = clone(self)
        model.fit(self._given, sample_weight=self.sample_weights(weights))
        self._name_alike(model)
        return model

    def inverse_transform(self, X: Any) -> Array:
        """Refuse: the features that coordinates stand for are those of no individual."""
        raise InvalidInput(
            f"{type(self).__name__} has no inverse: the features that coordinates stand for are "
            "those of no individual"
        )

    def slopes_at(self, points: Any, count: int) -> tuple[Any, Array]:
        """Refuse: the axes are straight in the features, not in the data."""
        raise NotAvailable(
            f"the axes of {type(self).__name__} are straight in the features of its kernel, not in "
            "the data: KernelPCA(kernel=model.kernel_) has the slopes of kernels with derivatives"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.transformer_tags.preserves_dtype = []
        return tags


MOST_LEVELS = 50
"""Levels of a column of whole numbers: with more, they are measured and no codes of categories."""


def read(
    X: Any,
    *,
    are_categories: bool,
    missing: str,
    only: Collection[str] | None = None,
    labelled: Collection[str] = (),
) -> Rows:
    """Return a table of numbers and texts; columns that are to be ignored are left out.

    ``only`` names the columns to be read, None for all; ``labelled`` those that hold categories,
    whatever they look like.
    """
    if missing not in POLICIES:
        raise InvalidParameter(f"missing must be one of {', '.join(POLICIES)}, found {missing!r}")
    table = rows(X)
    found: dict[str, Any] = {}
    for name, column in table.columns.items():
        role = table.roles.get(name)
        if role == "ignored" or (only is not None and name not in only):
            continue
        if role == "time" and are_categories:
            raise InvalidInput(
                f"column {name!r} holds dates, and multiple correspondence analysis reads "
                "categories: make some of them, such as months, analyse it with FAMD, or give it "
                "to supplementary(variables=...)"
            )
        is_labelled = name in labelled or role in ("category", "ordinal") or isinstance(role, tuple)
        if _is_number(column) and not is_labelled:
            found[name] = (
                _codes(column, name, missing) if are_categories else _numbers(column, name)
            )
        else:
            found[name] = _labels(column, name, missing)
    if not found:
        raise InvalidInput("every column of X is to be ignored; at least one must be analysed")
    return Rows(found)


def _is_number(column: Any) -> bool:
    if hasattr(column, "dtype"):
        return bool(as_numpy(column).dtype.kind in "iuf")
    return all(isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in members(column))


def _numbers(column: Any, name: str) -> Array:
    values = np.asarray(column, dtype=np.float64)
    refuse_non_finite(values, f"column {name!r}")
    return values


def _codes(column: Any, name: str, missing: str) -> list[str]:
    """Return whole numbers as the codes of categories."""
    values = np.asarray(column)
    known = values[np.isfinite(values)]
    if np.any(np.isinf(values)) or not np.all(known == np.floor(known)):
        reason = "holds numbers that are not whole"
    elif len(np.unique(known)) > MOST_LEVELS:
        reason = f"holds {len(np.unique(known))} different numbers"
    else:
        codes = [None if np.isnan(value) else str(int(value)) for value in values]
        return _labels(codes, name, missing)
    raise InvalidInput(
        f"column {name!r} {reason}, and multiple correspondence analysis reads categories: analyse "
        "it with FAMD, or give it to supplementary(variables=...)"
    )


def _labels(column: Any, name: str, missing: str) -> list[str]:
    found = []
    for i, label in enumerate(members(column)):
        if is_missing(label):
            if missing == "error":
                raise InvalidInput(
                    f"column {name!r} has no label in {Row(i)}; missing='level' makes a level of "
                    "what is missing",
                    Row(i),
                )
            found.append(MISSING_LEVEL)
        else:
            found.append(text_of(label))
    return found


def text_of(label: Any) -> str:
    """Return a label as text, a whole number without a point, whatever held it.

    >>> text_of(1), text_of(1.0), text_of("1"), text_of(1.5)
    ('1', '1', '1', '1.5')
    """
    is_whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return str(int(label)) if is_whole else str(label)


def is_categorical(column: Any) -> bool:
    """Whether a column of a table that was `read` holds labels."""
    return isinstance(column, list)


def category_of(labels: list[str], weights: Array) -> Category:
    """Return the kernel 1/p of equal categories, p being the weights of their members.

    >>> category_of(["a", "b"], np.array([0.25, 0.75]))
    Category(levels=["a", "b"], shares=[0.25, 0.75], missing="error", unknown="error")
    """
    levels = sorted({label for label, w in zip(labels, weights.tolist(), strict=True) if w > 0})
    return cast(Category, Category(levels, OBSERVED).resolve(labels, weights))


def number_of(values: Array, weights: Array, name: str, *, is_standardised: bool) -> Standardised:
    """Return the inner product of a column, in units of its weighted standard deviation or not.

    >>> number_of(np.array([1.0, 3.0]), np.array([0.5, 0.5]), "x", is_standardised=True)
    Standardised(centre=[2.0], scale=[1.0])
    """
    active = weights > 0
    try:
        found = cast(Standardised, Standardised().resolve(values[active], weights[active]))
    except InvalidInput:
        message = f"column {name!r} is constant and tells nothing; leave it out"
        raise InvalidInput(message) from None
    return found if is_standardised else replace(found, scale=(1.0,))


def kernels_of(
    table: Rows, weights: Array, *, is_standardised: bool = True
) -> Mapping[str, tuple[Kernel, float]]:
    """Return the kernel and the weight of each column: categories by 1/p, shared by their number.

    Q columns of categories weigh 1/Q each where there are no numbers beside them, as in multiple
    correspondence analysis, and 1 each otherwise.
    """
    labelled = [name for name, column in table.columns.items() if is_categorical(column)]
    share = 1.0 / len(labelled) if len(labelled) == len(table.columns) else 1.0
    found: dict[str, tuple[Kernel, float]] = {}
    for name, column in table.columns.items():
        if isinstance(column, list):
            found[name] = category_of(column, weights), share
        else:
            values = np.asarray(column)
            number = number_of(values, weights, name, is_standardised=is_standardised)
            found[name] = number, 1.0
    return found


def places_of(kernel: Columns) -> dict[str, slice]:
    """Return the features of each column, by its name: one of a number, one of each level."""
    found: dict[str, slice] = {}
    start = 0
    for name, child in kernel.children().items():
        stop = start + (len(_levels(child)) or 1)
        found[name] = slice(start, stop)
        start = stop
    return found


def _levels(kernel: Kernel) -> Sequence[Hashable]:
    """Return the levels of the kernel of a factor, none of one of numbers."""
    return getattr(kernel, "levels", None) or ()


def unknown_levels(kernel: Columns, table: Rows) -> dict[str, Array]:
    """Return the rows whose level is none of the kernel's, by column."""
    found: dict[str, Array] = {}
    for name, child in kernel.children().items():
        known = set(_levels(child))
        if known:
            strange = np.array([label not in known for label in members(table.columns[name])])
            if strange.any():
                found[name] = strange
    return found


def features_of(kernel: Columns, table: Rows) -> Array:
    """Return the features of rows of the fit, of which some have no weight.

    A level that only these have is none of the analysis, and says nothing of them: in its column
    they lie at the barycentre, whose features are the roots of the shares.

    >>> k = Columns({"a": Category(["x", "y"], [0.25, 0.75])}, weights=[1.0])
    >>> features_of(k, Rows({"a": ["x", "z"]}))
    array([[2.       , 0.       ],
           [0.5      , 0.8660254]])
    """
    strange, columns = unknown_levels(kernel, table), dict(table.columns)
    children, places = kernel.children(), places_of(kernel)
    for name, of in strange.items():
        some = children[name].levels[0]  # type: ignore[attr-defined]
        labels = members(columns[name])
        columns[name] = [some if r else v for r, v in zip(of, labels, strict=True)]
    features = np.array(kernel.features(Rows(columns)))
    for name, of in strange.items():
        weight = dict(zip(children, kernel.numbers, strict=True))[name]
        shares = np.array(children[name].shares)  # type: ignore[attr-defined]
        features[of, places[name]] = np.sqrt(weight * shares)
    return features
