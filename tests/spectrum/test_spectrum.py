from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import textwrap
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from benchmarks.measure import BANDWIDTH
from benchmarks.measure import latent as surface
from mercer.certificate import FAILURE, frobenius_complement
from mercer.check import Array
from mercer.engines import lapack
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Tiles
from mercer.errors import MissedAxes, NoInertia, NotConverged, NotEnoughMemory, RoundingLimit
from mercer.gram import Centred, Gram
from mercer.iteration import Iteration
from mercer.lowrank import nystrom
from mercer.spectrum import Spectrum, leading, signs
from mercer.spectrum.approximate import nystrom_bytes
from mercer.spectrum.exact import points_left_out
from mercer.spectrum.leading import refuse_beyond_budget, smaller
from mercer.spectrum.proofs import factored_complement
from mercer.spectrum.room import needed_bytes
from mercer.spectrum.shortfall import (
    Missing,
    largest_eigenvalue,
    largest_mean,
    largest_shortfall,
    sampled_norm,
    upper_values,
)
from tests.interrupts import interrupt, start_script
from tests.references import FOLDER

EPSILON = np.finfo(float).eps
dense_module = importlib.import_module("mercer.spectrum.dense")
missing_module = importlib.import_module("mercer.spectrum.shortfall")
exact_module = importlib.import_module("mercer.spectrum.exact")
leading_module = importlib.import_module("mercer.spectrum.leading")
RNG = np.random.default_rng(5)


def reference(name: str) -> dict[str, Any]:
    path = FOLDER / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def latent(n: int, d: int = 8) -> Array:
    """Points near a curved surface of three dimensions, standardised."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)))
    X = X + 0.1 * rng.standard_normal((n, d))
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def blobs(n: int) -> Array:
    """Ten clusters."""
    rng = np.random.default_rng(1)
    return np.asarray(3.0 * rng.standard_normal((10, 5))[rng.integers(0, 10, n)]) + (
        rng.standard_normal((n, 5))
    )


def lapack_ratios(A: Array, spectrum: Spectrum) -> tuple[float, float]:
    """LAPACK's two test ratios: of the residual, and of orthogonality."""
    n, norm = len(A), max(float(np.linalg.norm(A, 1)), 1e-300)
    U, values = spectrum.vectors, spectrum.values
    first = np.linalg.norm(A @ U - U * values, 1) / (norm * n * EPSILON)
    second = np.linalg.norm(U.T @ U - np.eye(U.shape[1]), 1) / (n * EPSILON)
    return float(first), float(second)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20, 101])
@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Linear(), mc.kernels.Delta()], ids=str)
def test_a_dense_spectrum_passes_lapacks_own_tests(n: int, kernel: mc.Kernel) -> None:
    operator = Gram(kernel, latent(101)[:n]).centred()
    spectrum = leading(operator, n, random_state=0)
    assert max(lapack_ratios(operator.dense(), spectrum)) < 60.0
    assert spectrum.trace == pytest.approx(spectrum.values.sum(), abs=1e-12)
    assert spectrum.psd == "verified"


def test_no_points_have_an_empty_spectrum() -> None:
    spectrum = leading(Gram(mc.Gaussian(1.0), np.zeros((0, 3))), 4, random_state=0)
    assert spectrum.values.shape == (0,)
    assert spectrum.rank == 0


def test_fifty_digits_are_met_within_the_contract() -> None:
    file = reference("spectrum_iris25_gauss_50digits")
    truth = np.array(file["eigenvalues"])
    gram = Gram(mc.Gaussian(1.0), np.array(file["X"]))
    spectrum = leading(gram.centred(), 25, random_state=0)
    found = 25.0 * spectrum.values
    norm = np.linalg.norm(gram.dense(), 2)
    assert np.max(np.abs(found - truth)) <= 10 * 25 * EPSILON * norm
    assert np.max(np.abs(found[:5] / truth[:5] - 1.0)) <= 1e-13
    inside = (25.0 * spectrum.certificate.lower <= truth) & (
        truth <= 25.0 * spectrum.certificate.upper
    )
    assert np.all(inside)


@pytest.mark.parametrize("data", [latent, blobs])
@pytest.mark.parametrize("n", [999, 1000, 1001, 1500])
def test_the_iteration_finds_what_the_dense_solver_finds(data: Any, n: int) -> None:
    operator = Gram(mc.Gaussian(2.0), data(n)).centred()
    exact = leading(operator, 6, method="exact", tol=1e-10, random_state=0)
    dense = leading(operator, 8, method="dense", random_state=0)
    assert np.max(np.abs(exact.values - dense.values[:6])) <= 1e-12 * dense.values[0]
    assert np.all(exact.certificate.lower <= dense.values[:6] + dense.errors[:6])
    assert np.all(exact.certificate.upper >= dense.values[:6] - dense.errors[:6])
    residual = operator.dense() @ exact.vectors - exact.vectors * exact.values
    assert np.linalg.norm(residual, axis=0).max() <= 2e-10 * exact.values[0]
    assert exact.trace == pytest.approx(dense.trace, rel=1e-12)
    assert exact.psd == "by construction"
    assert exact.how.single_passes >= 1
    for k, sine in enumerate(exact.certificate.sines):
        true = dense.vectors[:, : k + 1]
        outside = exact.vectors[:, : k + 1] - true @ (true.T @ exact.vectors[:, : k + 1])
        assert np.linalg.norm(outside, 2) <= sine + 1e-9


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Laplacian(3.0),
        mc.Matern(1.5, 2.0) + 0.1 * mc.Linear(),
        mc.Polynomial(2),
        mc.kernels.NegativeDistance(1.0),
    ],
    ids=str,
)
def test_any_kernel_goes_through_the_iteration(kernel: mc.Kernel) -> None:
    operator = Gram(kernel, latent(1100)).centred()
    exact = leading(operator, 4, method="exact", random_state=0)
    dense = leading(operator, 4, method="dense", random_state=0)
    np.testing.assert_allclose(exact.values, dense.values, rtol=0, atol=1e-10 * dense.values[0])


