"""Memory, files and disk that run out, and interruptions of long runs, in whole processes.

Area J of the fault matrix, beside `tests/cli/test_cli_process.py` (reports and commands that are
interrupted), `tests/test_checkpoints.py` (full disks, clocks), `tests/store/test_store.py` (disks
that may not be written) and `tests/test_settings.py` (groups of processes with little memory).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from mercer.spectrum.room import needed_bytes
from mercer.store.checkpoint import read_run
from tests.interrupts import PATIENCE, computed, interrupt, is_over, start

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")

ROWS, LONG = 3_000, 0.5
"""Individuals of a run, and seconds of CPU that its passes take, about."""


def in_process(text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script, and return what it says."""
    command = [sys.executable, "-c", textwrap.dedent(text), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


LITTLE_MEMORY = """
    import resource, sys
    import numpy as np
    import mercer as mc
    from mercer.cli import main
    x = np.random.default_rng(0).standard_normal((50, 3))
    mc.KernelPCA(2, kernel=mc.Gaussian(1.0), method="dense").fit(x)  # which loads what it needs
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 300 * 10**6,) * 2)
    sys.exit(main(sys.argv[1:]))
"""


def test_addresses_that_end_in_a_fit_are_told_in_a_line(tmp_path: Path) -> None:
    """The machine has the memory, and so the fit begins; the system refuses it in the middle."""
    rows = np.random.default_rng(0).standard_normal((5_000, 3))
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",", header="a,b,c", comments="")
    words = ["fit", str(tmp_path / "x.csv"), "--method", "kpca", "--kernel", "gaussian()"]
    words += ["--rank", "1000", "--out", str(tmp_path / "m.mercer"), "-q"]
    done = in_process(LITTLE_MEMORY, *words)
    assert done.returncode == 6, done.stderr
    assert done.stderr.count("\n") == 1
    assert "not enough memory" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


FROM_DISK = """
    import resource, sys
    import numpy as np
    import mercer as mc
    from mercer.data import OnDisk
    n, p, path = 80_000, 200, sys.argv[1]  # 128 MB
    class Rows(OnDisk):
        shape, dtype, names = (n, p), np.dtype(float), ()
        def rows(self, start, stop):
            part = np.fromfile(path, float, p * (stop - start), offset=8 * p * start)
            return part.reshape(-1, p)
    scale = np.linspace(3.0, 0.3, p)
    with open(path, "wb") as file:
        for i in range(40):
            (np.random.default_rng(i).standard_normal((n // 40, p)) * scale).tofile(file)
    given = dict(kernel=mc.Gaussian(20.0), threads=1, random_state=0)
    mc.KernelPCA(2, method="nystrom", landmarks=20, **given).fit(np.eye(400, p))
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 8 * n * p,) * 2)
    model = mc.KernelPCA(2, method="nystrom", landmarks=40, memory="100MB", **given)
    print(len(model.fit(Rows()).inertias_))
"""


