"""What mercer raises and warns of on purpose, each with its advice as data."""

from __future__ import annotations

from typing import Any, NamedTuple


class Advice(NamedTuple):
    """A parameter that a message speaks of, and a value that would work, where there is one.

    In Python it is a keyword. Other doors have other words for the same, such as a flag of the
    command line; ``text`` is for what a keyword does not say.

    >>> str(Advice("missing", "drop")), str(Advice("memory")), str(Advice("degree", text="degree"))
    ("missing='drop'", 'memory=', 'degree')
    """

    parameter: str
    value: Any = ...
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.parameter}={'' if self.value is ... else repr(self.value)}"


class Row(NamedTuple):
    """A row or a column that a message names by its index, as Python counts: from 0.

    Other doors count as spreadsheets do, and know the names of rows.

    >>> str(Row(3)), str(Row(0, "column"))
    ('row 3', 'column 0')
    """

    at: int
    what: str = "row"

    def __str__(self) -> str:
        return f"{self.what} {self.at}"


class Advised(Exception):  # noqa: N818  (of errors and of warnings)
    """A message, and after it the advice that stands in it.

    >>> error = InvalidInput("give more axes: n_components=3", Advice("n_components", 3))
    >>> str(error), error.advice[0].value
    ('give more axes: n_components=3', 3)
    """

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What the message advises, or which parameter it speaks of."""
        return tuple(part for part in self.args[1:] if isinstance(part, Advice))

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows, and columns of pairs, that the message names by their index."""
        return tuple(part for part in self.args[1:] if isinstance(part, Row))


class MercerError(Advised):
    """Everything mercer raises on purpose."""


class InvalidInput(MercerError, ValueError):
    """Data that cannot be used as they are; the message names the place and the remedy."""


class InvalidParameter(MercerError, ValueError):
    """A parameter outside the domain for which the theory holds."""


class UnknownParameter(InvalidParameter, TypeError):
    """A keyword that no parameter has; the message names the nearest, or the equivalent."""


class NotAvailable(InvalidInput, AttributeError):
    """An attribute that does not exist for this model and these data; the message says why."""


class NotPositiveDefinite(MercerError, ValueError):
    """An operation or a matrix that leaves the cone of positive definite kernels."""


class NotDifferentiable(MercerError, TypeError):
    """A derivative was asked of a kernel that has none, or whose derivative is not known."""


class NoFeatureMap(MercerError, TypeError):
    """Explicit features were asked of a kernel that has no finite feature map."""


class WrittenFormError(InvalidInput):
    """A text that is not a kernel; the message points at the position."""


class UnreadableFile(InvalidInput):
    """A file that is not what it should be; the message names the file and the place."""


class UnevenRows(UnreadableFile):
    """A table one of whose rows has more cells, or fewer, than there are columns."""


class TooLarge(UnreadableFile):
    """A file that would take more memory than allowed, found before the memory was taken."""


class CorruptFile(UnreadableFile):
    """A stored model that is damaged, cut short, or not one at all."""


class NotStorable(MercerError, TypeError):
    """A model that holds what cannot be written as plain data, such as a Python function."""


class NotSaved(MercerError, OSError):
    """A file that could not be written; what was there before is still there."""


class MissingExtra(MercerError, ImportError):
    """An optional library that is not installed; the message names the extra that brings it."""


class NotANumber(InvalidInput, TypeError):
    """An entry of a table of numbers that is text or another object."""


class NoDistances(NotPositiveDefinite, NotAvailable):
    """A squared distance that is negative, as kernels that are not positive definite have them."""


class NotEnoughMemory(MercerError, MemoryError):
    """A computation that would take more memory than it may; the message names a smaller one."""


class ClusterFailed(MercerError, RuntimeError):
    """Workers that are gone, or work that fails there each time; a checkpoint is kept."""


class DeviceLost(MercerError, RuntimeError):
    """A GPU that failed in the middle of the work; a checkpoint is kept."""


class NegativeVariance(MercerError, ArithmeticError):
    """A variance that is below zero by more than rounding: the kernel or the noise is at fault."""


class NoNoise(InvalidParameter):
    """The noise of a new observation, asked of a model that knows those of its data alone."""

    def __init__(self) -> None:
        super().__init__(
            "noise_variance has a value for each observation that was fitted, and none for new "
            "ones: ask for the law of g, and add the variance of the noise to that"
        )


class NotConverged(MercerError, RuntimeError):
    """An iteration or a decomposition whose residual is larger than was asked for."""


class SingularSystem(MercerError, ValueError):
    """A system that has no unique solution, or none that can be computed."""


class DataWarning(Advised, UserWarning):
    """Something in the data was guessed or changed that the user should know of."""


class ReadingWarning(Advised, UserWarning):
    """Something on the axes has no meaning, or not the one it seems to have."""


class AtBarycentre(ReadingWarning):
    """Individuals at the barycentre have no direction: their cos2 is 0/0."""


class DegenerateAxes(ReadingWarning):
    """Axes with one eigenvalue between them: only the space they span means something."""


class ConstantColumns(ReadingWarning):
    """Columns without variance: they have no correlations and cannot be standardised."""


class NoInertia(ReadingWarning):
    """All individuals coincide: there are no axes."""


class Misleading(ReadingWarning):
    """A map shows something else than it seems to."""


class FewerAxes(ReadingWarning):
    """More axes were asked for than there are."""


class SpectrumWarning(UserWarning):
    """Something about the axes that was not asked for, each by its own name."""


class MissedAxes(SpectrumWarning):
    """An axis larger than the last one was found outside, and may not be the only one."""


class RoundingLimit(SpectrumWarning):
    """The residual asked for is below what rounding allows."""


class OnProcessor(UserWarning):
    """A kernel that a GPU was asked to compute, and the processor computes."""


class Jittered(UserWarning):
    """A covariance matrix was singular to working precision; how much was added is reported."""


class NearlyInterpolating(UserWarning):
    """Cross-validation chose a curve that follows its observations where another rule does not."""


class ToleranceNotMet(UserWarning):
    """An iterative solution whose true residual rounding keeps above the tolerance asked for."""
