"""What every model shares: its kernel in any form, its parameters, and how it reads data."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from functools import wraps
from importlib import import_module
from inspect import isfunction
from numbers import Number, Real
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_n_features,
    _get_feature_names,
    check_is_fitted,
    validate_data,
)

from mercer.check import (
    Array,
    Checked,
    Points,
    as_numpy,
    chunks,
    is_annotated,
    is_foreign,
    is_lazy,
    number_array,
    plain_array,
    refuse_non_finite,
    refuse_sparse,
)
from mercer.check import in_dtype_of as in_dtype_of
from mercer.check import weights_of as weights_of
from mercer.data.frames import READING, of_layer, row_names
from mercer.data.frames import rows as as_rows
from mercer.display import Hinting, costly_names, warn
from mercer.engines.cpu import engine_of, engine_word, using
from mercer.engines.device import faults_named
from mercer.engines.engine import Engine
from mercer.engines.held import Held, hold, to_host
from mercer.errors import InvalidInput, InvalidParameter, NotANumber
from mercer.kernels.base import Kernel, parameters, with_parameters
from mercer.kernels.given import FromFunction
from mercer.kernels.text import kernel as parsed
from mercer.points import (
    NamedRows,
    Rows,
    SparseRows,
    as_points,
    lies_on_disk,
    matrix_of,
    over_parts,
    refuse_sparse_non_finite,
)
from mercer.progress import Progress, follow_work
from mercer.settings import advised, invalid_parameter, spelled, whole
from mercer.settings import is_yes as is_yes
from mercer.store import save
from mercer.tensors import device_among, held_points, say_copied, through_host

F = TypeVar("F", bound=Callable[..., Any])

PRECOMPUTED = "precomputed"

CHUNK = 2**20
"""Numbers of a table that are in memory at a time where it is read piece by piece."""

OF_DEVICES = ("torch", "cupy", "jax")
"""Libraries whose arrays can lie on a device: none is lost before one of them is loaded."""


OF_KERNELS = {
    "gamma": "a parameter of the kernel: kernel='rbf(gamma=…)', or kernel=Gaussian(bandwidth) with "
    "gamma = 1/(2·bandwidth²)",
    "degree": "a parameter of the kernel: kernel=Polynomial(degree, offset, scale)",
    "coef0": "a parameter of the kernel, offset: kernel=Polynomial(degree, offset, scale)",
    "n_jobs": "threads, by default one for each core",
}
"""scikit-learn's parameters that are those of a kernel here."""


CALLED = {
    "alphas_": "eigenvectors_",
    "ind": "individuals_",
    "lambdas_": "eigenvalues_",
    "loadings_": "variables_.correlations",
    "points_": "embedding_",
    "row_coordinates": "individuals_.coordinates",
    "scores_": "individuals_.coordinates",
    "var": "variables_",
}
"""What other libraries call the attributes of a fitted model."""


