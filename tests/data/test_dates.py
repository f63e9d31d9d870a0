"""Dates as people write them: read as dates, never as categories or names."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer as mc
from mercer.data.dates import dates_of

OPEN = ("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")
FORMS = (*OPEN, "%d.%m.%Y", "%Y/%m/%d", "%Y-%m-%d", "%d %b %Y", "%B %d, %Y")
DAYS = [date(2024, 1, 1) + timedelta(days=9 * i) for i in range(40)]


def days(values: np.ndarray) -> list[date]:
    found: list[date] = values.astype("datetime64[D]").tolist()
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_column_of_dates_is_neither_names_nor_categories(
    form: str, place: int, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    cells = [[f'"{day.strftime(form)}"', f"{i}.5"] for i, day in enumerate(DAYS)]
    head = ["when", "x"]
    rows = [head, *cells] if place == 0 else [row[::-1] for row in [head, *cells]]
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    table = mc.read(path)
    assert table.column("when").role.value == "date"
    assert days(table.column("when").values) == DAYS
    assert table.row_names is None


@given(st.lists(st.dates(date(1970, 1, 1), date(2068, 12, 31)), min_size=1), st.sampled_from(FORMS))
def test_dates_are_read_back_where_the_form_says_what_is_the_day(
    given_days: list[date], form: str
) -> None:
    found = dates_of([day.strftime(form) for day in given_days])
    is_open = form in OPEN and all(d.day <= 12 for d in given_days)
    assert found is not None
    assert found.is_ambiguous == is_open
    if not is_open:
        assert days(found.values) == given_days


@pytest.mark.parametrize(
    "labels",
    [
        ["31/12/2024", "12/31/2024"],  # two habits in one column
        ["30/02/2024"],
        ["1.2.3"],
        ["10.1.24"],  # a version or a section
        ["31 Foo 2024"],
        ["2024-01-31", "soon"],
        ["25/12/2024 25:00"],
    ],
)
def test_what_is_no_date_is_none(labels: list[str]) -> None:
    assert dates_of(labels) is None


def test_times_and_short_years_are_read() -> None:
    found = dates_of(["3/1/24 9:30", "31/12/69 23:59:59.5", None])
    assert found is not None
    shown = found.values.astype(str).tolist()
    assert shown == ["2024-01-03T09:30:00.000000", "1969-12-31T23:59:59.500000", "NaT"]


def test_an_open_order_is_told_and_a_wrong_date_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,when\n1.5,03/04/2024\n2.5,05/06/2024\n0.5,05/06/2024\n")
    with pytest.warns(mc.errors.DataWarning, match="03/04/2024 as 2024-04-03"):
        table = mc.read(path)
    assert table.column("when").role.value == "date"
    path.write_text("x,when\n1.5,03/04/2024\n2.5,soon\n")
    with pytest.raises(mc.errors.UnreadableFile, match="'soon' is none"):
        mc.read(path, roles={"when": "date"})
