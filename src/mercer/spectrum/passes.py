"""What an iteration holds after a pass, kept so that a run that ends early is taken up again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from mercer.certificate import NormProbe
from mercer.davidson import Course, Subspace
from mercer.engines.engine import Engine


class Checkpoint(Protocol):
    """A place where the state of a run is kept: `mercer.store.CheckpointFile` is one."""

    def load(self) -> Mapping[str, Any] | None:
        """Return the state that was kept last, None where there is none."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep a state, in the place of the one before."""


OF_MEANS = ("_mean_rows", "means_are_single", "_square_sum")
"""What a centred operator finds in its first passes."""


class Passes:
    """The passes of an iteration, each kept at a checkpoint: space, course, probes and means.

    The low-rank factor is not kept: the same seed finds it again, at the cost of a small share of a
    pass.
    """

    def __init__(self, checkpoint: Checkpoint, operator: Any, probed: Any, count: int) -> None:
        self.checkpoint, self.operator, self.probed = checkpoint, operator, probed
        self.count, self.turn = count, 0
        found = checkpoint.load()
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
        course.restore(state["course"])
        basis, images, errors = state["basis"], state["images"], state["errors"]
        return Subspace(basis, images, errors, state["projected"], engine)

    def keep(self, space: Subspace, course: Course, block: int) -> None:
        """Keep what is known after a pass."""
        probe: NormProbe = self.probed.probe
        self.checkpoint.save(
            {
                "count": self.count,
                "turn": self.turn,
                "block": block,
                "basis": space.basis,
                "images": space.images,
                "errors": space.errors,
                "projected": space.projected,
                "course": course.state(),
                "powers": list(probe.powers),
                "norms": list(probe.norms),
                "last": self.probed.last,
                "means": {n: getattr(self.operator, n) for n in OF_MEANS if self._has(n)},
            }
        )

    def _has(self, name: str) -> bool:
        return name in vars(self.operator)

    def _restore(self, state: Mapping[str, Any]) -> None:
        probe: NormProbe = self.probed.probe
        probe.powers, probe.norms = list(state["powers"]), list(state["norms"])
        self.probed.last = state["last"]
        for name, value in state["means"].items():
            if name in OF_MEANS:
                setattr(self.operator, name, value)
