"""Files of numpy's formats whose headers lie, and archives with odd members."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.files.whole import TEXT, Case, flipped, saved, zipped


def npy_header(shape: Any, dtype: Any = "<f8", order: Any = False, version: int = 1) -> bytes:
    """Return the beginning of a .npy file that declares anything."""
    about = repr({"descr": dtype, "fortran_order": order, "shape": shape}).encode()
    return npy_about(about, version)


def npy_about(about: bytes, version: int = 1) -> bytes:
    """Return the beginning of a .npy file with this for a header."""
    size = 2 if version == 1 else 4
    about = about.ljust(-(-(len(about) + 9 + size) // 64) * 64 - 9 - size) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(about).to_bytes(size, "little") + about


def arrays() -> Iterator[Case]:
    """Yield .npy and .npz files whose headers lie, and archives with odd members."""
    shapes: tuple[Any, ...] = (
        *((-1,), (-1, -1), (-3, 2), (2, -3), (0, 5), (0,), (), (1,) * 33, (1,) * 100, (2**63,)),
        *((2**62, 4), (2**64,), (10**30,), (2**31, 2**31), (-(2**62), 8), (1 << 40, 0)),
        *((True, 2), (2.0, 2), ("2", 2), (None,), "ab", 5, None, [2, 2], {2: 2}, (2, (2,))),
    )
    body = np.arange(4.0).tobytes()
    for shape in shapes:
        for version in (1, 2):
            data = npy_header(shape, version=version) + body
            yield Case(f"shape {str(shape)[:30]} of version {version}", ".npy", data)
        packed = zipped({"x.npy": npy_header(shape) + body})
        yield Case(f"shape {str(shape)[:30]} in an archive", ".npz", packed)
    dtypes: tuple[Any, ...] = (
        *("<f8", ">f8", "<f2", "<c16", "O", "|O", "<U5", "|S3", "<M8[us]", "<m8[s]", "|V8", "f16"),
        *(
            "|b1",
            "<i8",
            "<u8",
            ">i2",
            "<f0",
            "<U0",
            "|V0",
            "<f999",
            "junk",
            "",
            5,
            None,
            "a" * 9999,
        ),
        *([("a", "<f8")], [("a", "O")], [("a", "<f8", (10**9,))], "(3,)f8", "f8,f8", ("<f8", (2,))),
        *("<f8" + "," * 9000, "(1000000000,)f8", ["<f8"], {"names": ["a"], "formats": ["<f8"]}),
    )
    for dtype in dtypes:
        data = npy_header((2, 2), dtype) + body
        yield Case(f"dtype {str(dtype)[:30]}", ".npy", data)
        yield Case(f"dtype {str(dtype)[:30]} in an archive", ".npz", zipped({"x.npy": data}))
    headers = (
        *(b"", b"{", b"{}", b"[]", b"None", b"1/0", b"(" * 5000, b"{'descr':'<f8'}", b"\xff" * 99),
        *(b"__import__('os').system('touch /tmp/hacked')", b"{'a':" * 3000, b"9" * 9000),
        b"{'descr': '<f8', 'fortran_order': 7, 'shape': (2, 2), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'more': 1}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 2L), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)" + b" " * 20_000 + b"}",
        b"-" * 50_000 + b"1",
    )
    for header in headers:
        for version in (1, 2, 3):
            data = npy_about(header, version) + body
            yield Case(f"header {header[:30]!r} of version {version}", ".npy", data)
    for size in (0, 1, 9, 2**16 - 1):
        data = b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + b"{}"
        yield Case(f"a header of {size} bytes", ".npy", data)
    data = b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little") + b"{}"
    yield Case("a header of 4 GB", ".npy", data)
    yield Case("only the magic", ".npy", b"\x93NUMPY")
    values = np.array([[np.nan, np.inf], [1e308, -1e308]])
    for name, made in {
        "not finite": values,
        "half precision": values.astype(np.float16) if False else np.ones((2, 2), np.float16),
        "large whole numbers": np.array([[2**63 - 1, -(2**63)], [0, 1]]),
        "unsigned": np.array([[2**64 - 1]], np.uint64),
        "long doubles": np.ones((2, 2), np.longdouble),
        "booleans": np.array([[True, False]]),
    }.items():
        yield Case(name, ".npy", saved(made))
    yield from _archives()


def _archives() -> Iterator[Case]:
    array = saved(np.arange(6.0).reshape(3, 2))
    plain = zipped({"x.npy": array}, 0)

    def marked(data: bytes, flag: int) -> bytes:
        """Set the flag bits of the only member, in its own header and in the directory."""
        made = bytearray(data)
        made[6] |= flag
        made[data.index(b"PK\x01\x02") + 8] |= flag
        return bytes(made)

    def method(data: bytes, number: int) -> bytes:
        made = bytearray(data)
        made[8], made[data.index(b"PK\x01\x02") + 10] = number, number
        return bytes(made)

    yield Case("an encrypted member", ".npz", marked(plain, 1))
    yield Case("a strongly encrypted member", ".npz", marked(plain, 65))
    yield Case("a patched member", ".npz", marked(plain, 32))
    for number in (1, 6, 8, 9, 12, 14, 93, 97, 98, 99):
        yield Case(f"a member packed by method {number}", ".npz", method(plain, number))
    names = ("", "/", "../../x", "/etc/x", "a/b/c", "x", "é", "\0", "a" * 60_000, "\\", "nul", ".")
    for name in names:
        made = f"{name}.npy".replace("\0", "\u2400")
        yield Case(f"a member named {name[:20]!r}", ".npz", zipped({made: array}))
    yield Case("a folder as a member", ".npz", zipped({"x.npy/": b"", "y.npy": array}))
    yield Case("an empty member", ".npz", zipped({"x.npy": b""}))
    yield Case(
        "members of two shapes", ".npz", zipped({"a.npy": array, "b.npy": saved(np.ones(3))})
    )
    yield Case("no members", ".npz", zipped({}))
    yield Case(
        "10 000 members", ".npz", zipped({f"x{i}.npy": saved(np.ones(2)) for i in range(10_000)})
    )
    scalars = {f"x{i}.npy": saved(np.array(1.0)) for i in range(3)}
    yield Case("members of no dimension", ".npz", zipped(scalars))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for _ in range(2):
            archive.writestr("x.npy", array)
    yield Case("a member twice", ".npz", buffer.getvalue())
    zeros = zipped({f"x{i}.npy": saved(np.zeros(2**20)) for i in range(4)})
    yield Case("members of zeros", ".npz", zeros)
    lying = bytearray(zipped({"x.npy": saved(np.zeros(2**22))}))
    directory = bytes(lying).index(b"PK\x01\x02")
    for place in (directory + 24, 22):
        lying[place : place + 4] = (1000).to_bytes(4, "little")
    yield Case("a member that hides its size", ".npz", bytes(lying))
    for place in (directory + 20, directory + 42):
        wrong = bytearray(lying)
        wrong[place : place + 4] = b"\xff\xff\xff\xff"
        yield Case(f"a directory with a wrong number at {place - directory}", ".npz", bytes(wrong))
    for level in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        good = zipped({"x.npy": array}, level)
        yield Case(f"packed by {level}", ".npz", good)
        for place in range(35, len(good), 7):
            yield Case(f"packed by {level}, flipped at {place}", ".npz", flipped(good, place, 64))
    yield Case("a spreadsheet", ".xlsx", zipped({"[Content_Types].xml": b"<x/>"}))
    yield Case("a table in an archive", ".zip", zipped({"x.csv": TEXT.encode()}))
