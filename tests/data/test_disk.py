"""Data that stay on disk: the same answers, and never the whole of them in memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import mercer as mc
from mercer.check import Array
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.points import (
    lies_on_disk,
    take,
)
from mercer.spectrum import leading

RNG = np.random.default_rng(6)
X = RNG.standard_normal((1300, 5))


class Parts:
    """Rows that are only given out part by part, and count what was asked for."""

    lies_on_disk = True

    def __init__(self, rows: Array) -> None:
        self.rows, self.shape, self.dtype, self.largest = rows, rows.shape, rows.dtype, 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: slice, /) -> Array:
        part: Array = self.rows[index]
        self.largest = max(self.largest, len(part))
        return part.copy()


@pytest.fixture
def mapped(tmp_path: Path) -> Array:
    np.save(tmp_path / "x.npy", X)
    found: Array = np.load(tmp_path / "x.npy", mmap_mode="r")
    return found


def test_what_lies_on_disk_is_known_as_such(mapped: Array) -> None:
    assert lies_on_disk(mapped)
    assert lies_on_disk(np.asarray(mapped)[10:])
    assert not lies_on_disk(X)
    assert not lies_on_disk([1, 2])


@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(2.0), mc.Laplacian(2.0, norm=2.0), mc.Linear() + 1.0], ids=str
)
@pytest.mark.parametrize("single", [False, True])
def test_products_of_data_on_disk_are_those_of_data_in_memory(
    kernel: mc.Kernel, single: bool, mapped: Array
) -> None:
    v = RNG.standard_normal((1300, 3))
    expected = Gram(kernel, X).product(v, single=single)
    size = np.abs(expected).max()
    for points in (mapped, Parts(X)):
        found = Gram(kernel, points).product(v, single=single)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * size)


def test_spectra_of_data_on_disk_are_those_of_data_in_memory(mapped: Array) -> None:
    expected = leading(Gram(mc.Gaussian(2.0), X).centred(), 3, method="exact", random_state=0)
    parts = Parts(X)
    for points in (mapped, parts):
        found = leading(Gram(mc.Gaussian(2.0), points).centred(), 3, method="exact", random_state=0)
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-10)
        np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-7)
    approximate = leading(
        Gram(mc.Gaussian(2.0), parts).centred(), 3, method="nystrom", random_state=0
    )
    assert approximate.values[0] <= expected.values[0] + 1e-9


def test_rows_and_diagonals_are_read_in_parts() -> None:
    gram, parts = Gram(mc.Linear(), X), Parts(X)
    on_disk = Gram(mc.Linear(), parts)
    np.testing.assert_allclose(on_disk.rows([7, 3]), gram.rows([7, 3]))
    np.testing.assert_allclose(on_disk.diag(), gram.diag())
    np.testing.assert_array_equal(take(parts, [1299, 0, 5]), X[[1299, 0, 5]])


def test_a_bad_value_on_disk_is_named() -> None:
    bad = X.copy()
    bad[1200, 2] = np.nan
    with pytest.raises(InvalidInput, match="column 2"):
        Gram(mc.Gaussian(1.0), Parts(bad)) @ np.ones(1300)


USES = {
    "product": "Gram(mc.Gaussian(50.0), points, tile=256) @ np.ones((6_000, 2))",
    "kernel PCA": """mc.KernelPCA(
            2, kernel=mc.Gaussian(50.0), method="nystrom", landmarks=30, random_state=0
        ).fit(points).transform(points[:50])""",
}


@pytest.mark.parametrize("use", list(USES))
def test_a_large_file_is_never_loaded_whole(use: str, tmp_path: Path) -> None:
    script = f"""
        import resource
        import numpy as np
        import mercer as mc
        from mercer.gram import Gram
        path = {str(tmp_path / "big.npy")!r}
        big = np.lib.format.open_memmap(path, "w+", np.float64, (6_000, 6_000))
        for i in range(0, 6000, 500):
            big[i : i + 500] = np.random.default_rng(i).standard_normal((500, 6_000))
        del big
        class OnDisk:
            lies_on_disk, shape, dtype = True, (6_000, 6_000), np.dtype(float)
            def __len__(self): return 6_000
            def __getitem__(self, rows):
                start, stop, _ = rows.indices(6_000)
                size, offset = 6_000 * (stop - start), 128 + 48_000 * start
                return np.fromfile(path, float, size, offset=offset).reshape(-1, 6_000)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        points = OnDisk()
        {USES[use]}
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    run = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 288_000  # kilobytes: the file holds 288 MB, and centring a copy
