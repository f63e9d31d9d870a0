from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import stat
import subprocess
import sys
import threading
from copy import deepcopy
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import mercer as mc
from mercer.engines.cpu import Threads
from mercer.engines.tiles import Block
from mercer.pca.centred_tables import DenseTable
from mercer.spectrum import Spectrum
from mercer.store import about, load, packing, save
from mercer.store import file as store_file

RNG = np.random.default_rng(6)
X = RNG.standard_normal((40, 3))
NEW = RNG.standard_normal((7, 3))
WORDS = ["banana", "bandana", "cabana", "ananas", "can"]
SETS = [frozenset(word) for word in WORDS]


def fitted(**more: Any) -> mc.KernelPCA:
    return mc.KernelPCA(2, kernel=mc.Gaussian(1.3), **more).fit(X)


def round_trip(value: Any, folder: Path) -> Any:
    save(value, folder / "value.mercer")
    return load(folder / "value.mercer")


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(1.3),
        mc.Gaussian((0.1, 0.3, 7.0)) * mc.Linear() + 0.1 * mc.Matern(1.5, 2.0),
        (mc.Polynomial(2) + mc.kernels.Constant(0.7)).normalised(),
        mc.kernels.Bilinear(np.diag([1.0, 2.0, 1 / 3])),
        "gaussian(bandwidth='median')",
        "laplacian()",
    ],
    ids=str,
)
def test_a_loaded_model_transforms_to_the_last_bit(tmp_path: Path, kernel: Any) -> None:
    model = mc.KernelPCA(2, kernel=kernel).fit(X)
    save(model, tmp_path / "m.mercer")
    again = mc.load(tmp_path / "m.mercer")
    assert type(again) is mc.KernelPCA
    assert np.array_equal(again.transform(NEW), model.transform(NEW))
    assert again.get_params() == model.get_params()
    assert again.kernel_ == model.kernel_
    assert np.array_equal(again.inertias_, model.inertias_)


@pytest.mark.parametrize(
    ("kernel", "points"),
    [
        (mc.kernels.Intersection(), SETS),
        (mc.kernels.Intersection().gaussian(2.0), [set(s) for s in SETS]),
        (mc.kernels.AllSubsets().normalised(), SETS),
        (mc.kernels.Delta(), WORDS),
        (mc.kernels.Delta(), [(1, "a"), (2, "b"), (3, None)]),
    ],
    ids=["sets", "mutable sets", "normalised", "words", "tuples"],  # sets have no order
)
def test_points_that_are_not_arrays_are_kept_as_they_are(
    tmp_path: Path, kernel: mc.Kernel, points: list[Any]
) -> None:
    model = mc.KernelPCA(kernel=kernel).fit(points)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert again.X_fit_ == points
    assert type(again.X_fit_[0]) is type(points[0])
    assert np.array_equal(again.transform(points[::-1]), model.transform(points[::-1]))


def test_products_of_spaces_and_precomputed_matrices_are_kept(tmp_path: Path) -> None:
    K = mc.Gaussian(1.0)(X)
    model = mc.KernelPCA(2, kernel="precomputed").fit(K)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert np.array_equal(again.transform(K), model.transform(K))
    assert again.kernel_ == model.kernel_  # its text would be too long: it is kept as an array
    pairs = mc.data.Paired(X, WORDS * 8)
    other = mc.KernelPCA(
        2, kernel=mc.kernels.tensor_product(mc.Gaussian(1.0), mc.kernels.Delta())
    ).fit(pairs)
    save(other, tmp_path / "p.mercer")
    assert np.array_equal(load(tmp_path / "p.mercer").transform(pairs), other.transform(pairs))


def test_the_spectrum_comes_back_with_its_certificate(tmp_path: Path) -> None:
    model = fitted()
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert isinstance(again.spectrum_, Spectrum)
    assert again.spectrum_.how == model.spectrum_.how
    assert again.spectrum_.clusters == model.spectrum_.clusters
    assert np.array_equal(again.spectrum_.errors, model.spectrum_.errors)
    told = about(tmp_path / "m.mercer")
    assert told["kernel"] == "gaussian(bandwidth=1.3)"
    assert told["values"] == model.spectrum_.values.tolist()
    assert told["errors"] == model.spectrum_.errors.tolist()
    assert told["versions"]["mercer"] == mc.__version__


