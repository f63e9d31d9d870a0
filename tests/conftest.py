"""How much the laws are tried: the same examples on every run, or many new ones on request."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("every-run", deadline=None, derandomize=True, max_examples=200)
settings.register_profile("few", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("thorough", deadline=None, max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "every-run"))
