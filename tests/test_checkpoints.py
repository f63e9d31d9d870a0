"""Runs that end early and go on: from every pass, to the same digits."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mercer as mc
from mercer.cli import main
from mercer.errors import (
    CorruptFile,
    DataWarning,
    InvalidInput,
    InvalidParameter,
    NotSaved,
    SpectrumWarning,
)
from mercer.iteration import Noise
from mercer.lowrank import nystrom
from mercer.pca.centred_tables import read_table
from mercer.spectrum import Limits, exact, leading
from mercer.spectrum import passes as passes_of
from mercer.spectrum.probes import PROBE_STEPS, NormProbe, Probed
from mercer.store import CheckpointFile, write_whole
from mercer.store.checkpoint import read_run
from mercer.store.file import remove_abandoned
from mercer.woodbury import LowRankInverse

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 4)) * [3.0, 2.0, 1.0, 0.3]
WORDS = ["".join(RNG.choice(list("abcd"), 10)) for _ in range(60)]


def model(**options: Any) -> mc.KernelPCA:
    given: dict[str, Any] = {"kernel": mc.Gaussian(1.0), "method": "exact", "random_state": 0}
    return mc.KernelPCA(**{"n_components": 4} | given | {"deterministic": True} | options)


class Stopped(BaseException):
    """What ends a run, as Ctrl-C would."""


def run_until(
    passes: int, file: Path, monkeypatch: pytest.MonkeyPatch, data: Any = X, **options: Any
) -> Any:
    """Return the model of a run that ends after some passes, None where it has ended."""
    save, done = CheckpointFile.save, [0]

    def stopping(self: CheckpointFile, state: Any) -> None:
        save(self, state)
        done[0] += 1
        if done[0] == passes:
            raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFile, "save", stopping)
        try:
            return model(**options).fit(data, checkpoint=file)
        except Stopped:
            return None


def assert_same(one: mc.KernelPCA, other: mc.KernelPCA) -> None:
    np.testing.assert_allclose(one.inertias_, other.inertias_, rtol=1e-12)
    np.testing.assert_allclose(one.spectrum_.errors, other.spectrum_.errors, rtol=1e-9)
    there, here = one.individuals_.coordinates, other.individuals_.coordinates
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-12 * np.abs(here).max())
    assert one.spectrum_.how.double_passes == other.spectrum_.how.double_passes


def test_a_run_goes_on_from_every_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = model().fit(X)
    for passes in range(1, 40):
        file = tmp_path / f"run {passes}"
        if run_until(passes, file, monkeypatch) is not None:
            break
        assert_same(model().fit(X, checkpoint=file), whole)
        assert file.exists()
        if passes > 1:
            assert (tmp_path / f"run {passes}.previous").exists()
    assert passes > 3


def test_a_seed_that_nobody_chose_is_that_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"random_state": None, "deterministic": False}
    assert run_until(2, tmp_path / "run", monkeypatch, **options) is None
    one = model(**options).fit(X, checkpoint=tmp_path / "run")
    two = model(**options).fit(X, checkpoint=tmp_path / "run")
    assert one.seed_ == two.seed_
    np.testing.assert_allclose(one.inertias_, two.inertias_, rtol=1e-12)


def test_a_file_of_another_run_is_refused_by_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run"
    assert run_until(1, file, monkeypatch) is None
    before = file.read_bytes()
    others: list[tuple[str, mc.KernelPCA, Any, Any]] = [
        ("kernel: gaussian", model(kernel=mc.Gaussian(2.0)), X, None),
        ("data", model(), X + np.eye(1500, 4), None),
        ("weights", model(), X, np.arange(1.0, 1501.0)),
        ("seed: 0 there, 1 here", model(random_state=1), X, None),
        ("tol", model(tol=1e-7), X, None),
        ("n_components", model().set_params(n_components=3), X, None),
    ]
    for name, other, data, weights in others:
        with pytest.raises(InvalidInput, match=f"another run, by its {name}"):
            other.fit(data, sample_weight=weights, checkpoint=file)
    assert file.read_bytes() == before
    stored = tmp_path / "model"
    mc.PCA(1).fit(X[:9]).save(stored)
    with pytest.raises(CorruptFile, match="stored model"):
        model().fit(X, checkpoint=stored)


def test_points_that_are_no_arrays_are_known_by_their_values(tmp_path: Path) -> None:
    options = {"kernel": mc.kernels.StringSpectrum(2), "method": "exact"}
    one = model(**options).fit(WORDS, checkpoint=tmp_path / "run")
    two = model(**options).fit(list(WORDS), checkpoint=tmp_path / "run")
    np.testing.assert_allclose(two.inertias_, one.inertias_, rtol=1e-12)
    with pytest.raises(InvalidInput, match="by its data"):
        model(**options).fit(WORDS[::-1], checkpoint=tmp_path / "run")


def _words(one: str) -> list[str]:
    """Return words of which one has nothing in common with the others."""
    return [one if i == 7 else word for i, word in enumerate(WORDS)]


def _graphs(one: str) -> list[mc.Graph]:
    return [mc.Graph([(0, 1), (1, 2)], labels=labels[:5]) for labels in _words(one)]


def _sparse(value: float) -> Any:
    rows = np.where(np.random.default_rng(1).random((60, 9)) < 0.3, 1.0, 0.0)
    rows[7, 3] = value
    return sparse.csr_array(rows)


OTHERS: dict[str, tuple[Any, Any, Any]] = {
    "matrices": ("precomputed", X[:60] @ X[:60].T, 2.0 * X[:60] @ X[:60].T),
    "texts": (mc.kernels.StringSpectrum(2), _words("efefef"), _words("eeeeee")),
    "sparse rows": (mc.Gaussian(1.0), _sparse(1.0), _sparse(-1.0)),
    "graphs": (mc.kernels.WeisfeilerLehman(1), _graphs("efefe"), _graphs("eeeee")),
    "objects": (mc.kernels.StringSpectrum(2), np.array(_words("efe"), object), _words("eee")),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_data_that_differ_in_one_item_are_other_data(kind: str, tmp_path: Path) -> None:
    kernel, here, there = OTHERS[kind]
    found = model(kernel=kernel, n_components=1).fit(here, checkpoint=tmp_path / "run")
    again = model(kernel=kernel, n_components=1).fit(here, checkpoint=tmp_path / "run")
    np.testing.assert_allclose(again.inertias_, found.inertias_, rtol=1e-12)
    with pytest.raises(InvalidInput, match="another run, by its data"):
        model(kernel=kernel, n_components=1).fit(there, checkpoint=tmp_path / "run")


def test_a_matrix_given_as_a_kernel_is_known_by_its_values(tmp_path: Path) -> None:
    K = X[:60] @ X[:60].T
    one, other = (mc.kernels.Precomputed(A) for A in (K, 2.0 * K))
    model(kernel=one).fit(np.arange(60), checkpoint=tmp_path / "run")
    with pytest.raises(InvalidInput, match="another run, by its kernel"):
        model(kernel=other).fit(np.arange(60), checkpoint=tmp_path / "run")


def test_a_function_is_refused_for_nobody_knows_what_it_computes(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="kernel.function is the Python function"):
        model(kernel=lambda x, y: float(x @ y)).fit(X[:60], checkpoint=tmp_path / "run")
    with pytest.raises(InvalidParameter, match=r"data\[0\] is a builtins.object"):
        model(kernel=mc.kernels.Delta()).fit([object()] * 9, checkpoint=tmp_path / "run")


def test_devices_keep_their_state_and_take_that_of_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from mercer.engines.gpu import Gpu

    engine, data, file = Gpu("cpu"), X[:300], tmp_path / "run"
    there: dict[str, Any] = {"engine": engine, "deterministic": False}
    whole = model().fit(data)
    for first, then in ((there, there), ({}, there), (there, {})):
        file = file.with_name(f"{file.name} again")
        assert run_until(2, file, monkeypatch, data, **first) is None
        again = model(**then).fit(data, checkpoint=file)
        allowed = np.asarray(whole.spectrum_.errors) + np.asarray(again.spectrum_.errors)
        assert np.all(np.isfinite(allowed))
        assert np.all(np.abs(again.inertias_ - whole.inertias_) <= allowed + 1e-14)
    gram = mc.Gram(mc.Gaussian(1.0), data, engine=engine)
    proof = leading(gram.centred(), 3, method="exact", proof="complete").certificate
    assert proof.failure_probability == 0.0


def test_probes_of_another_factor_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, probes, certified = model().fit(X), list[Any](), exact._certified

    def noting(probed: Any, *given: Any, **named: Any) -> Any:
        probes.append(probed.probe)
        return certified(probed, *given, **named)

    for is_another in (True, False):
        file = tmp_path / f"run {is_another}"
        with monkeypatch.context() as patch:
            if is_another:
                patch.setattr(passes_of, "_sum_of", lambda factor: "another")
            assert run_until(3, file, monkeypatch) is None
        kept = CheckpointFile(file, {}).load()
        assert kept is not None
        low = [1e-30 * norm if i else norm for i, norm in enumerate(kept["norms"])]
        seen = {**kept, "norms": low}  # by which nothing would be left out
        with monkeypatch.context() as patch:
            patch.setattr(CheckpointFile, "load", lambda self, seen=seen: seen)
            patch.setattr(exact, "_certified", noting)
            again = model().fit(X, checkpoint=file)
        np.testing.assert_allclose(again.inertias_, whole.inertias_, rtol=1e-9)
        assert again.spectrum_.certificate.complete_above < np.inf
        assert probes[-1].steps == PROBE_STEPS
        assert (np.min(probes[-1].norms[1]) > 1e-20) == is_another


def test_probes_that_are_spent_make_no_more_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, probes, advance = tmp_path / "run", list[Any](), NormProbe.advance

    def noting(self: NormProbe, images: Any) -> None:
        probes.append(self)
        advance(self, images)

    assert run_until(2, file, monkeypatch, X[:300]) is None
    monkeypatch.setattr(passes_of, "_sum_of", lambda factor: "another")
    monkeypatch.setattr(NormProbe, "is_spent", property(lambda self: True))
    monkeypatch.setattr(NormProbe, "advance", noting)
    model().fit(X[:300], checkpoint=file)
    assert not probes


def test_the_precision_of_the_last_pass_is_kept(tmp_path: Path) -> None:
    """Rounding in double precision is no axis; a file that does not say which it was is read."""
    operator = mc.Gram(mc.Gaussian(1.0), X[:60]).centred()
    space: Any = SimpleNamespace(basis=0.0, images=0.0, errors=0.0, projected=0.0)
    course: Any = SimpleNamespace(state=dict)

    def begun(checkpoint: Any) -> tuple[Probed, passes_of.Passes]:
        probe = NormProbe(LowRankInverse(np.zeros((60, 0)), operator.base.engine), 60, 0)
        probed = Probed(operator, probe, Noise(single=1e-6, double=1e-14))
        return probed, passes_of.Passes(checkpoint, operator, probed, 2)

    first, passes = begun(CheckpointFile(tmp_path / "run", {}))
    for is_single in (False, True):
        first.product(np.ones((60, 1)), single=is_single)
        passes.keep(space, course, 1)
        kept = CheckpointFile(tmp_path / "run", {}).load()
        assert kept is not None
        again, _ = begun(SimpleNamespace(load=lambda kept=kept: kept))
        there, here = first.witnesses(0.0), again.witnesses(0.0)
        assert there is not None
        assert here is not None
        np.testing.assert_array_equal(here[0], there[0])
        assert here[2] == there[2] == (1e-6 if is_single else 1e-14)
        older = {name: value for name, value in kept.items() if name != "is_last_single"}
        again, _ = begun(SimpleNamespace(load=lambda older=older: older))
        assert again.witnesses(0.0) is not None


def test_a_share_goes_on_with_as_many_axes_as_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mc.KernelPCA, "limits", Limits(stored=100, first_axes=2))
    data, file, options = X[:400], tmp_path / "run", {"n_components": 0.5}
    whole = model(**options).fit(data, checkpoint=file)
    kept = CheckpointFile(file, {}).load()
    assert kept is not None
    assert kept["count"] > 2
    asked: list[int] = []
    found = mc.KernelPCA._found

    def noting(self: mc.KernelPCA, centred: Any, count: int, kept: Any) -> Any:
        asked.append(count)
        return found(self, centred, count, kept)

    monkeypatch.setattr(mc.KernelPCA, "_found", noting)
    assert_same(model(**options).fit(data, checkpoint=file), whole)
    assert asked == [kept["count"]]


def test_values_of_any_size_are_kept(tmp_path: Path) -> None:
    model(kernel=1e-200 * mc.Gaussian(1.0)).fit(X[:400], checkpoint=tmp_path / "run")
    assert (tmp_path / "run").exists()


@pytest.mark.parametrize("method", ["dense", "nystrom", "auto"])
def test_what_makes_no_passes_says_that_it_keeps_nothing(method: str, tmp_path: Path) -> None:
    with pytest.warns(SpectrumWarning, match="checkpoint= keeps nothing here"):
        model(method=method, kernel=mc.Gaussian(9.0)).fit(X[:300], checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("source", ["factor", "table"])
def test_operators_without_passes_say_that_nothing_is_kept(source: str, tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path / "run", {})
    operator: Any = read_table(X[:50], np.full(50, 0.02))
    if source == "factor":
        operator = nystrom(mc.Gram(mc.Gaussian(1.0), X[:50]), 10, random_state=0)
    with pytest.warns(SpectrumWarning, match="checkpoint= keeps nothing here: the smaller side"):
        mc.leading(operator, 2, checkpoint=file)


@pytest.mark.parametrize("damage", ["flipped", "cut short", "removed"])
def test_a_damaged_file_gives_way_to_the_one_before(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run"
    assert run_until(3, file, monkeypatch) is None
    content = bytearray(file.read_bytes())
    if damage == "removed":
        file.unlink()
    elif damage == "flipped":
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    else:
        file.write_bytes(content[:-100])
    with pytest.warns(DataWarning, match="run.previous"):
        again = model().fit(X, checkpoint=file)
    assert_same(again, model().fit(X))


def test_two_damaged_files_are_named_and_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run"
    assert run_until(3, file, monkeypatch, X[:300]) is None
    for place in tmp_path.iterdir():
        place.write_bytes(place.read_bytes()[:-1])
    left = {place: place.read_bytes() for place in tmp_path.iterdir()}
    with (
        pytest.raises(CorruptFile, match="run.previous has .* bytes and should have"),
        pytest.warns(DataWarning, match="the state before it is taken"),
    ):
        model().fit(X[:300], checkpoint=file)
    assert {place: place.read_bytes() for place in tmp_path.iterdir()} == left


@pytest.mark.parametrize("axes", [4, 0.5])
def test_a_state_of_another_version_is_refused_by_what_it_lacks(
    axes: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is whole, of this very run, and holds something else."""
    monkeypatch.setattr(mc.KernelPCA, "limits", Limits(stored=100, first_axes=2))
    file, options = tmp_path / "run", {"n_components": axes}
    assert run_until(2, file, monkeypatch, X[:300], **options) is None
    found = read_run(file)
    assert found is not None
    run, state = found
    others = [(name, {k: v for k, v in state.items() if k != name}) for name in passes_of.NEEDED]
    others += [("basis", {**state, "basis": state["basis"][:-1]})]
    for name, other in others if axes == 4 else others[:1]:
        CheckpointFile(file, run).save(other)
        with pytest.raises(CorruptFile, match=f"without the {name} of this iteration: another"):
            model(**options).fit(X[:300], checkpoint=file)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_full_disk_keeps_what_is_on_it(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that has kept nothing ends by name; one that has goes on, and says so once."""
    file, written, sync = tmp_path / "run", [0], os.fsync

    def full(handle: int) -> None:
        written[0] += not stat.S_ISDIR(os.fstat(handle).st_mode)
        if written[0] > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        if room == 0:
            with pytest.raises(NotSaved, match="as it was before.*No space left"):
                model().fit(X, checkpoint=file)
            assert not list(tmp_path.iterdir())
            return
        with pytest.warns(DataWarning, match="No space left.*The run continues") as told:
            found = model().fit(X, checkpoint=file)
    assert len(told) == 1
    assert written[0] > room + 1
    kept = {"run", "run.previous"} if room == 2 else {"run"}
    assert {path.name for path in tmp_path.iterdir()} == kept
    assert_same(found, model().fit(X))
    assert_same(model().fit(X, checkpoint=file), found)  # from the pass that is kept


@pytest.mark.parametrize("place", ["nowhere/run", "data.csv/run", "n" * 300])
def test_a_place_that_cannot_be_written_is_told_before_the_first_pass(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.csv").write_text("1,2")
    monkeypatch.setattr(mc.KernelPCA, "_leading", None)  # which would be a TypeError
    with pytest.raises(NotSaved, match="could not be written"):
        model().fit(X[:300], checkpoint=tmp_path / place)
    with pytest.raises(CorruptFile, match=r"data\.csv is not a file that mercer saved"):
        model().fit(X[:300], checkpoint=tmp_path / "data.csv")
    assert (tmp_path / "data.csv").read_text() == "1,2"


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_disk_that_may_not_be_written_any_more_serves_to_go_on(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a disk was mounted again after a fault: the state that is on it is of use."""
    assert run_until(3, tmp_path / "run", monkeypatch) is None
    before = {place: place.read_bytes() for place in tmp_path.iterdir()}
    passes, real = [0], CheckpointFile.save

    def noting(self: CheckpointFile, state: Any) -> None:
        passes[0] += 1
        real(self, state)

    def refuse(path: Any, flags: int, *rest: Any, opened: Any = os.open) -> int:
        if flags & os.O_CREAT and Path(path).parent == tmp_path:
            raise OSError(code, os.strerror(code))
        return int(opened(path, flags, *rest))

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointFile, "save", noting)
        patch.setattr(os, "open", refuse)
        with pytest.warns(DataWarning, match=f"{os.strerror(code)}. The run continues") as told:
            found = model().fit(X, checkpoint=tmp_path / "run")
    assert len(told) == 1
    assert passes[0] >= 1
    assert_same(found, model().fit(X))
    assert {place: place.read_bytes() for place in tmp_path.iterdir()} == before