def test_objects_and_uncentred_operators_go_through_the_iteration() -> None:
    sets = [set(RNG.choice(30, 6, replace=False).tolist()) for _ in range(1200)]
    operator = Gram(mc.kernels.Intersection().gaussian(2.0), sets)
    exact = leading(operator, 3, method="exact", tol=1e-8, random_state=0)
    dense = leading(operator, 3, method="dense", random_state=0)
    np.testing.assert_allclose(exact.values, dense.values, rtol=1e-9)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("tile", [200, 512])
def test_threads_and_tiles_change_neither_values_nor_signs(threads: int, tile: int) -> None:
    def solved(engine: Threads, size: int) -> Spectrum:
        gram = Gram(mc.Gaussian(2.0), latent(1200), engine=engine, tile=size)
        return leading(gram.centred(), 4, method="exact", tol=1e-11, random_state=0)

    one, other = solved(Threads(1), 512), solved(Threads(threads), tile)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-13)
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-8)


def test_a_double_eigenvalue_is_a_cluster() -> None:
    file = reference("beeny_circles_kpca")
    rings = [
        np.column_stack([r * np.cos(t), r * np.sin(t)])
        for r in file["radii_train"]
        for t in [np.linspace(0.0, 2.0 * np.pi, 15 * r, endpoint=False)]
    ]
    operator = Gram(mc.Gaussian(file["sigma"]), np.vstack(rings)).centred()
    spectrum = leading(operator, 4, random_state=0)
    np.testing.assert_allclose(90.0 * spectrum.values, file["eigenvalues_top12"][:4], rtol=1e-10)
    assert 90.0 * spectrum.trace == pytest.approx(file["trace_centred"], rel=1e-12)
    # The fourth has its twin in the fifth, which was not asked for.
    assert spectrum.clusters == ((1, 2), (3,))


def test_an_indefinite_matrix_shows_its_negative_mass_or_says_it_was_not_verified() -> None:
    x = latent(1200)
    K = x @ x.T - 3.0 * np.eye(1200)
    operator = Gram(mc.Precomputed(K), np.arange(1200))
    dense = leading(operator, 2, method="dense", random_state=0)
    assert dense.psd == "not positive semidefinite"
    assert dense.negative_mass is not None
    assert dense.negative_mass > 0.1
    assert dense.values[0] == pytest.approx(np.linalg.eigvalsh(K)[-1], rel=1e-12)


def test_negative_eigenvalues_keep_their_sign() -> None:
    spectrum = leading(
        Gram(mc.Precomputed(np.diag([3.0, -5.0, 1.0])), np.arange(3)), 3, random_state=0
    )
    np.testing.assert_allclose(spectrum.values, [3.0, 1.0, -5.0])


def test_a_solver_that_returns_nonsense_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        dense_module, "eigh", lambda K: (np.zeros(len(K)), np.zeros((len(K), len(K))))
    )
    with pytest.raises(NotConverged, match="use method='exact'"):
        leading(Gram(mc.Gaussian(1.0), latent(20)), 2, random_state=0)


def test_ctrl_c_does_not_wait_for_lapack() -> None:
    process = start_script("""
        import numpy as np
        import mercer as mc
        from mercer.gram import Gram
        from mercer.spectrum import leading
        from mercer.engines import lapack
        dense, eigh = mc.spectrum.dense, np.linalg.eigh
        large = np.random.default_rng(0).standard_normal((4000, 4000))
        def slow(K):
            print("ready", flush=True)
            return eigh(large)
        dense.eigh, lapack.LONG = slow, 10
        leading(Gram(mc.Gaussian(1.0), np.random.default_rng(0).standard_normal((20, 2))), 2)
    """)
    errors, spent = interrupt(process)
    assert "KeyboardInterrupt" in errors
    assert spent < 2.0  # LAPACK would take more than 10


def test_a_thread_of_its_own_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lapack, "LONG", 10)
    one = leading(Gram(mc.Gaussian(1.0), latent(20)), 2, random_state=0)
    monkeypatch.setattr(lapack, "LONG", 10_000)
    other = leading(Gram(mc.Gaussian(1.0), latent(20)), 2, random_state=0)
    assert np.array_equal(one.vectors, other.vectors)


def test_sizes_that_overflow_lapack_are_refused_before_they_allocate() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="32766"):
        leading(Gram(mc.Gaussian(1.0), np.zeros((40_000, 1))), 2, method="dense", random_state=0)


@pytest.mark.parametrize("scale", [1e-100, 1e-10, 1e10, 1e100])
def test_the_linear_kernel_is_equivariant_under_units(scale: float) -> None:
    x = latent(60)
    one = leading(Gram(mc.Linear(), x).centred(), 3, random_state=0)
    other = leading(Gram(mc.Linear(), scale * x).centred(), 3, random_state=0)
    np.testing.assert_allclose(other.values / scale / scale, one.values, rtol=1e-12)
    np.testing.assert_allclose(other.vectors, one.vectors, atol=1e-9)


@pytest.mark.parametrize("offset", [1.0, 1e4, 1e8])
def test_an_offset_changes_a_gaussian_spectrum_by_its_own_rounding_only(offset: float) -> None:
    x = latent(1100)
    shifted = (x + offset) - offset  # what is left of x once the offset has been stored
    one = leading(Gram(mc.Gaussian(2.0), shifted).centred(), 3, method="exact", random_state=0)
    other = leading(Gram(mc.Gaussian(2.0), x + offset).centred(), 3, method="exact", random_state=0)
    np.testing.assert_allclose(one.values, other.values, rtol=1e-8)


