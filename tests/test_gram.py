from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import mercer as mc
from mercer.check import Array
from mercer.engines import cpu
from mercer.engines.cpu import Threads, fastest_exponential
from mercer.engines.limits import Limits
from mercer.engines.tiles import Grid, PreparedTable, Tiles
from mercer.errors import InvalidInput
from mercer.gram import Gram
from mercer.kernels.pairs import exponential, numpy_exponential
from mercer.settings import memory_bytes
from tests.interrupts import interrupt, start_script

RNG = np.random.default_rng(7)
X = RNG.standard_normal((700, 6))
V = RNG.standard_normal((700, 3))
FAST = [
    mc.Gaussian(2.0),
    mc.Gaussian(tuple(np.linspace(0.5, 3.0, 6))),
    mc.Gaussian(2.0) * mc.Linear() + 1.0,
    (0.3 * mc.Gaussian(2.0) + 0.2 * mc.Gaussian(2.0)).exp(),
    mc.Polynomial(2) + mc.kernels.RationalQuadratic(1.5, 2.0) ** 2,
    mc.Laplacian(2.0, norm=2.0),
    mc.Matern(0.5, 1.0) + mc.Matern(2.5, 1.0),
    mc.Gaussian(1.0).polynomial([0.1, 0.2, 0.3]),
]
OTHERS = [
    mc.Laplacian(2.0),
    mc.kernels.Delta() + mc.Gaussian(1.0),
    mc.Linear().normalised(),
    mc.kernels.Sinc(),
]


@pytest.mark.parametrize("kernel", [*FAST, *OTHERS], ids=str)
def test_a_product_is_the_product_with_the_matrix(kernel: mc.Kernel) -> None:
    gram, K = Gram(kernel, X), kernel(X)
    size = np.abs(K) @ np.abs(V)
    assert np.all(np.abs(gram @ V - K @ V) <= 1e-13 * size.max())
    assert np.all(np.abs(gram.product(V, single=True) - K @ V) <= 1e-5 * size.max())
    np.testing.assert_allclose(gram.dense(), K, rtol=0, atol=1e-13 * np.abs(K).max())
    np.testing.assert_allclose(gram.diag(), np.diag(K), rtol=1e-12)


