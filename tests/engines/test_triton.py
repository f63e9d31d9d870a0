"""Products that triton compiles, run by its interpreter on the processor, in a process of its own.

The interpreter is chosen when triton is imported, and has no tensor cores: sums are not cut there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

SCRIPT = """
import numpy as np
import mercer as mc
from mercer.engines.gpu import Gpu
from mercer.engines.triton_products import compiled

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
for d in (4, 40, 150):
    x, v = 1.0 + rng.standard_normal((140, d)), rng.standard_normal((140, 5))
    for kernel in kernels if d == 4 else kernels[:1]:
        stretched = kernel if d == 4 else mc.Gaussian(float(d) ** 0.5)
        for y in (None, x[:90] + 0.1):
            w = v if y is None else v[:90]
            gram = mc.Gram(stretched, x, y, engine=engine)
            fused = engine._fused(gram.cut(single=True))
            assert fused is not None, kernel
            found, exact = gram.product(w, single=True), mc.Gram(stretched, x, y).product(w)
            bound = gram.entry_rounding(single=True).product * np.abs(w).sum(axis=0)
            assert np.all(np.abs(found - exact) <= bound), kernel
            error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
            assert error <= 1e-5, (kernel, error)
one, two = (engine._fused(mc.Gram(k, x, engine=engine).cut(single=True)) for k in kernels[:2])
assert one._formula[0] is two._formula[0], "another bandwidth is compiled anew"
print("done")
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="triton cannot be installed here")
def test_compiled_products_are_right_in_the_interpreter() -> None:
    pytest.importorskip("torch")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1"}
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300
    )
    assert found.stdout.strip() == "done", found.stderr[-2000:]
