"""Kernel methods for exploratory analysis.

The names of the guides stand in ``__init__.pyi`` beside this file, each with the module it comes
from, and are loaded when they are first used: ``import mercer`` costs nothing. All kernels are in
``mercer.kernels``, studies of networks in ``mercer.networks``, what is raised and warned of in
``mercer.errors``, and the classes of what calls return in ``mercer.results``.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path

PACKAGES = ("regression", "rkhs", "sklearn")
"""Packages that have public names of their own beside those that stand here."""

NAMESPACES = ("kernels", "errors", "networks", "results", "data")
"""Where a name that stood here before is looked for."""


@cache
def _homes() -> dict[str, str]:
    """Return the module of every public name, as the stub declares it."""
    stub = Path(f"{__file__}i").read_text(encoding="utf-8")
    lines = re.findall(r"^from (\S+) import (\w+) as \w+$", stub, flags=re.MULTILINE)
    return {name: module for module, name in lines}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_homes())
    if name == "__version__":
        return _version()
    if name in PACKAGES:
        return import_module(f"mercer.{name}")
    if name not in _homes():
        return _in_a_namespace(name)
    home = _homes()[name]
    value = (
        import_module(f"mercer.{name}") if home == __name__ else getattr(import_module(home), name)
    )
    globals()[name] = value
    return value


@cache
def _version() -> str:
    """Return the version that was installed: a tag of the repository, and the commits since."""
    from importlib import metadata  # only now: it takes longer than the rest

    try:
        return metadata.version("mercer")
    except metadata.PackageNotFoundError:
        return "0+unknown"  # sources that were never installed


def _in_a_namespace(name: str) -> object:
    """Return what has this name in a namespace, and say where it stands."""
    from mercer.display import warn  # only now: the import must cost nothing
    from mercer.settings import no_attribute, public_names

    if name.startswith("_"):
        raise AttributeError(no_attribute(name, ()), name=name)
    known = [*_homes(), *PACKAGES]
    for place in NAMESPACES:
        names = public_names(f"mercer.{place}")
        if name in names:
            warn(f"mercer.{name} is mercer.{place}.{name}", DeprecationWarning)
            return getattr(import_module(f"mercer.{place}"), name)
        known += names
    raise AttributeError(no_attribute(name, known), name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes(), *PACKAGES, "__version__"})
