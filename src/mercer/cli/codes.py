"""The exit codes, each with one meaning."""

OK = 0
BUG = 1
USAGE = 2
INPUT = 3
REFUSED = 4
NOT_CONVERGED = 5
RESOURCE = 6
INTERRUPTED = 130
TERMINATED = 143

BROKEN_PIPE = OK
"""Whoever reads our output has read enough."""