@pytest.mark.parametrize("kernel", FAST, ids=str)
def test_fast_expressions_take_one_product_for_each_scale(
    kernel: mc.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiles = Tiles(kernel, X)
    assert tiles.prepared is not None
    made = []
    right = np.matmul
    monkeypatch.setattr(np, "matmul", lambda *a, **k: made.append(1) or right(*a, **k))  # type: ignore[func-returns-value]
    tiles.tile(tiles.blocks()[0])
    assert len(made) == len(tiles.prepared.uses)


def test_a_statistic_asked_for_again_is_not_what_somebody_wrote_into() -> None:
    tiles = Tiles(mc.Gaussian(2.0), X[:30])
    assert tiles.prepared is not None
    pairs = PreparedTable(tiles.prepared, tiles.blocks()[0], is_symmetric=True)
    first = pairs.squared_distance(2.0)
    kept = first.copy()
    first *= -1.0
    np.testing.assert_allclose(pairs.squared_distance(2.0), kept, rtol=1e-12, atol=1e-14)
    assert np.array_equal(first, -kept)


@pytest.mark.parametrize("kernel", OTHERS, ids=str)
def test_other_expressions_are_cut_into_tiles_as_they_are(kernel: mc.Kernel) -> None:
    assert Tiles(kernel, X).prepared is None


@pytest.mark.parametrize("n", [0, 1, 2, 512, 639, 640, 641])
def test_sizes_on_both_sides_of_a_tile(n: int) -> None:
    gram = Gram(mc.Gaussian(1.5), X[:n])
    K = mc.Gaussian(1.5)(X[:n])
    np.testing.assert_allclose(gram @ V[:n], K @ V[:n], rtol=0, atol=1e-12)
    np.testing.assert_allclose(gram.dense(), K, rtol=0, atol=1e-14)


@pytest.mark.parametrize("tile", [1, 7, 64, 700, 5000])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_tiles_and_threads_change_nothing_beyond_rounding(tile: int, threads: int) -> None:
    x = X[:150]
    gram = Gram(mc.Gaussian(1.5), x, engine=Threads(threads), tile=tile)
    np.testing.assert_allclose(gram @ V[:150], mc.Gaussian(1.5)(x) @ V[:150], rtol=0, atol=1e-12)


def test_a_deterministic_engine_repeats_every_bit() -> None:
    grams = [
        Gram(mc.Gaussian(1.5), X, engine=Threads(2, is_deterministic=True), tile=64)
        for _ in range(3)
    ]
    first, *others = [gram @ V for gram in grams]
    assert all(np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("single", [False, True])
def test_coincident_and_close_points_keep_their_distance_under_a_kink(single: bool) -> None:
    x = np.vstack([X[:50], X[:50], X[:50] + 1e-9]) + 1e3
    kernel = mc.Laplacian(2.0, norm=2.0)
    values = Tiles(kernel, x, single=single)
    tile = values.tile(values.blocks()[0])
    np.testing.assert_allclose(tile, kernel(x), rtol=0, atol=1e-4 if single else 1e-11)
    assert np.all(np.diag(tile[:50, 50:100]) == 1.0)


def test_rows_of_a_matrix_are_computed_a_few_columns_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["".join(word) for word in RNG.choice(list("ab"), (40, 6))]
    for kernel, points in ((FAST[2], X), (mc.kernels.StringSpectrum(2), words)):
        gram = Gram(kernel, points)
        whole = gram.rows([3, 5])
        with monkeypatch.context() as patch:
            patch.setattr("mercer.gram.ROW_VALUES", 64)
            np.testing.assert_allclose(gram.rows([3, 5]), whole, rtol=1e-13)


def test_points_that_are_not_vectors_go_through_the_same_operator() -> None:
    sets = [set(RNG.choice(8, size, replace=False).tolist()) for size in RNG.integers(0, 8, 40)]
    kernel = mc.kernels.Intersection().gaussian(1.0)
    gram = Gram(kernel, sets, tile=16)
    np.testing.assert_allclose(gram @ V[:40], kernel(sets) @ V[:40], rtol=0, atol=1e-12)
    np.testing.assert_allclose(gram.rows([3, 5]), kernel(sets)[[3, 5]], rtol=0, atol=1e-14)


def test_complex_hermitian_kernels_multiply_with_conjugates() -> None:
    kernel = mc.kernels.FeatureMap(lambda x: np.exp(1j * np.asarray(x)))
    gram = Gram(kernel, X[:90], tile=32)
    K = kernel(X[:90])
    np.testing.assert_allclose(gram @ V[:90], K @ V[:90], rtol=0, atol=1e-11)
    np.testing.assert_allclose(gram.dense(), K, rtol=0, atol=1e-13)


def centring(w: Array) -> Array:
    H = np.eye(len(w)) - np.outer(np.ones(len(w)), w)
    return np.asarray(np.sqrt(w)[:, None] * H)


@pytest.mark.parametrize("weights", [None, RNG.uniform(0.0, 2.0, 700)], ids=["equal", "weighted"])
def test_the_centred_operator_is_the_centred_matrix(weights: Array | None) -> None:
    kernel = mc.Gaussian(1.5) + mc.Linear()
    operator = Gram(kernel, X).centred(weights)
    w = operator.weights
    C = centring(w) @ kernel(X) @ centring(w).T
    np.testing.assert_allclose(operator @ V, C @ V, rtol=0, atol=1e-13)
    np.testing.assert_allclose(operator.dense(), C, rtol=0, atol=1e-14)
    np.testing.assert_allclose(operator.diag(), np.diag(C), rtol=0, atol=1e-15)
    assert operator.trace == pytest.approx(np.trace(C), rel=1e-12)
    assert operator.square_sum == pytest.approx(np.sum(C**2), rel=1e-10)
    assert np.abs(operator.dense() @ np.sqrt(w)).max() <= 1e-14


def test_new_points_are_centred_with_the_training_means() -> None:
    kernel, train, new = mc.Gaussian(1.5), X[:60], X[60:75]
    operator = Gram(kernel, train).centred()
    centred = operator.cross(kernel(new, train))
    expected = kernel.centred(train)(new, train)
    np.testing.assert_allclose(centred, expected, rtol=0, atol=1e-13)
    alone = np.vstack([operator.cross(kernel(new[i : i + 1], train)) for i in range(15)])
    np.testing.assert_allclose(alone, centred, rtol=0, atol=1e-13)


def test_a_matrix_between_two_data_sets_and_its_refusals() -> None:
    gram = Gram(mc.Gaussian(1.0), X[:30], X[30:90], tile=16)
    np.testing.assert_allclose(gram.dense(), mc.Gaussian(1.0)(X[:30], X[30:90]), atol=1e-14)
    np.testing.assert_allclose(gram @ V[:60], gram.dense() @ V[:60], rtol=0, atol=1e-13)
    with pytest.raises(mc.errors.InvalidInput, match="no diagonal"):
        gram.diag()
    with pytest.raises(mc.errors.InvalidInput, match="symmetric"):
        gram.centred()
    with pytest.raises(mc.errors.InvalidInput, match="cannot multiply"):
        gram @ V[:30]


@pytest.mark.parametrize("bad", [[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0]])
def test_weights_that_are_no_weights_are_refused(bad: list[float]) -> None:
    with pytest.raises(mc.errors.InvalidInput, match="weights"):
        Gram(mc.Linear(), X[:3]).centred(bad)


def test_progress_counts_the_tiles() -> None:
    seen: list[tuple[int, int]] = []
    gram = Gram(
        mc.Gaussian(1.0), X, tile=100, progress=lambda done, all_: seen.append((done, all_))
    )
    gram @ V
    assert sorted(seen) == [(i, 28) for i in range(1, 29)]


@pytest.mark.parametrize(
    ("text", "count"), [("4GB", 4 * 10**9), ("1.5 mb", 1_500_000), (1000, 1000), (None, None)]
)
def test_a_memory_budget_is_read(text: str | int | None, count: int | None) -> None:
    assert memory_bytes(text) == count


@pytest.mark.parametrize("text", ["four", "-1", 0, -5, "4XB"])
def test_a_memory_budget_that_is_none_is_refused(text: object) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="memory"):
        memory_bytes(text)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 4e-16), (np.float32, 4e-7)])
