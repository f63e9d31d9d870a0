"""Dense spectra against eigenvalues in extended precision: every interval true, every angle."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import mercer as mc
from benchmarks.adversary import eigenpairs, values
from benchmarks.certificates import run
from mercer.certificate import FAILURE
from mercer.check import Array
from mercer.engines import lapack
from mercer.errors import NotConverged
from mercer.gram import Centred, Gram
from mercer.spectrum import Spectrum, leading

dense_module = importlib.import_module("mercer.spectrum.dense")
METHODS = ("dense", "exact", "nystrom")


def normal(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def violations(spectrum: Spectrum, kernel: mc.Kernel, x: Array, w: Array) -> int:
    """How many intervals are false."""
    H = np.eye(len(w), dtype=np.longdouble) - (w / w.sum())[None, :]
    roots = np.sqrt(w / w.sum())
    truth, _ = eigenpairs(roots[:, None] * (H @ values(kernel, x) @ H.T) * roots)
    proof, true = spectrum.certificate, truth[: len(spectrum.values)]
    return int(np.sum((true < proof.lower) | (true > proof.upper)))


def test_without_the_rounding_of_the_matrix_intervals_would_be_false(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What tests/spectrum/test_certificates.py finds true is not true by chance."""
    assert run("dense", 60)[0].violations == 0
    monkeypatch.setattr(Centred, "dense_rounding", lambda _: 0.0)
    assert run("dense", 60)[0].violations > 10


@pytest.mark.parametrize(
    "kernel",
    [1.0 * mc.Linear(), mc.Gaussian(3.0) + mc.Linear(), mc.Polynomial(1, 0.0, 2.0)],
    ids=str,
)
def test_data_far_from_the_origin_keep_their_digits_and_their_proof(kernel: mc.Kernel) -> None:
    x = normal(0, 80, 2) + 1e6
    model = mc.KernelPCA(2, kernel=kernel).fit(x)
    exactly = x.astype(np.longdouble) - 1e6  # whose squares are long doubles too
    assert violations(model.spectrum_, kernel, exactly, np.ones(80)) == 0
    assert model.spectrum_.errors.max() < 1e-11 * model.inertias_[0]
    near = mc.KernelPCA(2, kernel=kernel).fit(x - 1e6)
    np.testing.assert_allclose(model.transform(x[:5]), near.transform(x[:5] - 1e6), atol=1e-8)


def test_the_exponential_of_minus_a_distance_is_at_most_one() -> None:
    kernel = mc.kernels.NegativeDistance(1.0, bandwidth=0.01).exp()
    known = Gram(kernel, normal(0, 50, 3)).entry_rounding()
    assert known.value == 1.0
    assert known.entry < 1e-9


def test_a_rule_for_the_bandwidth_sees_the_data_where_they_are() -> None:
    x, kernel = normal(3, 60, 2) + [0.0, 5.0], mc.Gaussian("scale") + mc.Linear()
    assert mc.KernelPCA(2, kernel=kernel).fit(x).kernel_ == kernel.resolve(x)


def test_a_function_has_no_bound_of_its_own() -> None:
    kernel = mc.FromFunction(lambda a, b: float(np.exp(-((a - b) ** 2).sum())))
    spectrum = leading(Gram(kernel, normal(0, 20, 2)).centred(), 2, method="dense", random_state=0)
    assert spectrum.certificate.rounding.startswith("estimated")


@pytest.mark.parametrize("method", METHODS)
def test_a_far_point_without_weight_takes_part_in_nothing(method: str) -> None:
    x, w = normal(0, 400, 3), np.ones(400)
    x[7], w[7] = 1e10, 0.0
    settings: dict[str, Any] = {"kernel": mc.Gaussian(2.0), "method": method, "random_state": 0}
    model = mc.KernelPCA(3, **settings).fit(x, sample_weight=w)
    without = mc.KernelPCA(3, **settings).fit(np.delete(x, 7, axis=0))
    np.testing.assert_array_equal(model.inertias_, without.inertias_)
    np.testing.assert_array_equal(model.spectrum_.errors, without.spectrum_.errors)
    far = model.individuals_
    np.testing.assert_allclose(np.delete(far.cos2, 7, axis=0), without.individuals_.cos2, atol=1e-9)
    np.testing.assert_allclose(far.coordinates[7], without.transform(x[7:8])[0], atol=1e-12)


