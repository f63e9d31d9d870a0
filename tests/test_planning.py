from __future__ import annotations

import pytest

import mercer as mc
from mercer.check import InvalidParameter
from mercer.planning import plan


def test_the_method_is_the_one_that_fit_uses() -> None:
    assert plan(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 500, 4).method == "dense"
    assert plan(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 50_000, 4).method == "exact"
    assert plan(mc.KernelPCA(kernel=mc.Gaussian(1.0)), 2_000, 4).method == "dense"
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0), method="nystrom", landmarks=77)
    assert "77 landmarks" in plan(model, 50_000, 4).reason


def test_costs_grow_as_the_sizes_say() -> None:
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0))
    small, large = plan(model, 100_000, 20), plan(model, 200_000, 20)
    assert large.seconds == pytest.approx(4.0 * small.seconds, rel=0.1)
    assert large.memory == pytest.approx(2.0 * small.memory, rel=0.1)


def test_a_plan_that_does_not_fit_says_what_does() -> None:
    model = mc.KernelPCA(10, kernel=mc.Gaussian(1.0), memory="100MB")
    cost = plan(model, 200_000, 20)
    assert not cost.fits
    assert "method='nystrom'" in str(cost)
    assert plan(mc.KernelPCA(10, kernel=mc.Gaussian(1.0), memory="4GB"), 200_000, 20).fits


def test_a_plan_reads_as_sentences() -> None:
    text = str(plan(mc.KernelPCA(10, kernel=mc.Gaussian(1.0)), 100_000, 20))
    assert "the matrix is never stored" in text
    assert "4 passes over all pairs" in text


def test_slow_kernels_take_longer_and_other_models_are_refused() -> None:
    fast = plan(mc.KernelPCA(3, kernel=mc.Gaussian(1.0)), 20_000, 4)
    slow = plan(mc.KernelPCA(3, kernel=mc.Intersection()), 20_000, 0)
    assert slow.seconds > fast.seconds
    with pytest.raises(InvalidParameter, match="models with a kernel"):
        plan("model", 10, 2)
