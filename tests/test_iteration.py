"""Which pass comes next, from what the ones before have left and what rounding may hide."""

from __future__ import annotations

from typing import Any

import pytest

from mercer.iteration import Noise, Step, cheapest_step


@pytest.mark.parametrize(
    ("history", "tol", "noise", "last", "is_double", "expected"),
    [
        ([1e-2], 1e-4, 1e-5, Step.SINGLE, False, Step.SINGLE),  # rounding does not matter at all
        ([1e-2], 1e-8, 1e-4, Step.SINGLE, False, Step.SINGLE),  # far away
        ([1e-1, 1e-4, 1e-6], 1e-8, 1e-4, Step.SINGLE, False, Step.IMPROVE),  # nearly there
        ([1e-3, 2.9e-6], 1e-12, 1e-4, Step.SINGLE, False, Step.IMPROVE),  # as far as it goes
        ([1e-2, 6e-3], 1e-8, 1e-4, Step.SINGLE, False, Step.SINGLE),  # slow, not by rounding
        ([1e-4, 6e-5], 1e-8, 1e-4, Step.SINGLE, False, Step.RESTART),  # rounding may be why
        ([1e-2, 1e-9], 1e-8, 1e-4, Step.SINGLE, False, Step.REPEAT),  # only rounding is left
        ([1e-6, 2e-8], 1e-8, 1e-4, Step.SINGLE, False, Step.IMPROVE),  # and one small correction
        ([1e-6, 1e-6], 1e-8, 1e-5, Step.IMPROVE, True, Step.SINGLE),  # its rounding is small now
        ([1e-6, 1e-6], 1e-12, 1e-4, Step.IMPROVE, True, Step.DOUBLE),  # not small enough
        ([1e-6, 9e-7], 1e-12, 1e-4, Step.DOUBLE, True, Step.DOUBLE),  # slow, but not by rounding
        ([1e-6, 9e-7], 1e-12, 1e-4, Step.SINGLE, True, Step.RESTART),  # rounding may be in the way
        ([1e-6, 1e-13], 1e-12, 1e-4, Step.DOUBLE, True, Step.REPEAT),
    ],
)
def test_the_next_pass_is_the_cheapest_that_helps(
    history: list[float], tol: float, noise: float, last: Step, is_double: bool, expected: Step
) -> None:
    assert (
        cheapest_step(history, tol, Noise(noise, 0.0, 0.1 * noise), last, is_double=is_double)
        is expected
    )


def test_long_corrections_are_not_rounded_to_single_precision() -> None:
    """A small axis needs a long correction for its residual, whose rounding is as much larger."""
    settled: Any = [1e-6, 1e-6], 1e-8, Noise(1e-5, 0.0, 1e-6), Step.IMPROVE
    assert cheapest_step(*settled, is_double=True) is Step.SINGLE
    assert cheapest_step(*settled, is_double=True, correction=1e4) is Step.DOUBLE


def test_short_first_corrections_are_followed_by_double_precision_at_once() -> None:
    """A pass leaves of the residual about what the corrections are long: two more are enough."""
    begun: Any = [1e-3], 1e-8, Noise(1e-3, 0.0, 1e-5, expected=3e-4), Step.SINGLE
    assert cheapest_step(*begun, is_double=False, first_gain=2e-3) is Step.IMPROVE
    assert cheapest_step(*begun, is_double=False, first_gain=5e-3) is Step.SINGLE
    loose: Any = [1e-3], 1e-8, Noise(1e-3, 0.0, 1e-5), Step.SINGLE  # nothing better is expected
    assert cheapest_step(*loose, is_double=False, first_gain=2e-3) is Step.SINGLE


def test_a_bound_of_single_precision_is_lowered_by_what_double_precision_finds() -> None:
    noise = Noise(1e-3, 1e-15, expected=3e-4, found=lambda: 2e-4)
    assert (noise.later, noise.sharpened().single, noise.sharpened().later) == (3e-4, 2e-4, 2e-4)
    assert noise.sharpened().sharpened() == noise.sharpened()
    assert Noise(1e-3, found=lambda: 1.0).sharpened().single == 1e-3
