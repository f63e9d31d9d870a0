"""Functions of the reproducing kernel Hilbert space: values, distances, eigenfunctions."""

from mercer.rkhs.functionals import Functional as Functional
