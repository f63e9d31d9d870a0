"""The jackknife of individuals: what each of them does to the axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer.check import Array
from mercer.data.frames import as_frame
from mercer.display import Shown, clean, short
from mercer.progress import Progress, follow_work
from mercer.reading.procrustes import match_axes
from mercer.settings import first_axes, spelled
from mercer.stability.bootstrapping import Sums
from mercer.stability.reweighted import source_of


@dataclass(frozen=True, eq=False, repr=False)
class Jackknife(Shown):
    r"""What leaving out each individual does to the first axes of a model.

    ``influences`` are the root mean squared moves of all individuals, once the configuration
    without the individual is turned onto that with it; ``angles`` the degrees by which each axis
    turns, 90 where nothing is left of it; ``inertias`` those without the individual, n x d. All are
    NaN for individuals without a weight. ``model_inertias`` are those with everybody, and
    ``errors`` their standard errors,

    .. math:: \sqrt{\frac{n-1}{n} \sum_i (\lambda_{(i)} - \bar\lambda)^2}

    and ``biases`` :math:`(n - 1)(\bar\lambda - \lambda)`. ``covariances`` of the coordinates are
    made in the same way as the errors.

    >>> import mercer as mc
    >>> found = mc.jackknife(mc.PCA(2, standardize=True).fit(mc.datasets.decathlon()))
    >>> found.errors.round(2), found.angles.shape
    (array([0.51, 0.38]), (41, 2))
    """

    facts: ClassVar[Mapping[str, str]] = {
        "inertias": "of the axes without each individual",
        "errors": "standard errors of the inertias",
        "biases": "of the inertias",
        "influences": "of each individual on the axes",
        "angles": "by which the axes turn",
    }

    coordinates: Array
    model_inertias: Array
    influences: Array
    angles: Array
    inertias: Array
    errors: Array
    biases: Array
    covariances: Array
    names: tuple[str, ...] | None = field(default=None, repr=False)
    library: str | None = field(default=None, repr=False)

    def _title(self) -> str:
        return (
            f"Jackknife of {len(self.coordinates)} individuals on {len(self.model_inertias)} axes"
        )

    def __len__(self) -> int:
        return len(self.influences)

    @property
    def order(self) -> Array:
        """The numbers of the individuals, the most influential first."""
        order: Array = np.argsort(-np.nan_to_num(self.influences, nan=-1.0), kind="stable")
        return order

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the individuals, or their numbers."""
        return self.names or tuple(map(str, range(len(self))))

    def columns(self) -> dict[str, Array]:
        """Return one row for each individual, by column."""
        return {
            "individual": np.array(self.labels, dtype=object),
            "influence": self.influences,
            **{f"degrees{k + 1}": self.angles[:, k] for k in range(self.angles.shape[1])},
        }

    def table(self, library: str | None = None) -> Any:
        """Return one row for each individual: its influence, and by how much each axis turns."""
        return as_frame(self.columns(), library or self.library)

    def __str__(self) -> str:
        left_out = np.isfinite(self.influences)
        first = self.order[0]
        lines = [
            f"{int(left_out.sum())} individuals, each left out once: without {self._who(first)} "
            f"the others move most, by {short(self.influences[first])} (root mean square)"
        ]
        for k, angles in enumerate(self.angles[left_out].T):
            most = int(np.nanargmax(self.angles[:, k]))
            lines.append(
                f"axis {k + 1}: inertia {short(self.model_inertias[k])}, standard error "
                f"{short(self.errors[k])}; it turns by {degrees(np.median(angles))} in the median, "
                f"and most, by {degrees(angles.max())}, without {self._who(most)}"
            )
        return "\n".join(lines)

    def _who(self, i: int) -> str:
        return clean(self.labels[i]) if self.names else f"individual {i}"


def degrees(angle: float) -> str:
    """Return an angle as a sentence shows it.

    >>> degrees(7.31), degrees(0.04)
    ('7.3°', 'less than 0.1°')
    """
    return "less than 0.1°" if angle < 0.1 else f"{angle:.2g}°"


@spelled
def jackknife(
    model: Any,
    X: Any = None,
    *,
    axes: int | Sequence[int] | None = None,
    progress: bool | Progress | None = None,
) -> Jackknife:
    r"""Leave out the individuals one at a time, and tell what each of them does to the first axes.

    Model, X, axes and progress are those of `mercer.bootstrap`. The axes without an individual are
    found from those with it, exactly: its weight w leaves covariances
    :math:`(C - \frac{w}{1 - w} z z^\top)/(1 - w)`, with z where it lies. Kernel models of more than
    3 000 individuals, and standardised tables, are fitted anew each time.

    >>> import mercer as mc
    >>> x = np.vstack([np.random.default_rng(0).standard_normal((30, 3)) * [3, 1, 1], [0, 9, 9]])
    >>> found = mc.jackknife(mc.PCA(2), x)
    >>> int(found.order[0]), found.angles[30].round()
    (30, array([ 3., 86.]))
    """
    source = source_of(model, X, None if axes is None else first_axes(axes))
    w, q = source.weights, source.count
    active, sums = np.flatnonzero(w > 0), Sums(source)
    influences, angles = np.full(len(w), np.nan), np.full((len(w), q), np.nan)
    without = np.full((len(w), q), np.nan)
    with follow_work(progress, "individuals") as tell:
        for done, (i, found) in enumerate(zip(active, source.without(active), strict=True), 1):
            aligned = sums.add(found)
            influences[i] = np.sqrt(w @ np.sum((aligned - source.scores) ** 2, axis=1))
            cosine = np.abs(found.cosines[np.arange(q), match_axes(found.cosines)[0]])
            angles[i] = np.degrees(np.arccos(np.minimum(cosine, 1.0)))
            without[i] = found.inertias
            if tell is not None:
                tell(done, len(active))
    n, inertias = len(active), without[active]
    mean = inertias.mean(axis=0)
    fit = source.model.individuals_
    return Jackknife(
        coordinates=source.scores,
        model_inertias=source.inertias,
        influences=influences,
        angles=angles,
        inertias=without,
        errors=np.sqrt((n - 1.0) / n * np.sum((inertias - mean) ** 2, axis=0)),
        biases=(n - 1.0) * (mean - source.inertias),
        covariances=(n - 1.0) / n * sums.spread()[1],
        names=fit.names,
        library=fit.library,
    )
