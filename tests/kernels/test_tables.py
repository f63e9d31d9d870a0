from __future__ import annotations

import runpy
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import mercer as mc
from mercer.kernels.counts import Remembered, remember_counts
from mercer.kernels.tables import ColumnsOf, inertia
from tests import laws
from tests.structures import graphs

RNG = np.random.default_rng(0)
N = 12
TABLE: dict[str, Any] = {
    "height": RNG.normal(1.7, 0.1, N),
    "weight": RNG.normal(70.0, 10.0, N),
    "team": [["red", "blue", "green"][i % 3] for i in range(N)],
    "word": ["".join(RNG.choice(list("abc"), 6)) for _ in range(N)],
    "net": [mc.Graph([(0, 1), (1, 2)] if i % 2 else [(0, 1)], n=3) for i in range(N)],
    "tags": [frozenset(RNG.choice(list("xyz"), 2).tolist()) for _ in range(N)],
}
KERNELS = {
    "height": mc.Gaussian(0.1),
    ("height", "weight"): mc.kernels.Standardised().resolve(
        np.column_stack([TABLE["height"], TABLE["weight"]])
    ),
    "team": mc.kernels.Category(),
    "word": mc.kernels.StringSpectrum(2).normalised(),
    "net": mc.kernels.WeisfeilerLehman(2),
    "tags": mc.kernels.Intersection(),
}


def alone(key: Any) -> np.ndarray[Any, Any]:
    """The kernel of one block, evaluated on what its columns hold."""
    held = TABLE[key] if isinstance(key, str) else np.column_stack([TABLE[k] for k in key])
    return KERNELS[key](held)


def test_the_sum_and_the_product_are_those_of_the_columns_kernels() -> None:
    parts = [alone(key) for key in KERNELS]
    np.testing.assert_allclose(mc.Columns(KERNELS)(TABLE), sum(parts), rtol=1e-14)
    np.testing.assert_allclose(
        mc.Columns(KERNELS, product=True)(TABLE), np.prod(parts, axis=0), rtol=1e-14
    )
    weights = [2.0, 0.5, 0.0, 1.0, 3.0, 1.0]
    expected = sum(w * part for w, part in zip(weights, parts, strict=True))
    np.testing.assert_allclose(mc.Columns(KERNELS, weights)(TABLE), expected, rtol=1e-14)
    by_name = dict(zip(reversed(list(KERNELS)), reversed(weights), strict=True))
    assert mc.Columns(KERNELS, by_name) == mc.Columns(KERNELS, weights)


@pytest.mark.parametrize("product", [False, True])
def test_columns_keep_the_contract(product: bool) -> None:
    assert mc.check_kernel(mc.Columns(KERNELS, product=product), mc.data.rows(TABLE))
    assert mc.check_kernel(mc.Columns(), TABLE)
    assert mc.positive_definite(mc.Columns(KERNELS), TABLE)
    assert "tensor sum or product" in mc.Columns(KERNELS).proof


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.integers(-8, 8), st.sampled_from("ab"), st.text("ab", max_size=4)),
        min_size=2,
        max_size=5,
    ),
    st.booleans(),
)
def test_columns_obey_the_laws(rows: list[tuple[int, str, str]], product: bool) -> None:
    k = mc.Columns(
        {
            "a": mc.Gaussian(2.0),
            "b": mc.kernels.Category(),
            "c": mc.kernels.StringSpectrum(1).normalised(),
        },
        product=product,
    )
    points = [{"a": float(a), "b": b, "c": c} for a, b, c in rows]
    laws.matrix_is_hermitian(k, points, points[::-1])
    laws.matrix_is_positive(k, points)
    laws.diagonal_is_the_matrix_diagonal(k, points)
    laws.slices_are_blocks(k, points)
    laws.normalisation_has_unit_diagonal(k, points)
    laws.written_form_returns(k)
    laws.parameters_return(k)
    table = {name: [p[name] for p in points] for name in "cab"}
    np.testing.assert_array_equal(k(table), k(points))


