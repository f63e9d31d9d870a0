"""Stored models whose sums are right and whose contents are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.files.whole import Case, restored


def models() -> Iterator[Case]:
    """Yield stored models whose sums are right and whose contents are not."""
    trees: dict[str, Any] = {
        "nothing": None,
        "a list": [],
        "two keys": {"a": 1, "b": 2},
        "no key": {},
        "an unknown kind": {"code": "print(1)"},
        "a class of another's": {"model": ["os.system", {}, {}]},
        "a function": {"value": ["mercer.store.load", {}]},
        "an enum that is none": {"enum": ["mercer.data.table.Role", "GONE"]},
        "an array outside": {"array": 10**9},
        "an array of text": {"array": "x"},
        "a negative array": {"array": -1},
        "objects of a huge shape": {"objects": ["O", [10**12], []]},
        "objects of a huge dtype": {"objects": ["U2000000000", [1], [""]]},
        "objects of numbers": {"objects": ["f8", [1], ["x"]]},
        "objects of void": {"objects": ["V1000000000", [1], [""]]},
        "a sparse matrix that lies": {
            "sparse": ["csr_array", [{"array": 0}, {"array": 0}, {"array": 0}], [10**9, 10**9]]
        },
        "a huge kernel": {"kernel": "(" * 100_000},
        "a kernel of a huge power": {"kernel": "linear()**" + "9" * 10_000},
        "a kernel that is none": {"kernel": "import os"},
        "a kernel of number": {"kernel": 5},
        "a float that is none": {"float": "many"},
        "a complex of three": {"complex": [1, 2, 3]},
        "a dict of one": {"dict": [[1]]},
        "a dict of lists": {"dict": [[{"list": []}, 1]]},
        "a set of lists": {"set": [{"list": []}]},
        "paired of nothing": {"paired": []},
        "a model without parameters": {"model": ["mercer.KernelPCA", {}, {}]},
        "a model of odd parameters": {"model": ["mercer.KernelPCA", {"gone": 1}, {}]},
        "a model whose state is a method": {"model": ["mercer.KernelPCA", {}, {"fit": 5}]},
        "an object of numpy": {"object": ["numpy.ndarray", {}]},
        "a table": {"value": ["mercer.data.table.Table", {}]},
        "made of too much": {"made": ["mercer.points.Rows", [{"dict": []}, None, 3]]},
        "depth": None,
    }
    for name, tree in trees.items():
        yield Case(f"model: {name}", ".mercer", restored(lambda h, t=tree: h | {"model": t}))
    deep: Any = 1
    for _ in range(400):
        deep = {"list": [deep]}
    yield Case("model: lists in lists", ".mercer", restored(lambda h: h | {"model": deep}))
    about = {"dtype": "<f8", "shape": [1], "order": "C", "offset": 0}
    odd: tuple[Any, ...] = (
        *({"shape": [-1]}, {"shape": [2**62, 4]}, {"shape": ["a"]}, {"shape": None}, {"shape": 5}),
        *({"dtype": "O"}, {"dtype": "U9"}, {"dtype": 5}, {"dtype": "f8,f8"}, {"dtype": "(9,)f8"}),
        *({"dtype": ""}, {"offset": -64}, {"offset": 2**70}, {"offset": 1.5}, {"offset": None}),
        *(
            {"order": "Z"},
            {"order": None},
            {"order": []},
            {"shape": [0, 2**62]},
            {"shape": [1] * 99},
        ),
        *({"dtype": "V0"}, {"dtype": "f0"}, {"dtype": [["a", "f8"]]}, {"shape": [1e400]}),
    )
    for change in odd:
        made = [about | change] * 3
        data = restored(lambda h, a=made: h | {"arrays": a})
        yield Case(f"model: an array of {change}", ".mercer", data)
    more: tuple[Any, ...] = (
        *({"arrays": None}, {"arrays": 5}, {"arrays": [5]}, {"arrays": {}}, {"about": None}),
        *({"versions": None}, {"versions": []}, {"about": 5}, {"arrays": [about] * 10_000}),
    )
    for change in more:
        yield Case(f"model: {str(change)[:40]}", ".mercer", restored(lambda h, c=change: h | c))
    headers: tuple[Any, ...] = ([], 5, "x", {}, None)
    for header in headers:
        yield Case(f"model: a header {header!r}", ".mercer", restored(lambda h, c=header: c))