@pytest.mark.parametrize(
    "model",
    [
        mc.KernelPCA(2, kernel=mc.Gaussian(1.0)),
        mc.PCA(2).fit(X),
        mc.ClassicalMDS(2, metric="euclidean").fit(X),
        mc.KernelPCA(2, kernel=mc.Linear()).fit(X.astype(np.float32)),
    ],
    ids=["not fitted", "PCA", "ClassicalMDS", "single precision"],
)
def test_any_model_is_stored_by_its_parameters_and_attributes(tmp_path: Path, model: Any) -> None:
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert vars(again).keys() == vars(model).keys()
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(vars(again)[name], value)
            assert vars(again)[name].dtype == value.dtype
            assert vars(again)[name].flags.writeable


def test_an_engine_and_a_sparse_matrix_are_kept(tmp_path: Path) -> None:
    model = fitted(engine=Threads(1, is_deterministic=True))
    model.rows_ = sparse.csr_array(np.diag([1.0, 0.0, 2.0]))
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert isinstance(again.engine, Threads)
    assert again.engine.is_deterministic
    assert np.array_equal(again.rows_.toarray(), np.diag([1.0, 0.0, 2.0]))
    assert np.array_equal(again.transform(NEW), model.transform(NEW))


def test_graphs_and_named_tuples_are_kept(tmp_path: Path) -> None:
    paths = [mc.Graph([(i, i + 1) for i in range(n)], labels="ab" * 4, n=8) for n in (1, 2, 4, 7)]
    model = mc.KernelPCA(2, kernel=mc.kernels.WeisfeilerLehman(2)).fit(paths)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert again.X_fit_ == paths
    assert np.array_equal(again.transform(paths[::-1]), model.transform(paths[::-1]))
    block: Any = Block((0, 1), (2, 3))  # type: ignore[arg-type]
    assert round_trip(block, tmp_path) == block
    assert type(round_trip(block, tmp_path)) is Block


def test_a_model_that_holds_itself_is_refused(tmp_path: Path) -> None:
    model = fitted()
    model.self_ = model
    with pytest.raises(mc.errors.NotStorable, match="KernelPCA.self_ is what holds it"):
        save(model, tmp_path / "m.mercer")


def test_names_of_features_and_output_settings_are_kept(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = mc.KernelPCA(2, kernel=mc.Gaussian(1.0)).set_output(transform="pandas").fit(frame)
    save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.transform(frame).equals(model.transform(frame))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**100,
        -0.0,
        float("inf"),
        1 + 2j,
        "λ \u2028 \ud800"[:3],
        (1, [2, (3,)], {"a": {4}, 5: frozenset({"b"})}),
        np.float32(1.5),
        np.arange(6).reshape(2, 3).T,
        np.asfortranarray(RNG.standard_normal((3, 4))),
        RNG.standard_normal((4, 6))[::2, 1::2],
        np.zeros((0, 3)),
        np.array([1.0, np.nan, -np.inf]),
        np.array(["a", None, 3], object),
        np.array(["ab", "c"]),
        np.arange(3, dtype=">i4"),
        np.array([True, False]),
    ],
    ids=lambda v: f"{type(v).__name__} {str(v)[:20]}",
)
def test_values_come_back_equal_and_of_the_same_type(tmp_path: Path, value: Any) -> None:
    again = round_trip(value, tmp_path)
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(again, value)
        assert again.dtype == value.dtype.newbyteorder("=")
        assert again.shape == value.shape
    else:
        assert again == value
        assert repr(again) == repr(value)


def test_the_order_of_an_array_in_memory_is_kept(tmp_path: Path) -> None:
    """Products of matrices round differently in another order."""
    model = fitted()
    model.extra_ = np.asfortranarray(X)
    save(model, tmp_path / "m.mercer")
    assert load(tmp_path / "m.mercer").extra_.flags.f_contiguous


def test_equal_arrays_are_stored_once(tmp_path: Path) -> None:
    model: Any = fitted()
    save(model, tmp_path / "one.mercer")
    model.copies_ = [model.X_fit_.copy() for _ in range(50)]
    save(model, tmp_path / "many.mercer")
    grown = (tmp_path / "many.mercer").stat().st_size - (tmp_path / "one.mercer").stat().st_size
    assert grown < X.nbytes
    again = load(tmp_path / "many.mercer")
    again.copies_[0][:] = 0.0  # and yet who changes one changes no other
    assert np.array_equal(again.copies_[1], X)
    assert np.array_equal(again.X_fit_, X)