@pytest.mark.parametrize("bandwidth", [1e-10, 1e10])
def test_extreme_bandwidths_give_a_finite_spectrum(bandwidth: float) -> None:
    spectrum = leading(
        Gram(mc.Gaussian(bandwidth), latent(1100)).centred(), 3, method="exact", random_state=0
    )
    dense = leading(
        Gram(mc.Gaussian(bandwidth), latent(1100)).centred(), 3, method="dense", random_state=0
    )
    assert np.all(np.isfinite(spectrum.errors))
    np.testing.assert_allclose(spectrum.values, dense.values, rtol=1e-6, atol=1e-15)


def test_an_indefinite_kernel_is_iterated_without_an_approximation() -> None:
    x = latent(1100)
    operator = Gram(mc.kernels.Sigmoid(0.5, -1.0), x)
    exact = leading(operator, 2, method="exact", tol=1e-7, random_state=0)
    assert exact.psd == "not verified"
    assert "indefinite" in exact.how.method
    largest = np.linalg.eigvalsh(operator.dense())[::-1][:2]
    np.testing.assert_allclose(exact.values, largest, rtol=1e-9)


def test_rows_in_another_order_give_the_same_axes() -> None:
    x = latent(400)
    order = RNG.permutation(400)
    one = leading(Gram(mc.Gaussian(2.0), x).centred(), 3, random_state=0)
    other = leading(Gram(mc.Gaussian(2.0), x[order]).centred(), 3, random_state=0)
    np.testing.assert_allclose(other.vectors, one.vectors[order], atol=1e-10)


def test_the_sign_rule_prefers_the_first_of_tied_scores() -> None:
    tied = np.array([[1.0, -1.0], [-1.0, 1.0 + 1e-12]])
    assert signs(tied).tolist() == [1.0, -1.0]
    assert signs(np.array([[2j], [1.0]])).tolist() == [-1j]
    assert signs(np.zeros((3, 1))).tolist() == [1.0]


def test_a_row_of_weight_two_is_a_row_repeated() -> None:
    x = latent(30)
    weights = np.ones(30)
    weights[4] = 2.0
    weighted = leading(Gram(mc.Gaussian(2.0), x).centred(weights), 3, random_state=0)
    repeated = leading(Gram(mc.Gaussian(2.0), np.vstack([x, x[4:5]])).centred(), 3, random_state=0)
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-12)
    w = Centred(Gram(mc.Gaussian(2.0), x), weights).weights
    scores = weighted.vectors / np.sqrt(w)[:, None]
    np.testing.assert_allclose(scores, repeated.vectors[:30] * np.sqrt(31), atol=1e-9)


def test_unknown_methods_are_refused() -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="method"):
        leading(Gram(mc.Linear(), latent(5)), 1, method="fast", random_state=0)


@pytest.mark.parametrize("tol", [1e-3, 3e-4])
@pytest.mark.parametrize("data", [latent, blobs])
def test_single_precision_is_enough_for_a_coarse_residual(data: Any, tol: float) -> None:
    operator = Gram(mc.Gaussian(2.0), data(1200)).centred()
    spectrum = leading(operator, 5, method="exact", tol=tol, random_state=0)
    assert spectrum.how.double_passes == 0
    assert spectrum.certificate.rounding == "estimated: single precision"
    dense = leading(Gram(mc.Gaussian(2.0), data(1200)).centred(), 6, method="dense", random_state=0)
    residual = operator.dense() @ spectrum.vectors - spectrum.vectors * spectrum.values
    assert np.linalg.norm(residual, axis=0).max() <= tol * dense.values[0]
    assert np.max(np.abs(spectrum.values - dense.values[:5])) <= 1e-5 * dense.values[0]
    assert np.all(np.abs(spectrum.values - dense.values[:5]) <= spectrum.errors)
    assert spectrum.trace == pytest.approx(dense.trace, rel=1e-5)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("tol", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize(
    "kernel",
    [mc.Gaussian(1.0), mc.Laplacian(3.0, norm=2.0), mc.Linear() + mc.Gaussian(2.0)],
    ids=str,
)
def test_true_residuals_are_within_tol_and_intervals_hold(
    kernel: mc.Kernel, tol: float, seed: int
) -> None:
    """Rounding is counted: the residual against the matrix itself is what was promised.

    Where that cannot be promised, the certificate names what holds.
    """
    x = np.random.default_rng(seed).standard_normal((1100, 3)) ** 3
    operator = Gram(kernel, x).centred()
    spectrum = leading(operator, 4, method="exact", tol=tol, random_state=seed)
    K = operator.dense()
    residual = np.linalg.norm(K @ spectrum.vectors - spectrum.vectors * spectrum.values, axis=0)
    standing = spectrum.certificate.rounding
    promised = re.fullmatch("bounded; residuals at most (.*) of the largest value", standing)
    assert promised is not None or standing == "bounded"
    limit = tol if promised is None else float(promised[1])
    assert (residual.max() + operator.rounding()) <= limit * spectrum.values[0]
    assert promised is None or tol < limit <= 1e-8
    values = np.linalg.eigvalsh(K)[::-1]
    proof, slack = spectrum.certificate, 1e-13 * values[0]
    assert np.all(proof.lower[proof.is_ordered] <= values[:4][proof.is_ordered] + slack)
    assert np.all(values[:4][proof.is_ordered] <= proof.upper[proof.is_ordered] + slack)


@pytest.mark.parametrize("landmarks", [None, 30, latent(800)[::20]], ids=["rule", "30", "given"])
def test_intervals_of_an_approximation_hold_the_truth(landmarks: Any) -> None:
    weights = RNG.uniform(0.5, 2.0, 800)
    for operator in (
        Gram(mc.Gaussian(2.0), latent(800)).centred(),
        Gram(mc.Gaussian(2.0), latent(800)).centred(weights),
        Gram(mc.Gaussian(2.0), latent(800)),
        Gram(mc.kernels.NegativeDistance(1.0), latent(800)).centred(),
    ):
        found = leading(operator, 4, method="nystrom", landmarks=landmarks, random_state=0)
        truth = np.linalg.eigvalsh(operator.dense())[::-1]
        assert np.all(found.certificate.lower <= truth[:4])
        assert np.all(truth[:4] <= found.certificate.upper)
        assert found.trace <= truth.sum() * (1 + 1e-12) <= found.trace + found.trace_error + 1e-9
        assert found.is_approximate
        assert "approximate" in found.how.method
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-8)


