"""Print, as constraints of pip, the lowest version that pyproject.toml allows of each library."""

import re
import tomllib
from pathlib import Path

OF_THEIR_TIME = ["pyparsing<3.3", "pytest<9"]
"""What those versions need in turn: matplotlib 3.10 uses names that pyparsing now warns of, and
scikit-learn 1.8 parametrises tests in a way that pytest does."""

stated = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
extras = stated["project"]["optional-dependencies"]
requirements = [
    *stated["project"]["dependencies"],
    *(r for name, extra in extras.items() if name != "gpu" for r in extra),  # tests pin torch
    *stated["dependency-groups"]["frames"],
]
found = [re.match(r"([\w-]+)>=([\w.]+)", requirement) for requirement in requirements]
print("\n".join([*sorted({f"{m[1]}=={m[2]}" for m in found if m}), *OF_THEIR_TIME]))