@settings(max_examples=25)
@given(st.lists(graphs(), min_size=2, max_size=4))
def test_graphs_may_stand_beside_numbers(networks: list[mc.Graph]) -> None:
    k = mc.Columns({"net": mc.kernels.WeisfeilerLehman(1), "x": mc.Linear()})
    table: dict[str, Any] = {"net": networks, "x": np.arange(float(len(networks)))}
    laws.matrix_is_positive(k, mc.data.Rows(table))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_guess_has_inertia_1_for_each_column_and_each_level_but_one(is_weighted: bool) -> None:
    w = np.arange(1.0, N + 1) if is_weighted else None
    k = mc.Columns().resolve(TABLE, w)
    assert isinstance(k, mc.Columns)
    for (_, kernel), name, weight in zip(k.blocks, TABLE, k.numbers, strict=True):
        expected = 2.0 if name == "team" else 1.0  # of three levels
        assert weight * inertia(kernel, TABLE[name], w) == pytest.approx(expected)
    model = mc.KernelPCA(3, kernel=mc.Columns()).fit(TABLE, sample_weight=w)
    assert model.inertia_ == pytest.approx(len(TABLE) + 1)
    guessed = mc.Columns(weights="balanced")
    balanced = mc.KernelPCA(3, kernel=guessed).fit(TABLE, sample_weight=w)
    assert balanced.inertia_ == pytest.approx(len(TABLE))
    assert mc.Columns({"v": mc.kernels.Standardised()}, "mixed").resolve(
        {"v": RNG.normal(size=(5, 4))}
    ).numbers == pytest.approx((0.25,))  # a column of vectors is one column


def test_a_guess_is_standardised_pca_of_numbers() -> None:
    numbers = {name: TABLE[name] for name in ("height", "weight")}
    found = mc.KernelPCA(kernel=mc.Columns()).fit(numbers)
    expected = mc.PCA(standardize=True).fit(np.column_stack(list(numbers.values())))
    np.testing.assert_allclose(found.inertias_, expected.inertias_, rtol=1e-12)


def test_numbers_and_chi_square_categories_give_factor_analysis_of_mixed_data() -> None:
    """Pagès: PCA of standardised numbers beside indicators divided by √share, centred."""
    k = mc.Columns(
        {
            "height": mc.kernels.Standardised(),
            "weight": mc.kernels.Standardised(),
            "team": mc.kernels.Category(shares="observed"),
        }
    )
    model = mc.KernelPCA(kernel=k).fit(TABLE)
    numbers = np.column_stack([TABLE["height"], TABLE["weight"]])
    held = np.array(
        [[float(t == level) for level in ("red", "blue", "green")] for t in TABLE["team"]]
    )
    Z = np.hstack([(numbers - numbers.mean(0)) / numbers.std(0), held / np.sqrt(held.mean(0))])
    expected = np.linalg.svd(Z - Z.mean(0), compute_uv=False) ** 2 / N
    np.testing.assert_allclose(model.inertias_, expected[:4], rtol=1e-12)
    assert model.inertia_ == pytest.approx(2 + (3 - 1))


def test_roles_are_guessed_from_values_and_said_by_users() -> None:
    table = {
        "flag": [True, False, True, True],
        "day": [date(2024, 1, 1), date(2024, 1, 3), date(2024, 1, 8), date(2024, 2, 1)],
        "text": ["one thing", "another", "a third", "the last"],
        "vector": RNG.normal(size=(4, 2)),
        "parts": np.exp(RNG.normal(size=(4, 3))),
        "grade": ["low", "high", "low", "middle"],
        "note": [object(), object(), object(), object()],
    }
    roles = {"parts": "composition", "grade": ("low", "middle", "high"), "note": "ignored"}
    children = mc.Columns.guess(mc.data.rows(table, roles=roles)).children()
    assert {name: type(k).__name__ for name, k in children.items()} == {
        "flag": "Category",
        "day": "Standardised",
        "text": "Normalised",
        "vector": "Standardised",
        "parts": "Aitchison",
        "grade": "Ordinal",
    }
    with pytest.raises(mc.errors.InvalidInput, match="'note' holds object"):
        mc.Columns.guess(table)
    with pytest.raises(mc.errors.InvalidInput, match="role 'colour'"):
        mc.Columns.guess(mc.data.rows(table, roles={**roles, "flag": "colour"}))


