"""Finite features of a kernel, exact on landmarks or of random frequencies, as transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer.check import Array, Points
from mercer.engines.engine import Engine
from mercer.errors import InvalidParameter
from mercer.estimator import OF_KERNELS, KernelModel, as_kernel, on_engine, one_of
from mercer.fourier import random_fourier
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.radial import Gaussian
from mercer.lowrank import Features as NystromMap
from mercer.lowrank import nystrom
from mercer.progress import Progress
from mercer.settings import RandomState, seed_of, whole
from mercer.tensors import like_given

LANDMARKS = ("pivoted", "kmeans", "uniform")
"""How landmarks are chosen."""


class Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelModel):
    """A transformer of points to rows whose inner products are those of a kernel, nearly."""

    random_state: RandomState
    kernel_: Kernel
    _map: Callable[[Points], Array]
    _n_features_out: int

    def _points(self, X: Any) -> tuple[Kernel, Points]:
        """Return the kernel of the points, and the points."""
        if self._is_precomputed:
            raise InvalidParameter(
                "features are of points, and a precomputed matrix has none: give a kernel"
            )
        points = self._read(X, reset=True)
        return as_kernel(self.kernel).resolve(points), points

    @on_engine
    def transform(self, X: Any) -> Array:
        """Return one row of features for each point."""
        check_is_fitted(self)
        points = self._read(X, reset=False, stays=isinstance(self._map, NystromMap))
        Gram(self.kernel_, points).refuse_features(self._n_features_out)
        found: Array = like_given(self._map(points), X)
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class NystromFeatures(Features):
    r"""Features that are exact on landmarks z among the points, and nowhere too long.

    .. math:: \varphi(x) = R^\top k(z, x), \quad R R^\top = k(z, z)^{-1}, \quad
        0 \le k(x, x) - \|\varphi(x)\|^2

    A linear model of them is the model of the kernel restricted to functions Σ βⱼ k(zⱼ, ·). Points
    may be of any kind.

    Parameters
    ----------
    n_components : int
        The number of landmarks, at most that of the points. Fewer are taken where they explain
        all.
    kernel : Kernel, str or function
        A positive definite kernel, its written form, or a Python function of two points.
    landmarks : {"pivoted", "kmeans", "uniform"} or points
        The pivots of a randomly pivoted Cholesky factor, each drawn with probability proportional
        to what the ones before leave of a point; centres of k-means, which are no points of the
        data; a uniform sample; or the landmarks themselves.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.
    random_state : int, generator or None
        The seed of the choice.

    Attributes
    ----------
    landmarks_ : the points z
    kernel_ : the kernel with its rules resolved
    seed_ : the seed that repeats the fit as ``random_state``
    trace_error_ : tr(K - FFᵀ) over the points of `fit`, known exactly up to rounding: the trace
        norm of what the features leave of the Gram matrix, and so a bound of its spectral norm
    explained_share_ : 1 - trace_error_/tr K

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> features = NystromFeatures(8, kernel=Gaussian(0.5), random_state=0).fit(x)
    >>> F = features.transform(x)
    >>> F.shape, bool(np.max(np.abs(F @ F.T - Gaussian(0.5)(x))) <= features.trace_error_ + 1e-12)
    ((50, 8), True)

    References
    ----------
    Williams and Seeger (2001); Chen, Epperly, Tropp and Webber (2025) for pivots.
    """

    equivalents: ClassVar[Mapping[str, str]] = OF_KERNELS

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Kernel | str | Callable[[Any, Any], Any] = Gaussian("median"),  # noqa: B008
        landmarks: Any = "pivoted",
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.landmarks = landmarks
        self.engine = engine
        self.threads = threads
        self.memory = memory
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> NystromFeatures:
        """Choose the landmarks, which ``progress`` counts: pivots some by some, others at once."""
        count = whole(self.n_components, "n_components", least=1)
        self.seed_ = seed_of(self.random_state)
        if isinstance(self.landmarks, str):
            one_of(self.landmarks, "landmarks", LANDMARKS)
        with self._at_work(progress, "landmarks", (X,)) as tell:
            kernel, points = self._points(X)
            gram = Gram(kernel, points)
            most = count if isinstance(self.landmarks, str) else len(self.landmarks)
            gram.refuse_features(min(most, len(points)))
            found = nystrom(
                gram, count, landmarks=self.landmarks, random_state=self.seed_, progress=tell
            )
            if tell is not None:
                tell(found.rank, found.rank)
        self.kernel_, self._map = kernel, found.features
        self.landmarks_, self._n_features_out = found.features.landmarks, found.rank
        self.trace_error_ = found.trace_error
        self.explained_share_ = 1.0 - found.trace_error / found.trace if found.trace > 0 else 1.0
        return self


class RandomFourierFeatures(Features):
    r"""Cosines and sines of random frequencies ω, for kernels of Euclidean differences.

    .. math:: \varphi(x) = \sqrt{\tfrac{k(0)}{D}}\,
        \bigl(\cos\omega_j^\top x, \sin\omega_j^\top x\bigr)_{j \le D}, \quad
        E\,\langle \varphi(x), \varphi(y) \rangle = k(x, y)

    They need no data but the number of columns, and are much less accurate than landmarks at equal
    size. Gaussian, Matérn and rational quadratic kernels, ``Laplacian(norm=2)``, and weighted sums
    of them have such features.

    Parameters
    ----------
    n_frequencies : int
        The number D of frequencies, for each term of a sum; features are twice as many.
    kernel : Kernel or str
        The kernel, or its written form.
    engine, threads, memory
        Where matrices are computed, by how many threads, within which budget; see `KernelPCA`.
    random_state : int, generator or None
        The seed of the frequencies.

    Attributes
    ----------
    kernel_ : the kernel with its rules resolved
    seed_ : the seed that repeats the fit as ``random_state``
    sampled_error_ : the root mean square of k - ⟨φ, φ⟩ on 50 000 random pairs of the points of
        `fit`

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 1.0, 50)[:, None]
    >>> features = RandomFourierFeatures(500, kernel=Gaussian(0.5), random_state=0).fit(x)
    >>> features.transform(x).shape, features.sampled_error_ < 0.05
    ((50, 1000), True)

    References
    ----------
    Rahimi and Recht (2007); Yu et al. (2016) for frequencies orthogonal to each other.
    """

    equivalents: ClassVar[Mapping[str, str]] = {
        **OF_KERNELS,
        "n_components": "2·n_frequencies",
    }

    def __init__(
        self,
        n_frequencies: int = 100,
        *,
        kernel: Kernel | str = Gaussian("median"),  # noqa: B008  (a value)
        engine: Engine | str = "auto",
        threads: int | None = None,
        memory: int | str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.kernel = kernel
        self.engine = engine
        self.threads = threads
        self.memory = memory
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        progress: bool | Progress | None = None,
        layer: str | None = None,  # noqa: ARG002  (of_layer reads it)
    ) -> RandomFourierFeatures:
        """Draw the frequencies, and sample the error; ``progress`` counts the pairs of points."""
        count = whole(self.n_frequencies, "n_frequencies", least=1)
        self.seed_ = seed_of(self.random_state)
        with self._at_work(progress, "pairs", (X,)) as tell:
            kernel, points = self._points(X)
            gram = Gram(kernel, points)
            gram.refuse_features(2 * count)
            found = random_fourier(gram, count, random_state=self.seed_, progress=tell)
        self.kernel_, self._map = gram.kernel, found.features
        self.sampled_error_, self._n_features_out = found.sampled_error, found.rank
        return self
