"""Parameters as users give them: their values, and their names where these are nearly right."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from mercer.display import advice
from mercer.errors import Advice, InvalidParameter, UnknownParameter

RandomState: TypeAlias = (
    int
    | np.integer[Any]
    | np.random.Generator
    | np.random.RandomState
    | np.random.BitGenerator
    | np.random.SeedSequence
    | None
)
"""Where chance comes from: a seed, a generator, or None for fresh draws, which is the default."""


def number(value: Any, name: str, *, above: float = -np.inf, allowed: float | None = None) -> float:
    """Return a real parameter strictly greater than ``above``, or equal to ``allowed``.

    >>> number(2, "bandwidth", above=0.0)
    2.0
    >>> number(-1.0, "weight", above=0.0, allowed=0.0)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: weight must be a number > 0 or equal to 0, found -1.0
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        result = _double(value)
        if result == allowed or (result > above and result != np.inf):
            return result
    limits = f" > {above:g}" if np.isfinite(above) else ""
    exception = "" if allowed is None else f" or equal to {allowed:g}"
    raise invalid_parameter(name, f"must be a number{limits}{exception}, found {value!r}")


def invalid_parameter(name: str, why: str) -> InvalidParameter:
    """Return the refusal of a parameter, which other doors may know by another name."""
    return InvalidParameter(f"{name} {why}", Advice(name, text=name))