def test_columns_that_do_not_vary_are_left_out_with_a_warning() -> None:
    table = {"x": [1.0, 2.0], "same": ["a", "a"], "net": [mc.Graph([(0, 1)])] * 2}
    with pytest.warns(mc.errors.DataWarning, match="'same', 'net' holds the same"):
        assert list(mc.Columns.guess(table).children()) == ["x"]
    with (
        pytest.warns(mc.errors.DataWarning),
        pytest.raises(mc.errors.InvalidInput, match="no column varies"),
    ):
        mc.Columns.guess({"same": ["a", "a"]})
    balanced = mc.Columns({"x": mc.Linear(), "y": mc.Linear()}, "balanced")
    with pytest.warns(mc.errors.DataWarning, match="'y' is the same"):
        assert balanced.resolve({"x": [0.0, 2.0], "y": [1.0, 1.0]}).parameters()["weights"] == (
            1.0,
            0.0,
        )


def test_time_stamps_are_days_and_may_have_a_period() -> None:
    weekly = mc.Columns({"when": mc.kernels.Periodic(period=7.0, bandwidth=1.0)})
    stamps = np.array(["2024-01-01", "2024-01-08", "2024-01-04T12:00"], "datetime64[us]")
    K = weekly({"when": stamps})
    assert K[0, 1] == pytest.approx(1.0)
    assert K[0, 2] == pytest.approx(np.exp(-2.0))
    assert mc.data.rows({"when": [datetime(1970, 1, 2, 12)]}).column("when")[0] == 1.5
    assert mc.data.rows({"when": stamps}).roles == {"when": "time"}
    with pytest.raises(mc.errors.InvalidInput, match="something else"):
        mc.data.rows({"when": [date(2024, 1, 1), "soon"]})


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_models_read_data_frames_whose_columns_may_change_places(library: str) -> None:
    pytest.importorskip(library)
    plain = {name: TABLE[name] for name in ("height", "team", "word")}
    frame = mc.read(mc.Table.of(plain).frame("pandas")).frame(library)
    model = mc.KernelPCA(2, kernel=mc.Columns()).fit(frame)
    expected = mc.KernelPCA(2, kernel=mc.Columns()).fit(plain)
    np.testing.assert_allclose(model.inertias_, expected.inertias_, rtol=1e-12)
    assert model.feature_names_in_.tolist() == list(plain)
    turned = frame.select(list(plain)[::-1]) if library != "pandas" else frame[list(plain)[::-1]]
    np.testing.assert_allclose(model.transform(turned), model.transform(frame), atol=1e-14)
    read: Any = model.supplementary(individuals=frame, categories={"team": plain["team"]})
    np.testing.assert_allclose(
        read.individuals.coordinates, model.individuals_.coordinates, atol=1e-12
    )
    assert read.categories.coordinates.shape == (3, 2)


def test_ordered_categories_of_a_frame_are_ordinals_and_objects_stay_objects() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "grade": pandas.Categorical(["b", "a", "c"], categories=["c", "b", "a"], ordered=True),
            "net": TABLE["net"][:3],
            "when": pandas.to_datetime(["2024-01-01", "2024-03-01", "2024-02-01"]),
        },
        index=["one", "two", "three"],
    )
    model = mc.KernelPCA(2, kernel=mc.Columns()).fit(frame)
    assert model.kernel_.children()["grade"] == mc.kernels.Ordinal(["c", "b", "a"])
    assert model.kernel_.children()["net"] == mc.kernels.WeisfeilerLehman(3).normalised()
    assert model.individuals_.names == ("one", "two", "three")
    fitted: Any = model.X_fit_
    assert fitted.roles["when"] == "time"


