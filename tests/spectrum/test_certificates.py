"""A fixed part of the campaign against certificates that is benchmarks/certificates.py."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer as mc
from benchmarks.certificates import CLAIMS, Claim, Tally, run
from mercer.determinant import SKEWED, log_determinant
from mercer.gram import Gram

CASES = {
    "dense": 120,
    "solve": 60,
    "log_determinant_of_any_kernel": 20,
    "log_determinant_of_a_constant": 80,
    "log_determinant_of_few_directions": 30,
    "gradient_of_any_kernel": 8,
    "gradient_of_a_constant": 12,
    "exact": 20,
    "exact_with_estimated_rounding": 10,
    "nystrom": 30,
    "nystrom_of_a_sample": 30,
    "gaps_of_regression": 40,
    "gaps_of_margins": 30,
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_called_bounded_is_bounded(name: str) -> None:
    tally, seeds = run(name, CASES[name])
    assert tally.trials >= CASES[name] // 2
    assert not CLAIMS[name].is_refuted(tally), f"{tally} at seeds {seeds}"


def test_a_claim_that_is_false_is_refuted() -> None:
    def never(seed: int) -> Tally:
        return Tally.of(True)

    assert Claim(never, 1, 0.0).is_refuted(Tally(1000, 1))
    assert not Claim(never, 1, 0.05).is_refuted(Tally(1000, 60))
    assert Claim(never, 1, 0.05).is_refuted(Tally(1000, 107))  # the rate that a Constant had


def test_a_matrix_of_fewer_directions_than_probes_is_left_to_no_chance() -> None:
    x = np.random.default_rng(0).standard_normal((80, 3))
    for kernel in (
        mc.kernel("constant(2.0)"),
        mc.Linear(),
        mc.kernel("constant(2.0)") + mc.Linear(),
    ):
        exact = log_determinant(Gram(kernel, x), 0.1)
        found = log_determinant(Gram(kernel, x), 0.1, method="lanczos", probes=5, random_state=0)
        assert found.lower - 1e-9 <= exact.value <= found.upper + 1e-9
        assert found.upper - found.lower <= 1e-9


def test_the_quantiles_of_the_most_skewed_law_are_those_of_samples() -> None:
    rng = np.random.default_rng(0)
    for size in (5, 20, 100):
        x = rng.standard_normal((2_000_000 // size, size)) ** 2
        ratios = (1.0 - x.mean(axis=1)) / (x.std(axis=1, ddof=1) / np.sqrt(size))
        above = float(np.mean(ratios > SKEWED[size]))
        assert above == pytest.approx(0.025, abs=4.0 * np.sqrt(0.025 / len(ratios)))


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_proofs_of_one_optimum_from_two_origins_agree(loss: str) -> None:
    """Two gaps of one logistic regression, of x and of x - 1e4, excluded each other."""
    rng = np.random.default_rng(3)
    x = np.round(2.0**20 * rng.standard_normal((40, 2))) / 2.0**20 + 1e4
    y = np.where(x[:, 0] - 1e4 + 0.5 * rng.standard_normal(40) > 0.0, 1.0, -1.0)
    for kernel in (mc.Linear(), mc.Linear() + mc.Gaussian(1.0)):
        for penalty in (1e-6, 1e-2):
            far, near = (
                mc.KernelRegression(kernel, penalty, "constant", loss).fit(at, y)
                for at in (x, x - 1e4)
            )
            assert abs(far.objective_ - near.objective_) <= far.gap_ + near.gap_
            assert far.gap_ <= 1e-7 * far.objective_


def test_margins_whose_kernel_is_lost_to_rounding_are_told() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    y = x[:, 0] + 0.5 * rng.standard_normal(60) > 0.0
    with pytest.warns(ConvergenceWarning, match="centre the points"):
        model = mc.SVC(mc.Polynomial(2), C=10.0).fit(x + 1e4, y)
    assert model.gap_ > model.objective_
    with pytest.warns(ConvergenceWarning, match=r"proved only to within|centre the points"):
        mc.KernelRegression(mc.Polynomial(2), 10.0, "constant").fit(x + 1e4, y.astype(float))
