"""Named distances of tables: vegan's and scipy's values, the laws of each, and their domains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import mercer as mc
from mercer.check import Array
from mercer.cli import main
from mercer.cli.arguments import DISTANCES
from mercer.errors import InvalidInput, InvalidParameter
from mercer.kernels.dissimilarities import METRICS
from tests.references import near, reference

SEEDS = st.integers(0, 10**6)


def counts(seed: int, n: int = 8, p: int = 5) -> Array:
    return np.random.default_rng(seed).poisson(2.0, (n, p)) + np.eye(n, p) + 0.0


def test_bray_and_curtis_s_of_the_dune_meadows_are_vegan_s() -> None:
    dune = reference("permanova_dune")
    found = mc.kernels.distances(np.array(dune["X"], float), "bray-curtis")
    near(found.values, dune["D"], 1e-14)
    analysed = mc.permanova(dune["X"], dune["group"], metric="bray-curtis", permutations=0)
    near(analysed.f, [dune["result"]["F"]])
    spread = mc.dispersion(
        dune["X"], dune["group"], metric="bray-curtis", adjusted=False, permutations=0
    )
    near(spread.f, dune["result"]["dispersion_F"])


def shares(x: Array) -> Array:
    return np.asarray(x / x.sum(axis=1, keepdims=True))


def own(x: Array) -> Array:
    return cdist(x, x)


FORMULAS: dict[str, Any] = {
    "euclidean": lambda x: cdist(x, x),
    "manhattan": lambda x: cdist(x, x, "cityblock"),
    "bray-curtis": lambda x: cdist(x, x, "braycurtis"),
    "ruzicka": lambda x: (
        1.0 - np.minimum(x[:, None], x).sum(axis=2) / np.maximum(x[:, None], x).sum(axis=2)
    ),
    "jaccard": lambda x: cdist(x > 0, x > 0, "jaccard"),
    "chi-square": lambda x: own(shares(x) / np.sqrt(x.sum(axis=0) / x.sum())),
    "hellinger": lambda x: own(np.sqrt(shares(x))),
    "chord": lambda x: np.sqrt(2.0 * np.maximum(cdist(x, x, "cosine"), 0.0)),
    "aitchison": lambda x: own(np.log(x) - np.log(x).mean(axis=1, keepdims=True)),
    "gower": lambda x: np.mean(np.abs(x[:, None] - x) / np.ptp(x, axis=0), axis=2),
}


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=20)
@given(SEEDS)
def test_a_distance_is_its_formula_symmetric_and_zero_of_a_row_to_itself(
    metric: str, seed: int
) -> None:
    x = counts(seed) + (0.5 if metric == "aitchison" else 0.0)
    d = mc.kernels.distances(x, metric).values
    np.testing.assert_allclose(d, FORMULAS[metric](x), atol=2e-7 if metric == "chord" else 1e-12)
    assert (d == d.T).all()
    assert (np.diag(d) == 0.0).all()


@pytest.mark.parametrize("metric", ["chi-square", "hellinger", "chord", "aitchison"])
def test_some_are_euclidean_and_of_others_the_roots_are(metric: str) -> None:
    x = counts(1) + 0.5
    assert mc.euclidean(mc.kernels.distances(x, metric))
    for other in ("bray-curtis", "ruzicka", "jaccard"):
        assert mc.euclidean(np.sqrt(mc.kernels.distances(x, other)))
    assert not mc.euclidean(mc.kernels.distances(reference("permanova_dune")["X"], "bray-curtis"))


def test_chi_square_is_the_distance_of_correspondence_analysis() -> None:
    x = counts(2)
    rows = mc.CA().fit(x).individuals_.coordinates
    near(mc.kernels.distances(x, "chi-square").values, cdist(rows, rows))


def test_gower_reads_columns_of_several_types_and_leaves_nobody_out() -> None:
    table = pd.DataFrame(
        {"size": [1.0, 3.0, 2.0], "colour": ["red", "blue", "red"], "flat": [7.0, 7.0, 7.0]},
        index=["a", "b", "c"],
    )
    found = mc.kernels.distances(table, "gower")
    assert found.names == ("a", "b", "c")
    np.testing.assert_allclose(found.values[0], [0.0, 2 / 3, 0.5 / 3])
    with pytest.raises(InvalidInput, match="'colour' has no label in row 1"):
        mc.kernels.distances({"colour": ["red", None, "red"]}, "gower")


def test_empty_samples_are_alike() -> None:
    x = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
    for metric in ("bray-curtis", "ruzicka", "jaccard"):
        np.testing.assert_array_equal(
            mc.kernels.distances(x, metric).values, [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
        )


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("bray-curtis", -2.0, "row 1, column 'b': -2 is not nonnegative"),
        ("aitchison", 0.0, "row 1, column 'b': 0 is not positive.*replace zeros"),
        ("jaccard", np.nan, "row 1"),
    ],
)
def test_what_is_outside_the_domain_is_named_by_row_and_column(
    metric: str, value: float, words: str
) -> None:
    table = pd.DataFrame({"a": [1.0, 1.0, 2.0], "b": [1.0, value, 3.0]})
    with pytest.raises(InvalidInput, match=words):
        mc.kernels.distances(table, metric)


def test_rows_and_columns_without_counts_and_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="row 1: all entries are 0"):
        mc.kernels.distances([[1.0, 2.0], [0.0, 0.0]], "hellinger")
    with pytest.raises(InvalidInput, match="column 1: all entries are 0"):
        mc.kernels.distances([[1.0, 0.0], [2.0, 0.0]], "chi-square")
    with pytest.raises(InvalidParameter, match="did you mean bray-curtis"):
        mc.kernels.distances([[1.0]], "braycurtis")
    with pytest.raises(InvalidParameter, match="metric= is for rows"):
        mc.permanova(mc.PCA(1).fit(counts(0)), [0, 1] * 4, metric="gower")


@pytest.mark.parametrize("metric", [m for m in METRICS if m != "euclidean"])
def test_maps_take_rows_by_the_name_of_their_distance(metric: str) -> None:
    x = counts(5, 12) + (0.5 if metric == "aitchison" else 0.0)
    d = mc.kernels.distances(x, metric)
    model = mc.ClassicalMDS(2, metric=metric).fit(x)
    near(np.abs(model.embedding_), np.abs(mc.ClassicalMDS(2).fit(d).embedding_), 1e-8)
    near(model.transform(x[:3]), model.embedding_[:3], 1e-7)  # by the margins of the fit
    by_stress = mc.StressMDS(2, metric=metric, random_state=0).fit(x)
    assert by_stress.stress_ == pytest.approx(mc.StressMDS(2, random_state=0).fit(d).stress_)
    assert by_stress.transform(x[:3]).shape == (3, 2)
    with pytest.raises(InvalidParameter, match="metric must be"):
        mc.ClassicalMDS(2, metric="bray").fit(x)


def test_a_stored_map_places_new_rows(tmp_path: Path) -> None:
    x = counts(6, 12)
    model = mc.ClassicalMDS(2, metric="bray-curtis").fit(x)
    model.save(tmp_path / "map.mercer")
    again = mc.load(tmp_path / "map.mercer")
    np.testing.assert_array_equal(again.transform(x[:4]), model.transform(x[:4]))


def test_the_command_takes_a_distance_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(DISTANCES) == set(METRICS)
    file = tmp_path / "sites.csv"
    dune = reference("permanova_dune")
    pd.DataFrame(dune["X"], columns=[f"s{j}" for j in range(30)]).to_csv(file, index=False)
    said = [
        "fit",
        str(file),
        "--distance",
        "bray-curtis",
        "--json",
        "--out",
        str(tmp_path / "m.mercer"),
    ]
    assert main(said) == 0
    assert "mds" in json.dumps(json.loads(capsys.readouterr().out)).lower()
    model = mc.load(tmp_path / "m.mercer")
    assert model.metric == "bray-curtis"
    near(np.abs(model.embedding_), np.abs(np.array(reference("envfit_dune")["map"])), 1e-9)
    assert main(["fit", str(file), "--method", "pca", "--distance", "gower"]) == 2
    assert "--distance" in capsys.readouterr().err
