from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from tests.oracles import LINE

RNG = np.random.default_rng(31)
X = RNG.standard_normal((120, 3))
Y = np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.1 * RNG.standard_normal(120)
NEW = RNG.standard_normal((20, 3))
KERNEL = mc.Gaussian(1.5)
WORDS = ["gattaca", "gattata", "cccgg", "ccgcg", "gattac", "attaca", "ccggg"]


@pytest.mark.parametrize("landmarks", ["pivoted", "kmeans", "uniform", NEW])
def test_landmarks_are_exact_and_nothing_is_too_long(landmarks: Any) -> None:
    features = mc.NystromFeatures(20, kernel=KERNEL, landmarks=landmarks, random_state=0).fit(X)
    z, F = features.landmarks_, features.transform(X)
    assert F.shape == (120, 20)
    at = features.transform(z)
    np.testing.assert_allclose(at @ F.T, KERNEL(z, X), atol=1e-7)
    left = KERNEL(X) - F @ F.T
    assert np.min(np.linalg.eigvalsh(left)) > -1e-9
    assert features.trace_error_ == pytest.approx(np.trace(left), rel=1e-9)
    assert features.explained_share_ == pytest.approx(1.0 - np.trace(left) / 120.0)
    assert list(features.get_feature_names_out()[:2]) == ["nystromfeatures0", "nystromfeatures1"]


def test_a_linear_model_of_all_landmarks_is_the_model_of_the_kernel() -> None:
    pipeline = make_pipeline(
        mc.NystromFeatures(120, kernel=KERNEL, random_state=0), Ridge(1.2, fit_intercept=False)
    )
    ridge = mc.KernelRegression(KERNEL, penalty=1.2 / 120).fit(X, Y)
    np.testing.assert_allclose(pipeline.fit(X, Y).predict(NEW), ridge.predict(NEW), atol=1e-7)
    few = make_pipeline(
        mc.NystromFeatures(40, kernel=KERNEL, random_state=0), Ridge(1.2, fit_intercept=False)
    )
    assert np.max(np.abs(few.fit(X, Y).predict(NEW) - ridge.predict(NEW))) < 0.1


def test_pivots_leave_less_than_a_uniform_sample() -> None:
    x = np.vstack([0.01 * RNG.standard_normal((300, 2)), RNG.uniform(-3.0, 3.0, (60, 2))])
    left = {
        how: np.mean(
            [
                mc.NystromFeatures(20, kernel=mc.Gaussian(0.7), landmarks=how, random_state=s)
                .fit(x)
                .trace_error_
                for s in range(5)
            ]
        )
        for how in ("pivoted", "uniform")
    }
    assert left["pivoted"] < 0.5 * left["uniform"]


def test_points_of_any_kind_have_landmarks() -> None:
    kernel = mc.kernels.StringSpectrum(2).normalised()
    features = mc.NystromFeatures(7, kernel=kernel, random_state=0).fit(WORDS)
    F = features.transform(WORDS)
    np.testing.assert_allclose(F @ F.T, kernel(WORDS), atol=1e-7)
    assert {features.landmarks_[i] for i in range(7)} <= set(WORDS)


@pytest.mark.parametrize(
    "kernel", [KERNEL, mc.Matern(1.5, 2.0), 0.5 * mc.Gaussian(1.0) + mc.Laplacian(2.0, norm=2.0)]
)
def test_random_waves_have_the_kernel_as_their_mean(kernel: mc.Kernel) -> None:
    K = kernel(X[:30])
    maps = [mc.RandomFourierFeatures(50, kernel=kernel, random_state=s) for s in range(40)]
    found = [m.fit_transform(X[:30]) for m in maps]
    mean = np.mean([F @ F.T for F in found], axis=0)
    np.testing.assert_allclose(mean, K, atol=0.1)
    np.testing.assert_allclose(np.sum(found[0] ** 2, axis=1), np.diag(K), rtol=1e-12)
    error = np.sqrt(np.mean((found[0] @ found[0].T - K) ** 2))
    assert maps[0].sampled_error_ == pytest.approx(error, rel=0.05)
    assert len(maps[0].get_feature_names_out()) == found[0].shape[1]


def test_more_frequencies_are_nearer() -> None:
    errors = [
        mc.RandomFourierFeatures(n, kernel=KERNEL, random_state=0).fit(X).sampled_error_
        for n in (30, 3000)
    ]
    assert errors[1] < 0.3 * errors[0]


def test_they_stand_in_pipelines_grids_and_files(tmp_path: Any) -> None:
    pipeline = make_pipeline(
        StandardScaler(), mc.NystromFeatures(20, kernel=KERNEL, random_state=0), Ridge()
    )
    grid = GridSearchCV(
        pipeline,
        {
            "nystromfeatures__kernel__bandwidth": [0.3, 1.5],
            "nystromfeatures__n_components": [5, 20],
        },
        cv=3,
    ).fit(X, Y)
    assert grid.best_score_ > 0.5
    for model in (
        mc.NystromFeatures(10, kernel=KERNEL, random_state=0).fit(X),
        mc.RandomFourierFeatures(10, kernel="rbf", random_state=0).fit(X),
    ):
        model.save(tmp_path / "m.mercer")
        for again in (mc.load(tmp_path / "m.mercer"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))
    single = mc.NystromFeatures(10, kernel=KERNEL, random_state=0).fit(X.astype(np.float32))
    assert single.transform(NEW.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (mc.NystromFeatures(0, random_state=0), "n_components must be a whole number"),
        (mc.NystromFeatures(landmarks="best", random_state=0), "landmarks must be one of"),
        (mc.NystromFeatures(kernel="precomputed", random_state=0), "a precomputed matrix has none"),
        (mc.RandomFourierFeatures(0, random_state=0), "n_frequencies must be a whole number"),
        (
            mc.RandomFourierFeatures(kernel="linear", random_state=0),
            "has no random Fourier features",
        ),
    ],
)
def test_what_has_no_features_is_refused(model: Any, message: str) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match=message):
        model.fit(X)


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        mc.NystromFeatures(5, kernel=mc.Gaussian(1.0), random_state=0),
        mc.RandomFourierFeatures(5, kernel="rbf", random_state=0),
    ],
    expected_failed_checks=lambda _: LINE,
)
def test_the_protocol_of_scikit_learn_is_kept(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "model",
    [
        mc.NystromFeatures(40),
        mc.NystromFeatures(40, landmarks="uniform"),
        mc.NystromFeatures(40, landmarks="kmeans"),
        mc.RandomFourierFeatures(40),
    ],
    ids=str,
)
def test_a_fit_tells_how_much_of_it_is_done(model: Any) -> None:
    """Pivots and pairs were drawn in silence, whatever ``progress`` said."""
    told: list[tuple[int, int]] = []
    points = np.random.default_rng(0).standard_normal((500, 3))
    model.fit(points, progress=lambda done, of: told.append((done, of)))
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] > 0
