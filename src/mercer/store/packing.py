"""Values as plain JSON beside raw arrays, and back; classes are found by name, mercer's only."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from pkgutil import iter_modules
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csc_matrix, csr_array, csr_matrix

from mercer.check import Array
from mercer.engines.cpu import engine_word
from mercer.errors import CorruptFile, MercerError, NotStorable
from mercer.kernels.base import Kernel
from mercer.kernels.text import kernel as parsed
from mercer.points import Paired

ALIGNED = 64
"""Arrays begin at multiples of this many bytes, as vector instructions like them."""

WIDEST = 1000
"""Letters that every text of an array may have room for, though none is as long."""

CLASS = re.compile(r"mercer(?:\.[a-z][a-z0-9_]*)*\.[A-Za-z_][A-Za-z0-9_]*")
PUBLIC = ("mercer", "mercer.results", "mercer.data", "mercer.networks", "mercer.kernels")
"""Where a class has its public name, which stays when files move."""

EARLIER = {
    "mercer.barycentre.Barycentre": "mercer.operators.Barycentre",
    "mercer.gp.likelihood.Observations": "mercer.gp.likelihood.NoisyObservations",
    "mercer.networks.needed_replicates.Curve": "mercer.networks.needed_replicates.ReplicateCurve",
    "mercer.pca.feature_space.Placed": "mercer.pca.feature_space.PlacedPoints",
    "mercer.rkhs.decompositions.How": "mercer.rkhs.decompositions.HowDecomposed",
}
"""Classes by the names that files of earlier versions give them, where name or package changed."""

PLAIN = "biufc"
SPARSE: dict[str, Any] = {c.__name__: c for c in (csc_array, csc_matrix, csr_array, csr_matrix)}
SEQUENCES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def aligned_size(size: int) -> int:
    """Return a size rounded up to where the next array may begin."""
    return -(-size // ALIGNED) * ALIGNED


class Arrays:
    """The arrays of a model, each kept once, and the rest of it as plain JSON."""

    def __init__(self) -> None:
        self.kept: list[Array] = []
        self.described: list[dict[str, Any]] = []
        self.size = 0
        self._known: dict[Any, int] = {}
        self._open: set[int] = set()

    def packed(self, value: Any, place: str) -> Any:
        """Return a value as JSON; ``place`` is where it was found, for messages."""
        if isinstance(value, np.generic) and not isinstance(value, str):
            return {"scalar": self._add(np.asarray(value), place)}
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else {"float": repr(value)}
        if isinstance(value, complex):
            return {"complex": [self.packed(part, place) for part in (value.real, value.imag)]}
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if type(value) in SEQUENCES.values():
            items = [self.packed(v, f"{place}[{i}]") for i, v in enumerate(value)]
            return {type(value).__name__: items}
        if isinstance(value, dict):
            pairs = [
                (self.packed(k, place), self.packed(v, f"{place}[{k!r}]")) for k, v in value.items()
            ]
            return {"dict": pairs}
        if id(value) in self._open:
            raise NotStorable(f"{place} is what holds it, and a file has no place for a circle")
        self._open.add(id(value))
        tree = self._object(value, place)
        self._open.remove(id(value))
        return tree

    def _object(self, value: Any, place: str) -> Any:
        word = engine_word(value)
        if word is not None:  # what is of this process and this machine has no other form
            return word
        if isinstance(value, Kernel) and has_written_form(value):
            return {"kernel": str(value)}
        if SPARSE.get(type(value).__name__) is type(value):
            held = [self.packed(part, place) for part in (value.data, value.indices, value.indptr)]
            return {"sparse": [type(value).__name__, held, list(value.shape)]}
        if isinstance(value, Paired):
            return {"paired": [self.packed(part, place) for part in value.parts]}
        if isinstance(value, Enum):
            return {"enum": [_name(type(value), place), value.name]}
        if _has_fields(type(value)):
            parts = {name: getattr(value, name) for name in _fields(value)}
            return {"value": [_name(type(value), place), self._named(parts, place)]}
        if hasattr(value, "get_params") and not isinstance(value, type):
            name, params = _name(type(value), place), value.get_params(deep=False)
            state = {key: v for key, v in vars(value).items() if key not in params}
            return {"model": [name, self._named(params, place), self._named(state, place)]}
        if _is_ours(type(value)) and _says_how(type(value)):
            cls, given = value.__reduce__()
            return {"made": [_name(cls, place), [self.packed(part, place) for part in given]]}
        if _is_ours(type(value)) and hasattr(value, "__dict__"):
            return {"object": [_name(type(value), place), self._named(vars(value), place)]}
        raise NotStorable(_refusal(value, place))

    def _named(self, parts: dict[str, Any], place: str) -> dict[str, Any]:
        return {name: self.packed(v, f"{place}.{name}") for name, v in parts.items()}

    def _array(self, value: Array, place: str) -> Any:
        if isinstance(value, np.ma.MaskedArray):
            raise NotStorable(f"{place} is a masked array; fill what is masked before saving")
        if value.dtype.kind in PLAIN:
            return {"array": self._add(value, place)}
        if value.dtype.kind in "OU":
            items = [self.packed(v, place) for v in value.ravel().tolist()]
            return {"objects": [value.dtype.str, list(value.shape), items]}
        raise NotStorable(f"{place} is an array of {value.dtype}, which is not stored")

    def _add(self, value: Array, place: str) -> int:
        # Some machines have longer doubles, which others cannot read.
        if value.dtype.kind not in PLAIN or value.dtype.char in "gG":
            raise NotStorable(f"{place} is of type {value.dtype}, which other machines lack")
        is_fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        plain = np.ascontiguousarray(value.T if is_fortran else value)
        plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
        shape, order = list(value.shape), "F" if is_fortran else "C"
        key = (plain.dtype.str, tuple(shape), order, hashlib.sha256(plain.data).digest())
        if key not in self._known:
            self._known[key] = len(self.kept)
            self.kept.append(plain)
            self.described.append(
                {"dtype": plain.dtype.str, "shape": shape, "order": order, "offset": self.size}
            )
            self.size = aligned_size(self.size + plain.nbytes)
        return self._known[key]


class Contents(Arrays):
    """The fingerprint of a value: every array of it is its sum, and sets have an order."""

    def packed(self, value: Any, place: str) -> Any:
        if isinstance(value, set | frozenset):
            return {"set": sorted(json.dumps(self.packed(item, place)) for item in value)}
        return super().packed(value, place)

    def _add(self, value: Array, place: str) -> Any:
        if value.dtype.kind not in PLAIN:
            raise NotStorable(f"{place} is of type {value.dtype}, which is not stored")
        plain = np.ascontiguousarray(value)
        return [plain.dtype.str, list(value.shape), hashlib.sha256(plain.data).hexdigest()]


def contents_digest(value: Any, place: str) -> str:
    """Return the sum of all that a value holds; what cannot be written as data is refused.

    >>> contents_digest([{"a", "b"}, 1.0], "x") == contents_digest([{"b", "a"}, 1.0], "x")
    True
    >>> contents_digest(["a", "b"], "x") == contents_digest(["a", "c"], "x")
    False
    """
    tree = json.dumps(Contents().packed(value, place))
    return hashlib.sha256(tree.encode()).hexdigest()


class Taken:
    """The arrays of a file: each is handed out once as it is, and after that as a copy.

    Equal arrays are stored once, but who changes one of them must not change the others.
    """

    def __init__(self, arrays: list[Array]) -> None:
        self.arrays, self.given = arrays, set[int]()

    def __getitem__(self, place: int) -> Array:
        array = self.arrays[place]
        if place in self.given:
            return array.copy(order="K")
        self.given.add(place)
        return array


def unpack(tree: Any, arrays: Taken) -> Any:
    """Return the value that `Arrays.packed` made JSON of."""
    if not isinstance(tree, dict):
        return tree
    ((kind, content),) = tree.items()
    if kind in SEQUENCES:
        return SEQUENCES[kind](unpack(v, arrays) for v in content)
    if kind not in READERS:
        raise CorruptFile(f"a stored model holds a {kind!r}, which this version does not know")
    return READERS[kind](content, arrays)


def _named(parts: dict[str, Any], arrays: Taken) -> dict[str, Any]:
    return {name: unpack(v, arrays) for name, v in parts.items()}


def _objects(content: Any, arrays: Taken) -> Array:
    dtype, shape, items = np.dtype(content[0]), content[1], content[2]
    held = [unpack(item, arrays) for item in items]
    widest = max((len(item) for item in held if isinstance(item, str)), default=0)
    # A declared width of text is taken for every item, whatever they hold.
    if dtype.kind not in "OU" or (dtype.kind == "U" and dtype.itemsize > 4 * max(widest, WIDEST)):
        raise CorruptFile(f"a stored model holds objects of type {dtype.str[:20]}, not of text")
    values = np.empty(len(held), dtype)
    values[:] = held
    return values.reshape(shape)


def _model(content: Any, arrays: Taken) -> Any:
    name, params, state = content
    model = _class(name, lambda cls: hasattr(cls, "get_params"))(**_named(params, arrays))
    vars(model).update(_named(state, arrays))
    return model


def _object(content: Any, arrays: Taken) -> Any:
    """Return an object with its attributes; none of its methods is run."""
    name, state = content
    made = object.__new__(_class(name, lambda cls: not issubclass(cls, Kernel)))
    vars(made).update(_named(state, arrays))
    return made


def _sparse(content: Any, arrays: Taken) -> Any:
    name, parts, shape = content
    if name not in SPARSE:
        raise CorruptFile(f"a stored model names {name!r}, which is no class of sparse matrices")
    return SPARSE[name](tuple(unpack(part, arrays) for part in parts), tuple(shape))


def _name(cls: type, place: str) -> str:
    """Return the name by which a class is found again: its public one, or that in its module."""
    for home in PUBLIC:
        namespace = import_module(home)
        if cls.__name__ in dir(namespace) and getattr(namespace, cls.__name__) is cls:
            return f"{home}.{cls.__name__}"
    if cls.__module__.startswith("mercer.") and cls.__qualname__ == cls.__name__:
        return f"{cls.__module__}.{cls.__name__}"
    raise NotStorable(
        f"{place} is a {cls.__module__}.{cls.__qualname__}, which is not one of mercer's classes; "
        "store it by its own means, and give it to the model again after loading"
    )


def _class(name: str, is_right: Callable[[Any], bool]) -> Any:
    """Return a class of mercer's by name, if it is one of the right kind."""
    found = _at(*EARLIER.get(name, name).rsplit(".", 1)) if CLASS.fullmatch(name) else None
    if isinstance(found, type) and _is_ours(found) and is_right(found):
        return found
    raise CorruptFile(f"a stored model names {name!r}, which is no class it could hold")