def test_a_clock_that_jumps_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Back and forth by a year at each look, as a clock that is set would."""
    whole, looks, year = model().fit(X[:600]), [0], 365.0 * 86400.0

    def jumping() -> float:
        looks[0] += 1
        return 1.8e9 + (year if looks[0] % 2 else -year)

    monkeypatch.setattr(time, "time", jumping)
    monkeypatch.setattr(time, "time_ns", lambda: int(1e9 * jumping()))
    assert run_until(2, tmp_path / "run", monkeypatch, X[:600]) is None
    for name in ("run", "run.previous"):  # written in what is now the future, or long ago
        os.utime(tmp_path / name, (jumping(), jumping()))
    found = model().fit(X[:600], checkpoint=tmp_path / "run")
    assert_same(found, whole)
    assert 0.0 < found.spectrum_.how.seconds < year


def test_two_runs_do_not_write_one_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "run"
    with CheckpointFile(file, {}).alone():
        with pytest.raises(InvalidInput, match="run is the checkpoint of a running fit"):
            model().fit(X[:300], checkpoint=file)
        model().fit(X[:300], checkpoint=tmp_path / "another")
    model().fit(X[:300], checkpoint=file)
    assert not list(tmp_path.glob("*.lock"))


def test_the_command_line_goes_on_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savetxt("data.csv", X[:400], delimiter=",", header="a,b,c,d", comments="")
    command = ["fit", "data.csv", "--method", "kpca", "--exact", "--rank", "2"]
    assert main([*command, "--checkpoint", "run"]) == 0
    first = capsys.readouterr()
    assert main([*command, "--checkpoint", "run"]) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert "goes on from run" in second.err
    assert "goes on" not in first.err
    assert main([*command, "--kernel", "gaussian(bandwidth=9)", "--checkpoint", "run"]) == 3
    assert "another run, by its kernel" in capsys.readouterr().err
    assert main(["fit", "data.csv", "--method", "kpca", "--checkpoint", "none"]) == 0
    assert "checkpoint= keeps nothing here" in capsys.readouterr().err
    assert main(["fit", "data.csv", "--method", "pca", "--checkpoint", "run"]) == 2
    assert "--checkpoint is for an iteration" in capsys.readouterr().err


SCRIPT = """
    import os, shutil, sys, numpy as np, mercer as mc
    from mercer.store import CheckpointFile
    def wait(*_):
        print("waits", flush=True)
        sys.stdin.read()  # until it is killed, or at once where nothing is to come
    def save(file, state, save=CheckpointFile.save):
        if sys.argv[2:] and file.path.exists():
            shutil.copy(file.path, f"{file.path}.copy")
            setattr(os, sys.argv[2], wait)
        save(file, state)
        if not sys.argv[2:]:
            sys.stdin.read()
    CheckpointFile.save = save
    X = np.random.default_rng(0).standard_normal((2000, 4)) * [3.0, 2.0, 1.0, 0.3]
    model = mc.KernelPCA(4, kernel=mc.Gaussian(0.7), method="exact", random_state=0,
                         deterministic=True, threads=1)
    model.fit(X, checkpoint=sys.argv[1])
    print(model.inertias_.tobytes().hex())
