"""Sound files of every format, and what was cut, flipped, overwritten or packed of them."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

TEXT = "name,x,y,kind\n" + "".join(f"row {i},{i}.5,{i * i},{'ab'[i % 2]}\n" for i in range(20))
NUMBERS = "x,y\n" + "".join(f"{i}.5,{i * i}\n" for i in range(20))
DISTANCES = ",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n"
EDGES = "# a graph\na b 1.5\nb c\nc a 2\nd\n"
GRAPHML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="l" for="node" attr.name="label"/><key id="w" for="edge" attr.name="weight"/>'
    '<graph edgedefault="undirected"><node id="a"><data key="l">é</data></node>'
    '<node id="b"><data key="l">t</data></node><edge source="a" target="b">'
    '<data key="w">2.5</data></edge></graph></graphml>'
)
LINES = "one two\nthree, four\n\nfive\n"


@dataclass(frozen=True)
class Case:
    """One file, and how it is to be read."""

    name: str
    suffix: str
    data: bytes
    options: dict[str, Any] = field(default_factory=dict)
    what: Any = "auto"


def saved(values: Any, **more: Any) -> bytes:
    """Return the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, values, **more)
    return buffer.getvalue()


def zipped(members: dict[str, bytes], level: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return the bytes of an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", level) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def flipped(data: bytes, place: int, mask: int = 1) -> bytes:
    """Return bytes of which one differs."""
    return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


def h5(write: Any) -> bytes:
    """Return the bytes of an HDF5 file that a function fills."""
    h5py = import_module("h5py")

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        write(file)
    return buffer.getvalue()


def h5ad(changes: Any = None) -> bytes:
    """Return an .h5ad file; changes replace what is written at a path, None leaves it out."""
    n, p, changes = 8, 3, changes or {}
    matrix = np.arange(float(n * p)).reshape(n, p)
    parts: dict[str, Any] = {
        "X": matrix,
        "obs/_index": [f"cell {i}" for i in range(n)],
        "var/_index": [f"gene {j}" for j in range(p)],
        "obs/kind/categories": ["B", "T"],
        "obs/kind/codes": np.arange(n) % 3 - 1,
        "obs/depth": np.arange(n),
    }
    if "X/data" in changes or "X/shape" in changes:
        del parts["X"]
        parts |= {
            "X/data": np.ones(n),
            "X/indices": np.arange(n) % p,
            "X/indptr": np.arange(n + 1),
            "X/shape": (n, p),
        }
    parts |= changes

    def write(file: Any) -> None:
        for path, values in parts.items():
            if values is None:
                continue
            if path == "X/shape":
                file.require_group("X").attrs["shape"] = values
            elif callable(values):
                values(file, path)
            else:
                file[path] = values
        for group in ("obs", "var"):
            if group in file and hasattr(file[group], "create_group"):
                file[group].attrs["_index"] = "_index"

    return h5(write)


def parquet(table: Any, **more: Any) -> bytes:
    """Return the bytes of a Parquet file."""
    pq = import_module("pyarrow.parquet")

    buffer = io.BytesIO()
    pq.write_table(table, buffer, **more)
    return buffer.getvalue()


def arrow(table: Any, compression: str | None = None) -> bytes:
    """Return the bytes of an Arrow file."""
    pa = import_module("pyarrow")
    import_module("pyarrow.ipc")
    buffer = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(buffer, table.schema, options=options) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def model() -> bytes:
    """Return a stored model."""
    import mercer as mc

    fitted = mc.KernelPCA(1, kernel=mc.Gaussian(0.5)).fit([[0.0], [1.0], [3.0]])
    with TemporaryDirectory() as folder:
        fitted.save(f"{folder}/m")
        with open(f"{folder}/m", "rb") as file:
            return file.read()


def restored(change: Any) -> bytes:
    """Return a stored model whose header was changed and whose sizes and sum are right."""
    whole = model()
    magic, version, length, _ = struct.unpack("<8sIQQ", whole[:28])
    header = json.loads(whole[28 : 28 + length])
    arrays = whole[-(-(28 + length) // 64) * 64 : -32]
    made = json.dumps(change(header)).encode()
    start = -(-(28 + len(made)) // 64) * 64
    body = struct.pack("<8sIQQ", magic, version, len(made), start + len(arrays) + 32) + made
    body = body.ljust(start, b"\0") + arrays
    return body + sha256(body).digest()


def whole_files() -> dict[str, tuple[str, bytes]]:
    """Return sound files of every format, by name, with their suffixes."""
    pa = import_module("pyarrow")

    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.normal(size=30), "n": np.arange(30), "kind": ["a", "b", "c"] * 10})
    held = pa.table(
        {
            "x": pa.array([1.5, None, 3.5] * 4),
            "when": pa.array([0, 10**15, None] * 4, pa.timestamp("us")),
            "flag": pa.array([True, None, False] * 4),
            "kind": pa.array(["a", None, "b"] * 4).dictionary_encode(),
            "money": pa.array([1, 2, 3] * 4).cast(pa.decimal128(22, 2)),
        }
    )
    return {
        "csv": (".csv", TEXT.encode()),
        "numbers": (".csv", NUMBERS.encode()),
        "tsv": (".tsv", TEXT.replace(",", "\t").encode()),
        "latin": (".csv", TEXT.replace("row", "rôw").encode("latin-1")),
        "utf-16": (".csv", TEXT.encode("utf-16")),
        "utf-32": (".csv", TEXT.encode("utf-32")),
        "csv.gz": (".csv.gz", gzip.compress(TEXT.encode())),
        "distances": (".csv", DISTANCES.encode()),
        "npy": (".npy", saved(rng.normal(size=(12, 3)))),
        "npy integers": (".npy", saved(np.arange(12).reshape(6, 2))),
        "npy by columns": (".npy", saved(np.asfortranarray(rng.normal(size=(12, 3))))),
        "npz": (".npz", zipped({"x.npy": saved(rng.normal(size=(12, 3)))})),
        "npz stored": (".npz", zipped({"x.npy": saved(rng.normal(size=(12, 3)))}, 0)),
        "npz of two": (".npz", zipped({k: saved(np.arange(9.0)) for k in ("x.npy", "y.npy")})),
        "parquet": (".parquet", parquet(table)),
        "parquet with holes": (".parquet", parquet(held)),
        "arrow": (".arrow", arrow(table)),
        "arrow with holes": (".arrow", arrow(held)),
        "arrow lz4": (".feather", arrow(table, "lz4")),
        "h5ad": (".h5ad", h5ad()),
        "h5ad by rows": (".h5ad", h5ad({"X/shape": (8, 3)})),
        "edges": (".edges", EDGES.encode()),
        "edges.gz": (".edges.gz", gzip.compress(EDGES.encode())),
        "graphml": (".graphml", GRAPHML.encode()),
        "model": (".mercer", model()),
        "lines": (".txt", LINES.encode()),
    }


def damaged(seed: int = 0, cuts: int = 8, flips: int = 24, runs: int = 8) -> Iterator[Case]:
    """Yield sound files, and those files cut, flipped, overwritten, doubled and packed again."""
    draw = random.Random(seed)
    for name, (suffix, whole) in whole_files().items():
        yield Case(f"{name}, whole", suffix, whole)
        size = len(whole)
        for place in sorted({draw.randrange(1, size) for _ in range(cuts)}):
            yield Case(f"{name}, cut at {place}", suffix, whole[:place])
        for place in sorted({draw.randrange(size) for _ in range(flips)}):
            mask = 1 << draw.randrange(8)
            yield Case(f"{name}, flipped {mask} at {place}", suffix, flipped(whole, place, mask))
        for place in sorted({draw.randrange(size) for _ in range(runs)}):
            fill = draw.choice((b"\0", b"\xff", b"\x7f", b"\n", b'"', b"9"))
            count = draw.choice((1, 4, 8, 64))
            made = whole[:place] + fill * count + whole[place + count :]
            yield Case(f"{name}, {fill!r} x {count} at {place}", suffix, made)
            made = whole[:place] + fill * count + whole[place:]
            yield Case(f"{name}, {fill!r} x {count} put in at {place}", suffix, made)
        yield Case(f"{name}, twice", suffix, whole + whole)
        yield Case(f"{name}, packed", suffix + ".gz", gzip.compress(whole))
        yield Case(f"{name}, packed twice", suffix + ".gz", gzip.compress(gzip.compress(whole)))
        yield Case(f"{name}, in an archive", ".zip", zipped({f"data{suffix}": whole}))
        for other in (".csv", ".graphml", ".edges", ".npy", ".h5ad"):
            yield Case(f"{name}, called {other}", other, whole)
