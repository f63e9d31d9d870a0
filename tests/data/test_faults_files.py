"""Files as they come from other people: each ends in a right table, a warning or a named error."""

from __future__ import annotations

import gzip
import os
import pickle
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pytest

import mercer as mc
from mercer.data import Table, open_points, read
from tests.files.arrays import npy_header
from tests.files.whole import flipped, saved, zipped

SMALL = [[1.0, 2.0], [3.0, 4.0]]
TEXT = "x,y\n1,2\n3,4\n"


READABLE = {
    "UTF-8 with a mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "UTF-16 with a mark": TEXT.encode("utf-16"),
    "UTF-16, big-endian, with a mark": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "UTF-16 without a mark": TEXT.encode("utf-16-le"),
    "UTF-32": TEXT.encode("utf-32"),
    "CR LF": TEXT.replace("\n", "\r\n").encode(),
    "CR alone": TEXT.replace("\n", "\r").encode(),
    "no line end at the end": TEXT.rstrip().encode(),
    "empty lines at the end": (TEXT + "\n\n").encode(),
    "empty lines inside": TEXT.replace("\n", "\n\n").encode(),
    "decimal comma": b"x;y\n1,0;2,0\n3,0;4,0\n",
    "quoted numbers": b'"x","y"\n"1","2"\n"3","4"\n',
    "spaces around": b"x, y\n 1, 2\n 3 , 4\n",
    "gzip": gzip.compress(TEXT.encode()),
    "an array called .csv": saved(np.array(SMALL)),
}


@pytest.mark.parametrize("case", READABLE)
def test_the_table_is_read_in_spite_of(case: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(READABLE[case])
    assert read(path, "table").matrix().tolist() == SMALL


NAMED = {
    "empty": (b"", "is empty"),
    "white space": (b" \n\t\n", "nothing but white space"),
    "header only": (b"x,y\n", "a header but no rows"),
    "a short row": (b"x,y\n1,2\n3\n", "line 3 has 1 cell, fewer than the 2 columns"),
    "a long row": (b"x,y\n1,2\n3,4,5\n", "line 3 has 3 cells, more than the 2 columns"),
    "an open quote": (b'x,y\n1,2\n"3,4\n5,6\n', "begins on line 3.*not closed"),
    "an open quote over a long file": (
        b'x,y\n1,2\n"3,4\n' + b"5,6\n" * 50_000,
        "begins on line 3.*not closed",
    ),
    "a NUL byte": (b"x,y\n1,2\n3,\x004\n", "NUL byte at byte 10"),
    "a NUL byte far away": (b"x,y\n" + b"1,2\n" * 50_000 + b"3,\x00\n", "NUL byte at line 50002"),
    "text among numbers": (b"x\n1\n2\noops\n4\n", "line 4, column \"x\": 'oops'"),
    "infinity": (b"x\n1\ninf\n", 'row 2, column "x" is inf'),
    "missing": (b"x\n1\nNA\n", '1 number is missing, in column "x"'),
    "a pickle": (pickle.dumps([1, 2]), "is a Python pickle, which can run code"),
    "an old pickle": (pickle.dumps([1, 2], 2), "is a Python pickle, which can run code"),
    "an archive": (zipped({"notes.xml": b"<x/>"}), "a zip archive without arrays or sheets"),
    "a sheet of OpenDocument": (zipped({"content.xml": b"<x/>"}), "is an OpenDocument file; save"),
    "a piece of a spreadsheet": (zipped({"xl/workbook.xml": b"<x/>"}), "incomplete spreadsheet"),
    "a model": (b"\x89MERCER\n" + bytes(50), "read it with mercer.load"),
    "half a gzip": (gzip.compress(TEXT.encode())[:25], "damaged or incomplete gzip"),
    "a damaged gzip": (flipped(gzip.compress(TEXT.encode()), 28), "damaged or incomplete gzip"),
    "half a zip": (zipped({"x.npy": saved(np.eye(3))})[:100], "damaged archive"),
    "a damaged zip": (
        flipped(zipped({"x.npy": saved(np.eye(9))}, zipfile.ZIP_STORED), 300),
        "damaged archive: Bad CRC-32",
    ),
    "half an array": (saved(np.eye(9))[:200], "declares 648 bytes of numbers and holds"),
    "an array of objects": (
        saved(np.array([{}, 1], object), allow_pickle=True),
        "holds Python objects, which are stored as code",
    ),
    "an archive of objects": (
        zipped({"x.npy": saved(np.array([{}], object), allow_pickle=True)}),
        "holds Python objects, which are stored as code",
    ),
    "an array of text": (saved(np.array(["a"])), "only real numbers are read"),
    "an array without a header": (b"\x93NUMPY\x01\x00\x10\x00garbage", "no readable .npy header"),
    "an array of a future version": (b"\x93NUMPY\x09\x00" + bytes(99), "no readable .npy header"),
    "an array of no dimension": (saved(np.array(1.0)), "not a table of numbers"),
    "an array without rows": (saved(np.zeros((0, 2))), "not a table of numbers"),
    "10^12 declared elements": (npy_header((10**6, 10**6)), "takes 8,000,000,000,000 bytes"),
    "10^12 declared in an archive": (
        zipped({"x.npy": npy_header((10**6, 10**6))}),
        "takes 8,000,000,000,000 bytes",
    ),
    "sizes that overflow": (npy_header((2**40, 2**40)), r"takes [\d,]+ bytes, more than"),
    "a gzip bomb": (gzip.compress(bytes(2**24)), "unfolds to more than 100 times"),
    "a zip bomb": (zipped({"x.npy": saved(np.zeros(2**21))}), "unfolds to more than 100 times"),
    "half a Parquet": (b"PAR1" + bytes(200), "damaged or incomplete Parquet"),
    "half an Arrow file": (b"ARROW1\0\0" + bytes(200), "damaged or incomplete Arrow"),
    "half an HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(200), "damaged or incomplete HDF5"),
}
LIBRARY = {
    "half a Parquet": "pyarrow",
    "half an Arrow file": "pyarrow",
    "half an HDF5": "h5py",
    "a piece of a spreadsheet": "python_calamine",
}


@pytest.mark.parametrize("case", NAMED)
def test_the_file_is_refused_by_name(case: str, tmp_path: Path) -> None:
    if case in LIBRARY:
        pytest.importorskip(LIBRARY[case])
    data, message = NAMED[case]
    path = tmp_path / "data.csv"
    path.write_bytes(data)
    with pytest.raises(mc.errors.InvalidInput, match=message) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_cut_parquet_file_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": np.arange(1000.0)}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    path = tmp_path / "cut.parquet"
    for length in (4, 12, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:length])
        for opened in (read, open_points):
            with pytest.raises(mc.errors.UnreadableFile, match=r"cut\.parquet"):
                opened(path)


