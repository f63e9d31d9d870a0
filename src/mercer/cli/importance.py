"""``--importance``: what the axes of a fit owe to each variable."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from mercer.cli.parser import Misused
from mercer.cli.study import Study, records
from mercer.estimator import PRECOMPUTED
from mercer.importance import Importance, permutation_importance
from mercer.progress import Line


class ImportanceStudy(Study[Importance]):
    """Each variable shuffled among the individuals."""

    flag = "importance"
    counted = "permutations"
    unfit = "permutes the variables of a table; distances have none"

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if getattr(model, "kernel", None) == PRECOMPUTED:
            raise Misused(f"--{self.flag} {self.unfit}")
        if args.importance < 1:
            raise Misused(f"--importance must be a whole number >= 1, found {args.importance}")

    def answer(self, args: Namespace, model: Any, progress: Line) -> Importance:
        return permutation_importance(
            model, permutations=args.importance, random_state=args.seed, progress=progress
        )

    def value(self, found: Importance) -> dict[str, Any]:
        return {
            "axes": found.axes,
            "share": found.share,
            "permutations": found.shares.shape[1],
            "landmarks": found.landmarks,
            "approximation": found.approximation,
            "variables": records(found.columns()),  # the most important first
        }

    def section(self, found: Importance, model: Any, colour: Any) -> Any:
        from mercer.page.studies import importance_section

        return importance_section(found, model)

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        how = f"permutations={args.importance}, random_state={args.seed}"
        return f"page.importance_section(mc.permutation_importance(model, {how}), model)"
