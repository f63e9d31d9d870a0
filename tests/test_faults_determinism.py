"""The same data again, in another order, in other parts, elsewhere, 16 cases: the same result."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import mercer as mc
from mercer import Gram
from mercer.check import Array
from mercer.engines.cpu import Threads
from mercer.engines.limits import Limits
from mercer.spectrum import leading
from tests.references import near

SEED = 41
KERNEL = mc.Gaussian(2.0)


def sample(n: int) -> Array:
    x = np.random.default_rng(SEED).standard_normal((n, 4))
    return np.asarray(x * [3.0, 2.0, 1.0, 0.5])


X = sample(1_100)
FEW = X[:150]


def iterated(**settings: Any) -> mc.KernelPCA:
    return mc.KernelPCA(3, kernel=KERNEL, method="exact", tol=1e-12, **settings)


@pytest.fixture(scope="module")
def expected() -> Array:
    """Scores by the dense solver, which knows neither tiles nor seeds."""
    return np.asarray(mc.KernelPCA(3, kernel=KERNEL, method="dense").fit_transform(X))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_threads_change_neither_scores_nor_signs(count: int, expected: Array) -> None:
    near(iterated(engine=Threads(count), random_state=0).fit_transform(X), expected, 1e-10)
    for method in ("dense", "nystrom"):
        settings: Any = {"kernel": KERNEL, "method": method, "landmarks": 149, "random_state": 0}
        one, other = (mc.KernelPCA(2, engine=Threads(c), **settings) for c in (count, 3))
        near(one.fit_transform(FEW), other.fit_transform(FEW), 1e-12)
    horn = [mc.parallel_analysis(FEW, 40, random_state=0, threads=c).null for c in (count, 3)]
    assert np.array_equal(horn[0], horn[1])


@pytest.mark.parametrize("tile", [64, 100, Limits.tile, 2_000])
def test_tiles_change_neither_axes_nor_signs(tile: int, expected: Array) -> None:
    operator = Gram(KERNEL, X, tile=tile).centred()
    spectrum = leading(operator, 3, method="exact", tol=1e-12, random_state=0)
    near(spectrum.vectors * np.sqrt(len(X) * spectrum.values), expected, 1e-10)


def permuted(model: Any, x: Array, tolerance: float = 1e-10) -> None:
    """Assert that rows in another order have the same scores, in that order."""
    order = np.random.default_rng(1).permutation(len(x))
    is_square = len(x) == x.shape[1]
    moved = x[np.ix_(order, order)] if is_square else x[order]
    near(model.fit_transform(moved), model.fit_transform(x)[order], tolerance)


def test_the_order_of_rows_changes_nothing() -> None:
    D = squareform(pdist(FEW, "cityblock"))
    permuted(mc.PCA(), X)
    permuted(mc.PCA(standardize=True), X)
    for kernel in (KERNEL, mc.Linear(), mc.Matern(1.5, 2.0), mc.Polynomial(2, 1.0, 1.0)):
        permuted(mc.KernelPCA(3, kernel=kernel), FEW)
    permuted(mc.KernelPCA(3, kernel="precomputed"), KERNEL(FEW))
    permuted(mc.ClassicalMDS(3), D)
    permuted(mc.ClassicalMDS(3, correction="cailliez"), D)
    permuted(mc.ClassicalMDS(3, metric="euclidean"), X)
    permuted(iterated(random_state=0), X)
    permuted(mc.ClassicalMDS(3, method="exact", tol=1e-12, random_state=0), squareform(pdist(X)))


@pytest.mark.parametrize("loss", ["stress", "sstress", "sammon", "ordinal"])
def test_the_order_of_rows_changes_no_descent(loss: str) -> None:
    """Random maps are dealt to individuals by their distances, not by their rows.

    A descent of a hundred steps may enlarge a difference in the last digit a million times.
    """
    D = squareform(pdist(FEW[:30], "cityblock"))
    permuted(mc.StressMDS(2, loss=loss, random_state=0), D, 1e-9)
    D[3, 7] = D[7, 3] = np.nan
    permuted(mc.StressMDS(2, loss=loss, random_state=0), D, 1e-9)


def test_where_scores_are_tied_the_order_of_rows_changes_signs_only() -> None:
    x = np.vstack([np.eye(4), -np.eye(4)]) * [4.0, 3.0, 2.0, 1.0]
    order = np.arange(8)[::-1]
    for model in (mc.PCA(), mc.KernelPCA(4), mc.ClassicalMDS(4, metric="euclidean")):
        found, plain = model.fit_transform(x[order]), model.fit_transform(x)[order]
        near(np.abs(found), np.abs(plain), 1e-12)
        for scores in (found, plain[order]):
            first = np.argmax(np.abs(scores) > 0.5, axis=0)
            assert np.all(scores[first, np.arange(4)] > 0)  # of tied scores the first decides


def digest() -> str:
    """Return a checksum of every bit of every kind of result."""
    D = squareform(pdist(FEW[:60]))
    results = [
        mc.PCA().fit_transform(FEW),
        mc.KernelPCA(3, kernel=KERNEL, deterministic=True).fit_transform(FEW),
        iterated(deterministic=True, random_state=3).fit_transform(X),
        mc.ClassicalMDS(2).fit_transform(D),
        mc.StressMDS(2, random_state=3).fit_transform(D),
        mc.parallel_analysis(FEW, 20, random_state=3).null,
    ]
    return sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in results)).hexdigest()


def test_a_new_process_repeats_every_bit() -> None:
    script = "from tests.test_faults_determinism import digest; print(digest())"
    command, root = [sys.executable, "-c", script], Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest()


def test_every_seed_finds_the_same_axes(expected: Array) -> None:
    for seed in (0, 1, 2, None):
        near(iterated(random_state=seed).fit_transform(X), expected, 1e-10)


def test_a_seed_repeats_what_is_drawn() -> None:
    D = squareform(pdist(FEW[:40], "cityblock"))
    settings: Any = {"kernel": KERNEL, "method": "nystrom", "landmarks": 140}
    draws: list[Callable[[int], Array]] = [
        lambda seed: mc.StressMDS(2, random_state=seed).fit(D).stresses_,
        lambda seed: mc.parallel_analysis(FEW, 20, random_state=seed).null,
        lambda seed: mc.KernelPCA(2, random_state=seed, **settings).fit(FEW).inertias_,
    ]
    for draw in draws:
        assert np.array_equal(draw(5), draw(5))
        assert not np.array_equal(draw(5), draw(6))
    choice = [mc.choose_dimension(mc.PCA().fit(FEW), "horn", random_state=5) for _ in range(2)]
    assert choice[0].evidence == choice[1].evidence


def test_a_deterministic_fit_repeats_every_bit_with_any_number_of_threads() -> None:
    for count in (1, 2, 4):
        engine = Threads(count, is_deterministic=True)
        first, second = (iterated(engine=engine, random_state=0).fit(X) for _ in range(2))
        assert np.array_equal(first.eigenvectors_, second.eigenvectors_)
        assert np.array_equal(first.transform(FEW), second.transform(FEW))


def test_a_deterministic_fit_needs_no_seed() -> None:
    first, second = (iterated(deterministic=True).fit(X) for _ in range(2))
    assert np.array_equal(first.eigenvectors_, second.eigenvectors_)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: no GPU to compare")
def test_a_gpu_finds_the_same_axes(expected: Array) -> None:
    from mercer.engines.gpu import Gpu

    scores = iterated(engine=Gpu("cpu"), random_state=0).fit_transform(X)
    near(scores, expected, 1e-10)
