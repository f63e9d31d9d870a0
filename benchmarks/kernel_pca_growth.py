"""Claim: time grows as n² and memory as n, up to sizes no peer can store."""

from __future__ import annotations

import json
import sys
from typing import Any

from kernel_pca_exact import mercer
from measure import child, exponent, run


def main(sizes: list[int]) -> None:
    rows: list[dict[str, Any]] = []
    for n in sizes:
        figures = run(__file__, "mercer", n=n, touched=False)
        rows.append({"n": n, **{k: v for k, v in figures.items() if k != "values"}})
        print(
            f"n = {n}: {figures['seconds']:.1f} s, {figures['memory']:.0f} MB, residual "
            f"{figures['residual']:.1e}, enclosed to {figures['error']:.1e}, "
            f"{figures['ordered']} of 10 axes proved to be the leading ones",
            flush=True,
        )
    time = exponent(sizes, [row["seconds"] for row in rows])
    memory = exponent(sizes, [row["memory"] for row in rows])
    print(
        f"From n = {sizes[0]} to {sizes[-1]} the time grows as n^{time:.2f} and the memory as "
        f"n^{memory:.2f}."
    )
    print(json.dumps({"time_exponent": time, "memory_exponent": memory, "rows": rows}))


if __name__ == "__main__" and not child({"mercer": mercer}):
    main([int(n) for n in sys.argv[1:]] or [5_000, 10_000, 20_000, 40_000, 100_000])
