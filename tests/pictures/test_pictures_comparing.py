"""Pictures and page sections of comparisons: what they draw is what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer import datasets, pictures
from mercer.page.documents import sections_of_comparison, sentences
from mercer.pictures.scene import Arrows, Bars, Field, Lines, Rule, Texts

KERNELS = {
    "line": "linear()",
    "near": "gaussian(bandwidth=0.3)",
    "far": "gaussian(bandwidth=3.0)",
}


@pytest.fixture(scope="module")
def found() -> mc.results.Comparison:
    x = datasets.iris().numbers
    return mc.compare_kernels(KERNELS, x, permutations=19, random_state=0)


def test_the_heat_map_writes_every_alignment_and_p_value(found: mc.results.Comparison) -> None:
    panel = pictures.agreement.describe(found)
    (field,) = panel.of_kind(Field)
    numbers, p_values = panel.of_kind(Texts)
    assert isinstance(field, Field)
    assert isinstance(numbers, Texts)
    assert isinstance(p_values, Texts)
    order = [found.names.index(text.rpartition("  ")[0]) for _, text in panel.y.ticks or ()]
    np.testing.assert_array_equal(field.scale.values, found.alignments[np.ix_(order, order)])
    assert numbers.texts == tuple(f"{v:.2f}" for v in field.scale.values.ravel())
    assert len(p_values.texts) == 6
    assert set(p_values.texts) <= {"p = 0.150", "p = 0.15", "p = 0.100", "p = 0.10"}
    assert "Holm" in panel.notes[1]


def test_untested_kernels_have_no_p_values() -> None:
    bare = mc.compare_kernels(KERNELS, datasets.iris().numbers, permutations=0)
    assert len(pictures.agreement.describe(bare).of_kind(Texts)) == 1
    assert not any(section.pictures for section in sections_of_comparison(bare)[1:])


def test_arrows_of_the_map_stay_in_the_circle(found: mc.results.Comparison) -> None:
    panel = pictures.kernel_map.describe(found)
    (arrows,) = panel.of_kind(Arrows)
    (circle,) = panel.of_kind(Lines)
    assert isinstance(arrows, Arrows)
    assert isinstance(circle, Lines)
    np.testing.assert_array_equal(np.c_[arrows.x, arrows.y], found.coordinates[:, :2])
    assert np.all(np.hypot(arrows.x, arrows.y) <= 1.0 + 1e-12)
    np.testing.assert_allclose(np.hypot(circle.x, circle.y), 1.0)
    assert circle.x.min() >= panel.x.limits[0] - 1e-12


def test_the_law_of_chance_counts_every_permutation(found: mc.results.Comparison) -> None:
    pair = found.pairs[0]
    panel = pictures.chance.describe(pair)
    (law,), (rule,) = panel.of_kind(Lines), panel.of_kind(Rule)
    assert isinstance(law, Lines)
    assert isinstance(rule, Rule)
    steps = np.asarray(law.y)[1:-2:2]
    assert steps.sum() == pair.permutations == 19
    assert rule.at == pair.statistic
    with pytest.raises(mc.errors.InvalidInput, match="nothing to draw"):
        pictures.chance(mc.rv([[1.0], [2.0], [4.0]], [[1.0], [3.0], [2.0]], permutations=0))


def test_the_bars_of_a_consensus_are_its_weights() -> None:
    agreed = mc.consensus(KERNELS, datasets.iris().numbers, method="sparse-umkl")
    panel = pictures.weights.describe(agreed)
    (bars,) = panel.of_kind(Bars)
    assert isinstance(bars, Bars)
    np.testing.assert_array_equal(bars.lengths, agreed.weights)
    assert [text for _, text in panel.y.ticks or ()] == list(KERNELS)


@pytest.mark.parametrize("draw", ["agreement", "kernel_map"])
def test_both_libraries_draw_them(found: mc.results.Comparison, draw: str) -> None:
    picture: Any = getattr(pictures, draw)
    assert picture(found).get_title(loc="left") or picture(found).get_title()
    assert picture.plotly(found).data


def test_sentences_say_who_agrees(found: mc.results.Comparison) -> None:
    said = sentences(found)
    table = found.table()
    best = int(np.argmax(table["alignment"]))
    assert f"{table['first'][best]} and {table['second'][best]}" in said[1]
    assert said[3].startswith(f"{int(np.sum(found.adjusted <= 0.05))} of 3 pairs")  # type: ignore[operator]