"""


def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path / "run")]
    pipe = subprocess.PIPE
    first = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    begun = monotonic()
    while not (tmp_path / "run").exists() and monotonic() - begun < 60:
        sleep(0.005)
    with (
        pytest.raises(InvalidInput, match="a running fit"),
        CheckpointFile(tmp_path / "run", {}).alone(),
    ):
        pass
    assert first.poll() is None
    first.kill()
    first.communicate()
    run = CheckpointFile(tmp_path / "run", {}).load()
    assert run is not None
    assert run["count"] == 4
    assert_goes_on(command)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_process_that_is_killed_while_it_writes_leaves_the_state_before(
    step: str, tmp_path: Path
) -> None:
    file = tmp_path / "run"
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(file)]
    pipe = subprocess.PIPE
    first = subprocess.Popen([*command, step], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    assert first.stdout is not None
    assert first.stdout.readline().strip() == b"waits"
    first.kill()
    first.communicate()
    second, part = sorted(tmp_path.glob(".mercer-*.part"), key=lambda place: len(place.name))[::-1]
    assert second.name.startswith(".mercer-run.previous-")
    assert second.samefile(file)
    copies = ["run.previous.old", "run.previous.20261118", "run.previous.1", ".mercer-notes.part"]
    another = second.name.replace("run", "another run")  # which may be at work on it
    others = [tmp_path / name for name in (*copies, another, part.name[1:], second.name[1:])]
    for other in others:
        other.write_text("not ours")
    assert file.read_bytes() == (tmp_path / "run.copy").read_bytes()
    assert CheckpointFile(file, {}).load() is not None
    assert_goes_on(command)
    assert not part.exists()
    kept = {"run", "run.previous", "run.copy", *(other.name for other in others)}
    assert {place.name for place in tmp_path.iterdir()} == kept


def test_what_is_being_written_is_not_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread or process may be at it, or have begun it without its lock yet."""
    abandoned = tmp_path / f".mercer-{'0' * 16}.part"
    abandoned.write_text("of a writer that was killed")
    link = tmp_path / f".mercer-{'1' * 16}.part"
    link.symlink_to(tmp_path / "elsewhere")
    seen: list[set[str]] = []

    def contents() -> Any:
        remove_abandoned(tmp_path)
        seen.append({place.name for place in tmp_path.iterdir()})
        yield b"whole"

    write_whole(tmp_path / "file", contents())
    assert len(seen[0]) == 2
    assert link.name in seen[0]
    assert abandoned.name not in seen[0]
    real, calls = fcntl.flock, [0]

    def late(handle: int, kind: int) -> None:
        calls[0] += 1
        if calls[0] == 1:
            remove_abandoned(tmp_path)
        real(handle, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    write_whole(tmp_path / "file", [b"again"])
    assert (tmp_path / "file").read_bytes() == b"again"
    assert calls[0] == 3  # of the first name, of who removes it, and of the second
    assert {place.name for place in tmp_path.iterdir()} == {"file", link.name}


@pytest.mark.parametrize("is_own", [True, False])
def test_copies_beside_a_checkpoint_are_the_users(is_own: bool, tmp_path: Path) -> None:
    run, copy = tmp_path / "run.ckpt", tmp_path / "run.ckpt.previous.20261118"
    CheckpointFile(run, {"kernel": "linear()"}).save({"passes": 1})
    copy.write_bytes(run.read_bytes())
    file = CheckpointFile(run, {"kernel": "linear()" if is_own else "gaussian()"})
    with file.alone():
        if is_own:
            file.save({"passes": 2})
        else:
            with pytest.raises(InvalidInput, match="another run"):
                file.load()
    left = {run, copy, *([file.previous] if is_own else [])}
    assert set(tmp_path.iterdir()) == left


def test_a_file_has_its_lock_until_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(here: Path, there: Path, real: Any = os.replace) -> None:
        remove_abandoned(tmp_path)
        real(here, there)

    monkeypatch.setattr(os, "replace", late)
    write_whole(tmp_path / "file", [b"whole"])
    assert (tmp_path / "file").read_bytes() == b"whole"


def assert_goes_on(command: list[str]) -> None:
    """Check that the run of `SCRIPT` goes on from its file to the digits of one never killed."""
    again = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    X = np.random.default_rng(0).standard_normal((2000, 4)) * [3.0, 2.0, 1.0, 0.3]
    here = mc.KernelPCA(
        4,
        kernel=mc.Gaussian(0.7),
        method="exact",
        random_state=0,
        deterministic=True,
        threads=1,
    ).fit(X)
    found = np.frombuffer(bytes.fromhex(again.stdout.strip()))
    np.testing.assert_allclose(found, here.inertias_, rtol=1e-12)