def _at(module: str, attribute: str) -> Any:
    """Return what has a name in a module, or now stands elsewhere in the package of that module."""
    package = module.rpartition(".")[0]
    try:
        if (found := getattr(import_module(module), attribute, None)) is not None:
            return found
    except ModuleNotFoundError:  # a file of an earlier version, or of nobody
        pass
    if package.count(".") != 1 or find_spec(package) is None:
        return None
    paths = getattr(import_module(package), "__path__", ())
    beside = [f"{package}.{m.name}" for m in iter_modules(paths)]
    values = (getattr(import_module(place), attribute, None) for place in beside)
    return next((value for value in values if value is not None), None)


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("mercer.")


def _has_fields(cls: Any) -> bool:
    """Return whether a class is a dataclass or a named tuple, made again from its fields."""
    return is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _fields(value: Any) -> Iterable[str]:
    return (f.name for f in fields(value) if f.init) if is_dataclass(value) else value._fields


def _says_how(cls: Any) -> bool:
    """Return whether a class tells itself from which arguments its values are made."""
    return cls.__reduce__ is not object.__reduce__ and not issubclass(cls, BaseException)


def has_written_form(kernel: Kernel) -> bool:
    """Return whether the text of a kernel makes the same kernel again."""
    try:
        return bool(parsed(str(kernel)) == kernel)
    except MercerError:
        return False


