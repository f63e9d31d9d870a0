"""``--bootstrap``, ``--jackknife`` and ``--path``: whether axes would be there again."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from mercer.cli.parser import Misused
from mercer.cli.path import Range, range_of
from mercer.cli.study import Study, records
from mercer.estimator import PRECOMPUTED, as_kernel
from mercer.pca import PCA
from mercer.progress import Line
from mercer.stability import (
    Bootstrap,
    Jackknife,
    ParameterPath,
    bootstrap,
    jackknife,
    parameter_path,
)
from mercer.stability.resampling import FEWEST


class BootstrapStudy(Study[Bootstrap]):
    """How far the axes would move with other individuals."""

    flag = "bootstrap"
    counted = "replicates"
    unfit = "draws the individuals of a table again; distances have no such replicates"

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if args.bootstrap < FEWEST:
            raise Misused(f"--bootstrap must be a whole number >= {FEWEST}, found {args.bootstrap}")

    def answer(self, args: Namespace, model: Any, progress: Line) -> Bootstrap:
        return bootstrap(
            model, replicates=args.bootstrap, random_state=args.seed, progress=progress
        )

    def value(self, found: Bootstrap) -> dict[str, Any]:
        axes = [
            {
                "axis": k + 1,
                "lower": float(found.intervals[k, 0]),
                "upper": float(found.intervals[k, 1]),
                "cos2": float(found.cos2[k]),
                "space_cos2": float(found.spaces[k]),
                "tie_p": float(found.ties[k]) if np.isfinite(found.ties[k]) else None,
            }
            for k in range(len(found.inertias))
        ]
        return {"replicates": found.replicates, "planes": found.planes, "axes": axes}

    def section(self, found: Bootstrap, model: Any, colour: Any) -> Any:
        from mercer.page.studies import stability_section

        return stability_section(found, colour=colour, spectrum=model.spectrum_)

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        found = f"mc.bootstrap(model, replicates={args.bootstrap}, random_state={args.seed})"
        return f"page.stability_section({found}, colour={colour}, spectrum=model.spectrum_)"


class JackknifeStudy(Study[Jackknife]):
    """Which individuals move the axes."""

    flag = "jackknife"
    counted = "individuals"
    unfit = "leaves out individuals of a table; distances have no axes to turn"

    def answer(self, args: Namespace, model: Any, progress: Line) -> Jackknife:
        return jackknife(model, progress=progress)

    def value(self, found: Jackknife) -> dict[str, Any]:
        axes = [
            {
                "axis": k + 1,
                "inertia": float(found.model_inertias[k]),
                "error": float(found.errors[k]),
                "bias": float(found.biases[k]),
            }
            for k in range(len(found.errors))
        ]
        columns = {name: values[found.order] for name, values in found.columns().items()}
        return {"axes": axes, "individuals": records(columns)}  # the most influential first

    def section(self, found: Jackknife, model: Any, colour: Any) -> Any:
        from mercer.page.studies import jackknife_section

        return jackknife_section(found, spectrum=model.spectrum_)

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        return "page.jackknife_section(mc.jackknife(model), spectrum=model.spectrum_)"


class PathStudy(Study[ParameterPath]):
    """What happens to the axes along a parameter of the kernel."""

    flag = "path"
    counted = "values"
    unfit = "follows axes along a parameter of a kernel; a map of distances has none"

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if isinstance(model, PCA):
            raise Misused(
                "--path follows axes along a parameter of a kernel, and --method pca has no kernel"
            )
        if model.kernel == PRECOMPUTED:
            raise Misused(
                "--path follows axes along a parameter of a kernel, and a matrix of similarities "
                "has no kernel: give the data, with --kernel"
            )
        range_of(args.path, as_kernel(model.kernel))

    def answer(self, args: Namespace, model: Any, progress: Line) -> ParameterPath:
        asked = self._range(args, model)
        return parameter_path(model, None, asked.parameter, asked.values, progress=progress)

    def value(self, found: ParameterPath) -> dict[str, Any]:
        crossings = [
            {"axes": c.axes, "between": c.between, "at": c.at, "is_clear": c.is_clear}
            for c in found.crossings
        ]
        columns = found.columns()
        return {
            "parameter": found.parameter.removeprefix("kernel__"),
            "own": found.own,
            "is_factor": found.is_factor,
            "crossings": crossings,
            "unclear": found.unclear,
            "values": records({"value": columns.pop(found.parameter), **columns}),
        }

    def section(self, found: ParameterPath, model: Any, colour: Any) -> Any:
        from mercer.page.studies import path_section

        return path_section(found)

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        asked = self._range(args, model)
        values = f"{asked.values.tolist()}"
        found = f"mc.parameter_path(model, None, {asked.parameter!r}, {values})"
        return f"page.path_section({found})"

    @staticmethod
    def _range(args: Namespace, model: Any) -> Range:
        return range_of(args.path, model.kernel_)
