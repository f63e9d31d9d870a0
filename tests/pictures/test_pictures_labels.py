from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer import datasets, pictures
from mercer.check import Array
from mercer.pictures.labels import placed, placements
from mercer.reading import Variables

BOX = (300.0, 200.0)


@given(arrays(float, (12, 2), elements=st.floats(0.0, 200.0)), st.integers(1, 15))
def test_labels_overlap_neither_one_another_nor_points_nor_the_frame(at: Array, n: int) -> None:
    found = placed(at, ("x" * n,) * 12, at, BOX)
    boxes = np.array([(p.x, p.y, p.width / 2, p.height / 2) for p in found]).reshape(-1, 4)
    for i, (x, y, w, h) in enumerate(boxes):
        assert x - w >= 0
        assert x + w <= BOX[0]
        assert y - h >= 0
        assert y + h <= BOX[1]
        for u, v, a, b in boxes[:i]:
            assert abs(x - u) >= w + a - 1e-9 or abs(y - v) >= h + b - 1e-9
        assert not np.any((np.abs(at[:, 0] - x) < w) & (np.abs(at[:, 1] - y) < h))


def test_the_most_important_label_comes_first_and_the_same_every_time() -> None:
    crowd = np.full((50, 2), 100.0)
    texts = tuple(f"name {i}" for i in range(50))
    found = placed(crowd, texts, crowd, BOX)
    assert found[0].number == 0
    assert 0 < len(found) < 50
    assert found == placed(crowd, texts, crowd, BOX)


def test_labels_at_tips_stand_outside() -> None:
    centre, tip = np.array([150.0, 100.0]), np.array([[220.0, 140.0]])
    (label,) = placed(tip, ("event",), tip, BOX, centre=centre)
    assert label.x > 220
    assert label.y > 140


def test_words_drawn_by_matplotlib_do_not_overlap() -> None:
    cities = datasets.eurodist()
    points = np.random.default_rng(0).random((21, 2))
    ax = pictures.individuals(points, names=cities.names)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) > 12
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_places_know_what_other_marks_took() -> None:
    panel = pictures.biplot.describe(np.eye(2), _two_variables())
    found = placements(panel, (-1.0, 1.0), (-1.0, 1.0), BOX)
    assert {mark.is_outward for mark, _ in found} == {True, False}


def _two_variables() -> Variables:
    return Variables(np.array([[1.0, 0.0], [0.6, -0.6]]), ("u", "v"), np.ones(2))
