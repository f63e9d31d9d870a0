"""Claim: an early pass in one half-precision term does not pay, as fast as it is.

Points, values and vectors are one half each, so that a product asks tensor cores for a third. What
it rounds is far above 1e-5, and images stay in the space of the iteration: the rough ones have to
go. So the first pass is made in one term, the next one multiplies corrected Ritz vectors in split
halves, and the space begins anew with these. Both courses are counted on the same start.

    python -m benchmarks.gpu_one_term    # needs a GPU that torch can use
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

import mercer as mc
from benchmarks.gpu import clusters, rings, seconds, torch
from mercer.davidson import Subspace, orthonormal
from mercer.engines.held import Held
from mercer.spectrum.exact import _filled, _preconditioner
from mercer.spectrum.room import sizes

ROWS, COLUMNS, TERMS, WIDTH = 128, 64, 512, 16


@triton.jit
def one_term(  # noqa: PLR0913, PLR0917
    X, Y, x_norms, y_norms, V, OUT, n, columns,
    K: tl.constexpr, B: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    TERMS: tl.constexpr,
):  # fmt: skip
    """Write exp2(-|x - y|²) times vectors, for a block of rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    is_row = rows < n
    places, few = tl.arange(0, K), tl.arange(0, B)
    x = tl.load(X + rows[:, None] * K + places[None, :], mask=is_row[:, None], other=0.0)
    x_norm = tl.load(x_norms + rows, mask=is_row, other=0.0)
    total = tl.zeros((ROWS, B), tl.float32)
    for start in range(0, columns, TERMS):
        part = tl.zeros((ROWS, B), tl.float32)
        for here in range(start, start + TERMS, COLUMNS):
            others = here + tl.arange(0, COLUMNS)
            inner = tl.dot(x, tl.load(Y + others[None, :] * K + places[:, None]))
            y_norm = tl.load(y_norms + others)
            values = tl.exp2(2.0 * inner - x_norm[:, None] - y_norm[None, :] + 14.0)
            v = tl.load(V + others[:, None] * B + few[None, :])
            part = tl.dot(values.to(tl.float16), v, part)
        total += part
    tl.store(OUT + rows[:, None] * B + few[None, :], total, mask=is_row[:, None])


class Rough:
    """Products with a Gaussian Gram matrix in one half-precision term."""

    def __init__(self, x, bandwidth):
        self.n, d = x.shape
        height, self.width = self.n + -self.n % TERMS, max(16, 1 << (d - 1).bit_length())
        scaled = (x - x.mean(dim=0)) * (0.5 * np.log2(np.e)) ** 0.5 / bandwidth
        self.points = torch.zeros((height, self.width), dtype=torch.float16, device=x.device)
        self.points[: self.n, :d] = scaled.to(torch.float16)
        self.norms = self.points.float().square().sum(dim=1)

    def product(self, vectors):
        """Return K V, for at most 16 vectors."""
        units = 64.0 / vectors.abs().amax(dim=0)
        V = torch.zeros((len(self.points), WIDTH), dtype=torch.float16, device=vectors.device)
        V[: self.n, : len(units)] = (vectors * units).to(torch.float16)
        out = torch.empty((self.n, WIDTH), device=vectors.device)
        one_term[(-(-self.n // ROWS),)](
            self.points, self.points, self.norms, self.norms, V, out, self.n, len(self.points),
            self.width, WIDTH, ROWS, COLUMNS, TERMS, num_warps=4, num_stages=3,
        )  # fmt: skip
        return out[:, : len(units)].double() / (units * 2.0**14)


def course(operator, rough, count, tol, is_rough):
    """Return the residuals after each pass, the first of them rough or not."""
    n, engine = operator.shape[0], operator.base.engine
    block, rank = sizes(n, count, engine.landmarks(n))
    preconditioner, _ = _preconditioner(operator, count, rank, 0)
    basis = orthonormal(_filled(preconditioner, block, 0), engine)
    images = rough(basis) if is_rough else operator.product(basis, single=True)
    space, history = Subspace.spanned(basis, images, 0.0, engine), []
    while len(history) < 12:
        values, axes = space.rayleigh_ritz()
        first = space.pairs(values[:block], axes[:, :block])
        norms = np.linalg.norm(first.residuals[:, :count], axis=0)
        history.append(float(norms.max() / values[0]))
        if history[-1] <= tol and not (is_rough and len(history) == 1):
            break
        corrections = preconditioner.correct(first.vectors, first.residuals, first.values)
        if is_rough and len(history) == 1:
            basis = orthonormal(first.vectors - corrections, engine)
            space = Subspace.spanned(basis, operator.product(basis, single=True), 0.0, engine)
        else:
            fresh = orthonormal(corrections, engine, against=space.basis)
            space = space.extended(fresh, operator.product(fresh, single=True), 0.0)
    return history


def compare(label, data, bandwidth, n) -> None:
    """Print the speed of both products, and the course of both iterations."""
    x = torch.as_tensor(data(n), device="cuda")
    gram = mc.Gram(mc.Gaussian(bandwidth), Held(x))
    one, v = Rough(x, bandwidth), torch.randn(n, WIDTH, device="cuda").double()
    quick = seconds(lambda: one.product(v))
    split = seconds(lambda: gram.product(Held(v), single=True))
    exact = gram.product(Held(v), single=True).tensor
    error = float((one.product(v) - exact).norm() / exact.norm())
    rates = f"{n * n / quick:.2e} and {n * n / split:.2e} entries/s"
    print(f"{label}, n = {n}: {rates} in one term and split, error {error:.0e}")
    operator = gram.centred()
    root = operator.roots[0, 0]

    def rough(basis):
        u = basis.tensor - basis.tensor.mean(dim=0)
        z = root * one.product(root * u)
        return Held(z - z.mean(dim=0))

    for is_rough in (False, True):
        with gram.engine.session():
            history = course(operator, rough, 10, 1e-5, is_rough)
        spent = split * len(history) - is_rough * (split - quick)
        told = ", ".join(f"{r:.1e}" for r in history)
        what = "first in one term" if is_rough else "all split"
        print(f"  {what}: {told}; {spent:.3f} s of passes", flush=True)


def main() -> None:
    print(torch.cuda.get_device_name(), torch.__version__)
    for label, data, bandwidth in (("clusters", clusters, 6.0), ("rings", rings, 1.0)):
        for n in (100_000, 1_000_000):
            compare(label, data, bandwidth, n)


if __name__ == "__main__":
    main()