def test_a_table_read_from_a_file_keeps_its_roles() -> None:
    table = mc.Table.of(
        {
            "id": ["p", "q", "r", "s"],
            "x": [1.0, 2.0, 3.0, 5.0],
            "y": [1.0, 0.0, 0.0, 3.0],
            "team": list("abab"),
        },
        roles={"id": "identifier"},
        row_names=["p", "q", "r", "s"],
        supplementary=["y"],
    )
    model = mc.KernelPCA(2, kernel="columns()").fit(table)
    assert list(model.kernel_.children()) == ["x", "team"]
    assert model.individuals_.names == ("p", "q", "r", "s")
    array = RNG.normal(size=(5, 2))
    named = mc.KernelPCA(2, kernel=mc.Columns()).fit(array)
    assert named.feature_names_in_.tolist() == ["x0", "x1"]


def test_models_with_columns_are_stored_cloned_and_tuned(tmp_path: Any) -> None:
    model = mc.KernelPCA(2, kernel=mc.Columns(KERNELS, "balanced")).fit(TABLE)
    model.save(tmp_path / "model.mercer")
    again = mc.load(tmp_path / "model.mercer")
    assert again.kernel_ == model.kernel_
    np.testing.assert_array_equal(again.transform(TABLE), model.transform(TABLE))
    twin = clone(model).set_params(kernel__height__bandwidth=0.3)
    assert mc.kernels.parameters(twin.kernel)["height__bandwidth"] == 0.3
    assert "kernel__net__depth" in twin.get_params()
    np.testing.assert_allclose(model.without([0]).transform(TABLE).shape, (N, 2))


def test_what_is_missing_is_refused_by_row_and_column() -> None:
    holes = {**TABLE, "weight": np.where(np.arange(N) == 7, np.nan, TABLE["weight"])}
    with pytest.raises(
        mc.errors.InvalidInput,
        match="column 'weight': 1 of 12 values is missing, the first in row 7",
    ):
        mc.KernelPCA(2, kernel=mc.Columns()).fit(holes)
    with pytest.raises(mc.errors.InvalidInput, match="column 'height,weight': 1 of 12"):
        mc.Gram(mc.Columns(KERNELS), holes)
    gone = {"team": ["red", None, "red", None, "blue"]}
    with pytest.raises(
        mc.errors.InvalidInput, match="column 'team': 2 of 5 values are missing, the first in row 1"
    ):
        mc.Columns({"team": mc.kernels.Category()}).resolve(gone)
    level = 2.0 * mc.kernels.Category(missing="level")
    K = mc.Columns({"team": level}).resolve(gone)(gone)
    assert K[1].tolist() == [0.0, 2.0, 0.0, 2.0, 0.0]
    model = mc.KernelPCA(2, kernel=mc.Columns(KERNELS)).fit(TABLE)
    with pytest.raises(mc.errors.InvalidInput, match="column 'word': 1 of 12"):
        model.transform({**TABLE, "word": [None, *TABLE["word"][1:]]})


def test_missing_categories_are_a_level_of_every_column_that_asks_for_it() -> None:
    gone = {"team": ["red", None, "red", None, "blue"], "size": [1.0, 2.0, 3.0, 5.0, 8.0]}
    blocks = {"team": mc.kernels.Category(), "size": mc.Linear()}
    kernel = mc.Columns(blocks, missing="level")
    expected = mc.Columns({**blocks, "team": mc.kernels.Category(missing="level")})
    np.testing.assert_array_equal(kernel(gone), expected(gone))
    assert np.linalg.eigvalsh(kernel(gone)).min() > -1e-9
    guessed = mc.Columns(missing="level").resolve(gone)
    assert guessed.children()["team"] == mc.kernels.Category(
        ["blue", "red", None], [0.2, 0.4, 0.4], missing="level", unknown="zero"
    )
    assert mc.kernel(str(kernel)) == kernel
    nested = mc.Columns({"team": 2.0 * mc.kernels.Category()}, missing="level")
    assert nested(gone)[1].tolist() == [0.0, 2.0, 0.0, 2.0, 0.0]
    model = mc.KernelPCA(2, kernel=mc.Columns(missing="level")).fit(gone)
    place = {"team": [None], "size": [2.0]}
    np.testing.assert_allclose(model.transform(place), model.transform(gone)[1:2], atol=1e-9)
    with pytest.raises(mc.errors.InvalidInput, match="column 'size': 1 of 2 values is missing"):
        mc.Columns(blocks, missing="level").resolve({"team": ["a", "b"], "size": [1.0, np.nan]})
    with pytest.raises(mc.errors.InvalidInput, match=r"2 of 5 .* missing.*: Columns\(missing='"):
        mc.Columns(blocks).resolve(gone)
    without = mc.Columns({"team": mc.kernels.Delta()}, missing="level")
    with pytest.raises(mc.errors.InvalidInput, match=r"the kernel Category\(\), which alone has"):
        without.resolve(gone)  # what was asked for is not what to ask for
    with pytest.raises(mc.errors.InvalidParameter, match="missing must be one of error, level"):
        mc.Columns(blocks, missing="mean")