def test_latin_1_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes("prénom,âge\nZoé,3\nAda,4\n".encode("latin-1"))
    with pytest.warns(mc.errors.DataWarning, match="not UTF-8 and was read as latin-1"):
        table = read(path, "table")
    assert table.names == ("prénom", "âge")
    assert table.row_names == ("Zoé", "Ada")
    assert read(path, "table", encoding="latin-1").row_names == ("Zoé", "Ada")
    with pytest.raises(mc.errors.UnreadableFile, match="is not utf-8"):
        read(path, encoding="utf-8")
    with pytest.raises(mc.errors.UnreadableFile, match="klingon"):
        read(path, encoding="klingon")


def test_latin_1_beyond_the_sample_is_noticed_too(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = "".join(f"row{i},{i}\n" for i in range(20_000)) + "Zoé,3\n"
    path.write_bytes(("name,x\n" + rows).encode("latin-1"))
    with pytest.warns(mc.errors.DataWarning, match="latin-1"):
        table = read(path, "table")
    assert table.row_names is not None
    assert table.row_names[-1] == "Zoé"


def test_equal_names_of_columns_are_numbered_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,x,x (2),,\n1,2,3,4,5\n6,7,8,9,0\n")
    with pytest.warns(mc.errors.DataWarning, match='columns of equal name were numbered: "x"'):
        table = read(path, "table")
    assert len(set(table.names)) == 5
    assert table.names[0] == "x"
    assert table.matrix()[0].tolist() == [1, 2, 3, 4, 5]


def test_names_of_every_script_stay_as_they_are(tmp_path: Path) -> None:
    names = ["שלום", "👩🏽\u200d🔬", unicodedata.normalize("NFD", "é"), "\u202etxt", "<b>", "=1+1"]
    path = tmp_path / "data.csv"
    rows = "\n".join(f"{name},{i}" for i, name in enumerate(names))
    path.write_text("name,мера\n" + rows + "\n", encoding="utf-8")
    table = read(path, "table")
    assert table.row_names == tuple(names)
    assert table.active == ("мера",)


def test_links_are_followed_and_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(TEXT)
    (tmp_path / "link.csv").symlink_to("data.csv")
    assert read(tmp_path / "link.csv", "table").matrix().tolist() == SMALL
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, message in (
        ("broken", "No such file"),
        ("circle", "cannot be opened"),
        ("absent", "No such file"),
        ("pipe", "a pipe or a device"),
        ("folder", "folder"),
        ("a\0b", "cannot be opened"),
    ):
        for opened in (read, open_points, mc.load):
            with pytest.raises(mc.errors.UnreadableFile, match=message):
                opened(f"{tmp_path}/{name}")
    with pytest.raises(mc.errors.UnreadableFile, match="a pipe or a device"):
        read("/dev/zero")


def test_limits_can_be_raised(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(zipped({"x.npy": saved(np.zeros(2**18))}))
    with pytest.raises(mc.errors.TooLarge, match="ratio="):
        read(path)
    assert len(read(path, "table", ratio=10_000)) == 2**18
    with pytest.raises(mc.errors.TooLarge, match="memory="):
        read(path, ratio=10_000, memory=1000)


HUGE = """
import gzip, os, resource, sys, zipfile, numpy as np
from mercer.errors import InvalidInput
from mercer.data import read
folder = sys.argv[1]
def at(name):
    return os.path.join(folder, name)
with open(at("sparse.csv"), "wb") as file:
    file.truncate(10 * 10**9)
with open(at("sparser.csv"), "wb") as file:
    file.write(b"x,y\\n1,2\\n3,4\\n5,6\\n")
    file.truncate(1900 * 10**6)
with open(at("line.csv"), "wb") as file:
    for _ in range(100):
        file.write(b"1,2," * 250_000)
with open(at("bomb.csv.gz"), "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb") as file:
    for _ in range(200):
        file.write(b"1,2\\n" * 2**18)
with open(at("wide.csv"), "w") as file:
    for value in ("v%d", "%d.5"):
        file.write(",".join(value % j for j in range(int(sys.argv[2]))) + "\\n")
with open(at("wider.csv"), "w") as file:
    file.write("1," * 2**22 + "1\\n" + "1," * 2**22 + "1\\n")
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
for name in ("sparse.csv", "sparser.csv", "bomb.csv.gz", "line.csv", "wider.csv", "wide.csv"):
    try:
        table = read(at(name))
        outcome = f"{len(table)} x {len(table.names)} {table.matrix()[0, -1]}"
    except InvalidInput as error:
        outcome = f"{type(error).__name__}: {error}"
    # The peak of this process alone: what getrusage tells begins with the parent's.
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024, name, outcome, sep="|")
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("columns", [10**5, pytest.param(10**6, marks=pytest.mark.slow)])
def test_huge_files_end_within_bounded_memory(tmp_path: Path, columns: int) -> None:
    command = [sys.executable, "-c", HUGE, str(tmp_path), str(columns)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [line.split("|") for line in done.stdout.splitlines()]
    found = {name: (int(megabytes), outcome) for megabytes, name, outcome in told}
    expected = {
        "sparse.csv": (300, "TooLarge: sparse.csv takes 10,000,000,000 bytes"),
        "sparser.csv": (300, "UnreadableFile: sparser.csv has a NUL byte at line 5"),
        "bomb.csv.gz": (300, "TooLarge: bomb.csv.gz unfolds to more than 100 times"),
        "line.csv": (300, "TooLarge: line.csv, line 1 has more than 67,108,864 characters"),
        "wider.csv": (300, "TooLarge: wider.csv has more than 2,097,152 columns"),
        "wide.csv": (600, f"1 x {columns} {columns - 0.5}"),
    }
    for name, (megabytes, outcome) in expected.items():
        assert found[name][1].startswith(outcome), found[name]
        assert found[name][0] < megabytes, found[name]


def test_the_caller_keeps_what_was_given(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0], "g": ["a", "b"]})
    before = frame.copy()
    table = read(frame, "table")
    frame.loc[0, "x"] = 99.0
    assert table.matrix()[0, 0] == 1.0
    frame.loc[0, "x"] = 1.0
    assert frame.equals(before)
    X = np.eye(2)
    kept = read(X)
    X[0, 0] = 5.0
    assert isinstance(kept, Table)
    assert kept.matrix()[0, 0] == 1.0
