"""Files as they come: what kind they are, and how much they may unfold to, asked before reading."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mercer.display import advice
from mercer.errors import Advice, TooLarge, UnreadableFile
from mercer.progress import Progress

SMALL = 2**20
"""Bytes below which no ratio of compression is suspicious."""

KINDS = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gzip",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x89HDF\r\n\x1a\n": "hdf5",
    b"\x89MERCER\n": "model",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "ole",
}
"""The first bytes by which a file says what it is, whatever its name says."""

PICTURES = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
}
"""The first bytes of pictures."""

PACKED = "is packed by {}; unpack it first, or pack it with gzip, which is read"
FOREIGN = {
    b"%PDF-": "is a PDF document, not a table; copy its table into a spreadsheet, or ask for the "
    "numbers as CSV",
    **{b"BZh%d1AY&SY" % level: PACKED.format("bzip2") for level in range(1, 10)},
    b"\xfd7zXZ\0": PACKED.format("xz"),
    b"\x28\xb5\x2f\xfd": PACKED.format("Zstandard"),
    b"7z\xbc\xaf\x27\x1c": PACKED.format("7-Zip"),
    b"Rar!\x1a\x07": PACKED.format("RAR"),
    **dict.fromkeys(
        (b"RDX2\n", b"RDX3\n", b"X\n\0\0\0"), "holds objects of R; write.csv saves one"
    ),
    b"MATLAB 5.0 MAT": "holds arrays of MATLAB; writematrix saves one as CSV",
    **dict.fromkeys(
        (b"$FL2", b"$FL3"),
        "is a file of SPSS; save it as CSV, or give the data frame of pandas.read_spss",
    ),
    b"<stata_dta>": "is a file of Stata; save it as CSV, or give the data frame of "
    "pandas.read_stata",
}
"""What files of other programs are and what to do, by their first bytes."""

LONGEST_LINE = 2**26
"""Characters of a line: a million columns fit, a file without line ends does not."""

BLOCK = 2**22
"""Bytes that are read at one time."""

LONGEST_REASON = 200
"""Characters of what another library says that a message repeats."""

MEMORY = 2 * 2**30
"""Bytes that a file may unfold to."""

RATIO = 100.0
"""Bytes that each byte on disk may unfold to."""


WALK = Advice("open_points", text=", or walk over it with mercer.open_points")
UNPACK = Advice("ratio", text="raise the limit with ratio=")


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a file may unfold to: bytes in memory, and bytes for each byte on disk.

    ``tell`` hears how many bytes of a file of text were read, and how many it has.

    >>> Limits(memory=10**6).memory
    1000000
    """

    memory: int = MEMORY
    ratio: float = RATIO
    tell: Progress | None = None

    def check(self, size: int, packed: int | None, name: str) -> None:
        """Refuse a size that was declared, or already reached, if it is beyond the limits."""
        if size > self.memory:
            more = Advice("memory", size)
            raise TooLarge(
                f"{name} takes {size:,} bytes, more than the {self.memory:,} allowed; "
                f"raise the limit with {more}{WALK}",
                *(more, WALK),
            )
        if packed is not None and size > SMALL and size > self.ratio * max(packed, 1):
            raise TooLarge(
                f"{name} unfolds to more than {self.ratio:g} times its {packed:,} bytes, as files "
                f"made to exhaust memory do; if it is honest, {UNPACK}",
                UNPACK,
            )


def in_one_line(error: BaseException) -> str:
    r"""Return the first sentence of what another library says of a file, or what it raised.

    >>> in_one_line(ValueError("bad header\nTo allow it, ...")), in_one_line(MemoryError())
    ('bad header', 'MemoryError')
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:LONGEST_REASON] if lines else type(error).__name__


class Followed(io.FileIO):
    """A file that tells how many of its bytes were read, and how many there are."""

    def __init__(self, path: Path, tell: Progress) -> None:
        super().__init__(path, "rb")
        self._told, self._size = tell, path.stat().st_size
        self._count = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer) or 0
        self._count += count
        if count:
            self._told(self._count, max(self._size, self._count))
        return count


class Unfolded(io.RawIOBase):
    """The contents of a gzip file, which stop at the limits instead of filling the memory."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self.limits = path, limits
        self.packed = path.stat().st_size
        self.folded = _plain(path, limits)
        self.file = gzip.open(self.folded, "rb")  # noqa: SIM115  (closed by close)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            data = self.file.read(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            raise UnreadableFile(
                f"{self.path.name} is a damaged or incomplete gzip file after {self.count:,} "
                f"bytes: {error}. Fetch it again"
            ) from error
        self.count += len(data)
        self.limits.check(self.count, self.packed, self.path.name)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.file.close()
        self.folded.close()
        super().close()


