"""Kernel methods for exploratory analysis.

The public names stand in ``__init__.pyi`` beside this file, each with the module it comes from,
and are loaded when they are first used: ``import mercer`` costs nothing.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0.dev0"


@cache
def _homes() -> dict[str, str]:
    """Return the module of every public name, as the stub declares it."""
    stub = Path(f"{__file__}i").read_text(encoding="utf-8")
    lines = re.findall(r"^from (\S+) import (\w+) as \w+$", stub, flags=re.MULTILINE)
    return {name: module for module, name in lines}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_homes())
    if name not in _homes():
        from mercer.spelling import no_attribute  # only now: the import must cost nothing

        raise AttributeError(no_attribute(name, _homes()), name=name)
    home = _homes()[name]
    value = (
        import_module(f"mercer.{name}") if home == __name__ else getattr(import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_homes()})
