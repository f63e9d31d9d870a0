"""Files made to harm: each ends in an answer or a named error, within seconds and limits."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.data import read
from mercer.errors import UnreadableFile
from tests.files.arrays import npy_about, npy_header
from tests.files.whole import (
    GRAPHML,
    arrow,
    flipped,
    h5,
    h5ad,
    parquet,
    restored,
    saved,
    zipped,
)

TEXT = "x,y\n1,2\n3,4\n"


def encrypted() -> bytes:
    """Return an archive whose only member says that it needs a password."""
    whole = bytearray(zipped({"x.npy": saved(np.eye(3))}, zipfile.ZIP_STORED))
    whole[6] |= 1
    whole[whole.index(b"PK\x01\x02") + 8] |= 1
    return bytes(whole)


def sparse(**parts: Any) -> Any:
    """Return what makes a file of a sparse matrix of 8 cells and 3 genes, some parts of it odd."""
    return lambda: h5ad({"X/shape": (8, 3), **{f"X/{k}": v for k, v in parts.items()}})


def column(values: Any, kind: Any = None, form: Any = parquet) -> Any:
    """Return what makes a Parquet or Arrow file of a column of some type beside numbers."""

    def made() -> bytes:
        arrow = pytest.importorskip("pyarrow")
        type_ = kind(arrow) if kind else None
        held = arrow.array(values, type_)
        return bytes(form(arrow.table({"n": arrow.array(range(len(values))), "x": held})))

    return made


def long_word() -> bytes:
    """Return a Parquet file of 16 kB whose one word would take 40 GB if it were written out."""
    arrow = pytest.importorskip("pyarrow")
    places = arrow.array(np.zeros(2**22, np.int32))
    words = arrow.DictionaryArray.from_arrays(places, arrow.array(["a" * 10_000]))
    return parquet(arrow.table({"x": words}))


def runs(count: int) -> bytes:
    """Return an Arrow file of one run of equal numbers."""
    pa = pytest.importorskip("pyarrow")
    held = pa.RunEndEncodedArray.from_arrays(pa.array([count], pa.int32()), pa.array([1.0]))
    return arrow(pa.table({"n": pa.nulls(count), "x": held}))


def packed(compression: str) -> bytes:
    """Return an Arrow file of a few kB that unfolds to 64 MB."""
    return arrow(pytest.importorskip("pyarrow").table({"x": np.zeros(2**23)}), compression)


LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><graphml>&b;</graphml>'
FAR = [2**62, -(2**62)]

REFUSED: dict[str, tuple[str, Any, str, dict[str, Any]]] = {
    "a negative shape": (".npy", npy_header((-3, 2)), r"the shape \(-3, 2\), which no array", {}),
    "a negative shape in an archive": (
        ".npz",
        zipped({"x.npy": npy_header((-(2**62), 8)) + bytes(32)}),
        "which no array has",
        {},
    ),
    "a shape of truths": (".npy", npy_header((True, 2)), "which no array has", {}),
    "a hundred dimensions": (".npy", npy_header((1,) * 100), "of 100 dimensions", {}),
    "a header that ends too soon": (".npy", npy_about(b"{"), "no readable .npy header", {}),
    "a header of brackets": (".npy", npy_about(b"(" * 5000), "no readable .npy header", {}),
    "a header of 10 kB": (".npy", npy_about(b"{'a':" * 3000), "no readable .npy header", {}),
    "a type of commas": (".npy", npy_header((2,), "f8" + "," * 9000), "no readable", {}),
    "an encrypted member": (".npz", encrypted, "is encrypted; unpack", {}),
    "bzip2 that is none": (
        ".npz",
        flipped(zipped({"x.npy": saved(np.eye(9))}, zipfile.ZIP_BZIP2), 60, 64),
        "damaged archive|no readable .npy header",
        {},
    ),
    "LZMA that is none": (
        ".npz",
        flipped(zipped({"x.npy": saved(np.eye(9))}, zipfile.ZIP_LZMA), 60, 64),
        "damaged archive|no readable .npy header",
        {},
    ),
    "rot13": (".csv", TEXT.encode(), "'rot13' is no encoding of texts", {"encoding": "rot13"}),
    "idna": (".csv", TEXT.encode(), "'idna' is no encoding", {"encoding": "idna"}),
    "an encoding with a NUL": (".csv", TEXT.encode(), "no encoding", {"encoding": "utf-8\0"}),
    "UTF-16 without a mark": (
        ".csv",
        TEXT.encode("utf-16-le"),
        "does not begin with the mark of utf-16; name the order",
        {"encoding": "utf-16"},
    ),
    "a bomb of newlines": (
        ".csv.gz",
        gzip.compress(b"name,x\na,b\n" + b"\n" * 2**24),
        "unfolds to more than 100 times",
        {},
    ),
    "edges of nobody": (".edges", b",,\n", "an edge is two names", {}),
    "edges without a line": (".edges", b"# nothing\n", "has no edges", {}),
    "an edge of infinite weight": (".edges", b"a b inf\n", "two names and perhaps a weight", {}),
    "a table of edges with one end": (".csv", b"source,target\na,\nb,c\n", "row 1 has no", {}),
    "weights that are words": (
        ".csv",
        b"source,target,weight\na,b,u\nb,c,v\n",
        "holds labels, and weights are numbers",
        {},
    ),
    "entities": (".graphml", LAUGHS.encode(), "declares entities", {}),
    "entities in UTF-16": (".graphml", LAUGHS.encode("utf-16"), "declares entities", {}),
    "a document without end": (".graphml", b"<graphml>" + b"<a>" * 10**5, "in one another", {}),
    "a document of no encoding": (
        ".graphml",
        GRAPHML.replace("UTF-8", "rot13").encode(),
        "'rot13' is no encoding of texts",
        {},
    ),
    "a node twice": (".graphml", GRAPHML.replace('"b"', '"a"').encode(), "two nodes 'a'", {}),
    "indices outside": (".h5ad", sparse(indices=np.full(8, 99)), "points outside of 3 places", {}),
    "negative indices": (".h5ad", sparse(indices=np.full(8, -1)), "points outside of 3", {}),
    "starts that fall": (".h5ad", sparse(indptr=np.arange(9)[::-1]), "does not cut 8 entries", {}),
    "a matrix of a negative shape": (".h5ad", sparse(shape=(-8, 3)), "not a table", {}),
    "codes outside": (
        ".h5ad",
        lambda: h5ad({"obs/kind/codes": np.full(8, 9)}),
        "points outside of 2 categories",
        {},
    ),
    "a short column": (
        ".h5ad",
        lambda: h5ad({"obs/depth": np.arange(3)}),
        "obs/depth has 3 values, where 8 belong",
        {},
    ),
    "text for numbers": (".h5ad", lambda: h5ad({"X": ["a"] * 8}), "not a table of numbers", {}),
    "a layer of no name": (".h5ad", h5ad, "not an .h5ad file with a layer '/'", {"layer": "/"}),
    "time stamps far away": (
        ".parquet",
        column(FAR, lambda arrow: arrow.timestamp("ms")),
        "beyond the years that microseconds count",
        {},
    ),
    "dates far away": (
        ".arrow",
        column([2**31 - 1], lambda arrow: arrow.date32(), arrow),
        "beyond the years that microseconds count",
        {},
    ),
    "long runs": (".arrow", lambda: runs(2**29), "more than the", {}),
    "packed zeros": (".arrow", lambda: packed("zstd"), "more than the", {"memory": "50MB"}),
    "packed zeros of another kind": (".arrow", lambda: packed("lz4"), "than the", {"memory": 5e7}),
    "no column of a table": (
        ".parquet",
        column([[1]], None),
        "no column",
        {"roles": {"x": "text"}},
    ),
    "a model of an odd array": (
        ".mercer",
        lambda: restored(lambda h: h | {"arrays": [h["arrays"][0] | {"shape": [0, 2**62]}] * 9}),
        "describes an array that makes no sense",
        {},
    ),
    "a model of wide texts": (
        ".mercer",
        lambda: restored(lambda h: h | {"model": {"objects": ["U500000000", [1], [""]]}}),
        "not of text",
        {},
    ),
    "a model without arrays": (
        ".mercer",
        lambda: restored(lambda h: h | {"arrays": None}),
        "its 'arrays' is no list",
        {},
    ),
}


@pytest.mark.filterwarnings("ignore:.*is left out:mercer.errors.DataWarning")
@pytest.mark.parametrize("case", REFUSED)
def test_the_file_is_refused_by_name(case: str, tmp_path: Path) -> None:
    suffix, data, message, options = REFUSED[case]
    for library in {".h5ad": ["h5py"], ".parquet": ["pyarrow"], ".arrow": ["pyarrow"]}.get(
        suffix, []
    ):
        pytest.importorskip(library)
    path = tmp_path / f"data{suffix}"
    path.write_bytes(data() if callable(data) else data)
    with pytest.raises(mc.errors.MercerError, match=message) as caught:
        mc.load(path) if suffix == ".mercer" else read(path, **options)
    assert "\n" not in str(caught.value)


def test_a_word_that_occurs_millions_of_times_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    path.write_bytes(long_word())
    assert path.stat().st_size < 10**5
    values = read(path, "table").column("x").values
    assert len(values) == 2**22
    assert len(set(map(id, values))) < 100  # one for each batch


def test_places_of_text_that_lie_are_found_before_they_are_read(tmp_path: Path) -> None:
    """Arrow believes its files: each of these ended the process or told of other memory."""
    pa = pytest.importorskip("pyarrow")
    whole = arrow(pa.table({"kind": ["a", "b", "c"] * 10}))
    ends = np.arange(31, dtype=np.int32).tobytes()
    place = whole.index(ends)
    for end in (-1, 2**30, 7):
        made = bytearray(whole)
        made[place + 40 : place + 44] = np.int32(end).tobytes()
        (tmp_path / "data.arrow").write_bytes(made)
        with pytest.raises(mc.errors.UnreadableFile, match="damaged or incomplete Arrow file"):
            read(tmp_path / "data.arrow")


def test_columns_that_are_no_columns_are_left_out_with_a_warning(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [1.0, 2.0], "parts": [[1], [2, 3]], "raw": [b"a", b"b"]})
    for form, suffix in ((parquet, "parquet"), (arrow, "arrow")):
        path = tmp_path / f"data.{suffix}"
        path.write_bytes(form(table))
        with pytest.warns(
            mc.errors.DataWarning, match='column "parts", "raw" holds neither numbers'
        ):
            assert read(path, "table").names == ("x",)


def test_a_matrix_in_another_file_is_not_read(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    (tmp_path / "other.h5").write_bytes(h5ad())
    with h5py.File(tmp_path / "data.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/X")
        file["obs/_index"] = ["a"] * 8
    with pytest.raises(mc.errors.UnreadableFile, match="X lies in another file, which is not read"):
        read(tmp_path / "data.h5ad")
    (tmp_path / "raw").write_bytes(np.arange(24.0).tobytes())
    with h5py.File(tmp_path / "data.h5ad", "w") as file:
        elsewhere = [(str(tmp_path / "raw"), 0, 192)]
        file.create_dataset("X", (8, 3), "f8", external=elsewhere)
        file["obs/_index"] = ["a"] * 8
    with pytest.raises(mc.errors.UnreadableFile, match="X lies in another file, which is not read"):
        read(tmp_path / "data.h5ad")


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "utf-16-be", "latin-1", "koi8-r"])
def test_graphml_is_read_in_the_encoding_it_names(encoding: str, tmp_path: Path) -> None:
    letter = "ж" if encoding == "koi8-r" else "é"
    text = GRAPHML.replace("UTF-8", encoding).replace("é", letter)
    (tmp_path / "net.graphml").write_bytes(text.encode(encoding))
    if encoding == "utf-16-be":  # which the parser cannot know without a mark
        with pytest.raises(mc.errors.UnreadableFile, match="is not XML"):
            read(tmp_path / "net.graphml")
        return
    edges = read(tmp_path / "net.graphml")
    assert edges.labels == (letter, "t")
    assert edges.weights == (2.5,)


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "delimiter of two": ({"delimiter": "ab"}, "delimiter must be one character"),
    "delimiter of none": ({"delimiter": ""}, "delimiter must be one character"),
    "a quote as delimiter": ({"delimiter": '"'}, "delimiter must be one character"),
    "a line end as delimiter": ({"delimiter": "\n"}, "delimiter must be one character"),
    "a number as delimiter": ({"delimiter": 5}, "delimiter must be one character"),
    "decimal": ({"decimal": "x"}, r"decimal must be '\.' or ','"),
    "decimal and delimiter": ({"decimal": ",", "delimiter": ","}, "cannot both be ','"),
    "na": ({"na": 5}, "na must be a word or a sequence of words"),
    "na of numbers": ({"na": [5]}, "na must be a word or a sequence of words"),
    "roles": ({"roles": 5}, "roles must map names of columns to roles"),
    "a role of number": ({"roles": {"x": 5}}, "roles: column 'x' cannot be 5"),
    "a role of none": ({"roles": {"x": "gone"}}, "roles: column 'x' cannot be 'gone'"),
    "memory": ({"memory": "much"}, "memory must be a number of bytes or a text"),
    "no memory": ({"memory": 0}, "memory must be a number of bytes"),
    "infinite memory": ({"memory": np.inf}, "memory must be a number of bytes"),
    "ratio": ({"ratio": "100"}, "ratio must be a number > 0"),
    "encoding": ({"encoding": 5}, "encoding must be a text"),
    "header": ({"header": "yes"}, "header must be True, False or None"),
    "layer": ({"layer": 5}, "layer must be a text"),
    "supplementary": ({"supplementary": 5}, "supplementary must be a word or a sequence"),
    "missing": ({"missing": []}, "missing must be one of"),
    "an unknown one": ({"sep": ","}, "read has no option 'sep'; it has delimiter"),
    "what": ({"what": ["table"]}, "what must be one of"),
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_of_wrong_types_are_refused_before_the_file_is_opened(case: str) -> None:
    options, message = OPTIONS[case]
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        read("no such file.csv", **options)


def test_a_lone_word_is_one_word_and_memory_may_be_written(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,2\n3,??\n5,6\n")
    table = read(path, "table", na="??", missing="drop", supplementary="y", memory="1GB")
    assert (len(table), table.active) == (2, ("x",))


def test_a_header_that_claims_a_milliard_columns_is_refused_at_once(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "wide.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (2**30, 2**30), "f4", chunks=(1, 2**14))  # never written
    started = time.process_time()
    with pytest.raises(mc.errors.TooLarge, match="X has 1,073,741,824 columns, and at most"):
        mc.open_points(path)
    assert time.process_time() - started < 2.0


def swept(*arguments: str) -> str:
    """Return what a sweep tells, in a process that nothing else runs in."""
    for library in ("h5py", "pyarrow", "pandas"):
        pytest.importorskip(library)
    command = [sys.executable, "-W", "ignore", "-m", "tests.files.sweep", *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root).stdout


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize(
    "source",
    [
        "arrays",
        "annotated",
        "documents",
        *(pytest.param(s, marks=pytest.mark.slow) for s in ("every",)),
    ],
)
def test_every_hostile_file_ends_in_an_answer_or_a_named_error(source: str) -> None:
    told = swept() if source == "every" else swept(source, "", "9")
    assert told.endswith("'wrong': 0}\n"), told


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a picture (PNG), not a table"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is a picture (JPEG), not a table"),
        (b"GIF89a\1\0\1\0", "is a picture (GIF), not a table"),
        (b"II*\0\x08\0\0\0", "is a picture (TIFF), not a table"),
        (b"%PDF-1.7\n%\xe2\xe3", "is a PDF document, not a table"),
        (b"PK\5\6" + bytes(18), "is a zip archive without arrays or sheets"),
        (zipped({"content.xml": b"<x/>"}), "is an OpenDocument file; save it as .xlsx or CSV"),
        (bz2.compress(b"a,b\n1,2\n"), "is packed by bzip2; unpack it first"),
        (lzma.compress(b"a,b\n1,2\n"), "is packed by xz; unpack it first"),
        (b"\x28\xb5\x2f\xfd\0\0", "is packed by Zstandard; unpack it first"),
        (b"X\n\0\0\0\3", "holds objects of R; write.csv saves one"),
        (gzip.compress(b"X\n\0\0\0\3"), "holds objects of R; write.csv saves one"),
        (b"MATLAB 5.0 MAT-file\0", "holds arrays of MATLAB; writematrix saves one"),
        (b' [ {"a": 1, "b": 2}]', "is JSON and no table"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # packed bytes hold the time
)
def test_pictures_and_documents_are_named_as_what_they_are(
    start: bytes, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(start)
    with pytest.raises(UnreadableFile, match=re.escape(f"data.csv {what}")) as caught:
        read(path)
    assert "encoding" not in str(caught.value)


def test_hdf5_of_others_is_named_with_what_reads_it(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    path = tmp_path / "data.h5"
    path.write_bytes(h5(lambda file: file.create_dataset("x", data=[[1.0, 2.0]])))
    with pytest.raises(UnreadableFile, match="HDF5 file without .* obs; mercer.open_points reads"):
        read(path)
    assert mc.open_points(path)[:1].tolist() == [[1.0, 2.0]]


def test_columns_of_equal_name_are_refused_also_on_disk(tmp_path: Path) -> None:
    """`open_points` ended in the library's KeyError."""
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "twice.parquet"
    pair = [arrow.array([1.0, 2.0]), arrow.array([3.0, 4.0])]
    path.write_bytes(parquet(arrow.Table.from_arrays(pair, names=["a", "a"])))
    for enter in (read, mc.open_points):
        with pytest.raises(mc.errors.InvalidInput, match="several columns named 'a'"):
            enter(path)


@pytest.mark.parametrize("enter", [read, mc.open_points])
def test_the_time_for_columns_grows_as_their_number(enter: Any, tmp_path: Path) -> None:
    """For 8 000 columns it took 10 times that for 2 000: each name was looked for among all."""
    arrow = pytest.importorskip("pyarrow")
    spent = []
    for count in (500, 2_000, 8_000):  # the first loads the libraries
        path = tmp_path / f"{count}.parquet"
        path.write_bytes(parquet(arrow.table({f"c{i}": [1.0, 2.0] for i in range(count)})))
        begun = time.process_time()
        enter(path)
        spent.append(time.process_time() - begun)
    assert spent[2] < 7.0 * spent[1] + 0.2, spent
