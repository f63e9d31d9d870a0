"""``mercer plan``: what kernel PCA of so many individuals costs, here or on a cluster."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from mercer.cli.errors import OK, RESOURCE, in_flags
from mercer.cli.output import Talk
from mercer.kernels.radial import Gaussian
from mercer.pca import KernelPCA
from mercer.planning import plan


def run(args: Namespace, talk: Talk) -> int:
    """Answer with method, memory, passes and time, and what moves between machines."""
    model = KernelPCA(
        args.rank,
        kernel=Gaussian(1.0),
        method="nystrom" if args.landmarks else "auto",
        landmarks=args.landmarks,
        memory=args.memory,
    )
    given = {
        "on_disk": args.on_disk,
        "workers": args.workers,
        "cores": args.cores,
        "gpus": args.gpus,
    }
    cost = plan(model, args.individuals, args.variables, **given)
    value = {
        "plan": cost.method,
        "reason": cost.reason,
        "individuals": args.individuals,
        "variables": args.variables,
        "memory_bytes": cost.memory,
        "disk_bytes": cost.disk,
        "passes": cost.passes,
        "seconds": cost.seconds,
        "is_possible": cost.fits,
        "alternative": in_flags(cost.alternative, cost.advice),
        "cluster": None
        if cost.cluster is None
        else {**asdict(cost.cluster), "seconds": cost.cluster.seconds},
    }
    talk.answer(value, in_flags(cost, cost.advice))
    return OK if cost.fits else RESOURCE
