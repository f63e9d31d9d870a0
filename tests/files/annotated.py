"""Files of annotated matrices whose parts contradict one another."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from tests.files.whole import Case, h5, h5ad


def annotated() -> Iterator[Case]:
    """Yield .h5ad files whose parts contradict one another, and HDF5 files that are none."""
    h5py = import_module("h5py")

    def sparse(**changes: Any) -> bytes:
        return h5ad({"X/shape": (8, 3), **{k.replace("__", "/"): v for k, v in changes.items()}})

    def hard(path: str) -> Any:
        def link(file: Any, place: str) -> None:
            file[place] = h5py.SoftLink(path) if path[0] == "/" else h5py.ExternalLink(path, "/X")

        return link

    def sized(shape: Any, dtype: Any, **more: Any) -> Any:
        return lambda file, place: file.create_dataset(place, shape, dtype, **more)

    def attribute(group: str, name: str, value: Any) -> Any:
        def write(file: Any, _: str) -> None:
            file.require_group(group).attrs[name] = value

        return write

    compound = np.dtype([("a", "f8"), ("b", "i4")])
    words = h5py.string_dtype()
    huge = {"chunks": (1, 2**14), "compression": "gzip"}
    made: dict[str, bytes] = {
        "indices outside": sparse(X__indices=np.full(8, 99)),
        "negative indices": sparse(X__indices=np.full(8, -1)),
        "indices that wrap": sparse(X__indices=np.full(8, 2**63 - 1)),
        "indices of floats": sparse(X__indices=np.full(8, 0.5)),
        "indices of text": sparse(X__indices=["a"] * 8),
        "too few indices": sparse(X__indices=np.zeros(3, int)),
        "too many numbers": sparse(X__data=np.ones(99)),
        "data of text": sparse(X__data=["a"] * 8),
        "starts that fall": sparse(X__indptr=np.arange(9)[::-1].copy()),
        "starts outside": sparse(X__indptr=np.arange(9) * 1000),
        "huge starts": sparse(X__indptr=np.array([0] * 8 + [2**62])),
        "too many starts": sparse(X__indptr=np.arange(99) % 8),
        "no starts": sparse(X__indptr=np.zeros(0, int)),
        "no indices": sparse(X__indices=None),
        "a shape of one": sparse(X__shape=(8,)),
        "a shape of three": sparse(X__shape=(8, 3, 2)),
        "a negative shape": sparse(X__shape=(-8, 3)),
        "a huge shape": sparse(X__shape=(2**40, 2**40)),
        "an overflowing shape": sparse(X__shape=(2**62, 2**62)),
        "an empty shape": sparse(X__shape=(0, 0)),
        "a shape of text": sparse(X__shape="many"),
        "no shape": sparse(X__shape=None),
        "numbers twice in one place": sparse(
            X__indices=np.zeros(8, int), X__indptr=[0, 8] + [8] * 7
        ),
        "X of text": h5ad({"X": ["a"] * 8}),
        "X of numbers in a line": h5ad({"X": np.arange(8.0)}),
        "X of three dimensions": h5ad({"X": np.zeros((8, 3, 2))}),
        "X a number": h5ad({"X": 1.0}),
        "X empty": h5ad({"X": h5py.Empty("f8")}),
        "X without rows": h5ad({"X": np.zeros((0, 3))}),
        "X of compounds": h5ad({"X": np.zeros((8, 3), compound)}),
        "X complex": h5ad({"X": np.zeros((8, 3), complex)}),
        "X of times": h5ad({"X": np.zeros((8, 3), "i8")}),
        "X never written": h5ad({"X": sized((2**13, 2**14), "f8", **huge)}),
        "X never written and huge": h5ad({"X": sized((2**30, 2**30), "f4", **huge)}),
        "X too narrow": h5ad({"X": np.zeros((8, 1))}),
        "X too short": h5ad({"X": np.zeros((3, 3))}),
        "X a link to itself": h5ad({"X": hard("/X")}),
        "X a link to nowhere": h5ad({"X": hard("/nowhere")}),
        "X in another file": h5ad({"X": hard("/etc/passwd"[1:])}),
        "X a group of nothing": h5ad({"X": None, "X/other": 1.0}),
        "no obs": h5ad(
            {
                "obs/_index": None,
                "obs/kind/categories": None,
                "obs/kind/codes": None,
                "obs/depth": None,
            }
        ),
        "no index": h5ad({"obs/_index": None}),
        "no var": h5ad({"var/_index": None}),
        "an index of numbers": h5ad({"obs/_index": np.arange(8)}),
        "an index too short": h5ad({"obs/_index": ["a"]}),
        "an index too long": h5ad({"obs/_index": ["a"] * 99}),
        "an index of two dimensions": h5ad({"obs/_index": np.zeros((8, 2))}),
        "an index of nothing": h5ad({"obs/_index": h5py.Empty("f8")}),
        "an index never written": h5ad({"obs/_index": sized((2**26,), words, chunks=(2**14,))}),
        "an index as a group": h5ad(
            {
                "obs/_index": None,
                "obs/_index/values": ["a"] * 8,
                "obs/_index/mask": np.zeros(8, bool),
            }
        ),
        "codes outside": h5ad({"obs/kind/codes": np.full(8, 9)}),
        "codes far below": h5ad({"obs/kind/codes": np.full(8, -99)}),
        "codes of floats": h5ad({"obs/kind/codes": np.full(8, 0.5)}),
        "codes of text": h5ad({"obs/kind/codes": ["a"] * 8}),
        "codes too few": h5ad({"obs/kind/codes": np.zeros(3, int)}),
        "codes never written": h5ad({"obs/kind/codes": sized((2**28,), "i1", chunks=(2**14,))}),
        "codes of two dimensions": h5ad({"obs/kind/codes": np.zeros((8, 2), int)}),
        "no codes": h5ad({"obs/kind/codes": None}),
        "no categories": h5ad({"obs/kind/categories": np.zeros(0, "S1")}),
        "categories of numbers": h5ad({"obs/kind/categories": np.array([1.5, 2.5])}),
        "categories of two dimensions": h5ad({"obs/kind/categories": np.zeros((2, 2))}),
        "categories as a group": h5ad(
            {"obs/kind/categories": None, "obs/kind/categories/values": ["a", "b"]}
        ),
        "a column too short": h5ad({"obs/depth": np.arange(3)}),
        "a column of two dimensions": h5ad({"obs/depth": np.zeros((8, 2))}),
        "a column that is a number": h5ad({"obs/depth": 3.0}),
        "a column of compounds": h5ad({"obs/depth": np.zeros(8, compound)}),
        "a column of bytes": h5ad({"obs/depth": np.array([b"\xff\xfe"] * 8)}),
        "a column of nothing": h5ad({"obs/depth": h5py.Empty("f8")}),
        "a column of references": h5ad({"obs/depth": sized((8,), h5py.ref_dtype)}),
        "a column of lists": h5ad({"obs/depth": sized((8,), h5py.vlen_dtype("f8"))}),
        "a column of enums": h5ad({"obs/depth": sized((8,), h5py.enum_dtype({"A": 0, "B": 1}))}),
        "a column called as a gene": h5ad({"obs/gene 1": np.arange(8)}),
        "a column never written": h5ad({"obs/depth": sized((2**26,), words, chunks=(2**14,))}),
        "genes of one name": h5ad({"var/_index": ["a"] * 3}),
        "obs as an array": h5ad(
            {
                "obs/_index": None,
                "obs/kind/categories": None,
                "obs/kind/codes": None,
                "obs/depth": None,
                "obs": np.zeros(8),
            }
        ),
        "an old obs": h5ad(
            {
                "obs/_index": None,
                "obs/kind/categories": None,
                "obs/kind/codes": None,
                "obs/depth": None,
                "obs": np.zeros(8, compound),
            }
        ),
        "an index of another name": h5ad({"zz": attribute("obs/kind", "_index", "gone")}),
        "masks too short": h5ad(
            {
                "obs/depth": None,
                "obs/depth/values": np.arange(8),
                "obs/depth/mask": np.zeros(3, bool),
            }
        ),
        "masks of numbers": h5ad(
            {"obs/depth": None, "obs/depth/values": np.arange(8), "obs/depth/mask": np.arange(8)}
        ),
        "values without a mask": h5ad({"obs/depth": None, "obs/depth/values": np.arange(8)}),
        "a mask without values": h5ad({"obs/depth": None, "obs/depth/mask": np.zeros(8, bool)}),
        "nullable words": h5ad(
            {"obs/depth": None, "obs/depth/values": ["a"] * 8, "obs/depth/mask": np.arange(8) < 2}
        ),
        "an empty file": h5(lambda file: None),
        "a group for everything": h5(
            lambda file: [file.create_group(k) for k in ("X", "obs", "var")]
        ),
    }
    for name, data in made.items():
        yield Case(f"h5ad: {name}", ".h5ad", data)
    for layer in (
        "",
        "/",
        ".",
        "..",
        "X/",
        "obs",
        "obs/kind",
        "var",
        "gone",
        "obsm/gone",
        "\0",
        "a" * 9999,
    ):
        yield Case(f"h5ad: layer {layer[:20]!r}", ".h5ad", h5ad(), {"layer": layer})