def function_of_two_points(a: Any, b: Any) -> float:
    return float(a[0] * b[0])


def holding(value: Any) -> mc.KernelPCA:
    """Return a model with a parameter of any kind."""
    return mc.KernelPCA(1, random_state=value)


@dataclass(frozen=True)
class Foreign:
    """A value that is not mercer's."""

    x: int = 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            mc.KernelPCA(1, kernel=function_of_two_points),
            "KernelPCA.kernel is the Python function function_of_two_points",
        ),
        (
            mc.KernelPCA(1, kernel=mc.FromFunction(function_of_two_points) + mc.Linear()),
            "the Python function function_of_two_points",
        ),
        (mc.KernelPCA(1, kernel=mc.Linear().on(np.tanh)), "Python function tanh"),
        (holding(np.random.default_rng(0)), "a whole number as the seed"),
        (holding(Foreign()), "which is not one of mercer's classes"),
        (holding(np.array([np.datetime64("2020-01-01")])), r"datetime64\[D\]"),
        (holding(np.longdouble(1)), "which other machines lack"),
        (holding(np.ma.masked_equal([1.0, 2.0], 1.0)), "is a masked array"),
        (object(), "is a builtins.object"),
    ],
    ids=["function", "in a sum", "on", "generator", "foreign", "dates", "long", "masked", "object"],
)
def test_what_cannot_be_written_is_refused_by_name(
    tmp_path: Path, model: Any, message: str
) -> None:
    with pytest.raises(mc.errors.NotStorable, match=message):
        save(model, tmp_path / "m.mercer")
    assert list(tmp_path.iterdir()) == []


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    save(mc.KernelPCA(1, kernel=mc.Gaussian(1.0)).fit(X[:4]), path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    places = [
        *range(64),
        *rng.integers(0, len(whole), 300).tolist(),
        *range(len(whole) - 40, len(whole)),
    ]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(mc.errors.UnreadableFile, match=r"m\.mercer"):
            load(path)


def test_every_cut_and_every_addition_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    save(mc.KernelPCA(1, kernel=mc.Gaussian(1.0)).fit(X[:4]), path)
    whole = path.read_bytes()
    for length in [1, 7, 8, 27, 28, 100, len(whole) // 2, len(whole) - 32, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(mc.errors.CorruptFile):
            load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(mc.errors.CorruptFile, match="should have"):
        load(path)


def signed(header: bytes, *, version: int = 1, data: bytes = b"") -> bytes:
    """Return a file of the format whose sum is right, whatever it says."""
    start = -(-(28 + len(header)) // 64) * 64
    body = store_file.PREFIX.pack(
        store_file.MAGIC, version, len(header), start + len(data) + 32
    ) + header.ljust(start - 28, b"\0")
    return body + data + hashlib.sha256(body + data).digest()


def header_of(model: Any, arrays: Any = ()) -> bytes:
    whole = {"model": model, "arrays": list(arrays), "about": {}, "versions": {}}
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (signed(b"{}", version=2), "format 2, and this version of mercer reads up to 1"),
        (b"PK\x03\x04" + bytes(50), "not a file that mercer saved"),
        (pickle.dumps({"a": 1}), "not a file that mercer saved"),
        (signed(b"not json"), "no readable header"),
        (signed(b"[1, 2]"), "no readable header"),
        (signed(b"{}"), "a part is missing"),
        (signed(b"[" * 10**5), "no readable header"),
        (signed(header_of({"array": 0})), "cannot be understood"),
        (signed(header_of({"spell": 1})), "'spell', which this version does not know"),
        (
            signed(header_of({"value": ["os.system", {"command": "true"}]})),
            "names 'os.system', which is no class",
        ),
        (signed(header_of({"object": ["mercer.Gaussian", {"bandwidth": -1.0}]})), "no class it"),
        (signed(header_of({"object": ["mercer.check.os", {}]})), "no class it"),
        (signed(header_of({"made": ["mercer.errors.MercerError", ["x"]]})), "no class it"),
        (signed(header_of({"made": ["mercer.store.packing.Arrays", []]})), "no class it"),
        (signed(header_of({"sparse": ["system", [], [1, 1]]})), "no class of sparse matrices"),
        (
            signed(header_of({"value": ["mercer.store.save", {}]})),
            "which is no class it could hold",
        ),
        (signed(header_of({"model": ["mercer.KernelPCA", {"nothing": 1}, {}]})), "understood"),
        (signed(header_of({"kernel": "__import__('os')"})), "__import__"),
        (
            signed(
                header_of(None, [{"dtype": "<f8", "shape": [10**12], "order": "C", "offset": 0}])
            ),
            "describes an array that is not in it",
        ),
        (
            signed(header_of(None, [{"dtype": "<f8", "order": "C", "offset": 0}])),
            "describes an array that makes no sense: 'shape'",
        ),
        (
            signed(header_of(None, [{"dtype": "|O", "shape": [1], "order": "C", "offset": 0}])),
            "describes an array that is not in it",
        ),
        (
            signed(header_of(None, [{"dtype": "<f8", "shape": [-1], "order": "C", "offset": 0}])),
            "describes an array that is not in it",
        ),
        (
            signed(header_of(None, [{"dtype": "<f8", "shape": [1], "order": "C", "offset": -64}])),
            "describes an array that is not in it",
        ),
    ],
)
def test_files_that_are_whole_but_wrong_run_nothing_and_are_named(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "m.mercer"
    path.write_bytes(data)
    with pytest.raises(mc.errors.InvalidInput, match=message):
        load(path)


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        ("mercer.reading.scores.Scores", "mercer.reading.links"),  # a module that is no more
        ("mercer.reading.links.Variables", "mercer.reading.contributions_and_v_tests"),  # that is
    ],
)
def test_classes_are_found_by_the_names_of_earlier_versions(earlier: str, now: str) -> None:
    found = packing._class(earlier, lambda cls: True)
    assert (found.__module__, found.__name__) == (now, earlier.rpartition(".")[2])


