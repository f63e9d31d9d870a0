"""The command line as a process of its own: streams, signals, terminals, and the time it takes."""

from __future__ import annotations

import json
import os
import pty
import resource
import select
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import jinja2
import numpy as np
import pandas as pd
import pytest

import mercer as mc
from mercer.cli import LATER, progress
from mercer.cli.output import Talk
from mercer.datasets.examples import FOLDER
from mercer.page import write
from mercer.progress import Line
from tests.interrupts import PATIENCE, computed, interrupt, is_over, start

COMMAND = [sys.executable, "-W", "error", "-m", "mercer"]
IRIS = str(FOLDER / "iris.csv")
LONG = 2.0  # seconds of CPU that a small report takes, about


def process(*argv: object, **more: Any) -> subprocess.CompletedProcess[str]:
    words = [*COMMAND, *map(str, argv)]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **more)


def test_help_imports_nothing_heavy_and_is_quick() -> None:
    code = (
        "import sys; from mercer.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'mercer.check') if m in sys.modules])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "[]"
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 0.5  # seconds of CPU; 0.06 is usual, and 0.15 what is promised


@pytest.mark.parametrize("kind", ["iris", "mixed", "wide"])
@pytest.mark.parametrize("command", ["fit", "dim", "report"])
def test_plans_of_commands_are_right_within_a_factor_of_three(
    command: str, kind: str, tmp_path: Path, run: Any
) -> None:
    file, rng = Path(IRIS), np.random.default_rng(0)
    if kind != "iris":
        n, d, factors = (400, 5, 6) if kind == "mixed" else (38, 2_000, 1)
        table = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"gene{j}" for j in range(d)])
        for k in range(factors):
            table[f"kind{k}"] = rng.choice(["one", "two", "three"], n)
        file = tmp_path / f"{kind}.csv"
        table.to_csv(file, index=False)
    words = [command, file, *(["--out", tmp_path / "p.html"] if command == "report" else [])]
    planned = run(*words, "--dry-run", "--json").value["seconds"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = process(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime  # of CPU
    assert planned / 3 < spent < 3 * planned


def test_a_small_page_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    words = [sys.executable, "-X", "importtime", "-m", "mercer", "report", IRIS, "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"sklearn.base", "mercer.page.write"} <= loaded
    waiting = ("pandas", "numba", "scipy.cluster", "sklearn.cluster", *LATER)
    assert [name for name in loaded if name.startswith(tuple(f"{it}." for it in waiting))] == []


def test_a_page_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ASSETS", tmp_path / "assets")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / write.TEMPLATE).write_text("{{ 1 + 1 }}")
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    for _ in range(2):
        environment = jinja2.Environment(loader=jinja2.FileSystemLoader(tmp_path / "assets"))
        if any(kept.iterdir()):
            monkeypatch.setattr(jinja2.Environment, "_parse", None)  # which would be a TypeError
        assert write.template(jinja2, environment).render() == "2"
    assert len(list(kept.iterdir())) == 1


def test_modules_that_wait_are_there_when_they_are_asked_for() -> None:
    code = """if True:
        import sys
        from mercer.cli import load_lightly
        load_lightly()
        import scipy.optimize
        assert "scipy.optimize._root" not in sys.modules and "pandas" not in sys.modules
        from scipy import optimize, stats
        from scipy.stats import norm
        root = optimize.brentq(lambda x: x - 0.5, 0.0, 1.0)
        print(round(root, 6), norm.cdf(0.0), stats.norm is norm)
        print(sys.modules["scipy.optimize"] is scipy.optimize, optimize.brentq.__module__)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "0.5 0.5 True"
    assert second.endswith("scipy.optimize._zeros_py")


def test_the_standard_input_is_a_file() -> None:
    text = Path(IRIS).read_text()
    done = process("fit", "-", "--json", "-q", input=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["individuals"] == 150
    assert done.stderr == ""
    empty = process("fit", "-", input="")
    assert (empty.returncode, empty.stderr.count("\n")) == (3, 1)


def test_a_closed_pipe_is_no_error() -> None:
    words = shlex.join([*COMMAND, "fit", IRIS, "--coords", "-", "-q"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} | head -n 1"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.startswith("individual,dim1")
    assert (done.returncode, done.stderr) == (0, "")


def test_nobody_reading_at_all_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "fit", IRIS, "--json", "-q"],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")


@full_device
@pytest.mark.parametrize(
    ("more", "buffering"),
    [
        (["-q"], {}),
        (["-q", "--coords", "-"], {}),
        (["-q", "--json"], {}),
        (["--help"], {}),  # which argparse forgets where it is written at once
        (["-q", "--coords", "-"], {"PYTHONUNBUFFERED": "1"}),
    ],
    ids=["axes", "coordinates", "one object", "help", "at once"],
)
def test_a_full_device_is_told(more: list[str], buffering: dict[str, str]) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | buffering
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "fit", IRIS, *more],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            env=environment,
        )
    assert done.returncode == 6
    assert "No space left" in done.stderr
    assert done.stderr.count("\n") == 1


@full_device
def test_talk_that_cannot_be_written_stops_nothing() -> None:
    for words, code in ((["fit", IRIS, "-v", "--json"], 0), (["fit", "no such file"], 3)):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*COMMAND, *words], stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE
            )
        assert done.returncode == code
        assert (code != 0) or json.loads(done.stdout)["individuals"] == 150


def test_python_m_mercer_is_the_command_mercer() -> None:
    version = process("--version")
    assert (version.returncode, version.stdout) == (0, f"mercer {mc.__version__}\n")
    assert process("fit", "--help").stdout.startswith("usage: mercer fit ")
    assert process().stdout.startswith("mercer demo ")
    assert process("fit").stderr.endswith("See: mercer fit --help\n")


SLOW = """
import signal, sys, time
import mercer.pca.kernel_pca as kernel
def forever(self, X, y=None, **more):
    print("working", file=sys.stderr, flush=True)
    while True:  # deaf, as linear algebra is
        try:
            time.sleep(0.01)
        except KeyboardInterrupt:
            pass
kernel.KernelPCA.fit = forever
from mercer.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_an_interruption_is_answered_while_the_work_goes_on(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "model.mercer"
    words = [sys.executable, "-c", SLOW, "fit", IRIS, "--out", str(out)]
    one = start(words)
    assert one.stderr is not None
    while "working" not in one.stderr.readline():
        pass
    err, _ = interrupt(one, number)
    assert one.returncode == code
    assert err.count("\n") == 1
    assert "no file was left half written" in err
    assert list(tmp_path.iterdir()) == []


LISTENING = """
import signal, sys, threading, time
from mercer import cli
def work(args, talk):
    {work}
cli.command = work
sys.exit(cli.main())
"""
"""A whole program, whose commands do something else."""

STUCK = {
    "a thread that never ends": """
    threading.Thread(target=time.sleep, args=(10_000,)).start()
    print("working", file=sys.stderr, flush=True)
    time.sleep(10_000)""",
    "a library that waits at exit": """
    import atexit
    atexit.register(time.sleep, 10_000)
    print("working", file=sys.stderr, flush=True)
    time.sleep(10_000)""",
    "a destructor that the interruption gets lost in": """
    class Deaf:
        def __del__(self):
            print("working", file=sys.stderr, flush=True)
            time.sleep(10_000)
    Deaf()
    time.sleep(10_000)""",
    "an extension that says so in another way": """
    print("working", file=sys.stderr, flush=True)
    try:
        time.sleep(10_000)
    except KeyboardInterrupt:
        raise ImportError("initialization failed") from None""",
}


@pytest.mark.parametrize(
    ("number", "work"),
    [*((signal.SIGINT, work) for work in STUCK.values()), (signal.SIGTERM, [*STUCK.values()][0])],
    ids=[*STUCK, "SIGTERM"],
)
def test_nothing_holds_up_the_end_after_an_interruption(number: int, work: str) -> None:
    words = [sys.executable, "-c", LISTENING.format(work=work), "doctor"]
    one = start(words)
    assert one.stderr is not None
    assert one.stderr.readline() == "working\n"
    err, _ = interrupt(one, number)
    assert one.returncode == 128 + number
    assert err.rpartition("mercer: ")[2].endswith("; no file was left half written\n")


def test_an_interruption_does_not_wait_for_whoever_reads_the_output() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while os.write(writer, bytes(4096)):
            pass
    os.set_blocking(writer, True)
    one = start([sys.executable, "-m", "mercer"], stdout=writer)
    while not is_listening(one.pid):
        sleep(0.01)
    sleep(1.0)  # by then it waits for somebody to read its examples
    err, _ = interrupt(one)
    os.close(reader)
    os.close(writer)
    assert (one.returncode, err.count("\n")) == (130, 1)


WRITING = """
import os, signal, sys, time
from mercer.cli import main
from mercer.store import file
def never(handle):
    print("writing", file=sys.stderr, flush=True)
    time.sleep(10_000)
file.os = type(sys)("os")
vars(file.os).update(vars(os), fsync=never)
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_what_another_thread_was_writing_is_removed(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", WRITING, "report", IRIS, "--permutations", "0", "-q"]
    words += ["--out", str(tmp_path / "page.html")]
    one = start(words)
    assert one.stderr is not None
    assert one.stderr.readline() == "writing\n"
    assert len(list(tmp_path.iterdir())) == 1
    err, _ = interrupt(one, number)
    assert one.returncode == code
    assert list(tmp_path.iterdir()) == []
    assert err.count("\n") == 1


def is_listening(pid: int) -> bool:
    """Whether a process answers Ctrl-C by code of its own."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))


def interrupted_at(moment: float, folder: Path) -> tuple[int | None, str, float]:
    """Interrupt a report when it has computed so long: its code, its words, and seconds of CPU."""
    words = [sys.executable, "-m", "mercer", "report", IRIS, "--permutations", "19", "-q"]
    words += ["--out", str(folder / "p.html")]
    one = start(words, stdout=subprocess.DEVNULL)
    while not is_over(one.pid) and not is_listening(one.pid):
        sleep(0.002)
    begun = computed(one.pid)
    while not is_over(one.pid) and computed(one.pid) < begun + moment:
        sleep(0.002)
    err, spent = interrupt(one)
    return one.returncode, err, spent


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
@pytest.mark.parametrize(
    ("seed", "times"), [(0, 4), pytest.param(1, 40, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_report_ends_whenever_it_is_interrupted(seed: int, times: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    for moment in rng.uniform(0.0, LONG, times):
        code, err, spent = interrupted_at(moment, tmp_path)
        left = [path.name for path in tmp_path.iterdir()]
        if code == 0:  # it had ended before
            assert (err, left) == ("", ["p.html"])
            (tmp_path / "p.html").unlink()
            continue
        said = "mercer: interrupted; no file was left half written\n"
        assert (code, err) == (130, said) or (code, err) == (-signal.SIGINT, "")  # ending already
        assert set(left) <= {"p.html"}
        assert spent < 2.0, f"deaf for {spent} s after {moment} s"
        (tmp_path / "p.html").unlink(missing_ok=True)


def test_an_interruption_while_writing_leaves_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mercer.cli import main

    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.store.file.os.fsync", interrupted)
    assert main(["fit", IRIS, "--out", str(tmp_path / "m.mercer")]) == 130
    assert list(tmp_path.iterdir()) == []
    assert "interrupted" in capsys.readouterr().err


def on_a_terminal(*argv: str, code: str | None = None, **environment: str) -> tuple[int, str]:
    """Run with the standard error on a terminal; return the code and what the terminal shows."""
    mine, theirs = pty.openpty()
    words = [sys.executable, "-c", code] if code else COMMAND
    with subprocess.Popen(
        [*words, *argv],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **environment},
    ) as one:
        os.close(theirs)
        seen = b""
        while select.select([mine], [], [], PATIENCE)[0]:
            try:
                block = os.read(mine, 4096)
            except OSError:  # what Linux says at the end of a terminal
                break
            if not block:
                break
            seen += block
    os.close(mine)
    return one.returncode, seen.decode()


def test_colours_are_for_terminals_that_want_them() -> None:
    code, shown = on_a_terminal("fit", NO_COLOR="")
    assert (code, "\033[31m" in shown) == (2, True)
    for more in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\033[31m" not in on_a_terminal("fit", **more)[1]
    assert "\033[31m" not in on_a_terminal("fit", "--no-color", NO_COLOR="")[1]
    assert "\033" not in process("fit").stderr


PROGRESS = """
import sys, time
from mercer.cli.progress import carry_out
from mercer.progress import Line
from mercer.cli.output import Talk
progress = Line("tiles")
def work():
    for i in range(10):
        progress(i + 1, 10)
        time.sleep(0.1)
carry_out(work, Talk(), progress)
"""


def test_progress_is_drawn_on_a_terminal_only() -> None:
    _, shown = on_a_terminal(code=PROGRESS)
    assert "tiles" in shown
    assert "ETA" in shown
    assert "Ctrl-C stops" in shown
    assert shown.endswith("\r\033[K")  # and wiped away
    plain = subprocess.run(
        [sys.executable, "-c", PROGRESS], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (plain.stdout, plain.stderr) == ("", "")


def test_what_work_raises_is_raised_where_it_is_waited_for() -> None:
    def broken() -> None:
        raise mc.errors.InvalidInput("row 3")

    with pytest.raises(mc.errors.InvalidInput, match="row 3"):
        progress.carry_out(broken, Talk(), Line("x"))
    assert not progress.is_running()


def test_the_engine_tells_its_tiles() -> None:
    from mercer.engines.cpu import Threads
    from mercer.gram import Gram

    progress = Line("tiles")
    x = np.random.default_rng(0).standard_normal((3000, 2))
    vectors = np.ones((3000, 1))
    found = Gram(mc.Gaussian(1.0), x, engine=Threads(progress=progress)).product(vectors)
    assert progress.done == progress.total > 1
    np.testing.assert_allclose(found, Gram(mc.Gaussian(1.0), x).product(vectors), rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        mc.PCA(2),
        mc.KernelPCA(2),
        mc.ClassicalMDS(2, metric="euclidean"),
        mc.StressMDS(2, metric="euclidean", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_saves_itself(model: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((12, 3))
    model.fit(x).save(tmp_path / "m.mercer")
    again = mc.load(tmp_path / "m.mercer")
    assert type(again) is type(model)
    if hasattr(model, "transform"):
        assert np.array_equal(again.transform(x), model.transform(x))
    else:
        assert np.array_equal(again.embedding_, model.embedding_)


def test_help_that_nobody_reads_to_the_end_is_no_error() -> None:
    words = shlex.join([*COMMAND, "fit", "--help"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} | true"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_names_that_the_terminal_cannot_write_are_written_out(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("name,a,b\nÅsa,1,2\nb,3,4\nc,5,7\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("fit", path, "--method", "pca", "--coords", "-", env=environment)
    assert done.returncode == 0, done.stderr
    assert "\\xc5sa" in done.stdout