def _double(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def nonnegative(value: Any, name: str) -> float:
    """Return a real parameter that is at least zero."""
    return number(value, name, above=0.0, allowed=0.0)


def whole(value: Any, name: str, *, least: int = 0) -> int:
    """Return an integer parameter of at least ``least``."""
    is_whole = isinstance(value, Integral) or (
        isinstance(value, Real) and _double(value).is_integer()
    )
    if isinstance(value, bool) or not is_whole or int(value) < least:
        raise invalid_parameter(name, f"must be a whole number >= {least}, found {value!r}")
    return int(value)


def is_yes(value: Any, name: str) -> bool:
    """Return a parameter that is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise invalid_parameter(name, f"must be True or False, found {value!r}")


def numbers(
    values: Any, name: str, each: Callable[[Any, str], float] = number
) -> tuple[float, ...]:
    """Return a non-empty sequence of real parameters as a tuple."""
    is_scalar = getattr(values, "ndim", 1) == 0
    if isinstance(values, str) or is_scalar or not isinstance(values, Iterable):
        raise InvalidParameter(f"{name} must be a sequence of numbers, found {values!r}")
    result = tuple(each(v, f"{name}[{i}]") for i, v in enumerate(values))
    if not result:
        raise InvalidParameter(f"{name} must hold at least one number")
    return result


UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def memory_bytes(memory: Any) -> int | None:
    """Return a memory budget in bytes; None stands for as little as possible.

    >>> memory_bytes("4GB"), memory_bytes("500 MB"), memory_bytes(10**9), memory_bytes(None)
    (4000000000, 500000000, 1000000000, None)
    """
    if memory is None:
        return None
    size = 0.0
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)i?b?\s*", memory.lower())
        size = float(match[1]) * UNITS[match[2]] if match else 0.0
    elif isinstance(memory, Real) and not isinstance(memory, bool):
        size = _double(memory)
    if 1.0 <= size < np.inf:
        return int(size)
    raise InvalidParameter(
        f'memory must be a number of bytes or a text like "4GB", found {memory!r}'
    )


FIXED = 0
"""The seed where chance changes the work and not the answer, such as that of a preconditioner."""

LEVEL = 0.05
"""The significance level of tests, unless another is given."""

CONFIDENCE = 0.95
"""The confidence of intervals, bands and ellipses, unless another is given."""

HALF = 0.5
"""No test has a level above it, and no interval a confidence below: one is taken for the other."""

SEEDS = 2**32
"""Seeds that are drawn lie below: scikit-learn and numpy's older generators take no larger ones."""


def level_of(level: Any) -> float:
    """Return a significance level, above 0 and at most a half.

    >>> level_of(0.01)
    0.01
    >>> level_of(0.95)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: level is a significance level, above 0 and at most 0.5, found 0.95; did you mean level=0.05?
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    found = number(level, "level", above=0.0)
    if found > HALF:
        raise InvalidParameter(
            f"level is a significance level, above 0 and at most {HALF:g}, found {level!r}"
            f"{_meant(found, 'level', is_small=True)}"
        )
    return found


def confidence_of(confidence: Any) -> float:
    """Return a confidence, at least a half and below 1.

    >>> confidence_of(0.9)
    0.9
    >>> confidence_of(95)
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: confidence is that of an interval, at least 0.5 and below 1, found 95; did you mean confidence=0.95?
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    found = number(confidence, "confidence", above=0.0)
    if not HALF <= found < 1.0:
        raise InvalidParameter(
            f"confidence is that of an interval, at least {HALF:g} and below 1, found "
            f"{confidence!r}{_meant(found, 'confidence', is_small=False)}"
        )
    return found


def _meant(found: float, name: str, *, is_small: bool) -> str:
    """Return the value that was probably meant: a percentage, or the complement."""
    share = found / 100.0 if found > 1.0 else found
    if not 0.0 < share < 1.0:
        return ""
    rest = min(share, 1.0 - share)
    return f"; did you mean {name}={rest if is_small else 1.0 - rest:.12g}?"


def seed_of(random_state: RandomState) -> int:
    """Return the seed to draw from: a whole number that repeats what is drawn.

    A whole number is the seed itself. None draws a fresh one; a generator of numpy's draws one and
    moves on; a `SeedSequence` has always the same.

    >>> seed_of(7), seed_of(np.random.default_rng(0)), seed_of(np.random.RandomState(0))
    (7, 3653403231, 2357136044)
    >>> seed_of(None) == seed_of(None)
    False
    """
    if random_state is None:
        random_state = np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        return int(random_state.generate_state(1)[0])
    if isinstance(random_state, np.random.BitGenerator):
        random_state = np.random.Generator(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(SEEDS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(SEEDS, dtype=np.uint32))
    try:
        return whole(random_state, "random_state")
    except InvalidParameter as error:
        raise InvalidParameter(
            f"{error}; a generator of numpy's and None, which draws afresh, are understood too"
        ) from None


def generator_of(random_state: RandomState) -> np.random.Generator:
    """Return a generator to draw data from: the one that was given, or that of a seed.

    >>> float(generator_of(0).random()) == float(np.random.default_rng(0).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_of(random_state))


def first_axes(axes: Any) -> int:
    """Return how many first axes are asked for: a number, or a sequence that counts them.

    >>> first_axes(3), first_axes([1, 2])
    (3, 2)
    >>> first_axes((2, 3))
    Traceback (most recent call last):
    ...
    mercer.errors.InvalidParameter: axes must be a number, or the first ones in order (1, 2, ...), found (2, 3)
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    if np.ndim(axes) == 0:
        return whole(axes, "axes", least=1)
    listed = list(axes)
    if not listed or listed != list(range(1, len(listed) + 1)):
        raise InvalidParameter(
            f"axes must be a number, or the first ones in order (1, 2, ...), found {axes!r}"
        )
    return len(listed)


GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux tells what groups of processes may use, and in which this one is."""


def allowed_bytes(budget: int | None) -> int:
    """Return the bytes that may be used: a budget, or all of the machine where there is none.

    >>> allowed_bytes(10**6)
    1000000
    """
    return machine_bytes() if budget is None else int(budget)


def machine_bytes() -> int:
    """Return the memory of this machine, or of the container or group this process is in."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _group_limits():
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):  # not in a container, or in one without a limit
            continue
    return min(limits)


def _group_limits() -> Iterator[Path]:
    """Yield the files of limits on memory, in the newer and older form, of all groups above."""
    try:
        groups = [line.split(":", 2) for line in OWN_GROUPS.read_text().splitlines()]
    except OSError:  # no Linux
        groups = []
    groups += [["", "", "/"], ["", "memory", "/"]]  # as a container sees its own
    for _, controllers, name in groups:
        is_older = "memory" in controllers.split(",")
        if controllers and not is_older:
            continue
        root = GROUPS / "memory" if is_older else GROUPS
        place = Path(os.path.normpath(root / name.strip("/")))
        for folder in (place, *place.parents):
            if folder.is_relative_to(root):
                yield folder / ("memory.limit_in_bytes" if is_older else "memory.max")


def readable(count: int) -> str:
    """Return a number of bytes as a person would say it.

    >>> readable(3_200_000_000), readable(45_000), readable(12)
    ('3.2 GB', '45 kB', '12 bytes')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"


def duration(seconds: float) -> str:
    """Return a time as a person would say it.

    >>> duration(0.02), duration(42.0), duration(7200.0)
    ('less than a second', 'about 42 s', 'about 2 h')
    """
    if seconds < 1.0:
        return "less than a second"
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"about {np.round(seconds / size, 1):g} {unit}"
    return f"about {seconds:.0f} s"


EQUIVALENTS: Mapping[str, str] = {
    "CCA": "KernelCCA(n_components, kernels=('linear', 'linear'), penalty=0)",
    "CompoundKernel": "a sum of kernels, k + l",
    "ConstantKernel": "Constant(value), or a number times a kernel",
    "DotProduct": "Linear() + c, with c = sigma_0**2",
    "ExpSineSquared": "Periodic(period, bandwidth), with period = periodicity and bandwidth = "
    "length_scale",
    "Exponentiation": "a power of a kernel, k ** n",
    "GaussianProcessRegressor": "GaussianProcess(kernel, noise_variance), with noise_variance = "
    "alpha",
    "KMeans": "cluster(model, count)",
    "KernelRidge": "KernelRegression(kernel, penalty), with alpha = n·penalty for n points",
    "LinearSVC": "SVC(Linear())",
    "MDS": "StressMDS, or ClassicalMDS for the closed form",
    "NuSVC": "SVC(kernel, nu=nu)",
    "Nystroem": "NystromFeatures(n_components, kernel=kernel)",
    "PairwiseKernel": "a kernel such as Gaussian, or kernel('rbf(gamma=1)')",
    "RBF": "Gaussian(bandwidth), with bandwidth = length_scale, or gamma = 1/(2·bandwidth²)",
    "RBFSampler": "RandomFourierFeatures(n_frequencies, kernel=Gaussian(bandwidth)), with "
    "n_components = 2·n_frequencies and gamma = 1/(2·bandwidth²)",
    "SpectralClustering": "cluster(model, count, method='spectral')",
    "WhiteKernel": "noise_variance of GaussianProcess, with noise_variance = noise_level",
    "cosine_similarity": "Linear().normalised()",
    "laplacian_kernel": "Laplacian(bandwidth), with gamma = 1/bandwidth",
    "linear_kernel": "Linear()",
    "pairwise_kernels": "a kernel called on two sets of points, k(x, y)",
    "polynomial_kernel": "Polynomial(degree, offset, scale), with coef0 = offset and gamma = scale",
    "rbf_kernel": "Gaussian(bandwidth), with gamma = 1/(2·bandwidth²)",
    "sigmoid_kernel": "Sigmoid(scale, offset), with gamma = scale and coef0 = offset",
    "smacof": "StressMDS",
}
"""Names of scikit-learn's that mercer has under another name, and how the parameters relate."""


OF_STRINGS = "StringSpectrum(length), of mercer.kernels, which counts the parts two strings share"

FAMILIAR: Mapping[str, str] = {
    **dict.fromkeys(("StringKernel", "Spectrum", "SpectrumKernel"), OF_STRINGS),
    "KPCA": "KernelPCA(n_components, kernel=kernel)",
}
"""Names that no library has, under which people look for a kernel or a method."""


REPLACED = ("GaussianProcessRegressor", "KernelRidge", "MDS", "Nystroem", "RBFSampler")
"""Those of them that `mercer.sklearn` has, with scikit-learn's parameters."""


def keyword_advice(made: Any, named: Iterable[str]) -> str:
    """Return advice on the first name that is no parameter of a class or a function.

    >>> class Circle:
    ...     equivalents = {"diameter": "2·radius"}
    ...     def __init__(self, radius: float) -> None: ...
    >>> keyword_advice(Circle, ["diameter"])
    'diameter is 2·radius'
    """
    takes = signature(made).parameters
    unknown = next((name for name in named if name not in takes), None)
    equivalents = getattr(made, "equivalents", None)
    return "" if unknown is None else advice(unknown, takes, equivalents)


def no_attribute(name: str, known: Iterable[str], module: str = "mercer") -> str:
    """Return why the module has no such attribute, and what to write in its place.

    >>> no_attribute("RBF", ["Gaussian"])[:55]
    "module 'mercer' has no attribute 'RBF'; scikit-learn's "
    """
    plain = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return plain
    hint = advice(name, known, {**EQUIVALENTS, **FAMILIAR})
    if name in EQUIVALENTS:
        hint = f"scikit-learn's {hint}"
    if name in REPLACED:
        hint = f"{hint}; mercer.sklearn.{name} takes scikit-learn's parameters"
    return f"{plain}; {hint}" if hint else plain


WORDS: Mapping[str, str] = {
    "level": "the significance level of a test; that of an interval is confidence, such as "
    "confidence=0.95",
    "confidence": "that of an interval; the significance of a test is level, such as level=0.05",
    "jobs": "threads",
    "n_jobs": "threads",
    "seed": "random_state",
    "n_clusters": "count",
    "n_permutations": "permutations",
    "n_bootstrap": "replicates",
    "verbose": "progress, such as progress=True",
}
"""Words that mean the same in every function, by those that one might look for."""

F = TypeVar("F", bound=Callable[..., Any])


def spelled(function: F) -> F:
    """Return a function that refuses unknown keywords with what they are called here.

    >>> @spelled
    ... def interval(x: float, *, confidence: float = 0.95) -> None: ...
    >>> interval(1.0, jobs=2)
    Traceback (most recent call last):
    ...
    mercer.errors.UnknownParameter: interval has no parameter 'jobs', only x, confidence; jobs is threads
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    parameters = signature(function).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return function
    takes = [name for name in parameters if name != "self"]

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        unknown = next((name for name in named if name not in takes), None)
        if unknown is not None:
            raise _unknown(function.__name__, unknown, takes, advice(unknown, takes, WORDS))
        return function(*args, **named)

    return called  # type: ignore[return-value]


def _unknown(where: str, name: str, takes: Iterable[str], hint: str) -> UnknownParameter:
    return UnknownParameter(
        f"{where} has no parameter {name!r}, only {', '.join(takes) or 'none'}"
        f"{'; ' if hint else ''}{hint}"
    )


def advised(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that refuses unknown keywords with what they are called here.

    The class attribute ``equivalents`` maps names of other libraries to parameters of the class.

    >>> class Circle:
    ...     equivalents = {"diameter": "2·radius"}
    ...     @advised
    ...     def __init__(self, radius: float) -> None: ...
    >>> Circle(diameter=2.0)
    Traceback (most recent call last):
    ...
    mercer.errors.UnknownParameter: Circle has no parameter 'diameter', only radius; diameter is 2·radius
    """  # noqa: E501  (a doctest shows the message as the user sees it, on one line)
    _, *parameters = signature(init).parameters.values()
    if any(p.kind in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL) for p in parameters):
        return init
    takes = {p.name: p for p in parameters}

    @wraps(init)
    def constructor(self: Any, *args: Any, **named: Any) -> None:
        unknown = next((name for name in named if name not in takes), None)
        if unknown is not None:
            hint = keyword_advice(type(self), [unknown])
            raise _unknown(type(self).__name__, unknown, takes, hint)
        init(self, *args, **named)

    return constructor


def hints_in(package: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a package: which of its names was meant by another.

    >>> hints_in("mercer.datasets")("load_iris")
    Traceback (most recent call last):
    ...
    AttributeError: module 'mercer.datasets' has no attribute 'load_iris'; did you mean iris?
    """

    def refuse(name: str) -> NoReturn:
        known = [] if name.startswith("_") else public_names(package)
        raise AttributeError(no_attribute(name, known, package), name=name)

    return refuse


def public_names(package: str) -> list[str]:
    """Return the names of a package that are mercer's own, and not what it imports itself."""
    names: dict[str, Any] = vars(import_module(package))
    if "__all__" in names:
        return list(names["__all__"])
    homes = {name: getattr(value, "__module__", None) or "" for name, value in names.items()}
    return [n for n, home in homes.items() if home.startswith("mercer.") and n[0] != "_"]


def lazy_names(
    package: str, file: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return what gives a package the names of the stub beside it, each when it is first used."""
    stub = Path(f"{file}i").read_text(encoding="utf-8")
    found = re.findall(r"^from (\S+) import (\w+) as \w+$", stub, flags=re.MULTILINE)
    homes = {name: module for module, name in found}

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(no_attribute(name, homes, package), name=name)
        value: object = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *homes}), sorted(homes)