def test_an_approximation_of_an_indefinite_matrix_is_refused() -> None:
    K = np.diag([3.0, 2.0, -1.0, 1.0])
    gram = Gram(mc.Precomputed(K), np.arange(4))
    with pytest.raises(mc.errors.InvalidInput, match="no (Nyström|Cholesky)"):
        leading(gram, 2, method="nystrom", random_state=0)


def test_kept_tiles_change_nothing_and_are_not_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts: list[bool] = []
    computed = Tiles._computed

    def counted(self: Tiles, block: Any) -> Array:
        counts.append(self.single)
        return computed(self, block)

    monkeypatch.setattr(Tiles, "_computed", counted)

    def solved(memory: str | None) -> tuple[Spectrum, int]:
        counts.clear()
        gram = Gram(mc.Gaussian(2.0), latent(2000), engine=Threads(2, memory=memory))
        return leading(gram.centred(), 4, method="exact", random_state=0), sum(counts)

    (plain, many), (kept, few) = solved(None), solved("1GB")
    np.testing.assert_allclose(kept.values, plain.values, rtol=1e-12)
    assert few < many


def test_a_budget_that_is_too_small_names_what_fits() -> None:
    def operator(memory: str) -> Centred:
        return Gram(mc.Gaussian(1.0), latent(2000), engine=Threads(1, memory=memory)).centred()

    with pytest.raises(MemoryError, match=r"method='exact' takes .* MB"):
        leading(operator("40MB"), 3, method="dense", random_state=0)
    with pytest.raises(MemoryError, match=r"method='nystrom' with landmarks=\d+ takes"):
        leading(operator("3MB"), 3, method="exact", random_state=0)
    with pytest.raises(MemoryError, match=r"fewer points: method='dense' takes up to 34 of them"):
        leading(operator("50kB"), 3, method="exact", random_state=0)
    some = "use fewer points: method='nystrom' with landmarks=500 takes up to 18174 of them"
    assert smaller(200_000, 20, 10, "exact", 10**8)[0] == some
    assert nystrom_bytes(18_174, 20, 10, 500) <= 10**8 < nystrom_bytes(18_175, 20, 10, 500)