def _refusal(value: Any, place: str) -> str:
    if callable(value):
        name = getattr(value, "__qualname__", getattr(value, "__name__", type(value).__name__))
        return (
            f"{place} is the Python function {name}, which cannot be written as data. Write the "
            "kernel as a class, or as an expression of mercer's kernels"
        )
    what = f"{type(value).__module__}.{type(value).__name__}"
    advice = "give a whole number as the seed" if "random" in what else "take it out before saving"
    return f"{place} is a {what}, which cannot be written as data; {advice}"


READERS: dict[str, Callable[[Any, Taken], Any]] = {
    "array": lambda place, arrays: arrays[place],
    "scalar": lambda place, arrays: arrays[place][()],
    "float": lambda text, _: float(text),
    "complex": lambda parts, arrays: complex(*(unpack(p, arrays) for p in parts)),
    "dict": lambda pairs, arrays: {unpack(k, arrays): unpack(v, arrays) for k, v in pairs},
    "objects": _objects,
    "kernel": lambda text, _: parsed(text),
    "paired": lambda parts, arrays: Paired(*(unpack(p, arrays) for p in parts)),
    "sparse": _sparse,
    "enum": lambda names, _: _class(names[0], lambda cls: issubclass(cls, Enum))[names[1]],
    "value": lambda parts, arrays: _class(parts[0], _has_fields)(**_named(parts[1], arrays)),
    "made": lambda parts, arrays: _class(parts[0], _says_how)(
        *(unpack(part, arrays) for part in parts[1])
    ),
    "object": _object,
    "model": _model,
}
"""How each kind of value is made again."""
