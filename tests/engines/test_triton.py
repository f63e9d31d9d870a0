"""Products that triton compiles, run by its interpreter on the processor, in a process of its own.

The interpreter is chosen when triton is imported, and has no tensor cores: sums are not cut there.
It reads more than the compiler takes, which needs no GPU to make code for one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

SCRIPT = """
import numpy as np
import mercer as mc
from mercer.engines.gpu import Gpu

rng = np.random.default_rng(0)
kernels = [
    mc.Gaussian(1.5),
    mc.Gaussian(0.7),
    mc.Matern(0.5, 2.0),
    mc.Polynomial(3, 1.0, 0.2),
    mc.kernels.RationalQuadratic(1.3, 1.0),
    mc.Gaussian(1.0) * mc.Linear() + 0.5 * mc.Matern(1.5, 2.0) + 2.0,
]
engine = Gpu("cpu")
engine.is_fused = True
for d in (1, 2, 3, 4, 40, 150):
    x, v = 1.0 + rng.standard_normal((140, d)), rng.standard_normal((140, 5))
    for kernel in kernels if d in (1, 4) else kernels[:1]:
        stretched = kernel if d <= 4 else mc.Gaussian(float(d) ** 0.5)
        for y in (None, x[:90] + 0.1):
            w = v if y is None else v[:90]
            gram = mc.Gram(stretched, x, y, engine=engine)
            fused = engine._fused(gram.cut(single=True))
            assert fused is not None, kernel
            found, exact = gram.product(w, single=True), mc.Gram(stretched, x, y).product(w)
            bound = gram.entry_rounding(single=True).product * np.abs(w).sum(axis=0)
            assert np.all(np.abs(found - exact) <= bound), kernel
            error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
            assert error <= (1e-6 if d <= 3 else 1e-5), (kernel, error)
one, two = (engine._fused(mc.Gram(k, x, engine=engine).cut(single=True)) for k in kernels[:2])
assert one._formula[0] is two._formula[0], "another bandwidth is compiled anew"
print("done")
"""

COMPILED = """
import mercer as mc
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from mercer.engines.fused import TERMS, Launch, Layout, lines_of
from mercer.engines.trace import traced_formula
from mercer.engines.triton_products import compile_formula, product

formula = traced_formula(mc.Gaussian(1.0) * mc.Linear() + mc.Matern(0.5, 2.0))
types = {"X": "*fp16", "Y": "*fp16", "V": "*fp16", "OUT": "*fp64"}
types |= dict.fromkeys(("n", "span", "columns", "begin", "count"), "i32")
places = {name: (i,) for i, name in enumerate(product.arg_names)}
for d in (1, 3, 20, 50, 150):
    layout, launch = Layout.of(d, has_distances=True), Launch()
    function, _ = compile_formula(
        lines_of(formula, 4.0, 0.5, is_steep=True, has_differences=layout.parts == 0)
    )
    fixed = {
        "formula": function, "WIDTH": layout.width, "K": layout.held, "PARTS": layout.parts,
        "B": 16, "ROWS": launch.rows, "COLUMNS": launch.columns, "TERMS": TERMS,
    }
    signature = {
        name: "constexpr" if name in fixed else types.get(name, "*fp32") for name in places
    }
    source = ASTSource(product, signature, {places[name]: value for name, value in fixed.items()})
    options = {"num_warps": launch.warps, "num_stages": launch.stages}
    made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert "wgmma" in made.asm["ptx"], "tensor cores have nothing to do"
print("done")
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def has_interpreter() -> bool:
    """Whether triton's interpreter can count a loop to a bound that was computed.

    Before 3.7 it takes int() of an array of one entry there, which numpy refuses since 2.4.
    """
    is_old = tuple(int(part) for part in version("triton").split(".")[:2]) < (3, 7)
    return not (is_old and np.lib.NumpyVersion(np.__version__) >= "2.4.0")


@pytest.mark.skipif(find_spec("triton") is None, reason="triton cannot be installed here")
def test_compiled_products_are_right_in_the_interpreter() -> None:
    pytest.importorskip("torch")
    if not has_interpreter():
        pytest.skip("the interpreter of triton before 3.7 fails with numpy 2.4 and later")
    found = run(SCRIPT, TRITON_INTERPRET="1")
    assert found.stdout.strip() == "done", found.stderr[-2000:]


@pytest.mark.skipif(find_spec("triton") is None, reason="triton cannot be installed here")
def test_products_of_every_layout_are_compiled_for_a_gpu(tmp_path: Path) -> None:
    found = run(COMPILED, TRITON_CACHE_DIR=str(tmp_path))
    assert found.stdout.strip() == "done", found.stderr[-2000:]
