"""The figures of the five texts hold the numbers that the texts, or their data, give them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_digits

import mercer as mc
from mercer.check import Array
from mercer.pictures.scene import Field, Lines, Markers


def points_of(panel: Any) -> list[Any]:
    return [mark for mark in panel.marks if isinstance(mark, Markers)]


def share(axis: Any) -> float:
    """Return the percentage that stands in the title of an axis."""
    return float(axis.title.split("(")[1].split(" ")[0])


@pytest.mark.parametrize(("is_tied", "error"), [(True, 0.97278), (False, 3.9193)])
def test_beenys_first_figure_shows_what_two_axes_lose(is_tied: bool, error: float) -> None:
    x = np.random.default_rng(12).standard_normal((30, 3))
    if is_tied:
        x[:, 0] += 4 * x[:, 1] + 2 * x[:, 2]
    few = mc.PCA(2).fit(x)
    shown = {"data": x, "rebuilt": few.inverse_transform(few.transform(x))}
    space, *planes = mc.pictures.four_panels.describe(shown, names=("x1", "x2", "x3")).panels
    data, rebuilt = (np.column_stack([m.x, m.y, m.z]) for m in points_of(space))
    assert np.linalg.norm(data - rebuilt) == pytest.approx(error, abs=5e-5)
    for panel, (i, j) in zip(planes, ((0, 1), (0, 2), (1, 2)), strict=True):
        first = points_of(panel)[0]
        np.testing.assert_array_equal(np.column_stack([first.x, first.y]), x[:, [i, j]])


def test_beenys_third_figure_has_its_constants_and_its_small_share() -> None:
    circles = mc.datasets.circles()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.DegenerateAxes)
        model = mc.KernelPCA(3, kernel=mc.Gaussian(8**-0.5)).fit(circles)
    new = mc.datasets.circles((1.5, 2.5), 12)
    assert len(new) == 48
    space, *_ = mc.pictures.four_panels.describe(
        model.individuals_, spectrum=model.spectrum_, colour=circles.colour
    ).panels
    means = [float(m.x.mean()) for m in points_of(space)]
    np.testing.assert_allclose(means, [0.32096, 0.01189, -0.11491], atol=5e-6)
    assert share(space.x) + share(space.y) + share(space.z) == pytest.approx(7.3, abs=0.2)
    assert 90 * model.inertia_ == pytest.approx(87.8235, abs=5e-5)
    between = model.transform(new)[:, 0]
    assert np.ptp(between[:18]) < 1e-3
    assert -0.11491 < between[18] < 0.01189 < between[0] < 0.32096


@pytest.fixture(scope="module")
def plants() -> tuple[Any, Array]:
    table: Any = mc.datasets.plants(genes=1000, effect=8.0, seed=1)
    return table, np.array([name.rsplit(" ", 1)[0] for name in table.row_names])


def test_martins_second_figure_has_its_shares_and_groups(plants: tuple[Any, Array]) -> None:
    table, conditions = plants
    model = mc.PCA(standardize=True).fit(table)
    panel = mc.pictures.individuals.describe(model, colour=conditions, ellipses="concentration")
    assert (share(panel.x), share(panel.y)) == (28.8, 19.2)
    assert [len(m.x) for m in points_of(panel) if m.name in conditions] == [6, 6, 6, 6]


def test_martins_third_figure_has_the_genes_beyond_its_threshold(
    plants: tuple[Any, Array],
) -> None:
    model = mc.PCA(standardize=True).fit(plants[0])
    panel = mc.pictures.variables.describe(model, least={"correlation": 0.96})
    assert panel.notes[0].startswith("29 of 1000 variables: |correlation| with one of the axes")
    assert panel.notes[0].endswith("at least 0.96.")
    assert np.max(model.variables_.contributions[:, :2]) < 0.005  # no contribution is near to it


def test_martins_fifth_figure_parts_the_conditions(plants: tuple[Any, Array]) -> None:
    table, conditions = plants
    model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(table)
    panel = mc.pictures.individuals.describe(model, colour=conditions)
    assert (share(panel.x), share(panel.y)) == (47.2, 36.6)
    groups = [np.column_stack([m.x, m.y]) for m in points_of(panel) if m.name in conditions]
    spread = max(float(np.max(np.ptp(g, axis=0))) for g in groups)
    means = np.array([g.mean(axis=0) for g in groups])
    apart = np.linalg.norm(means[:, None] - means[None], axis=2)
    assert np.min(apart[apart > 0]) > 4.0 * spread


def test_yaos_digits_have_their_percentages_and_their_rank_three() -> None:
    digits = load_digits()
    threes = digits.data[digits.target == 3]
    model = mc.PCA().fit(threes)
    s = model.singular_values_
    np.testing.assert_allclose((100 * s[:3] / s.sum()).round(1), [9.1, 7.5, 6.1])
    np.testing.assert_allclose((100 * s[:3] ** 2 / np.sum(s**2)).round(1), [21.6, 14.7, 9.7])
    few = mc.PCA(3).fit(threes)
    rebuilt = few.inverse_transform(few.transform(threes))
    sheet: Any = mc.pictures.images.describe(rebuilt[:1], (8, 8))
    (image,) = (m for m in getattr(sheet, "panels", (sheet,))[0].marks if isinstance(m, Field))
    np.testing.assert_allclose(np.sort(np.ravel(image.scale.values)), np.sort(rebuilt[0]))
    left = np.linalg.norm(threes - rebuilt) ** 2
    assert left == pytest.approx(np.sum(s[3:] ** 2), rel=1e-10)
    horn = mc.parallel_analysis(model, 99, random_state=0)
    scree = mc.pictures.scree.describe(
        model.inertias_, total=model.inertia_, horn=horn, most=61, is_log=True
    )
    assert any("Horn keeps 6 axes" in note for note in scree.notes)


def test_disturbed_distances_keep_the_cities_where_they_are() -> None:
    cities = mc.datasets.us_cities()
    first = mc.ClassicalMDS().fit(cities.values).embedding_
    rng = np.random.default_rng(0)
    for _ in range(20):
        error = rng.normal(0.0, 0.05, (9, 9))
        disturbed = cities.values * (1.0 + (error + error.T) / 2)
        again = mc.ClassicalMDS(2).fit(disturbed).embedding_
        assert mc.procrustes(first[:, :2], again, permutations=0).m2 < 0.02


def test_kroeses_seventh_figure_has_ten_draws_of_each_bandwidth() -> None:
    at = np.linspace(0.0, 1.0, 150)
    steps = []
    for width in (0.2, 0.02):
        process = mc.GaussianProcess(mc.Gaussian(width), noise_variance=0.25, optimise=False)
        draws = process.sample(at[:, None], 10, prior=True, random_state=0)
        lines = {f"draw {i}": draw for i, draw in enumerate(draws.T)}
        panel = mc.pictures.curves.describe(at, lines)
        drawn = [m for m in panel.marks if isinstance(m, Lines)]
        assert len(drawn) == 10
        steps.append(np.mean([np.diff(m.y) ** 2 for m in drawn]))
    # E (g(x+h) - g(x))² = 2(1 - exp(-h²/2b²)): a hundred times as much at a tenth of the bandwidth.
    h = at[1]
    expected = [2.0 * -np.expm1(-(h**2) / (2 * b**2)) for b in (0.2, 0.02)]
    np.testing.assert_allclose(steps, expected, rtol=0.35)


def test_kroeses_last_figure_has_a_draw_with_a_line_and_one_without() -> None:
    def is_apart(z: Array, inside: Array) -> bool:
        signed = np.where(inside, 1.0, -1.0)[:, None]
        sides = signed * np.column_stack([z / np.abs(z).max(axis=0), np.ones(len(z))])
        found = linprog(np.zeros(3), A_ub=-sides, b_ub=-np.ones(len(z)), bounds=(None, None))
        return bool(found.status == 0)

    for seed, expected in ((0, False), (2, True)):
        table = mc.datasets.disc_and_ring(seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mc.errors.DegenerateAxes)
            model = mc.KernelPCA(2, kernel=mc.Gaussian(0.5**0.5)).fit(table)
        panel = mc.pictures.individuals.describe(model, colour=table.colour, labels=0)
        marks = {m.name: np.column_stack([m.x, m.y]) for m in points_of(panel)}
        z = np.vstack([marks["disc"], marks["ring"]])
        inside = np.arange(len(z)) < len(marks["disc"])
        assert len(z) == 200
        assert is_apart(z, inside) is expected


def test_the_peaks_are_rebuilt_as_far_as_their_points_allow() -> None:
    def peaks(p: Array) -> Array:
        a, b = p.T
        return np.asarray(
            3 * (1 - a) ** 2 * np.exp(-(a**2) - (b + 1) ** 2)
            - 10 * (a / 5 - a**3 - b**5) * np.exp(-(a**2) - b**2)
            - np.exp(-((a + 1) ** 2) - b**2) / 3
        )

    mirrored = [int(f"{i:05b}"[::-1], 2) / 32 for i in range(1, 21)]
    places = 6.0 * np.column_stack([np.arange(1, 21) / 20.0, mirrored]) - 3.0
    heights = peaks(places)
    model = mc.KernelRegression(mc.Gaussian(0.3**0.5), penalty=0.0).fit(places, heights)
    side = np.linspace(-3.0, 3.0, 40)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
    panel = mc.pictures.surface.describe(
        side, side, peaks(grid).reshape(40, 40), points=np.column_stack([places, heights])
    )
    (on_surface,) = points_of(panel)
    np.testing.assert_allclose(on_surface.z, heights)
    np.testing.assert_allclose(model.predict(places), heights, atol=1e-12)
    # Without a penalty it is the linear regression on the columns of K.
    weights = np.linalg.lstsq(mc.Gaussian(0.3**0.5)(places), heights, rcond=None)[0]
    np.testing.assert_allclose(model.dual_coef_, weights, rtol=1e-8)
