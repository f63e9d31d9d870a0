"""Progress is a line on the standard error, a function of two numbers, or nothing."""

from typing import Any

import pytest

import mercer as mc
from mercer import progress
from mercer.progress import Line, followed


def test_true_writes_one_line_that_ends_with_the_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BEAT", 0.0)
    with followed(True, "draws") as tell:
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
        with followed(True, "draws") as tell:
            assert tell is not None
            tell(1, 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.parametrize("nothing", [None, False])
def test_nobody_is_told_who_did_not_ask(nothing: Any) -> None:
    with followed(nothing, "draws") as tell:
        assert tell is None


@pytest.mark.parametrize("wrong", [1, "yes", object()])
def test_what_cannot_be_told_is_refused(wrong: Any) -> None:
    with pytest.raises(
        mc.errors.InvalidParameter, match="progress must be True, None or a function"
    ):
        followed(wrong, "draws").__enter__()


def test_a_new_round_is_counted() -> None:
    line = Line("tiles")
    for done in (1, 2, 1):
        line(done, 2)
    assert "pass 2" in line.line()