def test_mistakes_are_named() -> None:
    k = mc.Columns({"x": mc.Linear()})
    with pytest.raises(mc.errors.InvalidInput, match="no column 'x'; the columns are 'y', 'z'"):
        k({"y": [1.0], "z": [2.0]})
    with pytest.raises(mc.errors.InvalidInput, match="a row has no column 'x'"):
        k([{"y": 1.0}])
    with pytest.raises(mc.errors.InvalidInput, match="reads a mapping"):
        k([[1.0]])
    with pytest.raises(mc.errors.InvalidInput, match="column 'x': .*not a number"):
        k({"x": ["one"]})
    with pytest.raises(mc.errors.InvalidInput, match="equal lengths"):
        k({"x": [1.0], "y": [1.0, 2.0]})
    with pytest.raises(mc.errors.InvalidInput, match="a table is a data frame"):
        mc.data.rows(["text"])
    with pytest.raises(mc.errors.InvalidInput, match="row 1 has no column 'x'"):
        mc.data.rows([{"x": 1.0}, {"y": 1.0}])
    with pytest.raises(mc.errors.InvalidParameter, match="map columns to kernels, found nothing"):
        mc.Columns({})
    with pytest.raises(mc.errors.InvalidParameter, match="found none for 'x'"):
        mc.Columns({"x": 1.0})  # type: ignore[dict-item]
    with pytest.raises(mc.errors.InvalidParameter, match="column or a tuple of columns"):
        mc.Columns({3: mc.Linear()})
    with pytest.raises(mc.errors.InvalidParameter, match="2 weights of 1 columns"):
        mc.Columns({"x": mc.Linear()}, [1.0, 2.0])
    with pytest.raises(mc.errors.InvalidParameter, match="not for each column"):
        mc.Columns({"x": mc.Linear()}, {"y": 1.0})
    with pytest.raises(mc.errors.InvalidParameter, match="numbers, 'mixed' or 'balanced'"):
        mc.Columns({"x": mc.Linear()}, "equal")
    with pytest.raises(mc.errors.InvalidParameter, match="has no weights"):
        mc.Columns({"x": mc.Linear()}, [1.0], product=True)
    with pytest.raises(mc.errors.InvalidParameter, match="begins the name of another"):
        mc.Columns({"a": mc.Linear(), "a__b": mc.Linear()})
    for unresolved in (mc.Columns(), mc.Columns({"x": mc.Linear()}, "balanced")):
        with pytest.raises(mc.errors.InvalidParameter, match="call k.resolve"):
            unresolved({"x": [1.0]})
    with pytest.raises(mc.errors.NotPositiveDefinite, match="conditionally"):
        mc.Columns({"x": mc.kernels.NegativeDistance(), "y": mc.Linear()}, product=True)
    assert mc.Columns({"x": mc.kernels.NegativeDistance()}).kind is mc.kernels.Kind.CONDITIONAL
    with pytest.raises(mc.errors.NotDifferentiable, match="one by one"):
        k.slopes([{"x": 1.0}])