def as_kernel(kernel: Kernel | str | Callable[[Any, Any], Any]) -> Kernel:
    """Return a kernel from itself, its written form, or a Python function of two points.

    >>> as_kernel("gaussian(bandwidth=2.0)")
    Gaussian(bandwidth=2.0)
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return parsed(kernel)
    if callable(kernel):
        return FromFunction(kernel)
    raise InvalidParameter(
        "kernel must be a kernel, its written form, a function of two points or 'precomputed', "
        f"found {kernel!r}"
    )


def pieces(shape: tuple[int, int]) -> Iterator[slice]:
    """Yield consecutive rows of a table, as many at a time as a piece of memory holds."""
    return chunks(shape[0], max(1, CHUNK // max(shape[1], 1)))


def numbers_of(
    X: Any, name: str = "X", *, is_complex: bool = False, is_matrix: bool = False
) -> Array:
    """Return a table as rows of numbers, or say which entry is none.

    A one-dimensional array is n points of the line, except where a matrix between points is
    expected. Entries may still be of any numeric type, and infinite: see `refuse_non_finite`.

    >>> numbers_of([3.0, 1.0, 2.0]).shape
    (3, 1)

    >>> numbers_of([[1.0, 2.0], [3.0, "four"]])
    Traceback (most recent call last):
    ...
    mercer.errors.NotANumber: X, row 1, column 1: 'four' is not a number. The argument must be a table without strings or other objects, every entry a number; encode this column, or give it to supplementary(categories=...)
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    a = plain_array(X, name)
    is_line = a.ndim == 1 and not is_matrix
    if is_line:
        a = a.reshape(-1, 1)
    if a.ndim < 2:
        what = "a matrix with a row for each individual" if is_matrix else "a table of individuals"
        raise InvalidInput(f"{name} must be {what}, {_what_else(X, name)}")
    if a.ndim > 2:
        raise InvalidInput(f"{name} must be a table of two dimensions, found shape {a.shape}")
    for count, what in zip(a.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise InvalidInput(
                f"{name} has 0 {what}(s) (shape={a.shape}) while a minimum of 1 is required."
            )
    if a.dtype.kind == "O":
        _refuse_objects(a, name, column_names(X), is_line=is_line)
    a = number_array(a, name)
    if a.dtype.kind == "c" and not is_complex:
        raise InvalidInput(
            f"{name} is complex. Complex data not supported: give real and imaginary parts as "
            "columns, or the Gram matrix with kernel='precomputed'"
        )
    return a


def _what_else(X: Any, name: str) -> str:
    """Return what stands in the place of a table, and how it becomes one."""
    if isinstance(X, str | os.PathLike):
        return f"found {str(X)!r:.80}; if that is a file, mercer.read({name}) reads it"
    if isinstance(X, Mapping):
        return f"found {type(X).__name__}; mercer.Table.of({name}) makes a table of columns by name"
    if isinstance(X, Iterator):
        return f"found {type(X).__name__}, which is read once; pass list({name})"
    if X is None:
        return "found None"
    return (
        f"found shape {np.shape(X)}. Reshape your data: {name}.reshape(1, -1) if it is one "
        "individual"
    )


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, of a table or of a file, else None.

    >>> column_names([[1.0, 2.0]]) is None
    True
    """
    if is_annotated(X):
        return tuple(str(name) for name in X.var_names)
    names = getattr(X, "active", None) or getattr(X, "columns", None)
    if names is None and _is_file(X):
        names = getattr(X, "names", None)
    return None if names is None or callable(names) else tuple(str(name) for name in names)


def _refuse_objects(
    a: Array, name: str, columns: tuple[str, ...] | None, *, is_line: bool = False
) -> None:
    for (i, j), entry in np.ndenumerate(a):
        if entry is None or isinstance(entry, Number | np.bool_):
            continue
        if is_line and isinstance(entry, str):
            raise NotANumber(
                f"{name}, row {i}: {entry!r:.60} is a string, where numbers are read. "
                "A kernel PCA of strings is KernelPCA(kernel='string_spectrum(length=3)'); other "
                "kernels of strings are in mercer.kernels"
            )
        column = f"{j}" if columns is None else f"{j} ({columns[j]!r})"
        raise NotANumber(
            f"{name}, row {i}, column {column}: {entry!r} is not a number. The argument must be a "
            "table without strings or other objects, every entry a number; encode this column, "
            "or give it to supplementary(categories=...)"
        )


def axes_asked(n_components: Any) -> int | float | None:
    """Return how many axes are asked for: a number, a share of the inertia below 1, None for all.

    >>> axes_asked(3), axes_asked(0.95), axes_asked(None)
    (3, 0.95, None)
    """
    if n_components is None:
        return None
    is_number = isinstance(n_components, Real) and not isinstance(n_components, bool)
    if is_number and 0.0 < float(n_components) < 1.0:
        return float(n_components)
    try:
        return whole(n_components, "n_components", least=1)
    except InvalidParameter:
        raise invalid_parameter(
            "n_components",
            "must be a whole number >= 1, a share of the inertia between 0 and 1, or None for all "
            f"axes; found {n_components!r}",
        ) from None


def axes_reaching(values: Array, total: float, share: float) -> int:
    r"""Return the fewest axes that hold a share of the total, as many as there are if none do.

    .. math:: \min \{k : \lambda_1 + \dots + \lambda_k \ge f\, (\lambda_1 + \lambda_2 + \dots)\}

    >>> axes_reaching(np.array([6.0, 3.0, 1.0]), 10.0, 0.9), axes_reaching(np.ones(2), 9.0, 0.9)
    (2, 2)
    """
    sums = np.cumsum(values)
    # A sum that is the share but for rounding has reached it.
    enough = sums >= share * total * (1.0 - len(values) * float(np.finfo(float).eps))
    return int(np.argmax(enough)) + 1 if np.any(enough) else len(values)


def rows_on_disk(X: Any, name: str = "X", *, is_checked: bool = False) -> Any:
    """Return a table that lies on disk as it is, once its form is known to be that of a table.

    Its numbers are read part by part and an infinite one refused by its place, unless they were
    or will be checked elsewhere.
    """
    numbers_of(np.asarray(X[:1]), name)
    if isinstance(X, np.ndarray) and X.ndim == 1:
        X = X.reshape(-1, 1)

    names = column_names(X)

    def refuse(part: Any, rows: slice) -> None:
        refuse_non_finite(np.asarray(part), name, first=rows.start, columns=names)

    for _ in () if is_checked else over_parts(X, refuse):
        pass
    return X


def _is_file(X: Any) -> bool:
    """Whether points on disk are no array of numpy's, which could be used as one."""
    return lies_on_disk(X) and not isinstance(X, np.ndarray)


def register(model: BaseEstimator, X: Any, table: Any, *, reset: bool) -> None:
    """Note the names and the number of columns, or compare them with those seen at `fit`."""
    counts = Counter(column_names(X) or ())
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise InvalidInput(f"two columns of X are named {twice!r}; rename one")
    is_named = is_annotated(X) or isinstance(X, NamedRows)
    is_frame = hasattr(X, "columns") and not callable(X.columns) and not is_named
    unlike = "" if reset or is_named else _unlike_names(model, X if is_frame else None)
    try:
        if (is_named and not reset) or unlike:
            _check_n_features(model, table, reset=False)
        else:
            validate_data(model, X if is_frame else table, reset=reset, skip_check_array=True)
    except (TypeError, ValueError) as error:
        is_line = len(getattr(X, "shape", None) or np.shape(X)) == 1
        hint = " Reshape your data: X.reshape(1, -1) if it is one individual." if is_line else ""
        # In scikit-learn's words, which users know.
        raise InvalidInput(f"{error}{hint}") from None
    if unlike:
        warn(unlike, UserWarning)
    if is_named:
        _register_names(model, column_names(X), reset)


def _unlike_names(model: Any, frame: Any) -> str:
    """Return what scikit-learn warns of where columns have names in one of fit and question."""
    name = type(model).__name__
    has_names, had_names = (
        _get_feature_names(frame) is not None,
        hasattr(model, "feature_names_in_"),
    )
    if had_names and not has_names:
        return f"X does not have valid feature names, but {name} was fitted with feature names"
    if has_names and not had_names:
        return f"X has feature names, but {name} was fitted without feature names"
    return ""


def _register_names(model: Any, names: tuple[str, ...] | None, reset: bool) -> None:
    """Note the names of columns that come with a matrix, or compare them with those of `fit`."""
    if names is None:
        return
    if reset:
        model.feature_names_in_ = np.array(names, dtype=object)
        return
    known = getattr(model, "feature_names_in_", None)
    if known is not None and tuple(known) != names and len(known) == len(names):
        j = next(j for j, (a, b) in enumerate(zip(known, names, strict=True)) if a != b)
        raise InvalidInput(
            f"column {j} of X is {names[j]!r}, and was {known[j]!r} at fit: bring the columns into "
            "the same order"
        )


@contextmanager
def all_or_nothing(model: BaseEstimator) -> Iterator[None]:
    """Leave a model as it was when its fit fails or is interrupted.

    >>> from contextlib import suppress
    >>> model = BaseEstimator()
    >>> with suppress(KeyboardInterrupt), all_or_nothing(model):
    ...     model.n_features_in_ = 3
    ...     raise KeyboardInterrupt
    >>> vars(model)
    {}
    """
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def require_fit(model: Any) -> None:
    """Refuse a question that only a fitted model can answer."""
    check_is_fitted(model)


def sparse_rows(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix by rows in double precision, refused if an entry is not finite."""
    if X.shape[0] == 0 or X.shape[1] == 0:
        numbers_of(np.empty(X.shape), name)  # which says so
    if np.dtype(X.dtype).kind == "c":
        numbers_of(np.empty((1, 1), X.dtype), name)
    rows = sparse.csr_array(X, dtype=np.float64)
    refuse_sparse_non_finite(rows, name)
    return rows


def one_of(value: Any, name: str, allowed: Collection[str | None]) -> None:
    """Refuse a parameter that is none of a few words.

    >>> one_of("fast", "method", ("auto", "dense"))
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: method must be one of 'auto', 'dense', found 'fast'
    """
    if not isinstance(value, str | None) or value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise InvalidParameter(f"{name} must be one of {listed}, found {value!r}")


class Model(Hinting, BaseEstimator):
    """A scikit-learn estimator that can be stored, is shown at no cost, and knows other names."""

    equivalents: ClassVar[Mapping[str, str]] = {}
    """The parameters of scikit-learn in terms of those of the model."""

    _called: ClassVar[Mapping[str, str]] = CALLED

    is_of_the_host: ClassVar[bool] = True
    """Whether arrays of other libraries than numpy are copied to the host before it reads them."""

    _costly: ClassVar[frozenset[str]] = frozenset()
    """Properties that are computed when they are asked for."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._costly = costly_names(cls)
        if "__init__" in vars(cls):
            cls.__init__ = advised(cls.__init__)  # type: ignore[method-assign]
        for name in set(READING) & set(vars(cls)):
            if isfunction(method := vars(cls)[name]):  # what is not always there says so itself
                setattr(cls, name, of_layer(spelled(method)))
        for name in {*READING, "inverse_transform"} & set(vars(cls)) if cls.is_of_the_host else ():
            if isfunction(method := vars(cls)[name]):
                setattr(cls, name, through_host(method))

    def _forget(self) -> None:
        """Drop what was computed when it was asked for: a model fitted again has other values."""
        for name in self._costly:
            self.__dict__.pop(name, None)

    def _anew(self) -> Self:
        """Return a copy that has computed nothing yet of what is computed when it is asked for."""
        model = copy(self)
        model._forget()
        return model

    def __dir__(self) -> list[str]:
        """Return what can be asked for; scikit-learn would compute it all to know."""
        costly = self._costly
        return [name for name in object.__dir__(self) if name in costly or hasattr(self, name)]

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return scikit-learn's table of attributes, without those that are not computed yet."""
        unknown = self._costly - set(vars(self))
        known = {name: getattr(self, name) for name in set(dir(self)) - unknown}
        table = BaseEstimator._get_fitted_attr_html(SimpleNamespace(**known), doc_link)
        table.estimator_class = type(self)
        return table

    def plot(self, **options: Any) -> Any:
        """Draw the first picture one wants: individuals on a plane, or the curve of one variable.

        Options are those of the picture (`mercer.pictures.individuals`, `mercer.pictures.curves`).
        """
        # Pictures stand above models: they are found by their public name, when they are asked for.
        return import_module("mercer").pictures.first_picture(self, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, which `mercer.load` reads."""
        save(self, path)


class Computing(Model):
    """A model that computes Gram matrices, by an engine.

    ``engine`` is where tiles are computed, "auto" for this machine: then ``threads`` is how many
    threads do it, by default one for each core, and ``memory`` a budget such as ``"4GB"``, within
    which tiles are kept and beyond which no matrix is stored; None takes as little as possible.
    """

    engine: Engine | str = "auto"
    threads: int | None = None
    memory: int | str | None = None

    def _engine(self, progress: Progress | None = None) -> Engine:
        return engine_of(self.engine, threads=self.threads, memory=self.memory, progress=progress)

    def __getstate__(self) -> Any:
        """Return what a copy is made of: a cluster is of this process, and has a word elsewhere."""
        state = super().__getstate__()
        is_cluster = engine_word(self.engine) == "dask"
        return {**state, "engine": "dask"} if is_cluster else state

    def __sklearn_clone__(self) -> Any:
        """Return a model with the same parameters, on the same engine: a cluster has no copy."""
        bare = copy(self)
        bare.engine = "auto"
        made = BaseEstimator.__sklearn_clone__(bare)
        made.engine = self.engine
        return made

    def _named_faults(self, given: Iterable[Any]) -> AbstractContextManager[None]:
        """Name the faults of a device where there can be one."""
        if self.engine == "auto" and sys.modules.keys().isdisjoint(OF_DEVICES):
            return nullcontext()
        return faults_named(device_among(given))

    @contextmanager
    def _at_work(
        self,
        progress: bool | Progress | None = None,
        what: str = "tiles",
        given: Iterable[Any] = (),
    ) -> Iterator[Progress | None]:
        """Compute on the model's engine, and follow the tiles, or what else is counted.

        The device that is lost meanwhile is named by what was given.
        """
        with self._named_faults(given), follow_work(progress, what) as tell:
            engine = self._engine(tell if what == "tiles" else None)
            with using(engine):
                yield tell


def on_engine(method: F) -> F:
    """Return a method of a model that computes on the model's engine, its tiles followed.

    A method that has ``progress`` among its keywords need not read it.
    """

    @wraps(method)
    def run(self: Any, *args: Any, **named: Any) -> Any:
        with self._at_work(named.get("progress"), given=(*args, *named.values())):
            return method(self, *args, **named)

    return run  # type: ignore[return-value]


def stay_there(X: Any, hold: Callable[[Any], Any]) -> Any:
    """Return a collection that is still to be computed as ``hold`` has it, other data as they are.

    >>> stay_there([1.0], print)
    [1.0]
    """
    matrix = X.X if is_annotated(X) else X
    if not is_lazy(matrix):
        return X
    held = hold(matrix)
    is_named = is_annotated(X) and isinstance(held, NamedRows)
    return NamedRows(held.matrix, row_names(X), column_names(X)) if is_named else held


class KernelModel(Computing):
    """A scikit-learn estimator with a kernel, whose parameters are named ``kernel__…``."""

    kernel: Kernel | str | Callable[[Any, Any], Any]
    equivalents: ClassVar[Mapping[str, str]] = OF_KERNELS
    is_of_the_host: ClassVar[bool] = False
    stays_on_device: ClassVar[bool] = False
    """Whether arrays of other libraries than numpy are computed with where they lie."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.kernel, Kernel):
            params.update({f"kernel__{n}": v for n, v in parameters(self.kernel).items()})
        return params

    def set_params(self, **params: Any) -> KernelModel:
        inner = {n[8:]: params.pop(n) for n in list(params) if n.startswith("kernel__")}
        super().set_params(**params)
        if inner:
            self.kernel = with_parameters(as_kernel(self.kernel), inner)
        return self

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == PRECOMPUTED

    def _read(self, X: Any, *, reset: bool, stays: bool | None = None) -> Points:
        """Return the data a kernel can read: rows of numbers, or the objects as they are.

        Whether arrays of other libraries ``stay`` where they lie, the model says unless told.
        """
        if reset:
            self._forget()
        stays = self.stays_on_device if stays is None else stays
        kernel = None if self._is_precomputed else as_kernel(self.kernel)
        given = self._held(X)
        X = matrix_of(given)
        if kernel is not None and not kernel.reads_vectors:
            say_copied(X, "X", type(self).__name__)
            X = as_numpy(X) if is_foreign(X) else X
            points = self._rows(X, reset=reset) if kernel.reads_rows else as_points(X, "X")
            if len(points) == 0:
                raise InvalidInput("X holds no points")
            return points
        if (sparse.issparse(X) or isinstance(X, SparseRows)) and kernel is not None:
            if not kernel.reads_sparse:
                refuse_sparse(X, "X")
            rows = sparse_rows(X.matrix if isinstance(X, SparseRows) else X)
            register(self, given, rows, reset=reset)
            return SparseRows(rows, getattr(X, "dtype", None))
        if lies_on_disk(X) and not self._is_precomputed:
            table = rows_on_disk(X)
            register(self, given, table, reset=reset)
            return cast(Points, table)
        if stays and kernel is not None and (isinstance(X, Held) or is_foreign(X)):
            held = X if isinstance(X, Held) else held_points(X, kernel)
            if held is not None:
                register(self, None, held, reset=reset)
                return held
        elif is_foreign(X):
            say_copied(X, "X", type(self).__name__)
        table = numbers_of(X, is_complex=self._is_precomputed, is_matrix=self._is_precomputed)
        if table.dtype not in (np.float32, np.float64, np.complex128):
            with np.errstate(over="ignore"):  # what has no double becomes infinite, and is refused
                table = table.astype(np.complex128 if table.dtype.kind == "c" else np.float64)
        names = column_names(given)
        points = Checked.of(table, "X", row_names=row_names(given), column_names=names)
        register(self, given, table, reset=reset)
        return points

    def _held(self, X: Any) -> Any:
        """Return a collection of Dask as named rows that stay on the cluster of the engine."""

        def hold(data: Any) -> Any:
            engine: Any = self._engine()
            return engine.hold(data) if hasattr(engine, "hold") else data

        return stay_there(X, hold)

    def on_host(self) -> Self:
        """Return the model with all that it knows as numpy's arrays: this one, unless on a device.

        Pictures, pages and files are made of that copy.
        """
        elsewhere = {
            name: value if isinstance(value, Held) else hold(value)
            for name, value in vars(self).items()
            if isinstance(value, Held) or is_foreign(value)
        }
        if not elsewhere:
            return self
        model = self._anew()
        for name, value in elsewhere.items():
            setattr(model, name, to_host(value))
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, as the host has it; `mercer.load` reads it."""
        super(KernelModel, self.on_host()).save(path)

    def _rows(self, X: Any, *, reset: bool) -> Rows:
        """Return a table by its columns, whose order may change from one table to the next."""
        table = as_rows(X)
        if reset:
            self.feature_names_in_ = np.array(list(table.columns), dtype=object)
            self.n_features_in_ = len(table.columns)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        is_vectors = self._is_precomputed or _reads_vectors(self.kernel)
        tags.input_tags.two_d_array = is_vectors
        tags.input_tags.sparse = not self._is_precomputed and _reads_sparse(self.kernel)
        return tags


def _reads_sparse(kernel: Any) -> bool:
    try:
        return as_kernel(kernel).reads_sparse
    except InvalidParameter:
        return False


def _reads_vectors(kernel: Any) -> bool:
    try:
        return as_kernel(kernel).reads_vectors
    except InvalidParameter:
        return True  # `fit` will say what is wrong
