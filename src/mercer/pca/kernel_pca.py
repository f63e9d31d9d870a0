"""Principal component analysis in the space of a kernel."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Checked, Points, chunks, is_foreign, shares_of
from mercer.display import kept
from mercer.engines.cpu import engine_of
from mercer.engines.engine import Engine
from mercer.engines.held import Held, given_back, held_or_given, to_host
from mercer.errors import Advice, InvalidParameter, NotAvailable, NotPositiveDefinite
from mercer.estimator import (
    OF_KERNELS,
    PRECOMPUTED,
    KernelModel,
    as_kernel,
    axes_asked,
    axes_reaching,
    in_dtype_of,
    is_yes,
    on_engine,
    one_of,
    weights_of,
)
from mercer.gram import Centred, Gram, columns
from mercer.kernels.base import Kernel, parameters
from mercer.kernels.corrections import CORRECTIONS, correct_similarities
from mercer.kernels.given import Precomputed
from mercer.kernels.vectors import Linear
from mercer.pca.feature_space import place_of, place_points
from mercer.pca.streams import KernelStream
from mercer.points import SparseRows, as_points, take
from mercer.progress import Progress
from mercer.reading import Individuals, Variables
from mercer.reading.model import remark_axes, warn_of_units
from mercer.settings import RandomState, number, seed_of, whole
from mercer.spectrum import Limits, Spectrum, leading
from mercer.spectrum.leading import METHODS
from mercer.store import CheckpointFile, fingerprint, kernel_identity, read_run

ROWS = 2**17
"""Individuals whose share of the axes is compared with what there is of them at a time."""

MOST_NEGATIVE = 1e-8
"""The share of negative eigenvalues in Σ|λ| above which a Gram matrix is not one by rounding."""

MOST_NEGATIVE_SINGLE = 1e-5
"""The same for a Gram matrix given in single precision."""

EXCESS = 1e-6
"""The share of the largest inertia by which axes may show more of an individual than there is."""

REMEDY = (
    "Choose a positive definite kernel; from distances, raise them to "
    "mercer.kernels.largest_euclidean_power first; similarities of your own are made positive by "
    "correction='clip', or mercer.kernels.correct_similarities(K)"
)


def refuse_negative_diagonal(K: Array) -> None:
    """Refuse a matrix with a squared norm below zero, by its entry."""
    diagonal = np.diag(K).real
    if np.any(diagonal < -MOST_NEGATIVE * np.abs(K).max()):
        i = int(np.argmin(diagonal))
        raise NotPositiveDefinite(
            f"entry ({i}, {i}) of the Gram matrix is {diagonal[i]:.6g}: k(x, x) is a squared norm "
            "and not negative. From distances, give mercer.kernels.gram_of of their squares"
        )


def refuse_negative(spectrum: Spectrum, *, is_single: bool) -> None:
    """Refuse a centred matrix with more negative eigenvalues than rounding makes, by their mass."""
    mass = spectrum.negative_mass
    if mass is not None and mass > (MOST_NEGATIVE_SINGLE if is_single else MOST_NEGATIVE):
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: {100 * mass:.3g} % of its "
            f"eigenvalues, by modulus, are negative. {REMEDY}"
        )


def refuse_contradiction(spectrum: Spectrum, centred: Centred, tol: float) -> None:
    r"""Refuse leading axes that show more of an individual than there is of it.

    .. math:: \sum_k \lambda_k |u_{ik}|^2 \le w_i \|\varphi_i - \mu\|^2

    wherever no eigenvalue is negative; so that some are can be known without computing them.
    """
    if spectrum.negative_mass is not None or spectrum.is_approximate:
        return
    vectors, values, there = spectrum.vectors, np.maximum(spectrum.values, 0.0), centred.diag()
    shown = np.empty(len(there))
    for rows in chunks(len(there), ROWS):
        shown[rows] = to_host(np.abs(vectors[rows]) ** 2 @ values)
    i = int(np.argmax(shown - there))
    allowed = max(EXCESS, 10.0 * tol) * np.max(np.abs(there)) + spectrum.threshold
    if shown[i] - there[i] > allowed:
        raise NotPositiveDefinite(
            f"the centred Gram matrix is not positive semidefinite: the axes show {shown[i]:.3g} "
            f"of the inertia of individual {i}, which has {there[i]:.3g}. {REMEDY}"
        )


class KernelPCA(ClassNamePrefixFeaturesOutMixin, KernelStream, KernelModel):
    r"""Principal component analysis of the features of a kernel, by exact eigenpairs.

    .. math:: W^{1/2} H K H^\top W^{1/2} = U \Lambda U^\top, \quad
        F = H K H^\top W^{1/2} U \Lambda^{-1/2}

    with weights w that sum to 1, H = I - 1wᵀ and W = diag(w); without weights F = √λ·u. Beyond a
    thousand individuals K is not stored, unless ``method="dense"`` or more axes than a tenth of
    the individuals are asked for. Axes below the numerical rank are left out. A rule such as
    ``bandwidth="median"`` is decided by the individuals that have a weight.

    Parameters
    ----------
    n_components : int, float or None
        How many axes; None keeps all above the numerical rank, up to 3 000 individuals. A number
        between 0 and 1 keeps the fewest that hold such a share of the inertia; beyond 3 000
        individuals 16, 32, … up to 1 024 axes are found until they do.
    kernel : Kernel, str or function
        A kernel, its written form, a Python function of two points, or ``"precomputed"``.
    tol : float
        The residual ‖Ku - λu‖ allowed, as a share of the largest eigenvalue.
    method : {"auto", "dense", "exact", "nystrom"}
        Whether to decompose the whole matrix, to iterate without it, or to decompose an
        approximation on ``landmarks``, whose intervals say what it may have missed.
    landmarks : int, points or None
        How many points the approximation rests on, or these points themselves; None takes 50 for
        each axis.
    correction : {None, "clip", "flip", "shift"}
        What makes similarities of one's own, a precomputed matrix, positive definite: see
        `kernels.correct_similarities`. New rows are corrected alike.
    engine : Engine or "auto"
        Where tiles are computed.
    threads : int or None
        How many threads compute them; None takes one for each core.
    memory : int, str or None
        A budget such as ``"4GB"``, beyond which nothing is stored; what is not needed keeps tiles,
        which saves time where values are costly. None takes as little as possible.
    deterministic : bool
        Whether to add in the same order every time, bit for bit.
    random_state : int, generator or None
        The seed of the landmarks and probes.

    Attributes
    ----------
    n_components_ : how many axes were kept
    inertias_ : the inertia of each axis; weights sum to 1
    inertia_ : the total inertia, exact even when few axes were computed
    eigenvalues_, eigenvectors_ : those of the centred Gram matrix, as in scikit-learn
    explained_variance_, explained_variance_ratio_ : with divisor n - 1; shares of the true total
    individuals_, variables_ : coordinates, cos2, contributions; correlations
    weights_ : the weights of the individuals, which sum to 1
    negative_mass_, correction_change_ : with a correction, the share of negative eigenvalues in
        Σ|λ| before it, and the change of the matrix as a share of its norm
    drift_ : of a stream (`partial_fit`), how far each batch turned the axes
    seed_ : the seed that repeats the fit as ``random_state``
    spectrum_ : values, vectors, proved errors, degenerate axes, and how they were found; of data
        beyond 1e±150 under the linear kernel in a unit of their size

    Examples
    --------
    >>> import mercer as mc
    >>> x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> model = mc.KernelPCA(2, kernel=mc.Linear()).fit(x)
    >>> model.inertias_, model.inertia_
    (array([1.  , 0.25]), 1.25)

    Schölkopf, Smola and Müller (1998); Beeny, §4; Martin, part II; Gallier and Quaintance, §53.4;
    Kroese et al., §6.8.
    """

    equivalents: ClassVar[Mapping[str, str]] = {
        **OF_KERNELS,
        "eigen_solver": 'method: "auto", "exact", "dense" or "nystrom"',
        "fit_inverse_transform": "mercer.preimage, for any fitted model",
        "alpha": "the penalty of mercer.preimage",
        "remove_zero_eig": "what is always done",
    }

    limits: ClassVar[Limits] = Limits()

    _anchors: Any
    stays_on_device: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913  (every setting is an argument, as scikit-learn asks)
        self,
        n_components: float | None = None,
        *,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Linear(),  # noqa: B008  (a value)
        tol: float = 1e-9,
        method: str = "auto",
        landmarks: int | Points | None = None,
        correction: str | None = None,
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
        deterministic: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.tol = tol
        self.method = method
        self.landmarks = landmarks
        self.correction = correction
        self.engine = engine
        self.threads = threads
        self.memory = memory
        self.deterministic = deterministic
        self.random_state = random_state

    @on_engine
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,  # noqa: ARG002  (on_engine reads it)
        checkpoint: str | os.PathLike[str] | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> KernelPCA:
        """Find the axes of the individuals X; ``progress`` counts the tiles of each pass.

        ``checkpoint`` names a file in which an iteration keeps its state after each pass. Where it
        is there, of the same data and parameters, the fit goes on from it; a file of another run is
        refused. With ``deterministic=True`` the axes are those of a run without a break to the
        digits that rounding leaves; several threads that add in any order change the last ones, as
        they do between any two fits. Only ``method="exact"`` makes passes to keep: a warning says
        where there are none.
        """
        self._check_parameters()
        X = self._held(X)
        points = self._read(X, reset=True)
        self._stream, self._drift = None, ()
        n = len(points)
        is_fixed = self.deterministic and self.random_state is None
        kept = None if checkpoint is None or self.random_state is not None else read_run(checkpoint)
        known = 0 if is_fixed else self.random_state if kept is None else kept[0].get("seed")
        self.seed_ = seed_of(known)
        given = weights_of(sample_weight, n)
        self._note(X, shares_of(given), columns(points))
        self._shift, self._unit = self._place_of(points)
        gram = self._gram(points)
        centred = gram.centred(self._weights)
        with nullcontext() if checkpoint is None else self._run(checkpoint, gram, points) as run:
            spectrum = self._leading(centred, run)
        refuse_negative(spectrum, is_single=getattr(points, "dtype", None) == np.float32)
        refuse_contradiction(spectrum, centred, self.tol)
        self.kernel_ = gram.kernel
        self.X_fit_ = given_back(points, X) if isinstance(points, Held) else points
        self._keep(spectrum, centred, float(given.sum()), points)
        warn_of_units(self.kernel_, points, self._weights, self._columns)
        asked = axes_asked(self.n_components)
        remark_axes(
            spectrum.clusters,
            self._n_features_out,
            self._n_features_out if isinstance(asked, float) else asked,
            n,
            is_approximate=spectrum.is_approximate,
        )
        return self

    def _landmarks(self) -> int | Points | None:
        """Return the number of landmarks, or those given, seen from where the points are."""
        if self.landmarks is None or np.ndim(cast(Any, self.landmarks)) == 0:
            return self.landmarks
        kernel = as_kernel(self.kernel)
        given = as_points(self.landmarks, "landmarks", are_vectors=kernel.reads_vectors)
        return cast(Points, self._placed(given))

    def _read(self, X: Any, *, reset: bool, stays: bool | None = None) -> Any:
        """Return the data a kernel can read; similarities corrected as those of the fit were."""
        points = super()._read(X, reset=reset, stays=stays)
        if self.correction is None:
            return points
        if reset:
            found = correct_similarities(points, self.correction)
            self.negative_mass_, self.correction_change_ = found.negative_mass, found.change
            self._correction_map = found.map
            return found.matrix
        return points if self._correction_map is None else np.asarray(points @ self._correction_map)

    def _check_parameters(self) -> None:
        """Refuse by name what would otherwise fail after hours, or not at all."""
        number(self.tol, "tol", above=0.0)
        one_of(self.method, "method", METHODS)
        is_yes(self.deterministic, "deterministic")
        one_of(self.correction, "correction", (None, *CORRECTIONS))
        if self.correction is not None and not self._is_precomputed:
            raise InvalidParameter(
                "correction= is for similarities of your own, kernel='precomputed': kernels are "
                "positive definite"
            )
        if self.landmarks is not None and np.ndim(cast(Any, self.landmarks)) == 0:
            whole(self.landmarks, "landmarks", least=1)
        elif self.landmarks is not None and (self.method != "nystrom" or self._is_precomputed):
            raise InvalidParameter(
                "landmarks that are points need method='nystrom' and a kernel that reads them; "
                "else give their number"
            )
        axes_asked(self.n_components)

    def _engine(self, progress: Progress | None = None) -> Engine:
        return engine_of(
            self.engine,
            threads=self.threads,
            memory=self.memory,
            is_deterministic=is_yes(self.deterministic, "deterministic"),
            progress=progress,
        )

    def _gram(self, points: Any) -> Gram:
        if not self._is_precomputed:
            kernel = self._resolved(points)
            return Gram(kernel, self._placed(points))
        kernel = Precomputed(points)
        refuse_negative_diagonal(kernel.matrix)
        return Gram(kernel, np.arange(len(points)))

    @contextmanager
    def _run(
        self, file: str | os.PathLike[str], gram: Gram, points: Any
    ) -> Iterator[CheckpointFile]:
        """Open the checkpoint of this very fit, refused where it is one of another."""
        about = {
            "kernel": PRECOMPUTED if self._is_precomputed else kernel_identity(gram.kernel),
            "data": fingerprint(points),  # the matrix itself, where it was given
            "weights": fingerprint(self._weights),
            "n_components": self.n_components,
            "tol": float(self.tol),
            "method": self.method,
            "seed": self.seed_,
        }
        with CheckpointFile(file, about).alone() as checkpoint:
            checkpoint.load()
            yield checkpoint

    def _leading(self, centred: Centred, checkpoint: CheckpointFile | None = None) -> Spectrum:
        n, asked = centred.shape[0], axes_asked(self.n_components)
        if not isinstance(asked, float) or n <= self.limits.stored:
            return self._found(centred, self._count(n), checkpoint)
        kept = None if checkpoint is None else checkpoint.load()
        count = self.limits.first_axes
        if kept is not None:
            count = max(count, int(kept.get("count", 0)))
        while True:
            spectrum = self._found(centred, min(count, n), checkpoint)
            total = spectrum.trace + spectrum.trace_error
            reached = float(np.sum(np.maximum(spectrum.values, 0.0))) / total if total > 0 else 1.0
            if reached >= asked or len(spectrum.values) < min(count, n):
                return spectrum
            if count >= self.limits.most_axes:
                given = Advice("n_components", asked)
                raise InvalidParameter(
                    f"{given}: {count} axes hold {reached:.3g} of the inertia, and "
                    f"of more than {self.limits.stored} individuals no more are sought; give the "
                    "number of axes, or a smaller share",
                    given,
                )
            count *= 2

    def _found(
        self, centred: Centred, count: int, checkpoint: CheckpointFile | None = None
    ) -> Spectrum:
        n = centred.shape[0]
        return leading(
            centred,
            count,
            tol=self.tol,
            method=self._method(n),
            landmarks=self._landmarks(),
            random_state=self.seed_,
            checkpoint=checkpoint,
            limits=self.limits,
        )

    def _resolved(self, points: Any) -> Kernel:
        """Return the kernel; a rule in it is decided by the individuals that have a weight."""
        kernel = as_kernel(self.kernel)
        has_rule = any(v is None or isinstance(v, str) for v in parameters(kernel).values())
        if np.ptp(self._weights) == 0.0 or not (has_rule or kernel.reads_rows):
            return kernel.resolve(points)  # not the placed ones: a rule may know the origin
        active = np.flatnonzero(self._weights)
        some = points if len(active) == len(points) else take(points, active)
        return kernel.resolve(some, self._weights[active])

    def _place_of(self, points: Any) -> tuple[Array | None, float]:
        """Return the origin from which inner products lose no digits, and the unit."""
        kernel = None if self._is_precomputed else as_kernel(self.kernel)
        is_sparse = isinstance(points, SparseRows)  # which a shift would fill
        if is_sparse or kernel is None:
            return None, 1.0
        if not kernel.inner_weight:  # None where another origin makes another kernel
            return None, 1.0
        origin, unit = place_of(points, self._weights)
        return origin, unit if kernel == Linear() else 1.0

    def _placed(self, points: Any) -> Any:
        return points if self._shift is None else place_points(points, self._shift, self._unit)

    def _count(self, n: int) -> int:
        asked = axes_asked(self.n_components)
        if isinstance(asked, int):
            return asked
        if n > self.limits.stored:
            every, ten = Advice("n_components", None), Advice("n_components", 10)
            raise InvalidParameter(
                f"{every} takes the whole matrix of {n} individuals; beyond {self.limits.stored} "
                f"give a number, for example {ten}",
                *(every, ten),
            )
        return n

    def _method(self, n: int) -> str:
        is_whole = not isinstance(axes_asked(self.n_components), int) and n <= self.limits.stored
        return "dense" if is_whole else self.method

    def _keep(self, spectrum: Spectrum, centred: Centred, total: float, points: Any) -> None:
        self._keep_spectrum(spectrum, total)
        vectors = spectrum.vectors[:, : self._n_features_out]
        self.eigenvectors_ = given_back(vectors, self.X_fit_) if self._is_on_device else vectors
        if spectrum.is_approximate:
            self._keep_features(spectrum, centred)
        else:
            self._keep_means(centred, vectors, points)

    def _keep_spectrum(self, spectrum: Spectrum, total: float) -> None:
        self.spectrum_, self._total = spectrum, total
        self._n_features_out = int(np.sum(spectrum.values > spectrum.threshold))
        asked = axes_asked(self.n_components)
        if isinstance(asked, float) and self._n_features_out:
            values = spectrum.values[: self._n_features_out]
            self._n_features_out = axes_reaching(values, self._whole, asked)

    @property
    def n_components_(self) -> int:
        """How many axes were kept: those asked for, or whose share of the inertia was."""
        check_is_fitted(self)
        return self._n_features_out

    @property
    def _axis_inertias(self) -> Array:
        return self.spectrum_.values[: self._n_features_out]

    @property
    def _whole(self) -> float:
        total = self.spectrum_.trace + self.spectrum_.trace_error  # shares are not too large
        return total if self._n_features_out and total > self.spectrum_.threshold else 0.0

    @property
    def eigenvalues_(self) -> Array:
        """The eigenvalues of the centred Gram matrix, as in scikit-learn: Σs times inertias."""
        check_is_fitted(self)
        values: Array = self._in_units(self._total * self._axis_inertias)
        return values

    def _keep_means(self, centred: Centred, vectors: Any, points: Any) -> None:
        """Keep what new individuals are multiplied with, and the means they are centred with."""
        # A' = A - w(1ᵀA): what is left of the centring once K w has been subtracted.
        roots, weights = centred.weights_beside(vectors)
        axes = roots * vectors
        axes /= np.sqrt(self._axis_inertias)
        sums = axes.sum(axis=0)
        for rows in chunks(len(axes), ROWS):
            axes[rows] -= weights[rows] * sums
        self._axes = axes
        self._origin = centred.mean_rows.conj() @ self._axes
        self._anchors, self._barycentre = points, centred.weights
        self._grand_mean, self._squares = centred.grand_mean, centred.squared_norms()

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> Array:
        """Fit, and return the coordinates of the same individuals."""
        self.fit(X, y, sample_weight=sample_weight, progress=progress)
        return in_dtype_of(X, self._given_back(self._scores()[0]))

    @property
    def _is_on_device(self) -> bool:
        """Whether the individuals are an array of another library than numpy."""
        return is_foreign(getattr(self, "X_fit_", None))

    def _given_back(self, values: Any) -> Any:
        """Return results as an array of the library and on the device of the individuals."""
        if not self._is_on_device:
            return values
        return in_dtype_of(self.X_fit_, given_back(values, self.X_fit_))

    def _located(self, scores: Any, *others: Any) -> Individuals:
        return super()._located(self._given_back(scores), *others)

    def on_host(self) -> Self:
        """Return the model with all that it knows as numpy's arrays: this one, unless on a device.

        A model of individuals on a device is read there: coordinates, cos2 and contributions are
        arrays like theirs. Pictures, pages and files are made of its copy on the host.
        """
        check_is_fitted(self)
        if not self._is_on_device:
            return self
        model, found = super().on_host(), self.spectrum_
        model.X_fit_ = Checked.of(model.X_fit_, "X")
        images = None if found.images is None else to_host(found.images)
        model.spectrum_ = replace(found, vectors=to_host(found.vectors), images=images)
        return model

    def _scores(self) -> tuple[Array, Array]:
        check_is_fitted(self)
        if np.all(self._weights > 0):
            roots, sizes = np.sqrt(self._weights)[:, None], np.sqrt(self._axis_inertias)
            images = self.spectrum_.images
            if images is None:
                given = self.eigenvectors_
                vectors = held_or_given(given) if self._is_on_device else given
                return self._unit * (vectors * sizes / roots), self._squares
            # The operator times the axes is what `transform` computes, whatever their residual.
            return self._unit * (images[:, : len(sizes)] / sizes / roots), self._squares
        # Individuals without weight are supplementary.
        return self._projected(held_or_given(self.X_fit_)), self._squares

    @kept
    def variables_(self) -> Variables:
        """The correlations of the original variables with the axes, and their squares.

        With the linear kernel also their coordinates and contributions, as in PCA.
        """
        check_is_fitted(self)
        if self._is_precomputed or not self.kernel_.reads_vectors:
            raise NotAvailable(
                "these individuals are not rows of variables; give some to "
                "supplementary(variables=...)"
            )
        found = self._correlated(self.X_fit_, self._columns, self._library)
        if self.kernel_ == Linear():
            return replace(found, weights=np.ones(len(found)))
        return replace(found, deviations=None)

    def _refit(self, weights: Array) -> KernelPCA:
        model: KernelPCA = clone(self)
        model.fit(self.X_fit_, sample_weight=weights)
        self._name_alike(model)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
