from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import datasets
from mercer.data import Role, SquareMatrix, Table
from mercer.datasets.examples import ORBITS
from tests.references import FOLDER

REFERENCE = FOLDER


def reference(name: str) -> Any:
    return json.loads((REFERENCE / f"{name}.json").read_text())


def test_the_files_take_little_room_and_are_loaded_when_asked_for() -> None:
    folder = Path(datasets.__file__).parent
    assert sum(path.stat().st_size for path in folder.glob("*.csv")) < 100_000


def test_decathlon_is_the_table_of_the_reference() -> None:
    file, table = reference("pca_decathlon_scaled_sup"), datasets.decathlon()
    given = np.array(file["X"])
    assert table.row_names == tuple(file["rows"])
    assert [n for n in table.names if n not in ("name", "Competition")] == file["columns"]
    assert np.array_equal(table.numbers, given)
    assert np.array_equal(table.matrix(), given[:, :10])
    assert table.supplementary == {"Rank", "Points"}
    assert table.colour is not None
    assert table.colour.values.tolist() == file["quali"]


def test_decathlon_has_the_inertias_of_factominer() -> None:
    file, X = reference("pca_decathlon_scaled_sup"), datasets.decathlon().matrix()
    model = mc.KernelPCA(kernel=mc.Linear()).fit((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(model.inertias_, file["result"]["eigenvalues"], rtol=1e-10)


def test_iris_has_the_means_and_species_of_fisher() -> None:
    table = datasets.iris()
    assert table.matrix().shape == (150, 4)
    np.testing.assert_allclose(
        table.matrix().mean(axis=0), [5.843333, 3.057333, 3.758, 1.199333], atol=1e-6
    )
    # Fisher's rows 35 and 38, which a widespread copy has wrong.
    assert table.matrix()[[34, 37]].tolist() == [[4.9, 3.1, 1.5, 0.2], [4.9, 3.6, 1.4, 0.1]]
    species = table.column("Species")
    assert species.role is Role.FACTOR
    assert [int((species.values == level).sum()) for level in species.levels] == [50, 50, 50]


def test_swiss_is_the_table_of_the_reference() -> None:
    table = datasets.swiss()
    first = [80.2, 17.0, 15.0, 12.0, 9.96, 22.2]
    assert table.matrix()[0].tolist() == first
    assert table.row_names is not None
    assert table.row_names[44] == "V. De Geneve"
    correlations = np.corrcoef(table.matrix().T)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(correlations)[::-1],
        [3.1997569987, 1.1883082490, 0.8476098128, 0.4389286811, 0.2045337035, 0.1208625548],
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    ("square", "name"), [(datasets.us_cities, "mds_us_cities"), (datasets.eurodist, "mds_eurodist")]
)
def test_distances_are_those_of_the_reference(square: Any, name: str) -> None:
    file, found = reference(name), square()
    assert isinstance(found, SquareMatrix)
    assert found.is_distance
    assert found.names == tuple(file["labels"])
    assert np.array_equal(found.values, np.array(file["D"]))


def test_circles_have_the_spectrum_of_beeny() -> None:
    file = reference("beeny_circles_kpca")
    model = mc.KernelPCA(kernel=mc.Gaussian(file["sigma"])).fit(datasets.circles().matrix())
    np.testing.assert_allclose(model.eigenvalues_[:12], file["eigenvalues_top12"], rtol=1e-12)
    assert 90.0 * model.inertia_ == pytest.approx(file["trace_centred"], rel=1e-12)
    for radius, score in ((1.0, 0.32096), (2.0, 0.01189), (3.0, -0.11491)):
        first = model.transform(datasets.circles((radius,)).matrix())[:, 0]
        np.testing.assert_allclose(first, score, atol=2e-5)  # one value for each circle
    assert datasets.circles().colour is not None
    assert [len(datasets.circles((r,), 12)) for r in file["radii_test"]] == [18, 30]


def test_disc_and_ring_is_uniform_on_both() -> None:
    radii = np.hypot(*datasets.disc_and_ring(20_000, seed=1).matrix().T)
    is_disc = radii < 1.0
    assert np.all(is_disc | ((radii >= 3.0) & (radii < 4.0)))
    # Five standard deviations of a share of one eighth, and of means of uniform squares.
    assert abs(is_disc.mean() - 1 / 8) < 5 * np.sqrt(7 / 64 / 20_000)
    assert abs((radii[is_disc] ** 2).mean() - 0.5) < 5 * np.sqrt(1 / 12 / is_disc.sum())
    assert abs((radii[~is_disc] ** 2).mean() - 12.5) < 5 * np.sqrt(49 / 12 / (~is_disc).sum())
    assert np.array_equal(
        datasets.disc_and_ring().matrix(), datasets.disc_and_ring(200, seed=0).matrix()
    )
    assert len(datasets.disc_and_ring()) == 200


def test_plants_have_the_design_of_the_experiment() -> None:
    table = datasets.plants()
    assert isinstance(table, Table)
    assert table.matrix().shape == (24, 200)
    pairs = zip(table.column("temperature").values, table.column("CO2").values, strict=True)
    counts: dict[tuple[str, str], int] = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    assert list(counts.values()) == [6, 6, 6, 6]
    assert len(set(table.row_names or ())) == 24
    again = datasets.plants(seed=0)
    assert np.array_equal(table.matrix(), again.matrix())
    assert not np.array_equal(table.matrix(), datasets.plants(seed=1).matrix())
    assert len(datasets.plants(replicates=2)) == 8


def test_the_treatments_of_the_plants_show_and_genes_of_a_module_vary_together() -> None:
    table = datasets.plants(replicates=200)
    X, warm = table.matrix(), table.column("temperature").values == "elevated"
    moved = np.abs(X[warm].mean(axis=0) - X[~warm].mean(axis=0)) > 0.5
    assert 0.1 < moved.mean() < 0.6
    control = X[:200]
    R = np.abs(np.corrcoef(control.T))
    same = np.equal.outer(np.arange(200) % 5, np.arange(200) % 5) & ~np.eye(200, dtype=bool)
    assert R[same].mean() > 3 * R[~same & ~np.eye(200, dtype=bool)].mean()


def test_kernel_pca_of_the_plants_shows_their_conditions() -> None:
    """24 plants on the axes of a Gaussian kernel: the temperature is seen in the first plane."""
    table = datasets.plants()
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(table)
    assert 0.3 < model.explained_variance_ratio_.sum() < 0.4
    read = model.supplementary(categories={"temperature": table.column("temperature").values})
    assert read.categories is not None
    assert np.max(np.abs(read.categories.v_test)) > 1.96  # 5 % under no effect


@pytest.mark.parametrize(
    "model", [mc.PCA(2, standardize=True), mc.KernelPCA(2, kernel=mc.Gaussian("median"))]
)
def test_strong_effects_part_the_conditions_of_the_plants_on_the_first_plane(model: Any) -> None:
    """The message of Martin's Figures 2 and 5, and genes beyond 0.96 as in Figure 3."""
    for effect, is_apart in ((8.0, True), (1.0, False)):
        table = datasets.plants(effect=effect)
        F = model.fit(table).individuals_.coordinates[:, :2]
        group = np.repeat(np.arange(4), 6)
        means = np.array([F[group == g].mean(axis=0) for g in range(4)])
        nearest = np.argmin(((F[:, None] - means) ** 2).sum(axis=2), axis=1)
        assert np.array_equal(nearest, group) is is_apart
        strong = np.abs(model.variables_.correlations[:, :2]).max(axis=1) > 0.96
        assert np.any(strong) or not is_apart
    assert np.array_equal(datasets.plants(effect=1.0).matrix(), datasets.plants().matrix())


def test_the_planets_run_on_the_orbits_of_kepler() -> None:
    table = datasets.planets(400)
    x, who = table.matrix(), table.column("planet").values
    for name, orbit in ORBITS.items():
        own = np.hypot(*x[who == name].T)
        e = orbit.eccentricity
        assert own.min() == pytest.approx(orbit.axis * (1 - e), rel=0.01)
        assert own.max() == pytest.approx(orbit.axis * (1 + e), rel=0.01)
        # Kepler's third law: years squared are axes cubed.
        assert (orbit.period / 365.25) ** 2 == pytest.approx(orbit.axis**3, rel=2e-3)
    # What the almanacs say: the Earth nearest to the Sun on 3 January 2000, at 0.9833.
    earth = np.linalg.norm(ORBITS["Earth"].positions(np.arange(0.0, 30.0)), axis=1)
    assert int(np.argmin(earth)) in (1, 2, 3)
    assert earth.min() == pytest.approx(0.9833, abs=2e-4)


def test_the_planets_come_apart_on_the_curved_map_alone() -> None:
    found = mc.analyse(datasets.planets(), random_state=0)
    assert found.evidence is not None
    (parted,) = found.evidence.separations
    assert parted.straight < 0.01
    assert parted.curved > 0.5
    assert parted.is_gain
    assert found.curved is not None
    first = found.curved.individuals_.coordinates[:, 0]
    is_jupiter = datasets.planets().column("planet").values == "Jupiter"
    jupiter, others = first[is_jupiter], first[~is_jupiter]
    assert jupiter.min() > others.max() or jupiter.max() < others.min()