@pytest.mark.parametrize("earlier", packing.EARLIER)
def test_every_earlier_name_leads_to_a_class(earlier: str) -> None:
    home, _, name = packing.EARLIER[earlier].rpartition(".")
    found = packing._class(earlier, lambda cls: True)
    assert (found.__module__, found.__name__) == (home, name)


def test_a_huge_declared_file_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    with path.open("wb") as file:
        file.write(store_file.PREFIX.pack(store_file.MAGIC, 1, 10, 2**40))
        file.truncate(2**33)  # sparse
    with pytest.raises(mc.errors.CorruptFile, match="should have"):
        load(path)


def test_files_of_another_byte_order_are_read(tmp_path: Path) -> None:
    data = np.arange(3, dtype=">f8").tobytes().ljust(64, b"\0")
    about_it = [{"dtype": ">f8", "shape": [3], "order": "C", "offset": 0}]
    path = tmp_path / "m.mercer"
    path.write_bytes(signed(header_of({"array": 0}, about_it), data=data))
    assert load(path).tolist() == [0.0, 1.0, 2.0]


def test_a_full_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.mercer"
    save(fitted(), path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(mc.errors.NotSaved, match="No space left on device"):
        save(fitted(tol=1e-8), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.mercer"]


def test_a_limit_on_the_size_of_files_is_noticed(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys, numpy as np; from mercer.store import save;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "save(np.random.rand(400, 9), sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.mercer")], capture_output=True, text=True
    )
    assert "mercer.errors.NotSaved" in done.stderr
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    model = fitted()
    with pytest.raises(mc.errors.NotSaved, match="No such file"):
        save(model, tmp_path / "nowhere" / "m.mercer")
    with pytest.raises(mc.errors.NotSaved, match="a folder, a pipe or a device"):
        save(model, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(mc.errors.NotSaved, match="a folder, a pipe or a device"):
        save(model, tmp_path / "pipe")
    with pytest.raises(mc.errors.NotSaved, match="null"):
        save(model, "a\0b")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS, errno.EMFILE])