@pytest.mark.parametrize(
    "text",
    [
        "columns()",
        'columns({"x": linear()})',
        'columns({"x": gaussian(bandwidth=2.0), ("a", "b c"): linear()}, weights=[1.0, 0.5])',
        'columns({"x": linear(), "y": ordinal(levels=["a", "b"])}, product=True)',
        'columns({"x": linear()}, weights="balanced")',
        'columns({"x": linear()}).normalised() + 1.0',
    ],
)
def test_the_written_form_returns(text: str) -> None:
    k = mc.kernel(text)
    assert str(k).startswith(text.split(" + ")[0])
    assert mc.kernel(str(k)) == k == mc.kernel(repr(k))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('columns({"x": linear(), "x": linear()})', "every name once"),
        ('columns({"x": linear(), "y"})', "':' after every value"),
        ('columns({"y", "x": linear()})', "',' or '}', found ':'"),
        ('columns({"x": })', "a kernel or a value"),
        ('columns({"x": 1.0})', "found none for 'x'"),
        ('columns("x")', "map columns"),
    ],
)
def test_the_written_form_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(mc.errors.WrittenFormError, match=message.replace("{", r"\{")):
        mc.kernel(text)


def test_columns_of_counted_kernels_are_counted_once() -> None:
    k = mc.Columns({"word": mc.kernels.StringSpectrum(2), "height": mc.Linear()})
    assert k.is_counted
    assert not mc.Columns({"height": mc.Linear()}).is_counted
    x, y = remember_counts(mc.data.Rows(TABLE), mc.data.Rows({n: c[:3] for n, c in TABLE.items()}))
    assert isinstance(x, mc.data.Rows)
    assert isinstance(x.column("word"), Remembered)
    assert x.column("word").memory is y.column("word").memory  # type: ignore[attr-defined]
    assert x.column("height") is TABLE["height"]
    np.testing.assert_array_equal(k(x, y), k(TABLE)[:, :3])
    np.testing.assert_allclose(mc.Gram(k, TABLE, tile=5).dense(), k(TABLE), rtol=1e-14)
    tensor = mc.kernels.tensor_sum(mc.kernels.StringSpectrum(2), mc.Linear())
    paired = mc.data.Paired(TABLE["word"], TABLE["height"])
    np.testing.assert_allclose(mc.Gram(tensor, paired, tile=5).dense(), tensor(paired), rtol=1e-14)
    tuples = [(TABLE["word"][i], TABLE["height"][i]) for i in range(N)]
    np.testing.assert_allclose(mc.Gram(tensor, tuples, tile=5).dense(), tensor(paired), rtol=1e-14)


def test_a_field_puts_numbers_together_and_pairs_anything_else() -> None:
    assert ColumnsOf(("height", "weight"))(TABLE).shape == (N, 2)  # type: ignore[attr-defined]
    assert isinstance(ColumnsOf(("height", "team"))(TABLE), mc.data.Paired)
    both = mc.Columns(
        {("height", "team"): mc.kernels.tensor_product(mc.Linear(), mc.kernels.Category())}
    )
    apart = mc.Columns({"height": mc.Linear(), "team": mc.kernels.Category()}, product=True)
    np.testing.assert_array_equal(both(TABLE), apart(TABLE))


def test_inertia_is_exact_for_numbers_however_many() -> None:
    x = RNG.normal(size=(3000, 1))
    assert inertia(mc.Linear(), x) == pytest.approx(float(x.var()))
    labels = [["a", "b"][i % 2] for i in range(3000)]
    assert inertia(mc.kernels.Category(), labels) == pytest.approx(0.5, abs=0.01)
    assert inertia(mc.kernels.Constant(1.0), x) == 0.0


def test_columns_contribute_to_axes_by_shares() -> None:
    model = mc.KernelPCA(3, kernel=mc.Columns()).fit(TABLE, sample_weight=np.arange(1.0, N + 1))
    shares = mc.column_contributions(model)
    assert shares["column"].tolist() == list(TABLE)
    for axis in ("dim1", "dim2", "dim3"):
        assert shares[axis].sum() == pytest.approx(1.0)
        assert np.all(shares[axis] >= 0.0)
    alone = mc.KernelPCA(1, kernel=mc.Columns({"height": mc.Linear(), "weight": mc.Linear()}))
    # In their own units, weight makes the first axis.
    assert mc.column_contributions(alone.fit(TABLE))["dim1"][1] > 0.99
    with pytest.raises(mc.errors.InvalidInput, match="kernel is a sum"):
        mc.column_contributions(mc.KernelPCA(1).fit(RNG.normal(size=(5, 2))))


