"""PCA and Nyström's kernel PCA of a million rows of 50 numbers on disk stay within 2 GB.

``python -m benchmarks.disk [n]``: a .npy, a Parquet, an HDF5 file and a zarr store, where zarr is
there, of 400 MB each are written once and removed at last; each fit runs in a fresh process, of
which the peak of memory beside that before the fit is told. Other n have 2 kB for each row.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np

N = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
D, BUDGET, ROWS = 50, 2_000 * N, 50_000
FITS = {
    "PCA": "mc.PCA(10).fit(points)",
    "Nyström": "mc.KernelPCA(10, kernel=mc.Gaussian(10.0), method='nystrom', landmarks=100, "
    f"memory={BUDGET}, random_state=0).fit(points)",
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
    thread = threading.Thread(target=watch, daemon=True); thread.start()
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
        for start in range(0, N, ROWS):
            part = file[start : start + ROWS]
            part[:] = rng.standard_normal(part.shape) * scale
        del file
        files = [path, in_groups(path), in_hdf5(path)]
        if find_spec("zarr") is not None:
            files.append(in_zarr(path))
        for file, (name, fit) in product(files, FITS.items()):
            script = textwrap.dedent(SCRIPT).format(path=str(file), fit=fit)
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            kind = file.suffix[1:]
            print(
                f"{name} of {N:,} x {D} in {kind}: {found['bytes'] / 1e6:.0f} MB at the most, "
                f"{found['cpu']:.1f} s of processor time (budget {BUDGET / 1e9:.1f} GB)",
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
        for start in range(0, N, ROWS):
            rows = np.ascontiguousarray(values[start : start + ROWS].T)
            writer.write_table(pa.table(list(rows), schema=schema))
    return place


def in_hdf5(path: Path) -> Path:
    """Write the same rows as an HDF5 file, in chunks of 10 000."""
    import h5py

    values, place = np.load(path, mmap_mode="r"), path.with_suffix(".h5")
    with h5py.File(place, "w") as file:
        made = file.create_dataset("points", (N, D), "f8", chunks=(10_000, D))
        for start in range(0, N, ROWS):
            made[start : start + ROWS] = values[start : start + ROWS]
    return place


def in_zarr(path: Path) -> Path:
    """Write the same rows as a zarr store, in chunks of 10 000."""
    zarr = import_module("zarr")
    values, place = np.load(path, mmap_mode="r"), path.with_suffix(".zarr")
    made = zarr.create_array(place, shape=(N, D), chunks=(10_000, D), dtype="f8")
    for start in range(0, N, ROWS):
        made[start : start + ROWS] = values[start : start + ROWS]
    return place


if __name__ == "__main__":
    main()
