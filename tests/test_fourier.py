from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import mercer as mc
from mercer.errors import InvalidInput, InvalidParameter
from mercer.fourier import fourier_features, random_fourier
from mercer.gram import Gram
from mercer.kernels.spectral import LAWS
from mercer.kernels.statements import orthogonal_directions
from mercer.spectrum import leading

RNG = np.random.default_rng(2)
X = RNG.standard_normal((200, 4))

KERNELS = [
    mc.Gaussian(1.5),
    mc.Gaussian((1.0, 2.0, 3.0, 4.0)),
    mc.Matern(nu=1.5, bandwidth=2.0),
    mc.Matern(nu=np.inf, bandwidth=2.0),
    mc.Laplacian(3.0, norm=2.0),
    mc.kernels.RationalQuadratic(shape=2.0, bandwidth=1.5),
    2.0 * mc.Gaussian(1.0) + mc.Matern(nu=2.5, bandwidth=1.0),
    mc.Gaussian(1.0) + 0.5,
    mc.Laplacian((2.0, 3.0, 2.0, 4.0), norm=1.0),
    mc.kernels.Sobolev(s=4.0, bandwidth=1.5),
    mc.kernels.Sinc((1.0, 2.0, 1.0, 0.5)),
    mc.kernels.Periodic(period=3.0, bandwidth=0.8),
    *(mc.kernels.Characteristic(law, 2.0) for law in LAWS),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_features_reproduce_the_kernel_on_average(kernel: mc.Kernel) -> None:
    features = fourier_features(kernel, 4, 40_000, np.random.default_rng(0))
    phi = features(X[:30])
    np.testing.assert_allclose(phi @ phi.T, kernel(X[:30]), atol=0.04)
    np.testing.assert_allclose(np.sum(phi**2, axis=1), kernel.diag(X[:30]), rtol=1e-12)


def test_orthogonal_frequencies_are_orthogonal_in_blocks() -> None:
    features = fourier_features(mc.Gaussian(1.0), 4, 10, np.random.default_rng(0))
    block = features.frequencies[:4]
    products = block @ block.T
    assert np.max(np.abs(products - np.diag(np.diag(products)))) < 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_the_sampled_bound_holds_and_eigenvalues_stay_inside(seed: int) -> None:
    gram = Gram(mc.Gaussian(1.5), X)
    approximation = random_fourier(gram, 300, random_state=seed)
    missing = gram.dense() - approximation.dense()
    assert np.linalg.norm(missing, 2) <= approximation.above
    assert approximation.sampled_error == pytest.approx(np.sqrt(np.mean(missing**2)), rel=0.2)
    spectrum = leading(approximation.centred(), 5, random_state=0)
    truth = leading(gram.centred(), 5, random_state=0).values
    assert np.all(spectrum.certificate.lower <= truth)
    assert np.all(truth <= spectrum.certificate.upper)
    assert spectrum.certificate.failure_probability > 0.0
    assert spectrum.is_approximate


def test_the_error_of_pairs_of_more_points_is_sampled_from_copies_of_their_rows() -> None:
    x, kernel = np.random.default_rng(5).standard_normal((500, 3)), mc.Gaussian(1.5)
    found = random_fourier(Gram(kernel, x), 300, random_state=0)
    missing = kernel(x) - found.factor @ found.factor.T
    assert found.sampled_error == pytest.approx(np.sqrt(np.mean(missing**2)), rel=0.03)


def test_more_frequencies_are_more_accurate_and_landmarks_more_so() -> None:
    gram = Gram(mc.Gaussian(2.0), X)
    errors = [random_fourier(gram, m, random_state=0).sampled_error for m in (50, 5000)]
    assert errors[1] < errors[0] / 3


def test_kernels_without_such_features_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidParameter, match="Use nystrom"):
        fourier_features(mc.Linear(), 3, 10, rng)
    for kernel in (
        mc.Laplacian(1.0, norm=1.5),
        mc.kernels.Characteristic(np.cos),
        mc.Gaussian() ** 2,
    ):
        with pytest.raises(InvalidParameter, match="frequencies is not known"):
            fourier_features(kernel, 3, 10, rng)
    with pytest.raises(InvalidInput, match="2 bandwidths for 3"):
        fourier_features(mc.Gaussian((1.0, 2.0)), 3, 10, rng)


def test_waves_of_sparse_rows_are_those_of_dense_ones() -> None:
    table = X * (RNG.uniform(size=X.shape) < 0.4)
    dense = mc.RandomFourierFeatures(50, kernel=mc.Gaussian(1.0), random_state=0).fit(table)
    rows = sparse.csr_array(table)
    found = mc.RandomFourierFeatures(50, kernel=mc.Gaussian(1.0), random_state=0).fit(rows)
    assert found.sampled_error_ == pytest.approx(dense.sampled_error_, rel=1e-12)
    np.testing.assert_allclose(found.transform(rows), dense.transform(table), atol=1e-14)
    assert found.transform(rows.astype(np.float32)).dtype == np.float32


def test_as_many_directions_are_drawn_as_are_asked_for() -> None:
    directions = orthogonal_directions(20_000, 3, np.random.default_rng(0))  # 3 GB if all were
    np.testing.assert_allclose(directions @ directions.T, np.eye(3), atol=1e-12)
    blocks = orthogonal_directions(4, 10, np.random.default_rng(0))
    assert blocks.shape == (10, 4)
    for rows in (blocks[:4], blocks[4:8], blocks[8:]):
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)