def test_axes_of_points_without_weight_are_counted_where_eigenvalues_vanish() -> None:
    """Two of five points have no weight: an axis of eigenvalue 0 can be along either of them."""
    x, w = np.array([[0.0], [0.0], [3.0], [1.0], [2.0]]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    proof = leading(Gram(mc.Gaussian(1.0), x).centred(w), 3, method="dense").certificate
    assert proof.sines[0] < 1e-10
    np.testing.assert_array_equal(proof.sines[1:], 1.0)
    assert proof.complete_above >= 0.0
    every = leading(Gram(mc.Gaussian(1.0), x).centred(w), 5, method="dense").certificate
    assert every.complete_above == -np.inf
    assert np.all((every.lower <= every.upper) & every.is_ordered)


def test_all_axes_of_many_points_are_proved_by_random_probes() -> None:
    """At the cost of a few products with vectors, as narrowly as by products of matrices."""
    gram = Gram(mc.Gaussian(2.0), normal(0, 120, 3)).centred()
    proof = leading(gram, 120, method="dense").certificate
    assert set(proof.bounds) == {"block residual of all axes, by random probes"}
    assert proof.failure_probability == FAILURE
    assert proof.errors.max() < 1e-11 * proof.upper[0]
    assert leading(gram, 10, method="dense").certificate.failure_probability == 0.0


def test_few_axes_are_proved_by_one_factor_without_probability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That is what keeps the proof within a tenth of the run, whatever the number of points."""
    factors: list[int] = []

    def factor_in_place(A: Array) -> bool:
        factors.append(len(A))
        return lapack.factor_in_place(A)

    monkeypatch.setattr(dense_module, "factor_in_place", factor_in_place)
    for n, kernel in ((1_050, mc.Gaussian(2.0)), (150, mc.kernels.NegativeDistance())):
        factors.clear()
        found = leading(Gram(kernel, normal(0, n, 3)).centred(), 5, method="dense")
        assert factors == [n]
        assert found.certificate.failure_probability == 0.0
        assert set(found.certificate.bounds) == {"block residual, Cholesky"}
        assert found.psd == "by construction"
    factors.clear()
    leading(Gram(mc.Gaussian(2.0), normal(0, 120, 120) * 1e4), 5, method="dense")
    assert not factors  # all distances are infinite: no gap is wide enough for rounding


def test_signs_of_a_matrix_without_a_theorem_are_looked_at() -> None:
    """A stored matrix may be anything, and who calls a kernel positive may err."""
    x = normal(0, 150, 2)

    @mc.kernels.value
    class Wrong(mc.kernels.Radial):
        bandwidth: float = 1.0
        theorem = "so it is said"

        def profile(self, s: Any) -> Any:
            return np.exp(-(s**2))  # of the fourth power of a distance

        def profile_slope(self, s: Any) -> Any:
            return -2.0 * s * np.exp(-(s**2))

    gram = Gram(Wrong(), x)
    assert gram.is_positive  # as its class says
    assert leading(gram, 3, method="dense").psd == "not positive semidefinite"
    for stored, verdict in ((mc.Gaussian(1.0), "verified"), (Wrong(), "not positive semidefinite")):
        given = Gram(mc.kernels.Precomputed(stored(x)), np.arange(150))
        found = leading(given, 3, method="dense")
        assert found.psd == verdict
        assert found.certificate.failure_probability == FAILURE
        whole = leading(given, 3, method="dense", proof="complete")
        assert whole.certificate.failure_probability == 0.0
        assert set(whole.certificate.bounds) == {"block residual of all axes"}
        np.testing.assert_array_equal(whole.values, found.values)


def test_probes_find_axes_that_are_not_those_of_the_matrix() -> None:
    """The control: neither a wrong value nor a tilted vector stays within the usual bound."""
    A = normal(0, 150, 150)
    K = (A + A.T) / 20.0
    values, V = np.linalg.eigh(K)
    unit = float(np.finfo(float).eps) / 2
    usual = dense_module._probed(K, V, values, unit)
    assert usual < 1e-9
    off = values.copy()
    off[70] += 5e-13  # less than what is refused
    assert dense_module._probed(K, V, off, unit) > usual + 5e-13
    for wrong, tilted in ((values + 1e-3 * (np.arange(150) == 3), V), (values, V * (1.0 + 1e-6))):
        with pytest.raises(NotConverged, match="more than rounding explains"):
            dense_module._probed(K, tilted, wrong, unit)


@pytest.mark.parametrize("method", ["dense", "exact"])
def test_single_precision_data_have_a_diagonal_in_double_precision(method: str) -> None:
    x = (normal(1, 300, 3) + 1000.0).astype(np.float32)
    kernel = mc.Polynomial(2)
    np.testing.assert_array_equal(Gram(kernel, x).diag(), Gram(kernel, x.astype(float)).diag())
    np.testing.assert_array_equal(Gram(kernel, x).rows(3), Gram(kernel, x.astype(float)).rows(3))
    model = mc.KernelPCA(3, kernel=kernel, method=method).fit(x)
    assert model.individuals_.cos2.sum(axis=1).max() <= 1.0 + 1e-9


def test_a_matrix_that_is_almost_constant_is_decomposed() -> None:
    """Rounding on both sides of its diagonal differs by more than a solver's residual."""
    for seed in range(40):
        model = mc.KernelPCA(2, kernel=mc.Matern(1.5, 1.0)).fit(1e-3 * normal(seed, 50, 2))
        assert model.inertias_[0] > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(
    ("kernel", "place"), [(mc.Polynomial(2, 0.0, 1e-6), 1e6), (mc.Matern(0.5, 1.0), 1.0)], ids=str
)
@pytest.mark.parametrize("is_centred", [True, False])
def test_points_that_are_all_the_same_have_finite_intervals(
    method: str, n: int, kernel: mc.Kernel, place: float, is_centred: bool
) -> None:
    gram = Gram(kernel, np.full((n, 2), place))
    spectrum = leading(gram.centred() if is_centred else gram, 1, method=method, random_state=0)
    proof, value = spectrum.certificate, n * float(kernel([[place, place]])[0, 0])
    assert np.all(np.isfinite([*proof.lower, *proof.upper, *spectrum.values]))
    truth = 0.0 if is_centred else value
    assert np.all((proof.lower <= truth) & (truth <= proof.upper * (1 + 1e-15)))


@pytest.mark.parametrize("method", METHODS)
def test_values_at_the_end_of_the_range_of_doubles_are_decomposed_or_refused(method: str) -> None:
    """Their mean with those across the diagonal was infinite, and LAPACK's error was raised."""
    gram = Gram(mc.Linear(), 9.4e153 + 1e150 * normal(0, 12, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.RoundingLimit)
        found = leading(gram.centred(), 2, method=method, random_state=0)
    assert np.all(np.isfinite([*found.values, *found.errors]))
    with pytest.raises(mc.errors.InvalidInput, match="rescale the data"):
        leading(gram, 2, method=method, random_state=0)
