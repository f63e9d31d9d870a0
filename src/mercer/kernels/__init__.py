"""What similar means: kernels as immutable values, their algebra and their validity."""

# Kernels and their operations know each other: whichever module is asked for, this one comes first.
from mercer.kernels import base as base