def regular(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that can be read to its end; links are followed."""
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError) as error:  # a name with a NUL byte is a ValueError
        meant = _near_file(place) if isinstance(error, FileNotFoundError) else ""
        raise UnreadableFile(f"{place} cannot be opened: {error}{meant}") from error
    if stat.S_ISDIR(mode):
        raise UnreadableFile(f"{place} is a folder; name one of the files in it")
    if not stat.S_ISREG(mode):
        raise UnreadableFile(
            f"{place} is a pipe or a device, which has no end to wait for; save it as a file first"
        )
    if place.stat().st_size == 0:
        raise UnreadableFile(f"{place.name} is empty")
    return place


def _near_file(path: Path) -> str:
    """Return a question for the file of the folder whose name is nearest to one that is not."""
    with suppress(OSError):
        meant = advice(path.name, (other.name for other in path.parent.iterdir()))
        return f"; {meant}" if meant else ""
    return ""


def kind_of(path: Path) -> str:
    """Return what the first bytes of a file say it is, ``"text"`` if they say nothing."""
    start = first_bytes(path)
    refuse_foreign(start, path.name)
    found = kind_of_bytes(start)
    if found == "text" and start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05":
        raise UnreadableFile(
            f"{path.name} is a Python pickle, which can run code and is never read; "
            "write the data as CSV, .npy or Parquet"
        )
    return found


def first_bytes(path: Path) -> bytes:
    """Return the bytes by which a file says what it is."""
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be opened: {error}") from error


def kind_of_bytes(start: bytes) -> str:
    """Return what the first bytes say, ``"text"`` if nothing, and refuse none.

    >>> kind_of_bytes(b"PAR1..."), kind_of_bytes(b"a,b")
    ('parquet', 'text')
    """
    return next((kind for magic, kind in KINDS.items() if start.startswith(magic)), "text")


def refuse_foreign(start: bytes, name: str) -> None:
    """Refuse pictures, printed pages and what other programs pack or keep."""
    kind = next((kind for magic, kind in PICTURES.items() if start.startswith(magic)), "")
    if kind:
        raise UnreadableFile(
            f"{name} is a picture ({kind}), not a table; give the file of the numbers it shows"
        )
    told = next((told for magic, told in FOREIGN.items() if start.startswith(magic)), "")
    if told:
        raise UnreadableFile(f"{name} {told}")


def open_bytes(path: Path, limits: Limits) -> BinaryIO:
    """Open a plain or gzip file for reading in blocks, never beyond the limits."""
    if kind_of(path) == "gzip":
        return io.BufferedReader(Unfolded(path, limits), 2**20)  # type: ignore[type-var]
    limits.check(path.stat().st_size, None, path.name)
    return _plain(path, limits)


def _plain(path: Path, limits: Limits) -> BinaryIO:
    """Open a file as it is on disk, followed where somebody asked how far reading is."""
    if limits.tell is None:
        return path.open("rb")
    return io.BufferedReader(Followed(path, limits.tell), BLOCK)


def refuse_bomb(path: Path, limits: Limits) -> None:
    """Unfold a gzip file once by blocks, which is fast, before it is read line by line."""
    if kind_of(path) == "gzip":
        with open_bytes(path, limits) as file:
            while file.read(BLOCK):
                pass


FASTA = (b">", b";")
"""What a FASTA file begins with: a record, or a comment of old ones."""


def looks_like_fasta(path: Path, limits: Limits) -> bool:
    """Return whether a text, plain or gzip, begins as FASTA does."""
    with open_bytes(path, limits) as file:
        start = file.read(2**12).removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = start.splitlines()
    first = next((line for line in lines if not line.startswith(b";")), b"")
    return start.startswith(FASTA) and first.startswith(b">") and len(lines) > 1
