"""Files as people have them: spreadsheets, FASTA, titles, triangles, individuals in columns."""

from __future__ import annotations

import datetime
import gzip
import io
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.data import Sequences, SquareMatrix, Table, read
from mercer.data.sequences import LONGEST_TITLE, attributes

File = Callable[..., Path]
Sheet = list[list[Any]]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def write(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def workbook(*sheets: Sheet, merge: str | None = None) -> bytes:
    """Return a workbook with the rows of each sheet, cells of the first merged."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        page = book.create_sheet(f"page {number + 1}")
        for row in rows:
            page.append(row)
    for cells in (merge or "").split():
        book.worksheets[0].merge_cells(cells)
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


PEOPLE: Sheet = [
    ["name", "sex", "height"],
    ["Ada", "f", 1.65],
    ["Alan", "m", 1.8],
    ["Emmy", "f", 1.6],
]


def test_a_sheet_is_read_as_the_same_table_in_text(file: File) -> None:
    found = read(file(workbook(PEOPLE), "people.xlsx"))
    same = read(file("\n".join(",".join(map(str, row)) for row in PEOPLE)))
    assert found.row_names == same.row_names == ("Ada", "Alan", "Emmy")
    assert found.names == same.names
    assert found.roles == same.roles
    assert found.matrix().tolist() == same.matrix().tolist()


def test_none_is_an_answer_among_words_and_missing_among_numbers_and_dates(file: File) -> None:
    rows: Sheet = [["sport", "kg", "day"]]
    for i in range(12):
        day = "None" if i % 5 == 4 else f"2024-01-{i + 1:02d}"
        rows.append([["often", "None", "some"][i % 3], "None" if i % 4 == 3 else i, day])
    text = "\n".join(",".join(map(str, row)) for row in rows)
    for found in (read(file(text), missing="mean"), read(file(workbook(rows)), missing="mean")):
        assert found.column("sport").levels == ("None", "often", "some")
        assert int(found.imputed["kg"].sum()) == 3
        assert int(np.isnat(found.column("day").values).sum()) == 2
    told = read(file(text), missing="drop", na=["None"])
    assert told.column("sport").levels == ("often", "some")


def test_words_among_numbers_of_a_sheet_are_labels_or_missing(file: File) -> None:
    rows: Sheet = [["doors", "kg"], *([4 + 2 * (i % 3), i + 0.5] for i in range(30))]
    path = file(workbook([*rows, ["rotary", "heavy"]]), "cars.xlsx")
    with pytest.warns(mc.errors.DataWarning) as told:
        table = read(path, "table", missing="mean")
    assert ["A32" in str(told[0].message), "B32" in str(told[1].message)] == [True, True]
    assert table.column("doors").levels == ("4", "6", "8", "rotary")
    assert table.imputed["kg"].sum() == 1
    with pytest.raises(mc.errors.UnreadableFile, match=r"A32.*'rotary' is not a number"):
        read(path)


def test_types_of_cells_are_types_of_columns(file: File) -> None:
    day = datetime.date(2024, 1, 31)
    rows: Sheet = [
        ["day", "count", "kind", "typed", "code", "true"],
        [day, 3, "a", "1.5", "007", True],
        [None, None, "b", 2, "008", False],
        [day, 4, "a", "NA", "009", True],
    ]
    table = read(file(workbook(rows), "types.xlsx"), missing="keep")
    assert [role.value for role in table.roles] == [
        *("date", "number", "factor", "number", "identifier", "factor")
    ]
    assert str(table.column("day").values[0])[:10] == "2024-01-31"
    np.testing.assert_array_equal(table.column("typed").values, [1.5, 2.0, np.nan])
    assert table.row_names == ("007", "008", "009")
    assert table.column("true").levels == ("false", "true")


def test_sheets_are_chosen_by_name_or_number_and_named(file: File) -> None:
    path = file(workbook(PEOPLE, [["x"], [1], [2]]), "two.xlsx")
    with pytest.warns(
        mc.errors.DataWarning, match=r'2 sheets.*"page 1" was read.*1 "page 1", 2 "page 2"'
    ):
        assert read(path).names == ("name", "sex", "height")
    for sheet in ("page 2", 2, "2"):
        assert read(path, sheet=sheet).names == ("x",)
    for sheet in ("page 3", 0, 3, -1):
        with pytest.raises(mc.errors.InvalidParameter, match=r'no sheet.*1 "page 1", 2 "page 2"'):
            read(path, sheet=sheet)
    with pytest.raises(mc.errors.InvalidParameter, match="sheet is for spreadsheets"):
        read(file("x,y\n1,2\n"), sheet=1)


def test_titles_merged_headers_and_empty_rows_of_sheets_are_no_data(file: File) -> None:
    rows: Sheet = [
        ["Measured in spring", None, None, None, None],
        [],
        [None, "before", None, "after", None],
        ["name", "x", "y", "x", "y"],
        ["a", 1, 2, 3, 4],
        [],
        ["b", 5, 6, 7, 8],
    ]
    path = file(workbook(rows, merge="A1:E1 B3:C3 D3:E3"), "merged.xlsx")
    with pytest.warns(mc.errors.DataWarning, match='"Measured in spring"'):
        table = read(path)
    assert table.names == ("name", "before x", "before y", "after x", "after y")
    assert table.row_names == ("a", "b")
    assert table.matrix().tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    down: Sheet = [["site", "x"], ["north", 1], [None, 2], ["south", 3], [None, 4]]
    found = read(file(workbook(down, merge="A2:A3 A4:A5"), "down.xlsx"))
    assert found.column("site").values.tolist() == ["north", "north", "south", "south"]


def test_a_cell_that_is_no_number_is_named_as_the_spreadsheet_names_it(file: File) -> None:
    rows: Sheet = [["", ""], ["name", "x"], ["a", 1], ["b", "about 2"], ["c", 3]]
    with pytest.raises(mc.errors.UnreadableFile, match=r'sheet "page 1", cell B4 .*"x".*about 2'):
        read(file(workbook(rows), "cell.xlsx"))


def remade(
    content: bytes,
    change: Callable[[str, bytes], bytes],
    moved: Mapping[bytes, bytes] | None = None,
) -> bytes:
    """Return a workbook with the content of its parts changed, and some of them elsewhere."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(held, "w", 8) as new:
        for part in old.namelist():
            name, text = f"/{part}".encode(), change(part, old.read(part))
            for here, there in (moved or {}).items():
                name, text = name.replace(here, there), text.replace(here, there)
            new.writestr(name.decode()[1:], text)
    return held.getvalue()


SHARES = (
    b'<Relationship Id="shared" Target="sharedStrings.xml" Type="http://schemas.openxmlformats.org/'
    b'officeDocument/2006/relationships/sharedStrings"/></Relationships>'
)
"""By which a workbook says where the texts are that its cells share."""


def sharing(texts: list[bytes], places: list[int], hides: bytes = b"") -> bytes:
    """Return a workbook with a column of shared texts, by their places, and one of numbers."""
    marks = {f"text {place}": place for place in set(places)}

    def shared(part: str, content: bytes) -> bytes:
        for mark, place in marks.items():
            held = f't="inlineStr"><is><t>{mark}</t></is>'.encode()
            content = content.replace(held, f't="s"><v>{place}</v>'.encode())
        return (
            content.replace(b"</Relationships>", SHARES) if "workbook.xml.rels" in part else content
        )

    rows = [[f"text {place}", number] for number, place in enumerate(places)]
    held = io.BytesIO(remade(workbook([["text", "number"], *rows]), shared))
    entries = b"".join(b"<si><t>%b</t></si>" % text for text in texts)
    with zipfile.ZipFile(held, "a", 8) as whole:
        whole.writestr("xl/sharedStrings.xml", b"<sst>%b%b</sst>" % (hides, entries))
    return held.getvalue()


def test_a_text_that_cells_share_is_counted_for_each_of_them(file: File) -> None:
    """Kilobytes were gigabytes when they were read: the library writes the text out for each."""
    words = [b"short", b"a" * 30_000]
    bomb = file(sharing(words, [1] * 1000), "bomb.xlsx")
    with pytest.raises(mc.errors.TooLarge, match="the text of the cells in bomb.xlsx takes 30,0"):
        read(bomb, memory="20MB")
    table = read(bomb, "table", memory="40MB")
    assert table.column("text").values[999] == "a" * 30_000
    few = file(sharing(words, [0] * 1000 + [1]), "few.xlsx")
    assert len(read(few, memory="1MB")) == 1001
    hidden = sharing(words[::-1], [0] * 1000, hides=b"<!-- <si><t>short</t></si> -->")
    with pytest.raises(mc.errors.TooLarge, match="the text of the cells in hidden.xlsx takes"):
        read(file(hidden, "hidden.xlsx"), memory="20MB")


def test_a_workbook_made_to_harm_is_refused_by_name(file: File) -> None:
    whole = workbook(PEOPLE)

    def far(part: str, text: bytes) -> bytes:
        return text.replace(b'r="C4"', b'r="XFD1048576"') if "sheet1" in part else text

    with pytest.raises(
        mc.errors.TooLarge, match="the sheet in far.xlsx takes 549,755,813,888 bytes"
    ):
        read(file(remade(whole, far), "far.xlsx"))

    def odd(part: str, text: bytes) -> bytes:
        return far(part, text).replace(b'r="XFD', b'x=">" r="XFD')

    with pytest.raises(mc.errors.TooLarge, match="the sheet in odd.xlsx takes 549,755,813,888"):
        read(file(remade(whole, odd), "odd.xlsx"))
    hidden = {b"/xl/worksheets/": b"/xl/elsewhere/"}
    with pytest.raises(mc.errors.TooLarge, match="the sheet in moved.xlsx takes 549,755,813,888"):
        read(file(remade(whole, far, hidden), "moved.xlsx"))

    def bomb(part: str, text: bytes) -> bytes:
        return text.replace(b"<sheetData>", b" " * 2**24 + b"<sheetData>")

    with pytest.raises(mc.errors.TooLarge, match="unfolds to more than 100 times"):
        read(file(remade(whole, bomb), "bomb.xlsx"))
    with pytest.raises(mc.errors.UnreadableFile, match="damaged"):
        read(file(remade(whole, lambda part, text: text[: len(text) // 2]), "cut.xlsx"))
    with pytest.raises(mc.errors.UnreadableFile, match="damaged|no sheets"):
        read(file(remade(whole, lambda part, text: b""), "empty.xlsx"))
    locked = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(mc.errors.UnreadableFile, match="encrypted; open it with its password"):
        read(file(locked, "locked.xlsx"))
    with pytest.raises(mc.errors.UnreadableFile, match="before 2007; save it as .xlsx"):
        read(file(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(64), "old.xls"))
    flagged = bytearray(whole)
    place = flagged.index(b"PK\x01\x02")
    while place >= 0:
        flagged[place + 8] |= 1
        place = flagged.find(b"PK\x01\x02", place + 4)
    with pytest.raises(mc.errors.UnreadableFile, match="encrypted"):
        read(file(bytes(flagged), "flagged.xlsx"))


def test_a_look_far_away_is_no_cell(file: File) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in PEOPLE:
        book.active.append(row)
    book.active["XFD1048576"].font = openpyxl.styles.Font(bold=True)
    held = io.BytesIO()
    book.save(held)
    assert len(read(file(held.getvalue(), "look.xlsx"))) == 3


FASTA = ">one first\nACGT\nacgt\n\n>two\nAC GT\n>none\n>three second\nMKV*\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_sequences_are_joined_in_capitals_and_named(file: File, pack: Any) -> None:
    path = file(pack(FASTA.encode()), "any.name")
    with pytest.warns(mc.errors.DataWarning, match='1 records without letters left out: "none"'):
        found = read(path)
    assert isinstance(found, Sequences)
    assert list(found) == ["ACGTACGT", "ACGT", "MKV"]
    assert found.row_names == ("one", "two", "three")


def test_names_of_sequences_are_made_different(file: File) -> None:
    found = read(file(">sp one\nAC\n>sp two\nGT\n"))
    assert found.row_names == ("sp one", "sp two")
    with pytest.warns(mc.errors.DataWarning, match='numbered: "sp"'):
        assert read(file(">sp\nAC\n>sp\nGT\n>\nTT\n")).row_names == ("sp", "sp (2)", "record 3")


def test_what_is_no_fasta_is_refused_with_its_line(file: File) -> None:
    with pytest.raises(
        mc.errors.UnreadableFile, match="line 1: 'ACGT' stands before the first record"
    ):
        read(file("ACGT\n>one\nAC\n"), "fasta")
    with pytest.raises(mc.errors.UnreadableFile, match="no record with letters"):
        read(file(">one\n>two\n"))


def test_sequences_are_points_with_names_that_a_model_keeps(file: File, tmp_path: Path) -> None:
    from mercer.store import save

    found = read(file(">a\nACGTACGA\n>b\nACGTTACG\n>c\nGGGTACGT\n"))
    model = mc.KernelPCA(2, kernel="string_spectrum(length=3).normalised()").fit(found)
    assert model.individuals_.names == ("a", "b", "c")
    save(model, tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    np.testing.assert_allclose(again.transform(found), model.transform(list(found)))


def genes(rows: int = 400, samples: int = 6) -> str:
    rng = np.random.default_rng(0)
    level = rng.normal(8.0, 2.0, (rows, 1)) + rng.normal(0.0, 0.3, (rows, samples))
    head = ",".join(["gene", *(f"s{j}" for j in range(samples))])
    return "\n".join([head, *(f"G{i}," + ",".join(map(str, r)) for i, r in enumerate(level))])


def test_columns_that_look_like_samples_are_told_and_not_turned(file: File) -> None:
    path = file(genes())
    with pytest.warns(mc.errors.DataWarning, match=r"400 named rows and 6 columns.*transpose=True"):
        table = read(path)
    assert len(table) == 400
    turned = read(path, transpose=True)
    assert turned.row_names == ("s0", "s1", "s2", "s3", "s4", "s5")
    assert turned.names[:2] == ("G0", "G1")
    np.testing.assert_array_equal(turned.matrix(), table.matrix().T)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read(path, transpose=False)) == 400


def test_tables_of_individuals_are_not_taken_for_genes(file: File) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 6)) * np.array([1.0, 10.0, 100.0, 1.0, 3.0, 0.1])
    lines = [f"p{i}," + ",".join(map(str, row)) for i, row in enumerate(x)]
    unlike = "\n".join(["name,a,b,c,d,e,f", *lines])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(file(unlike))
        read(file(genes(rows=50)))
        for name in ("decathlon", "iris", "swiss"):
            getattr(mc.datasets, name)()


def test_transposing_names_repeated_rows_and_leaves_out_what_describes_them(file: File) -> None:
    text = "gene,about,s1,s2\nTP53,a long text,1,2\nMYC,another,3,4\nTP53,third,5,6\n"
    with pytest.warns(mc.errors.DataWarning, match='columns "about" describe rows'):
        table = read(file(text), transpose=True, supplementary=["MYC"])
    assert table.names == ("TP53", "MYC", "TP53 (2)")
    assert table.matrix().tolist() == [[1, 5], [2, 6]]
    with pytest.raises(mc.errors.InvalidInput, match="needs columns of numbers"):
        read(file("a,b\nx,y\nz,w\n"), transpose=True)
    gaps = read(file("gene,s1,s2,s3\nA,1,,3\nB,4,5,6\n"), transpose=True, missing="mean")
    assert gaps.column("A").values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "above",
    [
        "Heights of 1952\n",
        "\n\nHeights\n",
        "Heights,,\n,,\n",
        '"Heights, of 1952"\n',
        "# by, hand\n",
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_titles_above_the_header_are_noticed_and_told(file: File, above: str, ends: str) -> None:
    body = "name,sex,height\nAda,f,1.65\nAlan,m,1.8\nEmmy,f,1.6\n"
    path = file((above + body).replace("\n", ends))
    with pytest.warns(mc.errors.DataWarning, match=r"above the table .* left out.*skip=0"):
        table = read(path)
    assert table.names == ("name", "sex", "height")
    assert table.row_names == ("Ada", "Alan", "Emmy")
    lines = above.count("\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path, skip=lines).names == table.names


def test_rows_left_out_are_notes_of_the_table(file: File) -> None:
    head: list[Any] = ["name", "height", "age"]
    ada: list[Any] = ["Ada", 1.65, 36]
    rows = [["Heights, 1952"], [], ["by hand"], head, ada, [], ["Alan", 1.8, 41]]
    with pytest.warns(mc.errors.DataWarning, match="2 rows above"):
        table = read(file(workbook(rows), "heights.xlsx"))
    assert '2 rows above the table left out: "Heights, 1952", "by hand"' in table.notes
    assert "1 empty row left out" in table.notes
    assert len(table) == 2
    with pytest.warns(mc.errors.DataWarning, match="left out"):
        plain = read(file("A title\nname,x,y\na,1,2\nb,2,1\n"))
    assert "1 line above the table left out" in plain.notes
    whole = read(file(workbook([head, ada]), "whole.xlsx"))
    assert not any("left out" in note for note in whole.notes)


def test_titles_above_numbers_and_errors_below_them(file: File) -> None:
    with pytest.warns(mc.errors.DataWarning, match="left out"):
        table = read(file("A title\nx,y,z\n1,2,3\n4,5,6\n"))
    assert table.matrix().tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.warns(mc.errors.DataWarning, match="left out"):
        narrow = read(file("A title\nname,x\na,1\nb,2\n"))
    assert narrow.names == ("name", "x")
    message = "data.csv, line 5 has 2 cells"
    with (
        pytest.warns(mc.errors.DataWarning),
        pytest.raises(mc.errors.UnreadableFile, match=message),
    ):
        read(file("A title\nx,y,z\n1,2,a\n4,5,b\n7,8\n"))
    for wrong in (-1, 1.5, "two"):
        with pytest.raises(mc.errors.InvalidParameter, match="skip"):
            read(file("x,y\n1,2\n"), skip=wrong)


@pytest.mark.parametrize(
    "text",
    [
        "x,y,z\n1,2,3\n",
        "a b\n1 0 5\n2 5 0\n",
        "1,,\n2,3,4\n5,6,7\n",
        "name,x\na,1\nb,2\n",
        '"x","y"\n"a",1,2\n"b",3,4\n',
    ],
)
def test_a_first_line_that_belongs_to_the_table_is_kept(file: File, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(file(text), "table", missing="keep")
    assert len(found) == text.count("\n") - (not text.startswith("1,,"))


D = np.array([[0.0, 5.0, 3.0], [5.0, 0.0, 4.0], [3.0, 4.0, 0.0]])


def square(labels: list[str], corner: str, values: Any = D) -> str:
    rows = [
        f"{n}," + ",".join("" if np.isnan(v) else f"{v:g}" for v in r)
        for n, r in zip(labels, values, strict=True)
    ]
    return "\n".join([",".join([corner, *labels]), *rows]) + "\n"


LOWER = np.where(np.triu(np.ones((3, 3)), 1) == 1, np.nan, D)
BARE = np.where(np.triu(np.ones((3, 3))) == 1, np.nan, D)
TABLES = {
    "names": square(["a", "b", "c"], ""),
    "a named corner": square(["a", "b", "c"], "city"),
    "numbers": square(["1", "2", "3"], ""),
    "numbers and a named corner": square(["1", "2", "3"], "dist"),
    "years and a corner that names rows": square(["1990", "1991", "1992"], "id"),
    "a lower triangle": square(["a", "b", "c"], "", LOWER),
    "an upper triangle": square(["a", "b", "c"], "", LOWER.T),
    "a triangle with numbers": square(["1", "2", "3"], "dist", LOWER),
    "a triangle without a diagonal": square(["a", "b", "c"], "", BARE),
    "rows of growing length": ",a,b,c\na,0\nb,5,0\nc,3,4,0\n",
    "no names": "0,5,3\n5,0,4\n3,4,0\n",
    "names above": "a,b,c\n0,5,3\n5,0,4\n3,4,0\n",
    "as R writes it": "1 2 3\n1 0 5 3\n2 5 0 4\n3 3 4 0\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_distances_are_known_however_they_are_labelled(file: File, text: str) -> None:
    found = read(file(text), missing="mean")
    assert isinstance(found, SquareMatrix)
    assert found.is_distance
    np.testing.assert_array_equal(found.values, D)
    np.testing.assert_array_equal(read(file(text), "matrix").values, D)
    if text[0] in ",cid12":
        first = text.splitlines()[1].replace(" ", ",").split(",")[0]
        assert found.names[0] == first


def test_pairs_that_are_missing_are_refused_and_never_imputed(file: File) -> None:
    holes = D.copy()
    holes[0, 1] = np.nan
    path = file(square(["a", "b", "c"], "", holes))
    for policy in ("error", "mean", "drop"):
        with pytest.raises(mc.errors.InvalidInput, match=r'the entry \("a", "b"\) is missing'):
            read(path, missing=policy)


def test_square_tables_of_other_numbers_stay_tables(file: File) -> None:
    for text in ("1,2,3\n2,1,5\n3,5,1\n", "0,1\n1,0\n", "0,0,0\n0,0,0\n0,0,0\n", "1,2\n3,4\n"):
        assert isinstance(read(file(text)), Table)
    assert isinstance(read(file("year,1,2\n1,0,3\n2,4,0\n")), Table)


def test_attributes_in_the_titles_of_sequences_are_columns_about_them(file: File) -> None:
    path = file(
        ">a kinase organism=fly length=8\nACGTACGT\n>b organism=fly length=9\nACGTACGTA\n"
        ">c organism=yeast\nGGG\n",
        "seqs.fasta",
    )
    found = mc.read(path)
    assert isinstance(found, Sequences)
    assert found.about is not None
    assert found.row_names == found.about.row_names == ("a", "b", "c")
    assert found.about.column("organism").values.tolist() == ["fly", "fly", "yeast"]
    np.testing.assert_array_equal(found.about.column("length").values, [8.0, 9.0, np.nan])
    assert found.about.active == ()
    assert found[1:].about.column("organism").values.tolist() == ["fly", "yeast"]
    plain = mc.read(file(">a one protein\nACGT\n>b another\nACG\n", "plain.fasta"))
    assert plain.about is None
    assert "what follows the names of records is not used: it holds no key=value" in plain.notes


@pytest.mark.parametrize("title", ["a k=v" + " " * 2**16 + "x", "[k=" * 2**15, "a k=v " * 2**14])
def test_long_titles_of_sequences_are_read_in_proportion_to_their_length(title: str) -> None:
    start = process_time()
    attributes([title, "b k=w"], ["a", "b"])
    assert process_time() - start < 1.0


def test_attributes_that_a_long_title_may_cut_are_left_out() -> None:
    about = attributes(["a k=v l=" + "w" * LONGEST_TITLE, "b k=v"], ["a", "b"])
    assert about is not None
    assert about.names == ("k",)


def test_attributes_that_are_no_finite_numbers_stay_text() -> None:
    about = attributes(["a length=inf mass=1e999", "b length=3 mass=2"], ["a", "b"])
    assert about is not None
    assert about.column("length").values.tolist() == ["inf", "3"]
    assert about.column("mass").values.tolist() == ["1e999", "2"]


def test_texts_are_columns_as_polars_writes_them(tmp_path: Path) -> None:
    """Its Arrow files hold texts as views: they were left out, as neither numbers nor labels."""
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    kinds = ["wolf", None, "wolf"]
    frame = polars.DataFrame(
        {
            "x": [1.0, 2.0, 4.0],
            "kind": kinds,
            "coded": polars.Series(kinds, dtype=polars.Categorical),
            "listed": polars.Series(kinds, dtype=polars.Enum(["wolf"])),
        }
    )
    frame.write_ipc(tmp_path / "wolves.feather")
    table = read(tmp_path / "wolves.feather", missing="keep")
    for name in ("kind", "coded", "listed"):
        assert table.column(name).values.tolist() == kinds, name