def test_axes_of_a_kernel_come_from_a_file_larger_than_the_memory_allowed(tmp_path: Path) -> None:
    done = in_process(FROM_DISK, str(tmp_path / "rows"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2"]


FEW_FILES = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    import mercer as mc
    folder = Path(sys.argv[1])
    whole = np.random.default_rng(0).standard_normal((600, 3))
    for i, part in enumerate(np.array_split(whole, 150)):
        np.save(folder / f"part {i}.npy", part)
    model = mc.PCA(2).fit(whole)
    model.save(folder.parent / "before.mercer")  # which loads what it needs
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
    found = mc.PCA(2).fit(mc.open_points(folder))
    print(np.allclose(found.inertias_, model.inertias_, rtol=1e-12))
    holding = []
    try:
        while True:
            holding.append(open("/dev/null"))
    except OSError:
        pass
    try:
        model.save(folder / "model.mercer")
    except mc.errors.NotSaved as error:
        print(error)
"""


def test_a_folder_of_more_files_than_may_be_open_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    done = in_process(FEW_FILES, str(folder))
    assert done.returncode == 0, done.stderr
    read, saved = done.stdout.splitlines()
    assert read == "True"
    assert "Too many open files" in saved
    assert not list(folder.glob("*.mercer"))


SHORT_FILES = """
    import resource, signal, sys, warnings
    import numpy as np
    import mercer as mc
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
    x = np.random.default_rng(0).standard_normal((3_000, 4)) * [3.0, 2.0, 1.0, 0.3]
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0), method="exact", random_state=0)
    model = model.set_params(memory=int(sys.argv[3]), threads=1)
    try:
        model.fit(x, checkpoint=sys.argv[1])
    except mc.errors.MercerError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("less", "said"), [(0, "NotSaved .*run could not"), (1, "NotEnoughMemory .*temporary file")]
)
def test_files_that_may_not_grow_end_a_run_by_name(less: int, said: str, tmp_path: Path) -> None:
    """A disk that is full in earnest: a state has no room, nor has the factor of landmarks."""
    memory = needed_bytes(3_000, 4, 3, 1) - less
    done = in_process(SHORT_FILES, str(tmp_path / "run"), "20000", str(memory))
    assert done.returncode == 0, done.stderr
    assert re.match(said, done.stdout), done.stdout
    assert not list(tmp_path.iterdir())


def processes_of(group: int) -> list[int]:
    """Return the processes of a session that are still there."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                state, _, _, session = (place / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:  # it has ended since
                continue
            if int(session) == group and state != "Z":
                found.append(int(place.name))
    return found


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """The words of a long run, and what it says when nobody interrupts it."""
    x = np.random.default_rng(0).standard_normal((ROWS, 4)) * [3.0, 2.0, 1.0, 0.3]
    file = tmp_path_factory.mktemp("rows") / "x.csv"
    np.savetxt(file, x, delimiter=",", header="a,b,c,d", comments="", fmt="%.9g")
    words = [sys.executable, "-m", "mercer", "fit", str(file), "--method", "kpca"]
    words += ["--kernel", "gaussian(bandwidth=0.7)", "--exact", "--rank", "8", "--seed", "0", "-q"]
    return words, subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_run_that_is_interrupted_keeps_its_checkpoint_and_goes_on(
    number: signal.Signals, code: int, tmp_path: Path, uninterrupted: tuple[list[str], str]
) -> None:
    """In the first pass after one that is kept, and at a moment that chance decides."""
    words, whole = uninterrupted
    assert os.getpid() in processes_of(os.getsid(0))  # so that it would see others
    rng, ended = np.random.default_rng(int(number)), 0
    for turn, wait in enumerate([0.0, float(rng.uniform(0.0, LONG))]):
        file = tmp_path / f"run {turn}"
        one = start([*words, "--checkpoint", str(file)], start_new_session=True)
        begun = monotonic()
        while not file.exists() and not is_over(one.pid):
            assert monotonic() < begun + PATIENCE
            sleep(0.002)
        since = computed(one.pid)
        while not is_over(one.pid) and computed(one.pid) < since + wait:
            sleep(0.002)
        err, spent = interrupt(one, number)
        if one.returncode in (0, -number) and not err:  # it had ended, or all but
            continue
        ended += 1
        assert one.returncode == code, err
        assert err.count("\n") == 1
        assert spent < 2.0
        assert not processes_of(one.pid)
        left = {place.name for place in tmp_path.iterdir() if str(turn) in place.name}
        assert left <= {file.name, f"{file.name}.previous"}
        state = read_run(file)
        assert state is not None
        again = subprocess.run(
            [*words, "--checkpoint", str(file)], capture_output=True, text=True, check=True
        )
        assert _without_time(again.stdout) == _without_time(whole)
    assert ended >= 1


def _without_time(text: str) -> list[str]:
    return [line for line in text.splitlines() if "seconds" not in line]