@pytest.mark.parametrize("memory", [12, 40])
def test_what_is_named_as_fitting_fits(memory: int) -> None:
    x = np.random.default_rng(0).standard_normal((20_000, 10))
    settings: dict[str, Any] = {"kernel": mc.Gaussian(2.0), "memory": f"{memory}MB"}
    with pytest.raises(MemoryError) as refusal:
        mc.KernelPCA(5, method="exact", **settings).fit(x)
    named = re.search(r"landmarks=(\d+)", str(refusal.value))
    assert named is not None
    model = mc.KernelPCA(5, method="nystrom", landmarks=int(named[1]), random_state=0, **settings)
    assert mc.plan(model, 20_000, 10).fits
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", mc.errors.DegenerateAxes
        )  # so few landmarks tell little apart
        model.fit(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.25 * memory * 1e6


@pytest.mark.parametrize("method", ["exact", "nystrom"])
def test_points_on_disk_are_not_counted_as_memory(method: str, tmp_path: Path) -> None:
    path, shape = tmp_path / "x.npy", (50_000, 1_000)
    mapped = np.lib.format.open_memmap(path, "w+", np.float64, shape)  # a file of holes
    engine = Threads(1, memory="500MB")
    refuse_beyond_budget(Gram(mc.Gaussian(1.0), mapped, engine=engine).centred(), 5, method)
    small = Threads(1, memory="50MB")
    with pytest.raises(MemoryError, match="takes"):
        refuse_beyond_budget(Gram(mc.Gaussian(1.0), mapped, engine=small).centred(), 5, method)
    assert needed_bytes(*shape, 5, 1) > nystrom_bytes(*shape, 5, 250) > 10**9


@pytest.mark.parametrize("n", [3_000, 8_000])
def test_planned_memory_is_what_is_used(n: int) -> None:
    script = f"""
        import resource
        import numpy as np
        import mercer as mc
        from mercer.gram import Gram
        from mercer.spectrum import leading
        x = np.random.default_rng(0).standard_normal(({n}, 10))
        leading(Gram(mc.Gaussian(3.0), x[:1100]).centred(), 5, method="exact")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spectrum = leading(Gram(mc.Gaussian(3.0), x).centred(), 5, method="exact", tol=1e-6)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(used * 1000, spectrum.how.memory)
    """
    run = [sys.executable, "-c", textwrap.dedent(script)]
    used, planned = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()
    assert int(used) <= 1.25 * int(planned)


@pytest.mark.parametrize("tol", [1e-6, 1e-9, 1e-11])
def test_axes_beyond_the_rank_do_not_hold_the_iteration_up(tol: float) -> None:
    operator = Gram(mc.Linear(), RNG.standard_normal((1500, 6))).centred()
    spectrum = leading(operator, 7, method="exact", tol=tol, random_state=0)
    assert spectrum.values[6] <= 1e-12
    assert spectrum.how.single_passes + spectrum.how.double_passes <= 8


@pytest.mark.parametrize("scale", [1e-200, 1e-80, 1e80, 1e150])
@pytest.mark.parametrize("method", ["dense", "exact"])
def test_extreme_units_are_units(scale: float, method: str) -> None:
    x = RNG.standard_normal((60, 2))
    plain = leading(
        Gram(mc.kernels.NegativeDistance(1.0), x).centred(), 2, method=method, random_state=0
    )
    moved = leading(
        Gram(mc.kernels.NegativeDistance(1.0), scale * x).centred(),
        2,
        method=method,
        random_state=0,
    )
    np.testing.assert_allclose(moved.values / scale, plain.values, rtol=1e-9)
    np.testing.assert_allclose(moved.vectors, plain.vectors, atol=1e-7)


def test_a_zero_operator_has_zero_eigenvalues() -> None:
    gram = Gram(mc.Precomputed(np.zeros((40, 40))), np.arange(40))
    for method in ("dense", "exact"):
        assert leading(gram.centred(), 2, method=method, random_state=0).values.tolist() == [
            0.0,
            0.0,
        ]


def test_scores_are_what_transform_computes_on_small_axes_too() -> None:
    """Small axes are known to tol·λ₁/λ_k only, but their scores must not depend on the route."""
    x = np.random.default_rng(0).standard_normal((1500, 3))
    model = mc.KernelPCA(12, kernel=mc.Gaussian(20.0), random_state=0)
    scores = model.fit_transform(x)
    gaps = np.abs(model.transform(x) - scores).max(axis=0)
    values = model.inertias_
    allowed = np.maximum(1e-8, 10 * 1500 * EPSILON * np.sqrt(values[0] / values))
    assert np.all(gaps <= allowed * np.abs(scores).max())


@pytest.mark.parametrize("method", ["dense", "exact"])
def test_the_rank_of_conditional_kernels_is_found(method: str) -> None:
    x = np.random.default_rng(1).standard_normal((50, 2))
    model = mc.KernelPCA(5, kernel=mc.kernels.NegativeDistance(2.0), method=method)
    with pytest.warns(mc.errors.FewerAxes):
        model.fit(x)
    assert len(model.inertias_) == 2


@pytest.mark.parametrize("bandwidth", [1e3, 1e4, 3e4])
@pytest.mark.parametrize("seed", range(5))
def test_what_the_frobenius_norm_leaves_is_never_below_the_truth(
    bandwidth: float, seed: int
) -> None:
    x = np.random.default_rng(seed).standard_normal((150, 20))
    operator = Gram(mc.Gaussian(bandwidth), x).centred()
    K = operator.dense()
    values, axes = np.linalg.eigh(K)
    Q = axes[:, ::-1][:, :5]
    images, theta = operator.product(Q), values[::-1][:5]
    left = frobenius_complement(
        operator.square_sum, images, theta, np.zeros(5), operator.square_sum_error
    )
    assert left.tau >= values[::-1][5] - 1e-16


def test_flat_kernels_are_not_trusted_to_single_precision() -> None:
    x = np.random.default_rng(3).standard_normal((1200, 5))
    operator = Gram(mc.Gaussian(1e3), x).centred()
    spectrum = leading(operator, 2, method="exact", tol=0.1, random_state=0)
    dense = leading(Gram(mc.Gaussian(1e3), x).centred(), 2, method="dense", random_state=0)
    assert spectrum.trace == pytest.approx(dense.trace, rel=1e-3)
    assert np.all(np.abs(spectrum.values - dense.values) <= spectrum.errors)


def test_no_points_can_be_centred() -> None:
    assert (
        leading(Gram(mc.Gaussian(1.0), np.zeros((0, 3))).centred(), 1, random_state=0).values.size
        == 0
    )


def test_complex_points_go_through_the_iteration() -> None:
    z = RNG.standard_normal((1100, 3)) + 1j * RNG.standard_normal((1100, 3))
    exact = leading(Gram(mc.Linear(), z).centred(), 2, method="exact", random_state=0)
    dense = leading(Gram(mc.Linear(), z).centred(), 2, method="dense", random_state=0)
    np.testing.assert_allclose(exact.values, dense.values, rtol=1e-9)


def test_approximations_keep_to_the_budget() -> None:
    gram = Gram(mc.Gaussian(1.0), latent(3000), engine=Threads(1, memory="2MB"))
    with pytest.raises(MemoryError, match=r"landmarks=\d+ takes [\d.]+ MB"):
        leading(gram.centred(), 2, method="nystrom", landmarks=800, random_state=0)


# The iteration: no axis is missed, and what converges is what was asked for


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def leading_values(operator: Gram | Centred, count: int) -> Array:
    values: Array = np.linalg.eigvalsh(operator.dense())[::-1][:count]
    return values


@pytest.mark.parametrize("seed", range(3))
def test_axes_of_single_outliers_are_found(seed: int) -> None:
    """Three or four of five had no landmark near them: 1, 1, .892, .820 for 1, 1, 1, 1."""
    x = normal(seed, 1200, 5)
    x[:5] *= 50.0
    operator = Gram(mc.Gaussian(7.0), x).centred()
    found = leading(operator, 20, method="exact", random_state=seed)
    np.testing.assert_allclose(found.values, leading_values(operator, 20), rtol=1e-9)


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_axes_that_all_landmarks_are_orthogonal_to_are_found(degree: int) -> None:
    """Centres of ±aᵢeᵢ are 0, where an odd or even polynomial of no offset vanishes."""
    sizes = np.random.default_rng(0).uniform(1.0, 3.0, 150)
    x = np.vstack([np.diag(sizes), -np.diag(sizes)])
    operator = Gram(mc.Polynomial(degree, 0.0, 1.0), np.vstack([x, 0.5 * x])).centred()
    found = leading(operator, 5, method="exact", random_state=0)
    np.testing.assert_allclose(found.values, leading_values(operator, 5), rtol=1e-9)


def test_a_point_that_the_axes_leave_out_is_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first iteration is blind to two points: it sees an operator without them."""
    x = normal(0, 1100, 3)
    x[:2] *= 100.0
    operator = Gram(mc.Gaussian(5.0), x).centred()
    davidson, looked, blind_turns = exact_module.davidson, [], [1]

    class Blind:
        def __init__(self, seen: Any) -> None:
            self.seen, self.shape = seen, seen.shape

        def product(self, vectors: Array, *, single: bool = False) -> Array:
            images = self.seen.product(hidden(vectors), single=single)
            return hidden(images)

    def hidden(rows: Array) -> Array:
        rows = np.array(rows)
        rows[:2] = 0.0
        return rows

    def first_blind(seen: Any, count: int, start: Array, *others: Any, **more: Any) -> Any:
        blind_turns[0] -= 1
        if blind_turns[0] < 0:
            return davidson(seen, count, start, *others, **more)
        return davidson(Blind(seen), count, hidden(start), *others, **more)

    def watched(*arguments: Any) -> Any:
        looked.append(points_left_out(*arguments))
        return looked[-1]

    monkeypatch.setattr(exact_module, "davidson", first_blind)
    monkeypatch.setattr(exact_module, "points_left_out", watched)
    found = leading(operator, 25, method="exact", random_state=0)
    np.testing.assert_allclose(found.values, leading_values(operator, 25), rtol=1e-9)
    assert set(looked[0][0]) == {0, 1}
    assert len(looked[-1][0]) == 0
    # Where a point is left out whatever is done, it is told.
    monkeypatch.setattr(exact_module, "points_left_out", lambda *_: (np.array([0]), 1.0))
    with pytest.warns(MissedAxes, match="missed an axis, on which point 0 lies"):
        leading(operator, 25, method="exact", random_state=0)


def test_a_residual_that_was_asked_for_is_met_however_loose_its_rounding_is_bounded() -> None:
    """It stopped at 0.35 where 1e-9 was asked for."""
    operator = Gram(
        mc.kernels.NegativeDistance(1.0, bandwidth=0.3).exp(), normal(0, 1500, 5)
    ).centred()
    found = leading(operator, 3, method="exact", random_state=0)
    K = operator.dense()
    residuals = np.linalg.norm(K @ found.vectors - found.vectors * found.values, axis=0)
    assert residuals.max() <= 1.01e-9 * found.values[0]
    np.testing.assert_allclose(found.values, leading_values(operator, 3), rtol=1e-9)
    assert found.errors.max() <= 1e-6 * found.values[0]


@pytest.mark.parametrize("name", ["iso", "blobs"])
def test_a_complete_proof_leaves_no_axis_open_and_rests_on_nothing(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1200, 8))
    if name == "blobs":
        x += 4.0 * rng.standard_normal((10, 8))[rng.integers(0, 10, 1200)]
    operator = Gram(mc.Gaussian(3.0), x).centred()
    usual, found = (
        leading(operator, 10, method="exact", random_state=0, proof=proof)
        for proof in ("usual", "complete")
    )
    assert not usual.certificate.is_ordered.all()
    proof, values = found.certificate, leading_values(operator, 11)
    assert proof.is_ordered.all()
    assert (proof.failure_probability, set(proof.assumptions)) == (0.0, {"none"})
    assert np.all((proof.lower <= values[:10]) & (values[:10] <= proof.upper))
    assert values[10] <= proof.complete_above < values[9]


def test_cholesky_does_not_prove_what_is_false() -> None:
    """An axis is taken out of the Ritz pairs: then one above σ is missing."""
    operator = Gram(mc.Gaussian(2.0), normal(0, 150, 3)).centred()
    values, vectors = np.linalg.eigh(operator.dense())
    values, vectors = values[::-1][:8], vectors[:, ::-1][:, :8]
    state = Iteration(values, vectors, vectors * values, np.zeros(8))
    proved = factored_complement(operator, state, 3, 4, 0.0)
    assert (values[3] <= proved.tau < values[2], proved.pairs) == (True, 3)
    rest = [0, 2, 3, 4]
    state = Iteration(values[rest], vectors[:, rest], vectors[:, rest] * values[rest], np.zeros(4))
    assert factored_complement(operator, state, 3, 4, 0.0).tau == np.inf


def test_a_complete_proof_needs_the_memory_of_the_matrix_and_a_known_name() -> None:
    x = normal(0, 1500, 3)
    operator = Gram(mc.Gaussian(1.0), x, engine=Threads(memory=40_000_000)).centred()
    leading(operator, 2, method="exact", random_state=0)
    with pytest.raises(NotEnoughMemory):
        leading(operator, 2, method="exact", proof="complete", random_state=0)
    with pytest.raises(mc.errors.InvalidParameter, match="usual, complete"):
        leading(operator, 2, proof="whole")


def test_rounding_that_limits_the_residual_is_said() -> None:
    operator = Gram(mc.Gaussian(3e5), normal(0, 1100, 3)).centred()
    with pytest.warns(RoundingLimit, match="rounding limits"):
        found = leading(operator, 2, method="exact", tol=1e-9, random_state=0)
    assert found.how.history[-1] > 1e-9
    reached = float(found.certificate.rounding.split("at most ")[1].split(" ")[0])
    assert reached >= 0.99 * found.how.history[-1]


@pytest.mark.parametrize(
    ("kernel", "offset"),
    [(mc.Polynomial(3), 100.0), (mc.Gaussian(1e3), 0.0), (1e30 * mc.Gaussian(1.0), 0.0)],
    ids=["offset", "wide", "units"],
)
def test_what_arpack_finds_is_found(kernel: mc.Kernel, offset: float) -> None:
    """Centring that leaves little of single precision, and values whose squares it cannot hold."""
    operator = Gram(kernel, normal(0, 3500, 5)[:1500] + offset).centred()
    found = leading(operator, 8, method="exact", random_state=0)
    assert "Davidson" in found.how.method
    truth = leading_values(operator, 8)
    np.testing.assert_allclose(found.values, truth, rtol=0, atol=1e-9 * truth[0])


def test_many_axes_are_found_in_a_few_passes_of_double_precision() -> None:
    """Passes in single precision would be made again, and those after them for a few axes only."""
    operator = Gram(mc.Gaussian(2.0), latent(1500)).centred()
    spectrum = leading(operator, 80, method="exact", tol=1e-8)
    assert (spectrum.how.single_passes, spectrum.how.double_passes <= 6) == (0, True)
    truth = np.linalg.eigvalsh(operator.dense())[::-1][:80]
    np.testing.assert_allclose(spectrum.values, truth, rtol=0, atol=1e-13)
    assert leading(operator, 80, method="exact", tol=1e-3).how.double_passes == 0
    assert leading(operator, 10, method="exact", tol=1e-8).how.single_passes > 0


def test_axes_without_gaps_take_a_krylov_space() -> None:
    operator = Gram(mc.Gaussian(np.sqrt(50.0)), normal(0, 1200, 100)).centred()
    found = leading(operator, 10, method="exact", random_state=0)
    assert "Lanczos" in found.how.method
    assert found.how.single_passes + found.how.double_passes < 40
    np.testing.assert_allclose(found.values, leading_values(operator, 10), rtol=1e-9)


def test_a_matrix_is_the_last_resort_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Spectrum:
        raise NotConverged("the iteration stopped at residual 0.1")

    monkeypatch.setattr(leading_module, "exact", failing)
    found = leading(Gram(mc.Gaussian(1.0), latent(1100)).centred(), 2, random_state=0)
    assert found.how.method == "dense, for the iteration stopped at residual 0.1"
    with pytest.raises(NotConverged):
        leading(Gram(mc.Gaussian(1.0), latent(1100)).centred(), 2, method="exact", random_state=0)


# Approximations


def test_a_sample_of_what_is_missing_bounds_its_norm_far_below_its_trace() -> None:
    """The bound was 39 % of the first eigenvalue where the error is 3e-4 of it."""
    operator = Gram(mc.Gaussian(2.0), latent(1500)).centred()
    found = leading(operator, 4, method="nystrom", landmarks=100, random_state=0)
    truth = leading_values(operator, 4)
    assert np.all(found.certificate.lower <= truth)
    assert np.all(truth <= found.certificate.upper)
    assert found.errors.max() < 0.2 * found.trace_error
    assert found.certificate.failure_probability == FAILURE
    assert found.clusters == ()  # with the trace, all of them could not be told apart


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sampled_norm_is_above_the_norm(weighted: bool) -> None:
    x = normal(3, 400, 3)
    gram = Gram(mc.Matern(1.5, 1.0), x)
    weights = np.random.default_rng(0).uniform(0.1, 2.0, 400) if weighted else np.ones(400)
    for seed in range(20):
        found = nystrom(gram, 60, landmarks="uniform", random_state=seed)
        E = gram.dense() - found.factor @ found.factor.T
        E *= np.sqrt(weights)[:, None] * np.sqrt(weights)
        truth = np.linalg.norm(E, 2)
        assert truth <= sampled_norm(gram, found, weights, seed, 300).value < 0.4 * np.trace(E)
        exact = sampled_norm(gram, found, weights, seed)  # of all points
        assert truth <= exact.value < 1.11 * truth
        assert not exact.is_sampled


def test_intervals_of_an_approximation_are_as_wide_as_its_error() -> None:
    """They were 50 times as wide, and the last axes were called degenerate for it."""
    operator = Gram(mc.Gaussian(BANDWIDTH), surface(1500)).centred()
    found, truth = (
        leading(operator, 10, method="nystrom", random_state=0),
        leading_values(operator, 10),
    )
    assert np.all(found.certificate.lower <= truth)
    assert np.all(truth <= found.certificate.upper)
    assert np.all(found.errors < 3.0 * (truth - found.values))
    assert found.clusters == ()
    assert all(name.endswith("along the axes") for name in found.certificate.bounds)


def test_a_sample_of_points_bounds_what_is_missing_along_each_axis() -> None:
    """Also where it is far from all of them, for any seed and weights; another factor is caught."""
    gram, rng = Gram(mc.Matern(1.5, 2.0), normal(3, 900, 3)), np.random.default_rng(0)
    for seed in range(12):
        w = rng.uniform(0.1, 2.0, 900) / 900.0
        low = nystrom(gram, 60, landmarks="uniform", random_state=seed)
        E = np.sqrt(w)[:, None] * (gram.dense() - low.factor @ low.factor.T) * np.sqrt(w)
        found = low.centred(w)
        axes = np.linalg.svd(found.factor, full_matrices=False)[0][:, :4]
        truth = np.einsum("ik,ik->k", axes, E @ axes)
        missing = Missing(gram, low.missing, low.below, found.roots[:, 0] ** 2, 9.9, seed)
        exact = missing.along(axes, found, 900).bounds * w.sum()  # weights are divided by their sum
        np.testing.assert_allclose(exact, truth, rtol=1e-5)
        norm = float(np.linalg.norm(E, 2)) / w.sum()
        sampled = replace(missing, norm=norm).along(axes, found, 600).bounds * w.sum()
        assert np.all(truth <= sampled)
        wrong = replace(found, factor=1.01 * found.factor)  # of which less would be missing
        assert np.all(missing.along(axes, wrong, 900).bounds * w.sum() < truth)


def test_the_mean_of_a_sample_is_short_as_seldom_as_is_said() -> None:
    """Bernstein's bound at five per cent, of a law with a rare large value."""
    rng, p, size = np.random.default_rng(0), 0.02, 200
    drawn = rng.binomial(size, p, 4000) / size
    rate = np.log(1.0 / 0.05) / size
    short = largest_shortfall(np.array([1.0]), np.array([p]), rate)
    assert np.mean(drawn + short < p) <= 0.05
    assert np.mean(drawn + 0.3 * short < p) > 0.05  # a smaller one would be wrong


def test_upper_values_hold_for_matrices_of_any_kind() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, b = 12, int(rng.integers(1, 8))
        theta = np.sort(10.0 ** rng.uniform(-3.0, 1.0, n))[::-1]
        G = rng.standard_normal((n, int(rng.integers(1, n)))) * 10.0 ** rng.uniform(-3.0, 0.0)
        E = G @ G.T
        norm, beta = float(np.linalg.norm(E, 2)), np.diag(E)[:b]
        truth = np.linalg.eigvalsh(np.diag(theta) + E)[::-1][:b]
        bound = upper_values(theta[:b], beta, float(theta[b]), norm)
        assert np.all(truth <= bound * (1.0 + 1e-12))
        assert np.all(bound <= theta[:b] + norm)


def test_a_mean_is_excluded_as_often_as_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing_module, "FAILURE", 0.05)
    rng, p = np.random.default_rng(0), 0.03
    drawn = rng.binomial(500, p, 4000) / 500
    missed = np.mean([largest_mean(mean, 500) < p for mean in drawn])
    assert 0.001 < missed <= 0.05


