"""Functions of the reproducing kernel Hilbert space: values, distances, eigenfunctions."""