def test_the_example_runs_and_draws_its_picture(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    example = Path(__file__).parents[2] / "examples" / "mixed_table.py"
    monkeypatch.setattr("sys.argv", [str(example), str(tmp_path)])
    runpy.run_path(str(example))
    assert (tmp_path / "mixed_table.png").stat().st_size > 10_000
    assert "Inertia 6.000" in capsys.readouterr().out


def test_what_models_refuse_is_named_by_its_column() -> None:
    roles = {"grade": "ordinal"}
    table = {"grade": [1, 2, 3] * 4, "word": TABLE["word"]}
    model = mc.KernelPCA(2, kernel=mc.Columns()).fit(mc.data.rows(table, roles=roles))
    with pytest.raises(mc.errors.InvalidInput, match="column 'grade': row 1 is 9"):
        model.transform({"grade": [1, 9], "word": ["abc", "cba"]})


def test_time_stamps_of_a_zone_are_universal() -> None:
    east = timezone(timedelta(hours=6))
    stamps = [datetime(1970, 1, 2, 12, tzinfo=east), None, datetime(1970, 1, 3)]
    np.testing.assert_array_equal(
        mc.data.Rows({"when": stamps}).column("when"), [1.25, np.nan, 2.0]
    )
    with pytest.raises(
        mc.errors.InvalidInput, match="column 'when' has time stamps, and something"
    ):
        mc.data.Rows({"when": [datetime(1970, 1, 2), "soon"]})


def test_columns_may_be_numbered() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(RNG.normal(size=(8, 3)))
    model = mc.KernelPCA(2, kernel=mc.Columns()).fit(frame)
    assert list(model.kernel_.children()) == ["0", "1", "2"]
    np.testing.assert_allclose(
        model.transform(frame[[2, 0, 1]]), model.individuals_.coordinates, atol=1e-12
    )
    with pytest.raises(mc.errors.InvalidInput, match="one name as text"):
        mc.data.Rows({1: [0.0], "1": [0.0]})  # type: ignore[dict-item]


def test_functions_and_distances_read_tables() -> None:
    k, few = mc.Columns(KERNELS), {name: column[:5] for name, column in TABLE.items()}
    K = k(TABLE)
    np.testing.assert_allclose(
        mc.Function(k, few, np.ones(5))(TABLE), K[:, :5].sum(axis=1), rtol=1e-12
    )
    d = mc.distance_to_set(k, TABLE, few)
    expected = np.diag(K) - 2.0 * K[:, :5].mean(axis=1) + K[:5, :5].mean()
    np.testing.assert_allclose(d**2, expected, rtol=1e-10)
    assert mc.mean_discrepancy(k, TABLE, few, random_state=0).squared >= 0.0


def test_columns_are_centred_on_a_table(tmp_path: Any) -> None:
    k = mc.Columns(KERNELS).centred(TABLE)
    np.testing.assert_allclose(k(TABLE).sum(axis=0), 0.0, atol=1e-10)
    rows = [{name: column[i] for name, column in reversed(TABLE.items())} for i in range(N)]
    assert k == mc.Columns(KERNELS).centred(rows)
    assert hash(k) == hash(mc.Columns(KERNELS).centred(rows))
    model = mc.KernelPCA(2, kernel=k).fit(TABLE)
    model.save(tmp_path / "model")
    assert mc.load(tmp_path / "model").kernel_ == k


def test_without_levels_no_category_is_unknown() -> None:
    labels = ["a", "b", "a"]
    np.testing.assert_array_equal(
        mc.kernels.Category(unknown="zero")(labels), mc.kernels.Category()(labels)
    )
