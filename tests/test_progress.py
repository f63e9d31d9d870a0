"""Progress is a line on the standard error, a function of two numbers, or nothing."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import progress
from mercer.progress import Line, follow_work


def test_true_writes_one_line_that_ends_with_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BEAT", 0.0)
    with follow_work(True, "draws") as tell:
        assert tell is not None
        for done in range(1, 5):
            tell(done, 4)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    states = err.split("\r")
    assert states[1].startswith("draws 1/4  25 %")
    assert states[-1].startswith("draws 4/4  100 %")


def test_the_line_ends_when_the_work_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        with follow_work(True, "draws") as tell:
            assert tell is not None
            tell(1, 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.parametrize("nothing", [None, False])
def test_nobody_is_told_who_did_not_ask(nothing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "ps1", raising=False)
    with follow_work(nothing, "draws") as tell:
        assert tell is None


@pytest.mark.parametrize("wrong", [1, "yes", object()])
def test_what_cannot_be_told_is_refused(wrong: Any) -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match="progress must be True, None or a function"
    ):
        follow_work(wrong, "draws").__enter__()


def test_a_new_round_is_counted() -> None:
    line = Line("tiles")
    for done in (1, 2, 1):
        line(done, 2)
    assert "pass 2" in line.line()
    line(5, 9)  # other parts, of which there are more
    assert "pass 3" in line.line()


X = np.random.default_rng(0).standard_normal((1_200, 3))
CURVED = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(X[:60])
Told = Callable[[int, int], None]


def _file(tell: Told, folder: Path, name: str = "numbers.csv") -> Any:
    path = folder / name
    text = "\n".join(["a,b,c", *(",".join(map(repr, row)) for row in X.tolist())])
    if name.endswith(".gz"):
        import gzip

        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    found = mc.read(path, progress=tell)
    assert found.numbers.shape == X.shape
    return found


LONG: dict[str, Callable[[Told, Path], Any]] = {
    "read": _file,
    "read a packed file": lambda tell, folder: _file(tell, folder, "numbers.csv.gz"),
    "read texts": lambda tell, folder: _words(tell, folder),
    "PCA.fit": lambda tell, folder: mc.PCA(2).fit(X, progress=tell),
    "PCA.fit of long rows": lambda tell, folder: mc.PCA(2).fit(
        np.random.default_rng(0).standard_normal((60, 20_000)), progress=tell
    ),
    "CA.fit": lambda tell, folder: mc.CA(2).fit(np.abs(X).round(1) + 0.1, progress=tell),
    "consensus": lambda tell, folder: mc.consensus(
        {"near": mc.Gaussian(1.0), "far": mc.Gaussian(4.0)}, X, progress=tell
    ),
    "consensus by neighbours": lambda tell, folder: mc.consensus(
        {"near": mc.Gaussian(1.0), "far": mc.Gaussian(4.0)}, X, method="full-umkl", progress=tell
    ),
    "positive_definite": lambda tell, folder: mc.positive_definite(
        mc.Gaussian(1.0), X, subsets=3, random_state=0, progress=tell
    ),
    "check_kernel": lambda tell, folder: mc.check_kernel(mc.Gaussian(1.0), X[:9], progress=tell),
    "axis_points": lambda tell, folder: mc.axis_points(CURVED, progress=tell),
    "rebuilt": lambda tell, folder: mc.rebuilt(CURVED, most=5, random_state=0, progress=tell),
    "inverse_transform": lambda tell, folder: CURVED.inverse_transform(
        CURVED.transform(X[:3]), progress=tell
    ),
    "distance_to_set": lambda tell, folder: mc.distance_to_set(
        mc.Gaussian(1.0), X[:5], X, progress=tell
    ),
    "variances of a process": lambda tell, folder: (
        mc.GaussianProcess(mc.Gaussian(1.0), noise_variance=0.1, optimise=False)
        .fit(X[:50], X[:50, 0])
        .predict(X[50:60], return_std=True, progress=tell)
    ),
    "report": lambda tell, folder: mc.report(
        mc.PCA(2).fit(X[:40]), folder / "page.html", progress=tell
    ),
}


def _words(tell: Told, folder: Path) -> Any:
    path = folder / "words.csv"
    path.write_text("name,size\n" + "".join(f"word {i},{i}\n" for i in range(500)))
    return mc.read(path, progress=tell)


@pytest.mark.parametrize("name", LONG)
def test_a_long_call_tells_how_much_is_done_of_how_much(name: str, tmp_path: Path) -> None:
    """Parts rise from 1 at the least to all there are, in every round."""
    told: list[tuple[int, int]] = []
    LONG[name](lambda done, total: told.append((done, total)), tmp_path)
    assert told
    rounds = [[told[0]]]
    for before, now in zip(told, told[1:], strict=False):
        is_new = now[0] <= before[0] or now[1] != before[1]
        rounds.append([now]) if is_new else rounds[-1].append(now)
    for each in rounds:
        assert all(0 < done <= total for done, total in each)
    assert told[-1][0] == told[-1][1]


def test_a_fitted_model_does_not_keep_who_was_told() -> None:
    import pickle

    model = mc.PCA(2).fit(X, progress=lambda done, total: None)
    assert pickle.loads(pickle.dumps(model)).inertias_.tolist() == model.inertias_.tolist()


def test_who_waits_at_a_prompt_is_told_unasked_and_how_to_stop(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BEAT", 0.0)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    quick = mc.parallel_analysis(X[:40], 19, random_state=0, threads=1)
    assert capsys.readouterr().err == ""  # it took less than two seconds
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    mc.parallel_analysis(X[:40], 19, random_state=0, threads=1, progress=False)
    assert capsys.readouterr().err == ""
    slow = mc.parallel_analysis(X[:40], 19, random_state=0, threads=1)
    err = capsys.readouterr().err
    assert err.split("\r")[-1].startswith("permutations 19/19  100 %")
    assert err.endswith("Ctrl-C stops\n")
    assert slow.p_values.tolist() == quick.p_values.tolist()


def test_of_work_within_work_one_line_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with follow_work(None, "draws") as outer, follow_work(None, "tiles") as inner:
        assert outer is not None
        assert inner is None
        outer(1, 1)
    with follow_work(None, "tiles") as next_one:
        assert next_one is not None
    assert capsys.readouterr().err.count("\n") == 1
