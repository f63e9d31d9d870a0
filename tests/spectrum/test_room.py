"""What an iteration holds in memory and on disk, and that budgets are kept."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import tempfile
import tracemalloc
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.engines.cpu import Threads
from mercer.errors import NotEnoughMemory
from mercer.gram import Gram
from mercer.lowrank import nystrom
from mercer.spectrum import exact, leading
from mercer.spectrum.room import (
    MMAP_THRESHOLD,
    OWN_PAGES,
    Room,
    exact_room,
    free_at_once,
    in_file,
    needed_bytes,
    room_within,
)

N, D, AXES = 6000, 5, 4
X = np.random.default_rng(0).standard_normal((N, D)) * [3.0, 2.0, 1.0, 0.5, 0.3]
WHOLE = needed_bytes(N, D, AXES, 1)
SHORT = room_within(N, D, AXES, 1, WHOLE - 1)


def fitted(memory: int | None, points: Any = X, **given: Any) -> mc.KernelPCA:
    model = mc.KernelPCA(
        AXES,
        kernel=mc.Gaussian(1.5),
        method="exact",
        memory=memory,
        threads=1,
        random_state=0,
        deterministic=True,
    )
    return model.fit(points, **given)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_budget_that_is_short_of_the_factor_keeps_the_digits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def noting(handle: int, start: int, size: int, real: Any = os.posix_fallocate) -> None:
        made.append(size)
        assert not list(folder.iterdir())  # it has no name, and so nothing is left to remove
        real(handle, start, size)

    monkeypatch.setattr(os, "posix_fallocate", noting)
    roomy = fitted(WHOLE)
    assert not made
    fitted(SHORT.memory, X[:2000])  # what is loaded once is not its cost
    made.clear()
    tracemalloc.start()
    try:
        short = fitted(SHORT.memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made == [SHORT.disk] == [WHOLE - SHORT.memory]
    assert peak <= 1.1 * SHORT.memory < WHOLE
    np.testing.assert_array_equal(short.inertias_, roomy.inertias_)
    np.testing.assert_array_equal(short.individuals_.coordinates, roomy.individuals_.coordinates)
    assert "in a temporary file" in short.spectrum_.how.method
    assert "in a temporary file" not in roomy.spectrum_.how.method
    assert short.spectrum_.how.memory == SHORT.memory
    assert not list(folder.iterdir())


def test_points_that_are_left_out_take_no_more_than_planned(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The iteration begins again with twice as many vectors, in the place of the first."""
    turns = [0]

    def left_out(*given: Any, real: Any = exact.points_left_out) -> Any:
        turns[0] += 1
        return (np.arange(6), 1.0) if turns[0] == 1 else real(*given)

    fitted(SHORT.memory, X[:2000])
    monkeypatch.setattr(exact, "points_left_out", left_out)
    tracemalloc.start()
    try:
        found = fitted(SHORT.memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert turns[0] == 2
    assert peak <= 1.1 * SHORT.memory
    np.testing.assert_allclose(found.inertias_, fitted(WHOLE).inertias_, rtol=1e-9)


def test_points_on_disk_in_a_short_budget_go_on_from_a_checkpoint(
    folder: Path, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", X)
    points = mc.open_points(tmp_path / "x.npy")
    here, run = fitted(SHORT.memory), tmp_path / "run"
    for _ in range(2):  # the second is taken up from the last pass of the first
        there = fitted(SHORT.memory, points, checkpoint=run)
        np.testing.assert_allclose(there.inertias_, here.inertias_, rtol=1e-12)


def test_a_budget_below_all_is_refused_with_both_sizes(folder: Path) -> None:
    with pytest.raises(NotEnoughMemory, match="MB and .* in a temporary file, and .* may be used"):
        fitted(SHORT.memory - 1)


@pytest.mark.parametrize("has_allocation", [True, False])
def test_a_full_disk_is_told_before_anything_is_written(
    has_allocation: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a fit it would be a signal that ends the process."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if has_allocation:
        monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    else:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
        rows = in_file((7, 3), np.float32)
        rows[:] = np.arange(21.0).reshape(7, 3)
        assert rows[6, 2] == 20.0
        monkeypatch.setattr("mercer.spectrum.room.TemporaryFile", full)
    with pytest.raises(NotEnoughMemory, match=f"none in {folder} either.*TMPDIR"):
        fitted(SHORT.memory)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EACCES, errno.EROFS])
def test_a_folder_without_files_is_not_called_full(
    code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    if code == errno.ENOENT:
        folder.rmdir()
    else:  # root may write everywhere, so the system is played
        monkeypatch.setattr("mercer.spectrum.room.TemporaryFile", refuse)
    told = f"can be made in {folder}: {os.strerror(code)}. Name a folder that exists .*TMPDIR"
    with pytest.raises(NotEnoughMemory, match=told) as caught:
        in_file((7, 3), np.float32)
    assert "either" not in str(caught.value)


def test_a_system_without_any_folder_for_temporary_files_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/no/where"])
    with pytest.raises(NotEnoughMemory, match="made in any folder: .*/no/where.*TMPDIR"):
        in_file((7, 3), np.float32)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc's malloc")
@pytest.mark.parametrize(
    ("variable", "value", "is_set"),
    [
        ("MALLOC_MMAP_THRESHOLD_", "65536", False),
        ("GLIBC_TUNABLES", "glibc.malloc.check=1:glibc.malloc.mmap_threshold=65536", False),
        ("GLIBC_TUNABLES", "glibc.malloc.check=1", True),
    ],
)
def test_a_threshold_of_malloc_that_the_user_set_stays(
    variable: str, value: str, is_set: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    calls: list[tuple[int, int]] = []
    played = SimpleNamespace(mallopt=lambda *given: calls.append(given))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: played)
    free_at_once.__wrapped__()
    assert calls == [(MMAP_THRESHOLD, OWN_PAGES)] * is_set


def test_one_factor_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that the landmarks leave alone are taken in, and the factor is made anew."""
    made, living = list[Any](), list[int]()

    def noting(*args: Any, **given: Any) -> Any:
        living.append(sum(one() is not None for one in made))
        found = nystrom(*args, **given)
        made.append(weakref.ref(found.factor))
        return found

    monkeypatch.setattr(exact, "nystrom", noting)
    lone = np.random.default_rng(0).standard_normal((1200, 5))
    lone[:5] *= 50.0
    leading(Gram(mc.Gaussian(7.0), lone).centred(), 20, method="exact", random_state=0)
    assert len(living) >= 2
    flat = Gram(mc.Gaussian(1e3), X).centred()  # which is too little for single precision
    leading(flat, 2, method="exact", random_state=0)
    assert len(living) >= 4
    assert set(living) == {0}


def test_what_lies_elsewhere_has_no_file() -> None:
    """Words have no landmarks to be written, and a device holds its own factor."""
    words = mc.Gram(mc.kernels.StringSpectrum(2), ["ab", "ba"] * 800, engine=Threads(1, memory=9))
    assert exact_room(words.centred(), 1).disk == 0
    pytest.importorskip("torch")
    from mercer.engines.gpu import Gpu

    gram = mc.Gram(mc.Gaussian(1.0), X, engine=Gpu("cpu", memory="1MB"))
    assert exact_room(gram.centred(), AXES).disk == 0
    assert str(Room(10**9)) == "1 GB"