def test_the_fast_exponential_is_the_exponential(dtype: type, error: float) -> None:
    lowest = -700.0 if dtype is np.float64 else -86.0
    a: Array = np.linspace(lowest, -lowest, 200_001).astype(dtype)
    expected = np.exp(a.astype(np.longdouble))
    found = fastest_exponential()(a.copy(), 1.0)
    assert np.max(np.abs(found / expected - 1.0)) <= error
    below: Array = np.full(Limits.small_array, -1e4, dtype)
    assert np.all(fastest_exponential()(below, 1.0) == 0.0)


def test_without_the_compiler_the_exponential_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "find_spec", lambda name: None)
    found = cpu.fastest_exponential.__wrapped__()
    a = np.linspace(-5.0, 0.0, Limits.small_array)
    assert np.array_equal(found(a.copy(), 1.0), np.exp(a))


def test_a_product_never_holds_the_matrix() -> None:
    script = """
        import resource, sys
        import numpy as np
        import mercer as mc
        from mercer.gram import Gram
        rng = np.random.default_rng(0)
        x, v = rng.standard_normal((20_000, 5)), rng.standard_normal((20_000, 4))
        Gram(mc.Gaussian(1.0), x[:600]) @ v[:600]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Gram(mc.Gaussian(1.0), x) @ v
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    run = [sys.executable, "-c", textwrap.dedent(script)]
    kilobytes = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert kilobytes < 60_000  # the matrix would take 3 200 000


def test_ctrl_c_stops_a_long_product_within_two_seconds() -> None:
    process = start_script("""
        import numpy as np
        import mercer as mc
        from mercer.gram import Gram
        x = np.random.default_rng(0).standard_normal((200_000, 5))
        gram = Gram(mc.Gaussian(1.0), x)
        gram.cut()
        print("ready", flush=True)
        gram @ np.ones((200_000, 2))
    """)
    time.sleep(1.0)
    errors, spent = interrupt(process)
    assert "KeyboardInterrupt" in errors
    assert spent < 2.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_fast_exponential_overflows_and_keeps_nan_as_numpys_does(dtype: type) -> None:
    top = 709.7 if dtype is np.float64 else 88.7
    a: Array = np.full(Limits.small_array, top, dtype)
    a[1], a[2], a[3] = top + 1.0, np.nan, -np.inf
    found = fastest_exponential()(a.copy(), 1.0)
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found, np.exp(a), rtol=1e-4 if dtype is np.float32 else 1e-13)


def test_long_sums_are_within_the_bound_of_products() -> None:
    n = 49_250
    x = (np.arange(n) % 2 == 0).astype(float)[:, None]
    operator = Gram(mc.Linear(), x, engine=Threads(2)).centred()
    v = np.full((n, 1), 1.0 / np.sqrt(n))
    assert np.linalg.norm(operator.product(v)) <= operator.rounding()


def test_sessions_that_overlap_leave_blas_as_it_was() -> None:
    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    before = threads()
    first, second = Threads(1), Threads(2)
    with ThreadPoolExecutor(2) as pool:
        barrier = threading.Barrier(2)

        def work(engine: Threads) -> None:
            with engine.session():
                barrier.wait()

        list(pool.map(work, [first, second]))
    assert threads() == before


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sums_over_rows_are_formed_in_the_order_of_rows_whoever_is_first(threads: int) -> None:
    letters = np.array(list("mercer"), object)  # a sum of letters is a word, in this order alone

    def slow_at_first(rows: slice) -> Array:
        time.sleep(0.005 * (len(letters) - rows.start))
        return letters[rows].copy()

    assert Threads(threads).sum_over_rows(slow_at_first, len(letters), 1) == "mercer"


@pytest.mark.parametrize("size", [None, 1, 7, 100_000])
@pytest.mark.parametrize("n", [0, 1, 50, 5_000])
def test_parts_of_rows_are_no_larger_than_asked_and_leave_none_out(
    n: int, size: int | None
) -> None:
    seen = np.zeros(n, int)

    def mark(rows: slice) -> None:
        seen[rows] += 1
        assert size is None or rows.stop - rows.start <= size

    def count(rows: slice) -> Array:
        return np.full(2, float(rows.stop - rows.start))

    Threads(2).over_rows(mark, n, size)
    assert np.all(seen == 1)
    assert np.array_equal(Threads(2).sum_over_rows(count, n, size), np.full(2, float(n)))


@pytest.mark.parametrize("wrong", [2, 3])
@pytest.mark.parametrize("is_deterministic", [False, True])
def test_work_on_rows_stops_between_parts_whichever_thread_fails(
    wrong: int, is_deterministic: bool
) -> None:
    done: list[int] = []

    def work(rows: slice) -> None:
        done.append(rows.start)
        if rows.start == wrong:
            raise KeyboardInterrupt
        time.sleep(0.02)

    def term(rows: slice) -> Array:
        work(rows)
        return np.ones(1)

    engine = Threads(2, is_deterministic=is_deterministic)
    with pytest.raises(KeyboardInterrupt):
        engine.over_rows(work, 1_000, 1)
    with pytest.raises(KeyboardInterrupt):  # and not the sum of the parts that were done
        engine.sum_over_rows(term, 1_000, 1)
    assert len(done) < 40


def test_an_error_while_progress_is_told_stops_the_work_and_is_raised() -> None:
    done: list[int] = []

    def work(mine: Iterator[int]) -> None:
        for item in mine:
            done.append(item)
            time.sleep(0.02)

    def progress(count: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Threads(2).share(work, range(1_000), progress)
    assert len(done) < 20


def test_work_may_ask_the_engine_for_more_work_in_a_session_too() -> None:
    engine = Threads(2)

    def inner(rows: slice) -> Array:
        return np.array([float(rows.stop - rows.start)])

    def outer(rows: slice) -> Array:
        with engine.session():
            return engine.sum_over_rows(inner, 10 * (rows.stop - rows.start), 3)

    with engine.session(), engine.session():
        assert engine.sum_over_rows(outer, 50, 7) == 500.0
    assert engine.sum_over_rows(outer, 50, 7) == 500.0


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_every_item_is_worked_on_once_whatever_it_is(is_deterministic: bool) -> None:
    items = [0, None, "", *range(1, 50), None]
    parts = Threads(3, is_deterministic=is_deterministic).share(list, items)
    assert Counter(item for part in parts for item in part) == Counter(items)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_fast_exponential_is_seen_by_the_work_and_not_after_it(parts: int) -> None:
    seen = []

    def see() -> None:
        exponential.set(numpy_exponential)
        Threads(2).over(lambda _: seen.append(exponential.get()), range(parts))
        seen.append(exponential.get())

    copy_context().run(see)
    assert seen == [fastest_exponential()] * parts + [numpy_exponential]


def test_a_gram_matrix_survives_pickling() -> None:
    gram = Gram(mc.Gaussian(1.0), X)
    expected = gram @ np.ones(len(X))
    again = pickle.loads(pickle.dumps(gram))
    np.testing.assert_allclose(again @ np.ones(len(X)), expected, rtol=1e-14)


def test_weights_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="weights, row 0: .a. is no weight"):
        Gram(mc.Linear(), np.eye(2)).centred(np.array(["a", "b"]))


@pytest.mark.parametrize("shape", [(7, 7), (7, 3), (3, 7), (6, 6), (1, 1), (0, 4), (4, 0)])
@pytest.mark.parametrize("is_upper", [False, True])
def test_a_grid_has_every_pair_of_parts_once(shape: tuple[int, int], is_upper: bool) -> None:
    if is_upper and shape[0] != shape[1]:
        return
    grid, size = Grid(shape, 3, is_upper=is_upper), np.zeros(shape)
    for block in grid:
        size[block.rows, block.columns] += 1.0
    rows, columns = np.indices(shape) // 3
    np.testing.assert_array_equal(size, np.where(is_upper & (rows > columns), 0.0, 1.0))
    assert len(grid) == len(list(grid))
    with pytest.raises(IndexError):
        grid[len(grid)]


@pytest.mark.parametrize(("share", "is_kept"), [(0.004, False), (0.1, True)])
def test_tiles_are_kept_where_that_saves_time(share: float, is_kept: bool) -> None:
    tiles = Gram(mc.Gaussian(1.0), np.zeros((700, 1)), tile=32).cut()
    room = int(share * 8 * 700**2)
    tiles.keep(room)
    for block in tiles.blocks():
        tiles.tile(block)
    assert (tiles.kept_bytes > 0) == is_kept
    assert tiles.kept_bytes <= room


def test_the_tiles_of_a_million_points_are_no_list() -> None:
    tiles = Gram(mc.Gaussian(1.0), np.zeros((10**6, 1))).cut()
    tracemalloc.start()
    try:
        blocks = tiles.blocks()
        assert len(blocks) > 10**6
        assert blocks[len(blocks) - 1].rows.stop == 10**6
        assert tracemalloc.get_traced_memory()[1] < 10**6  # a list of them had 236 MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.7),
        3.0 * mc.Gaussian(2.0) + 0.5,
        mc.Gaussian(1.0) * mc.Gaussian(3.0) + mc.Gaussian(0.3),
    ],
    ids=str,
)
def test_a_share_of_the_value_bounds_its_rounding(kernel: mc.kernels.Kernel) -> None:
    """Of kernels whose values are never negative, and of products with them (Perron)."""
    x = np.random.default_rng(3).standard_normal((700, 4)) * [1.0, 2.0, 0.5, 3.0] + 5.0
    gram = Gram(kernel, x, tile=256)
    single, exact = gram.cut(single=True), np.asarray(kernel(x))
    known = gram.entry_rounding(single=True)
    for block in single.blocks():
        values, truth = single.tile(block), exact[block.rows, block.columns]
        assert np.all(np.abs(values - truth) <= known.relative * truth + 1e-37)
    operator = gram.centred(np.random.default_rng(4).gamma(0.5, size=700) + 1e-3)
    before = operator.rounding(single=True)
    v = np.random.default_rng(5).standard_normal((700, 3))
    v /= np.linalg.norm(v, axis=0)
    truth = operator.product(v)
    after = operator.rounding(single=True)
    error = np.linalg.norm(operator.product(v, single=True) - truth, axis=0).max()
    assert error <= after < 0.9 * before
    assert operator.rounding() <= gram.entry_rounding().product


def test_a_kernel_of_either_sign_has_no_bound_relative_to_its_value() -> None:
    for kernel in (mc.Linear(), mc.Gaussian(1.0) + mc.Linear(), mc.Matern(1.5)):
        assert Gram(kernel, np.eye(5)).entry_rounding(single=True).relative == np.inf


def test_what_underflows_in_a_factor_counts_as_often_as_the_other_takes_it() -> None:
    """Of small numbers times large ones, whose products are at most 1."""
    kernel = (1e-28 * mc.Gaussian(1.0)) * (1e28 * mc.Gaussian(100.0))
    x = np.array([[0.0, 0.0], [6.5, 0.0], [7.0, 0.0], [7.4, 0.0], [8.0, 0.0]])
    gram = Gram(kernel, x)
    known, single, exact = gram.entry_rounding(single=True), gram.cut(single=True), kernel(x)
    (block,) = single.blocks()
    errors = np.abs(np.asarray(single.tile(block), float) - exact)
    assert np.any(errors > known.relative * exact + 1e-37)
    assert np.all(errors <= known.relative * exact + known.beside)
    assert known.beside >= float(np.finfo(np.float32).tiny) * 1e28
