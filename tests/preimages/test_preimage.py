"""Pre-images: exact where they can be, and never nearer than they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as TheirKernelPCA

import mercer as mc
from mercer.check import Array
from mercer.preimages import feature_targets
from mercer.preimages.fixed_point import fixed_point, profile_of
from mercer.preimages.search import METHODS, PENALTIES, Learned

RADIAL = [
    mc.Gaussian(1.0),
    mc.Gaussian((0.8, 1.6)),
    mc.Matern(1.5, 1.0),
    mc.Laplacian(1.0, norm=2.0),
    mc.kernels.RationalQuadratic(0.7, 1.0),
    mc.kernels.NegativeDistance(1.0),
    mc.kernels.Sobolev(s=3.0),
    0.5 * mc.Gaussian(1.0) + mc.Matern(2.5, 2.0) * mc.Gaussian(3.0) + 1.0,
    mc.kernels.NegativeDistance(1.5).exp() + mc.Linear().gaussian(2.0) ** 2,
]
OTHERS = [
    mc.Polynomial(2),
    mc.Gaussian(1.0) + 0.1 * mc.Linear(),
    mc.Laplacian(1.0),
    mc.Polynomial(3).normalised(),
]


def curve(n: int, noise: float = 0.0, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.0, 2.0 * np.pi, n))
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.standard_normal((n, 2))


def brute_force(model: mc.KernelPCA, f: Array, x: Array) -> float:
    """The distance of φ(x) from P as a norm of functions, term by term."""
    k, anchors, n = model.kernel_, np.asarray(model.X_fit_), len(model.X_fit_)
    w = model.individuals_.weights
    K = k(anchors)
    H = np.eye(n) - np.outer(np.ones(n), w)
    # The axes from the definition: F = HKH' B and the features' rows, HKH' = Φ̃Φ̃'.
    axes = np.linalg.lstsq(H @ K @ H.T, model.individuals_.coordinates, rcond=1e-12)[0]
    g = w + H.T @ axes @ f
    cross, own = k(x[None, :], anchors)[0], float(k.diag(x[None, :])[0])
    return float(np.sqrt(max(own - 2.0 * cross @ g + g @ K @ g, 0.0)))


@pytest.mark.parametrize(("n", "p", "axes"), [(50, 4, 2), (30, 200, 5), (40, 6, None)])
def test_the_linear_kernel_comes_back_as_in_PCA(n: int, p: int, axes: int | None) -> None:
    rng = np.random.default_rng(0)
    x = 50.0 + rng.standard_normal((n, p)) * np.linspace(3.0, 1.0, p)
    w = rng.uniform(0.0, 2.0, n)
    ours = mc.KernelPCA(axes).fit(x, sample_weight=w)
    theirs = mc.PCA(axes).fit(x, sample_weight=w)
    back = ours.inverse_transform(ours.transform(x))
    expected = theirs.inverse_transform(theirs.transform(x))
    np.testing.assert_allclose(back, expected, rtol=0, atol=1e-12 * np.abs(x).max())
    found = mc.preimage(ours, ours.transform(x))
    assert found.method == "exact"
    assert np.all(found.errors <= 10 * found.rounding)
    if axes is None:
        np.testing.assert_allclose(back, x, rtol=0, atol=1e-12 * np.abs(x).max())


@pytest.mark.parametrize(
    "kernel",
    [0.5 * mc.Linear() + 1.0, mc.kernels.NegativeDistance(2.0), mc.Polynomial(1, 2.0, 3.0)],
)
def test_affine_features_come_back_exactly(kernel: mc.Kernel) -> None:
    x = np.random.default_rng(0).standard_normal((20, 3))
    model = mc.KernelPCA(kernel=kernel).fit(x)
    assert mc.preimage(model, model.transform(x)).method == "exact"
    np.testing.assert_allclose(model.inverse_transform(model.transform(x)), x, atol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL, ids=str)
def test_a_profile_is_the_kernel_and_its_slope(kernel: mc.Kernel) -> None:
    x = curve(6, 0.3)
    profile = profile_of(kernel, 2)
    assert profile is not None
    gaps = (x[:, None, :] - x[None, :, :]) / profile.lengths
    s = np.sum(gaps**2, axis=-1)
    np.testing.assert_allclose(profile.value(s), kernel(x), rtol=1e-12)
    slopes = 2.0 * profile.slope(s, 1e-9)[..., None] * gaps / profile.lengths
    np.testing.assert_allclose(slopes, kernel.slopes(x), rtol=1e-9, atol=1e-12)
    apart = s[s > 0]
    np.testing.assert_allclose(profile.inverse(profile.value(apart)), apart, rtol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        *OTHERS,
        mc.Gaussian(1.0) + mc.Gaussian((1.0, 2.0)),
        mc.kernels.Constant(1.0),
        mc.kernels.Periodic(1.0, 1.0),
    ],
    ids=str,
)
def test_what_is_no_function_of_a_distance_is_not_taken_for_one(kernel: mc.Kernel) -> None:
    assert profile_of(kernel, 2) is None


@pytest.mark.parametrize("method", METHODS[2:])
@pytest.mark.parametrize("kernel", [*RADIAL[:4], *OTHERS[:2]], ids=str)
def test_the_error_is_the_distance_in_feature_space(kernel: mc.Kernel, method: str) -> None:
    x = curve(25, 0.1)
    w = np.random.default_rng(1).uniform(0.0, 2.0, len(x))
    w[3] = 0.0
    model = mc.KernelPCA(3, kernel=kernel).fit(x, sample_weight=w)
    f = model.transform(curve(4, 0.3, seed=2))
    if profile_of(kernel, 2) is None and method in ("fixed_point", "distances"):
        with pytest.raises(mc.errors.InvalidInput, match="no function of a Euclidean distance"):
            mc.preimage(model, f, method)
        return
    found = mc.preimage(model, f, method, steps=40)
    expected = [brute_force(model, row, x) for row, x in zip(f, found.points, strict=True)]
    np.testing.assert_allclose(found.errors, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kernel", [*RADIAL, *OTHERS], ids=str)
def test_points_of_a_noiseless_curve_come_back_within_the_reported_error(kernel: Any) -> None:
    x = curve(30)
    model = mc.KernelPCA(kernel=kernel).fit(x)
    found = mc.preimage(model, model.transform(x))
    pairs = zip(found.points, x, strict=True)
    gaps = np.array([mc.distance(model.kernel_, [a], [b])[0, 0] for a, b in pairs])
    assert np.all(gaps <= found.errors + 3.0 * found.rounding)
    assert np.max(np.linalg.norm(found.points - x, axis=1)) < 1e-6


@pytest.mark.parametrize("kernel", [*RADIAL, *OTHERS[:2]], ids=str)
def test_a_search_ends_nearer_than_every_individual_and_where_the_slope_is_0(kernel: Any) -> None:
    x = curve(30, 0.15)
    model = mc.KernelPCA(4, kernel=kernel).fit(x)
    f = model.transform(curve(8, 0.15, seed=3))
    found = mc.preimage(model, f)
    sought = feature_targets.Targets(model.sections(), f)
    nearest = np.sqrt(sought.to_points(slice(None)).min(axis=1))
    assert np.all(found.errors <= nearest + found.rounding)
    has_kink = kernel in (RADIAL[3], RADIAL[5])
    if not has_kink:
        assert np.all(found.converged)
        own = np.array([kernel.slopes(p[None], p[None])[0, 0] for p in found.points])
        slopes = np.einsum(
            "ij,ijk->ik", sought.weights(slice(None)), kernel.slopes(found.points, x)
        )
        assert np.max(np.abs(own - slopes)) < 1e-6


def test_coordinates_far_from_every_individual_still_have_points() -> None:
    model = mc.KernelPCA(3, kernel=mc.Gaussian(0.7)).fit(curve(12))
    far = 50.0 * np.random.default_rng(0).uniform(-1.0, 1.0, (30, 3))
    far[:3] = 0.0, 1e8, -1e8
    found = mc.preimage(model, far, steps=30)
    assert np.all(np.isfinite(found.points))
    sought = feature_targets.Targets(model.sections(), far)
    nearest = np.sqrt(sought.to_points(slice(None)).min(axis=1))
    assert np.all(found.errors <= nearest + found.rounding)


def test_the_sum_of_slopes_may_vanish() -> None:
    # P = k(·, 1) - k(·, -1): at 0 the slopes of the two cancel.
    x = np.array([[-1.0], [1.0], [5.0]])
    sections = feature_targets.Sections(
        mc.Gaussian(1.0), x, np.array([-1.0, 1.0, 0.0]), np.zeros((3, 0))
    )

    sought = feature_targets.Targets(sections, np.zeros((1, 0)))
    profile = profile_of(mc.Gaussian(1.0), 1)
    assert profile is not None
    found = fixed_point(sought, profile, np.zeros((1, 1)), steps=200, tol=1e-8)
    assert found.points[0, 0] > 1.0  # pushed away from -1
    assert found.converged[0]


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Matern(1.5, 0.7), RADIAL[7]], ids=str)
def test_every_step_of_the_fixed_point_goes_down_whatever_the_signs(kernel: mc.Kernel) -> None:
    rng = np.random.default_rng(0)
    x, starts = rng.standard_normal((15, 2)), 1.5 * rng.standard_normal((40, 2))
    axes = rng.standard_normal((15, 40))  # targets are weighted sums of both signs
    sections = feature_targets.Sections(kernel, x, np.zeros(15), axes)
    sought, profile = feature_targets.Targets(sections, np.eye(40)), profile_of(kernel, 2)
    assert profile is not None
    before = sought.squares(starts)
    for steps in (1, 2, 10):
        found = fixed_point(sought, profile, starts, steps=steps, tol=1e-8)
        after = sought.squares(found.points)
        assert np.all(after.values <= before.values + 10.0 * before.rounding)
        before = after


def test_distances_place_new_points_where_they_are() -> None:
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (80, 2))
    new = np.random.default_rng(1).uniform(-0.8, 0.8, (5, 2))
    model = mc.KernelPCA(kernel=mc.Gaussian(1.0)).fit(x)
    found = mc.preimage(model, model.transform(new), "distances")
    np.testing.assert_allclose(found.points, new, atol=1e-5)
    assert found.converged.all()


def test_ridge_is_that_of_scikit_learn() -> None:
    x = curve(30, 0.1)
    x = x - x.mean(axis=0)  # theirs has no intercept
    theirs = TheirKernelPCA(
        3, kernel="rbf", gamma=0.5, fit_inverse_transform=True, alpha=0.3, eigen_solver="dense"
    ).fit(x)
    ours = mc.KernelPCA(3, kernel=mc.Gaussian(1.0)).fit(x)
    f = ours.transform(x[:5])
    found = mc.preimage(ours, f, "ridge", kernel=mc.Gaussian(1.0), penalty=0.3 / len(x))
    np.testing.assert_allclose(
        found.points, theirs.inverse_transform(theirs.transform(x[:5])), atol=1e-10
    )


def test_the_penalty_of_ridge_is_the_best_on_individuals_left_out() -> None:
    f = np.linspace(-1.0, 1.0, 15)[:, None]
    x = f**2 + 0.2 * np.random.default_rng(0).standard_normal((15, 1))
    w = np.full(15, 1.0 / 15.0)
    chosen = Learned(mc.Gaussian(0.4), f, x, w)

    def left_out(penalty: float) -> float:
        total = 0.0
        for i in range(15):
            others = np.arange(15) != i
            # The mean of all individuals and their weights: as the formula has it.
            K = mc.Gaussian(0.4)(f[others])
            a = np.linalg.solve(K / 15 + penalty * np.eye(14), (x[others] - x.mean()) / 15)
            total += float((mc.Gaussian(0.4)(f[[i]], f[others]) @ a + x.mean() - x[i])[0, 0] ** 2)
        return total

    largest = np.linalg.eigvalsh(mc.Gaussian(0.4)(f) / 15)[-1]
    errors = [left_out(largest * p) for p in PENALTIES]
    assert chosen.penalty == pytest.approx(largest * PENALTIES[int(np.argmin(errors))])


def test_an_approximation_on_landmarks_has_pre_images_too() -> None:
    x = curve(200, 0.05)
    model = mc.KernelPCA(
        4, kernel=mc.Gaussian(1.0), method="nystrom", landmarks=40, random_state=0
    ).fit(x)
    exact = mc.KernelPCA(4, kernel=mc.Gaussian(1.0)).fit(x)
    found = mc.preimage(model, model.transform(x[:10]))
    expected = mc.preimage(exact, exact.transform(x[:10]))
    np.testing.assert_allclose(found.points, expected.points, atol=1e-4)
    np.testing.assert_allclose(found.errors, expected.errors, atol=1e-4)
    linear = mc.KernelPCA(2, method="nystrom", landmarks=5, random_state=0).fit(x)
    np.testing.assert_allclose(linear.inverse_transform(linear.transform(x)), x, atol=1e-9)


def test_tiles_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = curve(20, 0.1)
    for kernel, method in ((mc.Gaussian(1.0), "fixed_point"), (mc.Polynomial(2), "descent")):
        model = mc.KernelPCA(3, kernel=kernel).fit(x)
        whole = mc.preimage(model, model.transform(x), method)
        monkeypatch.setattr(feature_targets, "TILE", 500)
        cut = mc.preimage(model, model.transform(x), method)
        monkeypatch.undo()
        np.testing.assert_allclose(cut.points, whole.points, atol=1e-7)
        np.testing.assert_allclose(cut.errors, whole.errors, atol=1e-7)


def test_units_do_not_matter() -> None:
    x = curve(30, 0.1)
    for unit in (1e-6, 1e6):
        found = []
        for scale in (1.0, unit):
            model = mc.KernelPCA(3, kernel=mc.Gaussian(scale)).fit(scale * x)
            found.append(mc.preimage(model, model.transform(scale * x[:6])).points / scale)
        np.testing.assert_allclose(found[1], found[0], atol=1e-6)


def test_denoising_brings_points_nearer_to_the_circle() -> None:
    clean, noisy = curve(120), curve(120, 0.15)
    model = mc.KernelPCA(4, kernel=mc.Gaussian(1.0)).fit(noisy)
    back = model.inverse_transform(model.transform(noisy))

    def off(x: Array) -> float:
        return float(np.sqrt(np.mean((np.linalg.norm(x, axis=1) - 1.0) ** 2)))

    assert off(clean) < 1e-12
    assert off(back) < 0.5 * off(noisy)


def test_kernels_that_do_not_exist_everywhere_are_kept_in_range() -> None:
    x = np.random.default_rng(0).uniform(0.0, 1.0, (20, 1))
    model = mc.KernelPCA(2, kernel=mc.kernels.CubicSpline()).fit(x)
    found = mc.preimage(model, -20.0 * np.abs(model.transform(x[:3])))
    assert np.all((found.points >= x.min()) & (found.points <= x.max()))


def test_single_precision_returns_and_the_scores_are_left_alone() -> None:
    x = curve(20).astype(np.float32)
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0)).fit(x)
    f = model.transform(x)
    before = f.copy()
    back = model.inverse_transform(f)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(f, before)


def test_a_stored_model_has_the_same_pre_images(tmp_path: Path) -> None:
    x = curve(20, 0.1)
    for kernel in (mc.Gaussian(1.0), mc.Linear()):
        model = mc.KernelPCA(2, kernel=kernel).fit(x)
        model.save(tmp_path / "model.mercer")
        again = mc.load(tmp_path / "model.mercer")
        f = model.transform(x)
        np.testing.assert_array_equal(again.inverse_transform(f), model.inverse_transform(f))


def test_models_without_points_say_why() -> None:
    x = curve(10)
    model = mc.KernelPCA(2, kernel="precomputed").fit(mc.Gaussian(1.0)(x))
    with pytest.raises(mc.errors.InvalidInput, match="never saw the points"):
        model.inverse_transform(np.zeros((1, 2)))
    words = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2)).fit(
        ["abab", "baba", "aabb", "abba"]
    )
    with pytest.raises(mc.errors.InvalidInput, match="rows of real numbers"):
        words.inverse_transform(np.zeros((1, 2)))
    with pytest.raises(mc.errors.InvalidInput, match="its own inverse_transform"):
        mc.preimage(mc.PCA(1).fit(x), [[0.0]])


def test_wrong_arguments_are_named() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).fit(curve(10))
    with pytest.raises(mc.errors.InvalidInput, match="2 columns"):
        mc.preimage(model, [[0.0, 0.0, 0.0]])
    with pytest.raises(mc.errors.InvalidInput, match="finite"):
        mc.preimage(model, [[0.0, np.nan]])
    with pytest.raises(mc.errors.InvalidParameter, match="method must be one of"):
        mc.preimage(model, [[0.0, 0.0]], "newton")
    with pytest.raises(mc.errors.InvalidInput, match="not exact"):
        mc.preimage(model, [[0.0, 0.0]], "exact")
    with pytest.raises(mc.errors.InvalidParameter, match="neighbours"):
        mc.preimage(model, [[0.0, 0.0]], "distances", neighbours=1)
    with pytest.raises(ValueError, match="not fitted"):
        mc.KernelPCA(2).inverse_transform([[0.0, 0.0]])
    assert len(mc.preimage(model, np.zeros((0, 2))).points) == 0


def squared_gaps(model: mc.KernelPCA, x: Array, scores: Array) -> Array:
    """Return ‖φ(x) - P‖² by the distance to the barycentre and the coordinates of x alone."""
    data, w = np.asarray(model.X_fit_), model.individuals_.weights
    k, cross = model.kernel_(data), model.kernel_(x, data)
    own = np.array([model.kernel_(row[None])[0, 0] for row in x])
    to_middle = own - 2.0 * cross @ w + w @ k @ w
    found = model.transform(x)
    gaps: Array = to_middle - 2.0 * np.sum(found * scores, axis=1) + np.sum(scores**2, axis=1)
    return gaps


def test_points_along_the_axes_of_PCA_are_its_own() -> None:
    x = np.random.default_rng(4).standard_normal((20, 3)) * [3.0, 1.0, 0.3] + 5.0
    for model in (mc.PCA(3).fit(x), mc.PCA(3, standardize=True).fit(x)):
        found = mc.axis_points(model, axes=2)
        F = model.individuals_.coordinates
        for k in range(2):
            low, high = F[:, k].min(), F[:, k].max()
            expected = [low, 0.5 * low, 0.0, 0.5 * high, high]
            np.testing.assert_allclose(found.coordinates[k], expected)
            scores = np.zeros((5, 3))
            scores[:, k] = expected
            np.testing.assert_allclose(found.points[k], model.inverse_transform(scores))
            assert found.ends[k] == tuple(
                f"individual {f(F[:, k])}" for f in (np.argmin, np.argmax)
            )
        np.testing.assert_allclose(found.points[:, 2], x.mean(axis=0)[None].repeat(2, axis=0))
        assert not found.errors.any()
        assert str(found).endswith("these points lie on the axes exactly")


def test_the_linear_kernel_has_the_same_points_along_its_axes() -> None:
    x = np.random.default_rng(5).standard_normal((15, 3)) * [3.0, 1.0, 0.3]
    ours = mc.axis_points(mc.KernelPCA(2, kernel=mc.Linear()).fit(x))
    theirs = mc.axis_points(mc.PCA(2).fit(x))
    assert ours.method == "exact"
    for a, b, f, g in zip(
        ours.points, theirs.points, ours.coordinates, theirs.coordinates, strict=True
    ):
        same = np.sign(f[-1]) == np.sign(g[-1]) and np.isclose(f[-1], g[-1])
        np.testing.assert_allclose(a if same else a[::-1], b, atol=1e-9)
    assert ours.shares.max() < 1e-6
    assert ours.spread == pytest.approx(theirs.spread)


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Polynomial(degree=2)])
def test_what_points_along_an_axis_miss_is_their_distance_in_feature_space(kernel: Any) -> None:
    x, w = curve(25, 0.1), np.arange(25.0)
    model = mc.KernelPCA(3, kernel=kernel).fit(x, sample_weight=w)
    found = mc.axis_points(model, axes=3)
    scores = np.zeros((3, 5, 3))
    for k in range(3):
        scores[k, :, k] = found.coordinates[k]
    gaps = squared_gaps(model, found.points.reshape(15, -1), scores.reshape(15, 3))
    np.testing.assert_allclose(found.errors.ravel() ** 2, gaps, atol=1e-9)
    nearest = [squared_gaps(model, x, np.tile(s, (25, 1))).min() for s in scores.reshape(15, 3)]
    assert np.all(gaps <= np.array(nearest) + 1e-9)  # no individual is nearer
    np.testing.assert_allclose(found.shares, found.errors / np.sqrt(model.inertia_))


def test_individuals_without_a_weight_are_not_the_end_of_an_axis() -> None:
    x = np.vstack([curve(20, 0.05), [[50.0, 50.0]]])
    w = np.r_[np.ones(20), 0.0]
    found = mc.axis_points(mc.PCA(2).fit(x, sample_weight=w))
    alone = mc.axis_points(mc.PCA(2).fit(x[:20]))
    np.testing.assert_allclose(np.abs(found.coordinates), np.abs(alone.coordinates), atol=1e-9)
    np.testing.assert_allclose(found.means, alone.means)
    np.testing.assert_allclose(found.deviations, alone.deviations)
    assert "individual 20" not in str(found)


def test_points_along_axes_are_tabulated_and_ordered_by_what_changes() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(mc.datasets.iris())
    found = mc.axis_points(model)
    table = found.table()
    assert table.rows == 2 * 5 * 4
    at = (table["axis"] == 2) & (table["place"] == "high end")
    assert table["variable"][at].tolist() == list(found.names)
    np.testing.assert_allclose(table["value"][at], found.points[1, 4])
    np.testing.assert_allclose(table["error"][at], found.errors[1, 4])
    changes = np.ptp(found.standardised[1], axis=0)
    assert np.all(np.diff(changes[found.order(2)]) <= 0)
    assert "% of the distance that individuals have from the middle" in str(found)


@pytest.mark.parametrize("standardize", [False, True])
def test_what_PCA_rebuilds_of_a_variable_is_its_cos2(standardize: bool) -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 4))
    model = mc.PCA(3, standardize=standardize).fit(x, sample_weight=rng.random(30))
    for axes in (1, 2, 3):
        found = mc.rebuilt(model, axes=axes, random_state=0)
        np.testing.assert_allclose(found.shares, model.variables_.cos2[:, :axes].sum(axis=1))
    np.testing.assert_array_equal(found.observed, x)


def test_rebuilding_with_a_kernel_leaves_noise_behind() -> None:
    clean, noisy = curve(80), curve(80, 0.15, seed=3)
    model = mc.KernelPCA(6, kernel=mc.Gaussian(1.0)).fit(noisy)
    found = mc.rebuilt(model, axes=6, random_state=0)
    expected = mc.preimage(model, model.transform(noisy)).points
    np.testing.assert_allclose(found.points, expected, atol=1e-7)

    def off(x: Array) -> float:
        gaps = np.linalg.norm(x[:, None] - clean, axis=2).min(axis=1)
        return float(np.mean(gaps**2))

    assert off(found.points) < 0.8 * off(noisy)
    assert np.all(found.shares > 0.8)


def test_a_column_that_is_constant_is_not_rebuilt_and_a_sample_is_drawn() -> None:
    x = np.column_stack([np.random.default_rng(7).standard_normal((40, 2)), np.full(40, 0.1)])
    model = mc.PCA(2).fit(x)
    found = mc.rebuilt(model, most=12, random_state=1)
    assert len(found) == 12
    np.testing.assert_array_equal(found.rows, mc.rebuilt(model, most=12, random_state=1).rows)
    assert set(found.rows.tolist()) != set(mc.rebuilt(model, most=12, random_state=2).rows.tolist())
    np.testing.assert_array_equal(found.rows, mc.rebuilt(model, most=12.0, random_state=1).rows)  # type: ignore[arg-type]
    assert np.isnan(found.shares[2])
    assert found.columns()["variable"][-1] == "x2"
    assert "x2" not in str(found)


def test_points_of_models_that_have_none_are_refused() -> None:
    words = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2)).fit(
        ["abab", "baba", "aabb", "abba"]
    )
    for study in (mc.axis_points, mc.rebuilt):
        with pytest.raises(mc.errors.InvalidInput, match="rows of numbers"):
            study(words)
        with pytest.raises(mc.errors.InvalidParameter, match="axes"):
            study(mc.PCA(1).fit(curve(5)), axes=0)
        with pytest.raises(ValueError, match="not fitted"):
            study(mc.PCA(1))
