"""What an iteration holds after a pass, kept so that a run that ends early is taken up again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from mercer.check import chunks
from mercer.davidson import Subspace
from mercer.engines.engine import Engine
from mercer.engines.held import move_beside, to_host
from mercer.errors import CorruptFile
from mercer.iteration import Course
from mercer.spectrum.probes import NormProbe


class Checkpoint(Protocol):
    """A place where the state of a run is kept: `mercer.store.CheckpointFile` is one."""

    def load(self) -> Mapping[str, Any] | None:
        """Return the state that was kept last, None where there is none."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep a state, in the place of the one before."""


ROWS = 2**14
"""Rows of the low-rank factor that are looked at together."""

NEEDED = (
    *("count", "turn", "block", "basis", "images", "errors", "projected", "course"),
    *("powers", "norms", "last", "means"),
)
"""What a state has, whichever version kept it."""

OF_MEANS = ("_mean_rows", "means_are_single", "_square_sum")
"""What a centred operator finds in its first passes."""


class Passes:
    """The passes of an iteration, each kept at a checkpoint: space, course, probes and means.

    The low-rank factor is not kept: the same seed finds it again, at the cost of a small share of a
    pass. Where it is not the same to the last bit, as on another engine, the probes of what it
    misses begin anew. What lies on a device is kept as the host has it.
    """

    def __init__(self, checkpoint: Checkpoint, operator: Any, probed: Any, count: int) -> None:
        self.checkpoint, self.operator, self.probed = checkpoint, operator, probed
        self.count, self.turn = count, 0
        self.has_new_probes = False
        self._factor = _sum_of(probed.probe.approximation.factor)
        found = checkpoint.load()
        self._refuse_unlike(next((name for name in NEEDED if name not in (found or NEEDED)), None))
        self._state = found if found is not None and found["count"] == count else None
        if self._state is not None:
            self.turn = int(self._state["turn"])
            self._restore(self._state)

    @property
    def block(self) -> int | None:
        """How many vectors the kept state iterates, None where nothing was kept."""
        return None if self._state is None else int(self._state["block"])

    def resume(self, course: Course, engine: Engine) -> Subspace | None:
        """Return the space that was kept last, its course restored; None where there is none."""
        state, self._state = self._state, None
        if state is None:
            return None
        shapes = np.shape(state["basis"]), np.shape(state["images"])
        is_right = shapes[0] == shapes[1] and shapes[0][:1] == self.operator.shape[:1]
        self._refuse_unlike(None if is_right else "basis")
        course.restore(state["course"])
        basis, images = self._placed(state["basis"]), self._placed(state["images"])
        return Subspace(basis, images, state["errors"], state["projected"], engine)

    def _refuse_unlike(self, name: str | None) -> None:
        """Refuse a state that lacks what has this name, or has it otherwise."""
        if name is not None:
            place = getattr(self.checkpoint, "path", "the checkpoint")
            raise CorruptFile(
                f"{place} keeps a state without the {name} of this iteration: another version of "
                "mercer wrote it. Name another file, or remove this one"
            )

    def keep(self, space: Subspace, course: Course, block: int) -> None:
        """Keep what is known after a pass."""
        probe: NormProbe = self.probed.probe
        last = self.probed.last
        self.checkpoint.save(
            {
                "count": self.count,
                "turn": self.turn,
                "block": block,
                "basis": to_host(space.basis),
                "images": to_host(space.images),
                "errors": space.errors,
                "projected": space.projected,
                "course": course.state(),
                "factor": self._factor,
                "powers": [to_host(power) for power in probe.powers],
                "norms": list(probe.norms),
                "last": None if last is None else tuple(to_host(part) for part in last),
                "is_last_single": self.probed.is_last_single,
                "means": {n: getattr(self.operator, n) for n in OF_MEANS if self._has(n)},
            }
        )

    def _has(self, name: str) -> bool:
        return name in vars(self.operator)

    def _restore(self, state: Mapping[str, Any]) -> None:
        probed, last = self.probed, state["last"]
        self.has_new_probes = state.get("factor") != self._factor
        if not self.has_new_probes:
            powers = [self._placed(power) for power in state["powers"]]
            probed.probe.powers, probed.probe.norms = powers, list(state["norms"])
            probed.last = None if last is None else tuple(self._placed(p) for p in last)
            # Files of earlier versions do not say so.
            probed.is_last_single = bool(state.get("is_last_single", probed.is_last_single))
        for name, value in state["means"].items():
            if name in OF_MEANS:
                setattr(self.operator, name, value)

    def _placed(self, array: Any) -> Any:
        """Return an array of the file where the vectors of this run are."""
        return move_beside(array, self.probed.probe.vectors)


def _sum_of(factor: Any) -> str:
    """Return what tells a low-rank factor from others, of another rank or another rounding."""
    total = hashlib.sha256(repr((factor.shape, str(factor.dtype))).encode())
    for rows in chunks(len(factor), ROWS):
        total.update(np.ascontiguousarray(to_host(factor[rows])).tobytes())
    return total.hexdigest()
