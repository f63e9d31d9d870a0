"""The exceptions and warnings of mercer, each with its advice as data."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Advice(NamedTuple):
    """A parameter that a message names, with a value that would work, if there is one.

    Python prints it as a keyword, the command line as a flag; ``text`` replaces the keyword where
    it would not be clear.

    >>> str(Advice("missing", "drop")), str(Advice("memory")), str(Advice("degree", text="degree"))
    ("missing='drop'", 'memory=', 'degree')
    """

    parameter: str
    value: Any = ...
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.parameter}={'' if self.value is ... else repr(self.value)}"


class Row(NamedTuple):
    """A row or a column that a message names by its index, counted from 0.

    The command line counts from 1, as spreadsheets do, and adds the names of rows.

    >>> str(Row(3)), str(Row(0, "column"))
    ('row 3', 'column 0')
    """

    at: int
    what: str = "row"

    def __str__(self) -> str:
        return f"{self.what} {self.at}"


class Advised(Exception):  # noqa: N818  (of errors and of warnings)
    """A message, followed by the advice in it as data.

    >>> error = InvalidInput("give more axes: n_components=3", Advice("n_components", 3))
    >>> str(error), error.advice[0].value
    ('give more axes: n_components=3', 3)
    """

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The advice of the message, or the parameter that it names."""
        return tuple(part for part in self.args[1:] if isinstance(part, Advice))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows and columns that the message names by their index."""
        return tuple(part for part in self.args[1:] if isinstance(part, Row))


class MercerError(Advised):
    """The base class of all exceptions that mercer raises on purpose.

    >>> import mercer as mc
    >>> try:
    ...     mc.Gaussian(-1.0)
    ... except MercerError as error:
    ...     print(type(error).__name__, "-", error)
    InvalidParameter - bandwidth must be a number > 0, found -1.0
    """


class InvalidInput(MercerError, ValueError):
    """Data that cannot be used; the message names the place and the remedy.

    >>> import mercer as mc
    >>> mc.PCA().fit([[1.0, float("nan")], [3.0, 4.0]])
    Traceback (most recent call last):
        ...
    mercer.errors.InvalidInput: X, row 0, column 1 holds NaN. Remove or impute what is missing or
    infinite (NaN, inf) first; rows and columns are counted from 0
    """


class InvalidParameter(MercerError, ValueError):
    """A parameter outside the domain for which the theory holds.

    >>> import mercer as mc
    >>> mc.Gaussian(-1.0)
    Traceback (most recent call last):
        ...
    mercer.errors.InvalidParameter: bandwidth must be a number > 0, found -1.0
    """


class UnknownParameter(InvalidParameter, TypeError):
    """An unknown keyword; the message names the nearest parameter, or the equivalent one.

    >>> import mercer as mc
    >>> try:
    ...     mc.KernelCCA(1, kernel="linear")
    ... except UnknownParameter as error:
    ...     print(str(error)[-21:])
    did you mean kernels?
    """


class NotAvailable(InvalidInput, AttributeError):
    """An attribute that does not exist for this model and these data; the message says why.

    >>> import mercer as mc
    >>> mc.PCA().fit([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]]).drift_
    Traceback (most recent call last):
        ...
    mercer.errors.NotAvailable: drift_ exists only for rows that arrive in batches: use
    partial_fit
    """


class NotPositiveDefinite(MercerError, ValueError):
    """An operation or a matrix that leaves the cone of positive definite kernels.

    >>> import mercer as mc
    >>> try:
    ...     -1.0 * mc.Linear()
    ... except NotPositiveDefinite as error:
    ...     print(str(error)[:28])
    weight = -1.0 is negative: s
    """


class NotDifferentiable(MercerError, TypeError):
    """A derivative of a kernel that has none, or whose derivative is unknown.

    >>> import mercer as mc
    >>> try:
    ...     mc.kernels.Category().slopes(["a"], ["b"])
    ... except NotDifferentiable as error:
    ...     print(str(error)[:22])
    Category has no slopes
    """


class NoFeatureMap(MercerError, TypeError):
    """Explicit features of a kernel without a finite feature map.

    >>> import mercer as mc
    >>> mc.Gaussian(1.0).features([[1.0]])
    Traceback (most recent call last):
        ...
    mercer.errors.NoFeatureMap: Gaussian has no finite feature map; use a low-rank approximation
    instead
    """


class WrittenFormError(InvalidInput):
    """A text that does not parse as a kernel; the message points at the position.

    >>> import mercer as mc
    >>> try:
    ...     mc.kernel("gaussian(1.0")
    ... except WrittenFormError as error:
    ...     print(error)
    expected ',' or ')', found the end of the text, at character 13
        gaussian(1.0
                    ^
    """


class UnreadableFile(InvalidInput):
    r"""A file that cannot be read; the message names the file and the place.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer as mc
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "heads.csv")
    ...     _ = file.write_text("a,b\n")
    ...     try:
    ...         mc.read(file)
    ...     except UnreadableFile as error:
    ...         print(str(error)[-34:])
    heads.csv has a header but no rows
    """


class UnevenRows(UnreadableFile):
    r"""A table with a row of more or fewer cells than there are columns.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer as mc
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.csv")
    ...     _ = file.write_text("a,b\n1,2\n3\n")
    ...     try:
    ...         mc.read(file)
    ...     except UnevenRows as error:
    ...         print(str(error).partition("two.csv, ")[2][:48])
    line 3 has 1 cell, fewer than the 2 columns. Com
    """


class TooLarge(UnreadableFile):
    r"""A file that would take more memory than allowed, refused before the memory is taken.

    >>> import gzip
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer as mc
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ones.csv.gz")
    ...     _ = file.write_bytes(gzip.compress(b"1,1\n" * 1_000_000))
    ...     try:
    ...         mc.read(file)
    ...     except TooLarge as error:
    ...         print(str(error)[-44:])
    if it is honest, raise the limit with ratio=
    """


class CorruptFile(UnreadableFile):
    """A stored model that is damaged, cut short, or not one at all.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mercer as mc
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.mercer")
    ...     _ = file.write_text("no model")
    ...     try:
    ...         mc.load(file)
    ...     except CorruptFile as error:
    ...         print(str(error)[-43:])
    one.mercer is not a file that mercer saved
    """


class NotStorable(MercerError, TypeError):
    """A model that cannot be written as plain data, such as one with a Python function.

    >>> import mercer as mc
    >>> model = mc.KernelPCA(1, kernel=lambda a, b: a[0] * b[0]).fit([[0.0], [1.0], [3.0]])
    >>> try:
    ...     model.save("never.mercer")
    ... except NotStorable:
    ...     print("name a kernel instead")
    name a kernel instead
    """


class NotSaved(MercerError, OSError):
    """A file that could not be written; an earlier version of it is unchanged.

    >>> import mercer as mc
    >>> model = mc.PCA().fit([[0.0], [1.0]])
    >>> try:
    ...     model.save("no/such/folder.mercer")
    ... except NotSaved as error:
    ...     print(str(error)[:70])
    no/such/folder.mercer could not be written, and is as it was before: [
    """


class MissingExtra(MercerError, ImportError):
    """An optional library that is not installed; the message names the extra to install.

    >>> from mercer.errors import extra
    >>> extra("no_such_library", "plot", "drawing")
    Traceback (most recent call last):
        ...
    mercer.errors.MissingExtra: drawing needs no_such_library, which is not installed; pip install
    "mercer[plot]" brings it
    """


def extra(module: str, name: str, purpose: str) -> Any:
    """Return an optional module, or say which extra brings it.

    >>> extra("no_such_module", "io", "reading moonbeams")
    Traceback (most recent call last):
    ...
    mercer.errors.MissingExtra: reading moonbeams needs no_such_module, which is not installed; pip install "mercer[io]" brings it
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtra(
            f"{purpose} needs {library}, which is not installed; "
            f'pip install "mercer[{name}]" brings it'
        ) from error


class NotANumber(InvalidInput, TypeError):
    """An entry of a table of numbers that is text or another object.

    >>> import mercer as mc
    >>> try:
    ...     mc.PCA().fit([[1.0, "f"], [2.0, "m"]])
    ... except NotANumber as error:
    ...     print(str(error)[:39])
    X, row 0, column 1: 'f' is not a number
    """


class NoDistances(NotPositiveDefinite, NotAvailable):
    """A negative squared distance: the kernel is not positive definite.

    >>> import numpy as np
    >>> from mercer.reading import Individuals
    >>> one = Individuals(np.ones((1, 1)), np.array([-1.0]), np.ones(1), np.ones(1))
    >>> try:
    ...     one.distances
    ... except NoDistances as error:
    ...     print(str(error)[:61])
    the squared distance of individual 0 to the barycentre is -1:
    """


class NotEnoughMemory(MercerError, MemoryError):
    """A computation that needs more memory than allowed; the message names a smaller one.

    >>> import mercer as mc
    >>> try:
    ...     mc.KernelPCA(2, memory="1kB").fit([[float(i)] for i in range(100)])
    ... except NotEnoughMemory as error:
    ...     print(str(error)[:49])
    method='dense' for 2 axes of 100 points takes 410
    """


class ClusterFailed(MercerError, RuntimeError):
    """A Dask cluster that lost its workers, or a task that failed on every worker.

    With ``checkpoint=`` the next fit resumes where this one stopped.

    >>> issubclass(ClusterFailed, RuntimeError), issubclass(ClusterFailed, MercerError)
    (True, True)
    """


class DeviceLost(MercerError, RuntimeError):
    """A GPU that failed during a computation; the message names the device.

    With ``checkpoint=`` the next fit resumes where this one stopped.

    >>> issubclass(DeviceLost, RuntimeError), issubclass(DeviceLost, MercerError)
    (True, True)
    """


class NegativeVariance(MercerError, ArithmeticError):
    """A variance below zero by more than rounding, because of the kernel or the noise variance.

    >>> import mercer as mc
    >>> def no_kernel(a, b):
    ...     return (0.1 if a[0] == b[0] == 0.5 else 1.0) / (1.0 + (a[0] - b[0]) ** 2)
    >>> model = mc.GaussianProcess(no_kernel, noise_variance=0.01, optimise=False)
    >>> try:
    ...     model.fit([[0.0], [1.0], [2.0]], [1.0, 0.0, 1.0]).posterior([[0.5]])
    ... except NegativeVariance as error:
    ...     print("below zero by more than rounding" in str(error))
    True
    """


class NoNoise(InvalidParameter):
    """The noise of a new observation, if the model knows only the noise of its own data.

    >>> import mercer as mc
    >>> model = mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=[0.1, 0.2], optimise=False)
    >>> given = model.fit([[0.0], [1.0]], [0.0, 1.0]).posterior([[0.5]])
    >>> try:
    ...     given.band(observation=True)
    ... except NoNoise:
    ...     print(given.band()[0].shape)
    (1,)
    """

    def __init__(self) -> None:
        super().__init__(
            "noise_variance has a value for each fitted observation, but none for new ones: use "
            "observation=False, and add the variance of the noise yourself"
        )


class NotConverged(MercerError, RuntimeError):
    """An iteration or a decomposition whose residual exceeds the tolerance.

    >>> issubclass(NotConverged, RuntimeError), issubclass(NotConverged, MercerError)
    (True, True)
    """


class SingularSystem(MercerError, ValueError):
    """A linear system without a unique solution in double precision.

    >>> import mercer as mc
    >>> try:
    ...     mc.KernelRegression(mc.Linear(), penalty=0.0).fit([[1.0], [1.0]], [0.0, 1.0])
    ... except SingularSystem as error:
    ...     print(str(error)[:55])
    the matrix is not positive definite to working precisio
    """


class DataWarning(Advised, UserWarning):
    """A guess about the data, or a change of them, that the user should know.

    >>> issubclass(DataWarning, UserWarning), str(DataWarning("one column was left out"))
    (True, 'one column was left out')
    """


class ReadingWarning(Advised, UserWarning):
    """A warning about the interpretation of the axes.

    >>> issubclass(DegenerateAxes, ReadingWarning), issubclass(Misleading, ReadingWarning)
    (True, True)
    """


class AtBarycentre(ReadingWarning):
    """Individuals at the barycentre have no direction: their cos2 is 0/0.

    >>> import warnings
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     cos2 = mc.PCA().fit([[-1.0], [1.0], [0.0]]).individuals_.cos2
    >>> str(told[0].message)[-22:]
    's at the barycentre: 2'
    """


class DegenerateAxes(ReadingWarning):
    """Axes with equal eigenvalues: only the space that they span means something.

    >>> import warnings
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     square = [[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]
    ...     model = mc.KernelPCA(2).fit(square)
    >>> str(told[0].message)[:24]
    'degenerate axes: 1 and 2'
    """


class ConstantColumns(ReadingWarning):
    """Columns without variance: they have no correlations and cannot be standardised.

    >>> import warnings
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = mc.PCA(standardize=True).fit([[1.0, 5.0], [2.0, 5.0]])
    >>> str(told[0].message)
    'these columns are constant and cannot be standardised: x1; they are left out'
    """


class NoInertia(ReadingWarning):
    """All individuals coincide: there are no axes.

    >>> import warnings
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = mc.PCA().fit([[1.0, 5.0], [1.0, 5.0]])
    >>> str(told[0].message)
    'all 2 individuals coincide: the inertia is 0 and there are no axes'
    """


class Misleading(ReadingWarning):
    """A map that does not show what it seems to show.

    >>> import warnings
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     kernel = mc.Gaussian("median")
    ...     model = mc.KernelPCA(1, kernel=kernel).fit([[i % 3, 1e4 * i] for i in range(40)])
    >>> str(told[0].message)[:30]
    'the column "x1" makes 100 % of'
    """


class ExchangeableAxes(Misleading):
    """Neighbouring axes whose inertias differ by less than sampling does: read them together.

    >>> import warnings
    >>> import numpy as np
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     found = mc.analyse(np.random.default_rng(4).normal(size=(40, 8)), method="pca")
    >>> told[0].category.__name__, str(told[0].message)[:27]
    ('ExchangeableAxes', 'axes 1, 2 and 3 of the map ')
    """


class FewerAxes(ReadingWarning):
    """More axes were requested than exist.

    >>> import warnings
    >>> import mercer as mc
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = mc.PCA(7).fit([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    >>> str(told[0].message)[:43]
    'there are 2 axes, fewer than the 7 requeste'
    """


class SpectrumWarning(UserWarning):
    """A warning about the computation of a spectrum; subclasses name the reason.

    >>> issubclass(MissedAxes, SpectrumWarning), issubclass(RoundingLimit, SpectrumWarning)
    (True, True)
    """


class MissedAxes(SpectrumWarning):
    """The iteration missed an axis larger than the last one, and perhaps others.

    A larger ``n_components``, or ``method="dense"``, finds it.

    >>> issubclass(MissedAxes, UserWarning)
    True
    """


class RoundingLimit(SpectrumWarning):
    """The requested residual is below the limit of rounding.

    >>> import warnings
    >>> import numpy as np
    >>> import mercer as mc
    >>> x = np.random.default_rng(0).standard_normal((1100, 3))
    >>> model = mc.KernelPCA(2, kernel=mc.Gaussian(3e5), method="exact", tol=1e-9, random_state=0)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = model.fit(x)
    >>> told[0].category.__name__, str(told[0].message)[:15]
    ('RoundingLimit', 'rounding limits')
    """


class OnProcessor(UserWarning):
    """The processor computes a kernel that the GPU does not support.

    An example is ``engine="gpu"`` with a kernel that is a Python function.

    >>> issubclass(OnProcessor, UserWarning)
    True
    """


class Jittered(UserWarning):
    """A covariance matrix was singular to working precision, and its diagonal was enlarged.

    >>> import warnings
    >>> import mercer as mc
    >>> model = mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.0, optimise=False)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = model.fit([[0.0], [1e-9], [1.0]], [0.0, 0.0, 1.0])
    >>> told[0].category.__name__, 0.0 < model.jitter_ < 1e-8
    ('Jittered', True)
    """


class NearlyInterpolating(UserWarning):
    """Cross-validation chose a spline that nearly interpolates, and restricted likelihood did not.

    ``criterion="reml"`` of `SmoothingSpline` uses the restricted likelihood.

    >>> import warnings
    >>> import numpy as np
    >>> import mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> x, noise = np.sort(rng.uniform(0.0, 1.0, 60)), 0.3 * rng.standard_normal(60)
    >>> wild = 10.0 ** rng.uniform(-2.0, 2.0, 60)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = mc.SmoothingSpline().fit(x, np.sin(6.0 * x) + noise, sample_weight=wild)
    >>> str(told[0].message)[:51]
    'criterion="gcv" chose 48.3 degrees of freedom for 6'
    """


class ToleranceNotMet(UserWarning):
    """An iterative solution whose residual rounding keeps above the tolerance.

    ``backward_error`` of the solution is the accuracy reached.

    >>> import warnings
    >>> import numpy as np
    >>> import mercer as mc
    >>> from mercer.solve import solve
    >>> gram = mc.Gram(mc.Gaussian(1.5), np.random.default_rng(0).standard_normal((60, 3)))
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     found = solve(gram, np.ones(60), 1e-3, method="iterative", tol=1e-15, random_state=0)
    >>> told[0].category.__name__, found.backward_error < 1e-12
    ('ToleranceNotMet', True)
    """


def __getattr__(name: str) -> Any:
    """Refuse a name that is not here, with the one that was meant: other modules import this one.

    >>> import mercer as mc
    >>> mc.errors.InvalidData
    Traceback (most recent call last):
    ...
    AttributeError: module 'mercer.errors' has no attribute 'InvalidData'; did you mean InvalidInput?
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    from difflib import get_close_matches  # only now: the command line starts with this module

    known = [n for n, value in globals().items() if isinstance(value, type) and n[0] != "_"]
    meant = [] if name.startswith("_") else get_close_matches(name, known, 1)
    hint = f"; did you mean {meant[0]}?" if meant else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
