"""PCA and Nyström's kernel PCA of a million rows of 50 numbers on disk stay within 2 GB.

``python -m benchmarks.disk``: a .npy and a Parquet file of 400 MB are written once and removed at
last; each fit runs in a fresh process, of which the peak of memory beside that before the fit is
told.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from itertools import product
from pathlib import Path

import numpy as np

N, D, BUDGET = 1_000_000, 50, 2e9
FITS = {
    "PCA": "mc.PCA(10).fit(points)",
    "Nyström": "mc.KernelPCA(10, kernel=mc.Gaussian(10.0), method='nystrom', landmarks=100, "
    "memory='2GB', random_state=0).fit(points)",
}
SCRIPT = """
    import json, resource, threading, time, warnings
    from pathlib import Path
    import mercer as mc
    warnings.simplefilter("ignore")

    def held():  # what is no page of the file
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous"))
    peak, going = [0], True
    def watch():
        while going:
            peak[0] = max(peak[0], held())
            time.sleep(0.02)
    points = mc.open_points({path!r})
    before = held()
    thread = threading.Thread(target=watch); thread.start()
    begun = time.process_time()
    model = {fit}
    going = False; thread.join()
    print(json.dumps({{"cpu": time.process_time() - begun, "bytes": 1024 * (peak[0] - before),
                       "values": model.inertias_.tolist()}}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npy"
        rng = np.random.default_rng(0)
        file = np.lib.format.open_memmap(path, "w+", np.float64, (N, D))
        scale = np.linspace(3.0, 0.3, D)
        for start in range(0, N, 50_000):
            file[start : start + 50_000] = rng.standard_normal((50_000, D)) * scale
        del file
        for file, (name, fit) in product((path, in_groups(path)), FITS.items()):
            script = textwrap.dedent(SCRIPT).format(path=str(file), fit=fit)
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout)
            kind = file.suffix[1:]
            print(
                f"{name} of {N:,} x {D} in {kind}: {found['bytes'] / 1e6:.0f} MB at the most, "
                f"{found['cpu']:.0f} s of processor time (budget {BUDGET / 1e9:.0f} GB)",
                flush=True,
            )
            print(json.dumps({"claim": name, "file": kind, **found}))
            assert found["bytes"] <= 1.1 * BUDGET


def in_groups(path: Path) -> Path:
    """Write the same rows as a Parquet file, in groups of 50 000."""
    import pyarrow as pa
    from pyarrow import parquet

    values, place = np.load(path, mmap_mode="r"), path.with_suffix(".parquet")
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(D)])
    with parquet.ParquetWriter(place, schema, compression="none") as writer:
        for start in range(0, N, 50_000):
            rows = np.ascontiguousarray(values[start : start + 50_000].T)
            writer.write_table(pa.table(list(rows), schema=schema))
    return place


if __name__ == "__main__":
    main()
