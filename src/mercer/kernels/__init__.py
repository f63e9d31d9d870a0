"""What similar means: kernels as immutable values, their algebra and their validity.

All kernels are names here, loaded when they are first used: ``mercer.kernels.Gaussian``. They stand
in ``__init__.pyi`` beside this file, each with the module it comes from.
"""

# Kernels and their operations know each other: whichever module is asked for, this one comes first.
from mercer.kernels import base as base
from mercer.settings import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