def test_an_approximation_of_nothing_ends() -> None:
    """Values that are all 0, of which rounding could still be something."""
    x = np.zeros((6, 2))
    for kernel in (mc.Polynomial(2, 0.0), mc.Linear() * mc.Gaussian(1.0)):
        with pytest.raises(NoInertia):
            mc.KernelPCA(1, kernel=kernel, method="nystrom", random_state=0).fit(x)
    assert largest_eigenvalue(np.array([[0.0, -1.0], [-1.0, 0.0]])) >= 1.0


def test_no_chance_is_named_where_nothing_was_drawn() -> None:
    x = latent(60)
    for gram in (
        Gram(mc.Gaussian(2.0), x),
        Gram(mc.FromFunction(lambda a, b: float(np.exp(-np.sum((a - b) ** 2)))), x),
    ):
        found = leading(gram.centred(), 2, method="nystrom", landmarks=10, random_state=0)
        assert found.certificate.failure_probability == 0.0


def test_the_rounding_of_what_is_missing_is_part_of_its_bound() -> None:
    """Where nearly everything is missing, its trace rounds by more than the factor does."""
    for seed in range(60):
        s = np.random.default_rng(seed).uniform(0.5, 2.0, 100)
        x = np.c_[s * np.sin(1e-3), s * np.cos(1e-3)]
        truth = np.sum(x.astype(np.longdouble) ** 2)
        found = leading(
            Gram(mc.Linear(), x), 1, method="nystrom", landmarks=[[1.0, 0.0]], random_state=0
        )
        assert truth <= found.certificate.upper[0] < 1.000001 * truth


