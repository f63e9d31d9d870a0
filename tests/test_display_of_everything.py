"""Every fitted estimator and every result is shown, read and completed, and none of it takes time.

`tests/test_display.py` says what is shown; here is that nothing was forgotten.
"""

from __future__ import annotations

import rlcompleter
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

import mercer as mc
from mercer.display import MOST_LINES, costly_names, kept
from mercer.estimator import Model
from tests.fitted import (
    MODELS,
    fitted,
    public_estimators,
    skip_where_scikit_learn_breaks,
)
from tests.results import results

AT_MOST = 0.3
"""Seconds of processor that a display or a completion may take: nobody waits for one."""

PATIENCE = 10.0
"""Seconds that other threads are given to end what they began."""

MANY = 2000
"""Points of a fit after which something that is computed again takes longer than that."""


def in_time(action: Callable[[], Any]) -> Any:
    """Return what an action returns, once it took little time of all threads together."""
    wait_for_others()
    before = time.process_time()
    value = action()
    assert time.process_time() - before < AT_MOST
    return value


def wait_for_others() -> None:
    """Wait until other threads have ended what they began: it is no part of what comes next."""
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        before = time.process_time()
        time.sleep(0.02)
        if time.process_time() - before < 0.005:
            return


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield IPython's shell, its modules and those that draw models read before."""
    from IPython.core.interactiveshell import InteractiveShell

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        patch.setattr(sys, "ps1", "", raising=False)  # which a shell sets and leaves
        found: Any = cast(Any, InteractiveShell)(history_length=0)
        found.Completer.use_jedi = False  # which reads sources, and not the value
        found.user_ns["value"] = fitted("PCA of numbers")
        found.user_ns["value"]._repr_html_()
        completed(found, "value.")
        yield found


def completed(shell: Any, text: str) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its new interface is provisional, its old one pending
        found = list(shell.Completer.completions(text, len(text)))
    return {one.text.rpartition(".")[2] for one in found}


def is_at_hand(value: Any, shell: Any) -> None:
    """Check that a value is shown, listed and completed in little time."""
    text = in_time(lambda: repr(value))
    assert len(text.splitlines()) <= MOST_LINES
    assert "object at 0x" not in text
    assert "<table" in in_time(value._repr_html_) or "<div" in value._repr_html_()
    names = {name for name in in_time(lambda: dir(value)) if not name.startswith("_")}
    shell.user_ns["value"] = value
    assert "text/html" in in_time(lambda: shell.display_formatter.format(value))[0]
    assert names <= in_time(lambda: completed(shell, "value."))
    plain = rlcompleter.Completer({"value": value})
    found = in_time(lambda: cast(Any, plain).attr_matches("value."))
    assert names <= {name.removeprefix("value.").rstrip("()") for name in found}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the data deserve
            assert hasattr(value, name) in (True, False)


def busy() -> None:
    """Take more time of the processor than a display may."""
    before = time.thread_time()
    while time.thread_time() - before < 1.5 * AT_MOST:
        pass


def test_work_of_other_threads_counts_unless_it_was_begun_before() -> None:
    def work_elsewhere() -> None:
        other = threading.Thread(target=busy)
        other.start()
        other.join()

    with pytest.raises(AssertionError):
        in_time(work_elsewhere)
    threading.Thread(target=busy).start()
    in_time(lambda: None)


def test_every_public_estimator_has_an_example() -> None:
    shown = {type(estimator) for estimator, *_ in MODELS.values()}
    assert {kind.__qualname__ for kind in public_estimators() - shown} == set()
    assert len(shown) > 20


@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_is_at_hand(name: str, shell: Any) -> None:
    skip_where_scikit_learn_breaks(name)
    is_at_hand(fitted(name), shell)


def test_every_result_is_at_hand(shell: Any) -> None:
    for value in results().values():
        is_at_hand(value, shell)


LARGE: dict[str, Any] = {
    "KernelPCA": mc.KernelPCA(2, kernel=mc.Gaussian(1.0)),
    "PCA": mc.PCA(2),
    "ClassicalMDS": mc.ClassicalMDS(2, metric="euclidean"),
    "KernelRegression": mc.KernelRegression(mc.Gaussian(1.0), 1e-2),
    "GaussianProcess": mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.1, optimise=False),
    "SVC": mc.SVC(mc.Gaussian(1.0)),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_model_of_many_points_is_at_hand_too(name: str, shell: Any) -> None:
    x = np.random.default_rng(0).standard_normal((MANY, 3))
    y = x[:, 0] > 0 if name == "SVC" else np.sin(x[:, 0])
    model = LARGE[name].fit(x, y)
    before = set(vars(model))
    for action in (model._repr_html_, lambda: repr(model), lambda: dir(model)):
        in_time(action)
    in_time(lambda: cast(Any, rlcompleter.Completer({"m": model})).attr_matches("m."))
    shell.user_ns["value"] = model
    in_time(lambda: completed(shell, "value."))
    assert set(vars(model)) == before


def test_models_keep_what_costs_where_completion_does_not_ask_for_it() -> None:
    kinds = [kind for kind in public_estimators() if issubclass(kind, Model)]
    assert len(kinds) > 10
    for kind in kinds:
        for name in costly_names(kind):
            assert isinstance(getattr(kind, name), property), (kind, name)


def test_what_is_kept_is_computed_once_and_forgotten_by_its_place() -> None:
    calls = []

    class Counted:
        @kept
        def total(self) -> int:
            calls.append(1)
            return 3

    counted = Counted()
    assert (counted.total, counted.total, len(calls)) == (3, 3, 1)
    assert vars(counted) == {"total": 3}
    assert costly_names(Counted) == {"total"}
