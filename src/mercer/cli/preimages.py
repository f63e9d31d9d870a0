"""``--preimages``: what points along the axes of a fit look like."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, NamedTuple

from mercer.cli.parser import Misused
from mercer.cli.study import Study, reads_columns, records
from mercer.estimator import PRECOMPUTED
from mercer.pca.along import PLACES, AxisPoints, axis_points
from mercer.pca.rebuilt import Rebuilt, rebuilt
from mercer.progress import Line


class Found(NamedTuple):
    """Points along the axes, and individuals rebuilt from them."""

    points: AxisPoints
    back: Rebuilt


class PreimageStudy(Study[Found]):
    """Points at the ends, halfway and in the middle of each axis, and what axes bring back."""

    flag = "preimages"
    counted = "looking for points"
    unfit = "leads from axes back to the columns of a table; a map of distances has none"

    def refuse(self, args: Namespace, model: Any) -> None:
        super().refuse(args, model)
        if getattr(model, "kernel", None) == PRECOMPUTED:
            raise Misused(
                "--preimages shows points as rows of numbers, and a matrix of similarities never "
                "saw the points: give the table, with --kernel"
            )
        if not reads_columns(model):
            raise Misused(
                f"--preimages shows points as rows of numbers, and {model.kernel} does not read "
                "such rows. Kernels on columns of numbers have pre-images: linear ones exactly, "
                "gaussian, laplacian, matern, polynomial and all others the nearest point"
            )
        if args.preimages < 1:
            raise Misused(f"--preimages must be a whole number >= 1, found {args.preimages}")

    def answer(self, args: Namespace, model: Any, progress: Line) -> Found:
        axes = args.preimages
        return Found(
            axis_points(model, axes=axes), rebuilt(model, axes=axes, random_state=args.seed)
        )

    def text(self, found: Found) -> str:
        return f"{found.points}\n{found.back}"

    def value(self, found: Found) -> dict[str, Any]:
        points, back = found
        axes = [
            {
                "axis": k + 1,
                "points": [
                    {
                        "place": place,
                        "coordinate": float(points.coordinates[k, i]),
                        "error": float(points.errors[k, i]),
                        "share": float(points.shares[k, i]),
                        "has_converged": bool(points.converged[k, i]),
                        "values": dict(
                            zip(points.names, points.points[k, i].tolist(), strict=True)
                        ),
                    }
                    for i, place in enumerate(PLACES)
                ],
            }
            for k in range(len(points))
        ]
        return {
            "method": points.method,
            "spread": points.spread,
            "axes": axes,
            "rebuilt": {
                "axes": back.axes,
                "individuals": len(back),
                "variables": records(back.columns()),  # the best rebuilt first
            },
        }

    def section(self, found: Found, model: Any, colour: Any) -> Any:
        from mercer.page.studies import preimage_section

        return preimage_section(*found, spectrum=model.spectrum_)

    def code(self, args: Namespace, model: Any, colour: str) -> str:
        axes = args.preimages
        points = f"mc.axis_points(model, axes={axes})"
        back = f"mc.rebuilt(model, axes={axes}, random_state={args.seed})"
        return f"page.preimage_section({points}, {back}, spectrum=model.spectrum_)"