def test_a_folder_that_may_not_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(*_: Any) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("os.open", refuse)  # root may write everywhere, so the system is played
    with pytest.raises(mc.errors.NotSaved, match=os.strerror(code)):
        save(fitted(), tmp_path / "m.mercer")
    assert not store_file._unfinished  # nothing was begun, and nothing is to be removed


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    save(fitted(), tmp_path / "real" / "m.mercer")
    (tmp_path / "link.mercer").symlink_to(tmp_path / "real" / "m.mercer")
    save(fitted(tol=1e-7), tmp_path / "link.mercer")
    assert (tmp_path / "link.mercer").is_symlink()
    assert load(tmp_path / "real" / "m.mercer").tol == 1e-7


def test_two_writers_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    models = [fitted(tol=tol) for tol in (1e-7, 1e-8)]

    def write(model: Any) -> None:
        for _ in range(20):
            save(model, path)

    threads = [threading.Thread(target=write, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    seen = set()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            seen.add(load(path).tol)
    for thread in threads:
        thread.join()
    assert seen <= {1e-7, 1e-8}
    assert load(path).tol in (1e-7, 1e-8)
    assert os.listdir(tmp_path) == ["m.mercer"]


KILLED = """
import os, signal, sys
import numpy as np
from mercer.store import file, load, save
path = sys.argv[1]
old, new = (np.arange(900.0), "old"), (np.ones(5), [np.eye(9)] * 3, "new")
counts = [0, 10**6]
def tick():
    if counts[0] == counts[1]:
        os.kill(os.getpid(), signal.SIGKILL)
    counts[0] += 1
def counted(function):
    def stopping(*given, **named):
        tick()
        return function(*given, **named)
    return stopping
parts = file.parts_of
def in_steps(header, arrays):
    for part in parts(header, arrays):
        tick()
        yield part
save(old, path)
file.parts_of = in_steps
os.open, os.fsync, os.replace = counted(os.open), counted(os.fsync), counted(os.replace)
save(new, path)
events = counts[0]
states = []
for point in range(events):
    counts[:] = [0, 10**6]
    save(old, path)
    child = os.fork()
    if child == 0:
        counts[:] = [0, point]
        save(new, path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    states.append(load(path)[-1])
print(*states)
"""


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    """Killed before each part, before and after they are on the disk, before and after the name."""
    command = [sys.executable, "-c", KILLED, str(tmp_path / "m.mercer")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    states = done.stdout.split()
    assert len(states) >= 10
    assert states == sorted(states, reverse=True)  # old, and from the new name on new
    assert set(states) == {"old", "new"}


def test_a_model_is_loaded_in_a_new_process(tmp_path: Path) -> None:
    model = fitted()
    save(model, tmp_path / "m.mercer")
    code = (
        "import sys, mercer; print(mercer.load(sys.argv[1]).transform([[0.1, 0.2, 0.3]]).tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.mercer")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == model.transform([[0.1, 0.2, 0.3]]).tolist()


def test_classes_are_found_in_the_package_where_a_file_saw_them() -> None:
    """Files outlive the modules of the version that wrote them."""
    assert packing._class("mercer.pca.tables.DenseTable", is_dataclass) is DenseTable
    names = (
        "mercer.pca.tables.Nothing",
        "mercer.nowhere.Thing",
        "mercer.a.b.c.D",
        "mercer.gram.a.B",
    )
    for name in names:
        with pytest.raises(mc.errors.CorruptFile, match="no class it could hold"):
            packing._class(name, is_dataclass)


def test_a_model_of_a_device_is_stored_by_the_word_for_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from mercer.engines.gpu import Gpu

    model = fitted(engine=Gpu("cpu"))
    again = round_trip(model, tmp_path)
    assert again.engine == "auto"
    np.testing.assert_allclose(again.transform(NEW), model.transform(NEW), atol=1e-9)


def test_a_model_of_a_cluster_is_stored_and_copied_by_the_word_for_it(tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed")
    from mercer.engines.cluster import Cluster

    with distributed.Client(processes=False, dashboard_address=None) as client:
        for engine in (client, Cluster(client)):
            model = fitted(engine=engine)
            copies = [
                round_trip(model, tmp_path),
                pickle.loads(pickle.dumps(model)),
                deepcopy(model),
            ]
            assert model.engine is engine
            for copy in copies:
                assert copy.engine == "dask"
                np.testing.assert_allclose(copy.transform(NEW), model.transform(NEW), atol=1e-9)