def test_points_that_are_all_the_same_have_a_finite_approximation() -> None:
    found = leading(Gram(mc.Matern(0.5, 1.0), np.ones((5, 2))), 1, method="nystrom", random_state=0)
    assert found.values[0] == pytest.approx(5.0)
    assert found.certificate.lower[0] <= 5.0 <= found.certificate.upper[0] < 5.1


@pytest.mark.parametrize("scale", [1e-150, 1e20, 1e150])
def test_an_approximation_of_values_of_any_size_is_finite(scale: float) -> None:
    x = latent(60)
    one = leading(
        Gram(mc.Linear() + mc.Gaussian(2.0), x).centred(), 2, method="nystrom", random_state=0
    )
    kernel = scale * (mc.Linear() + mc.Gaussian(2.0))
    other = leading(Gram(kernel, x).centred(), 2, method="nystrom", random_state=0)
    np.testing.assert_allclose(other.values / scale, one.values, rtol=1e-9)
    assert np.all(np.isfinite(other.errors))
    assert one.features is not None
    assert other.features is not None
    ours, theirs = other.features(x[:3]), one.features(x[:3])
    np.testing.assert_allclose((ours @ ours.T) / scale, theirs @ theirs.T, rtol=1e-6)


def test_means_of_rows_are_found_once_in_a_pass_of_double_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    widths: list[tuple[str, int]] = []
    product = Threads.product_and_squares

    def noted(self: Threads, tiles: Any, vectors: Array, *more: Any) -> Any:
        widths.append((tiles.dtype.name, vectors.shape[1]))
        return product(self, tiles, vectors, *more)

    monkeypatch.setattr(Threads, "product_and_squares", noted)
    x = np.random.default_rng(5).standard_normal((1200, 3))
    found = mc.KernelPCA(10, kernel=mc.Gaussian(2.0), method="exact", random_state=0).fit(x)
    singles = [width for name, width in widths if name == "float32"]
    doubles = [width for name, width in widths if name == "float64" and width > 1]
    assert max(singles) == 16  # ten axes, two guards and four probes
    assert doubles[0] == 13
    dense = mc.KernelPCA(10, kernel=mc.Gaussian(2.0), method="dense").fit(x)
    assert found.spectrum_.trace == pytest.approx(dense.spectrum_.trace, rel=1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_the_rounding_of_copies_of_a_point_adds_up(seed: int) -> None:
    """Their squared distances have one error, which is not that of a random sum."""
    rng = np.random.default_rng(seed)
    centres, groups = 30.0 * rng.standard_normal((2, 3)), rng.integers(0, 2, 150)
    kernel = mc.Gaussian(1.0)
    found = mc.leading(
        mc.Gram(kernel, centres[groups]), 2, method="exact", tol=1e-3, random_state=0
    )
    assert found.certificate.rounding == "estimated: single precision"
    # Two groups: the matrix has the eigenvalues of one of 2 by 2, with the numbers of members.
    root = np.sqrt(np.bincount(groups, minlength=2))
    truth = np.linalg.eigvalsh(root[:, None] * kernel(centres) * root)[::-1]
    assert np.all(found.certificate.lower <= truth + 1e-12 * truth)
    assert np.all(truth - 1e-12 * truth <= found.certificate.upper)
