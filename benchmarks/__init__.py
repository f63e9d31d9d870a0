"""One claim per file, run as ``python -m benchmarks.NAME``; tests borrow the adversary."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # contenders run as scripts, which find `measure` so
