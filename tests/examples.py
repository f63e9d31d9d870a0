"""The scripts of the folder ``examples`` as modules, which are no package."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def example(name: str) -> Any:
    """Return a script as a module; nothing of it is run that stands under its main guard."""
    spec = spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
