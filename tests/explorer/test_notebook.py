"""The explorer of a notebook: which models it shows, whom its server answers, and how it ends."""

from __future__ import annotations

import re
import warnings
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.data.table import Table
from mercer.explorer import live
from mercer.explorer.guard import NOTEBOOKS
from mercer.explorer.server import application
from mercer.explorer.sessions import House, Visitor
from mercer.explorer.source import Source

testclient = pytest.importorskip("starlette.testclient")
pytest.importorskip("uvicorn")

IRIS = mc.datasets.iris()
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.Misleading")  # of curved maps
X = IRIS.matrix()
CITIES = mc.datasets.eurodist()
UNEQUAL = np.arange(1.0, len(X) + 1)
PAIRS = np.ones((len(CITIES), len(CITIES))) + np.eye(len(CITIES), k=1) + np.eye(len(CITIES), k=-1)


def state_of(model: Any, table: Any = None) -> dict[str, Any] | None:
    found = live.state_of_model(model, table)
    return None if found is None else found[1]


def weighted() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mc.errors.Misleading)
        return mc.analyse(IRIS, sample_weight=UNEQUAL, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        mc.PCA(2).fit(X, sample_weight=UNEQUAL),
        mc.PCA(2, column_weight=[1.0, 2.0, 1.0, 1.0]).fit(X),
        mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(X, sample_weight=UNEQUAL),
        mc.KernelPCA(2, kernel=mc.Gaussian(2.0), method="nystrom", landmarks=40).fit(X),
        mc.ClassicalMDS(2, correction="cailliez").fit(CITIES),
        mc.StressMDS(2, loss="sammon", random_state=0).fit(CITIES),
        mc.StressMDS(2, random_state=0).fit(CITIES, pair_weight=PAIRS),
        weighted(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_that_no_state_says_stays_on_its_frozen_page(model: Any) -> None:
    assert live.state_of_model(model) is None
    with pytest.raises(mc.errors.InvalidParameter, match="equal weights"):
        mc.explore(model, live=True)


def test_what_an_analysis_was_asked_is_in_the_state() -> None:
    found = state_of(mc.analyse(IRIS, n_components=3, curved="laplacian(2.0)", random_state=0))
    assert found is not None
    assert found["axes"] == 3
    assert found["kernel"] == str(mc.Laplacian(2.0))
    assert state_of(mc.analyse(CITIES, method="stress", random_state=0)) == {"method": "stress"}
    own = mc.analyse(IRIS, kernel=mc.Laplacian(2.0), random_state=0)
    assert state_of(own) is None  # the kernel of the only map is none that a state of a table has


def test_exploring_warns_of_nothing_that_the_page_says(recwarn: pytest.WarningsRecorder) -> None:
    middle = np.vstack([X, X.mean(axis=0)])
    mc.explore(mc.PCA(2).fit(middle), live=True)
    live.RUNNING.pop().close()
    assert [str(found.message) for found in recwarn] == []


def test_the_parameters_of_how_a_model_is_found_make_no_difference() -> None:
    model = mc.KernelPCA(2, kernel=mc.Gaussian(2.0), threads=1, random_state=3).fit(X)
    assert state_of(model) is not None
    assert state_of(mc.PCA(2).fit(X, sample_weight=np.full(len(X), 3.0))) is not None


def test_a_table_beside_distances_is_not_what_is_mapped() -> None:
    model = mc.ClassicalMDS(2, metric="euclidean").fit(X)
    assert state_of(model) == {"method": "mds", "axes": 2}
    assert state_of(model, IRIS) is None


def test_the_columns_of_a_model_are_those_that_the_explorer_analyses() -> None:
    frame = mc.datasets.decathlon()
    some = ["100m", "Long.jump", "Javeline"]
    model = mc.PCA(2, standardize=True).fit(frame.with_columns([*some, "Competition"]))
    found = live.state_of_model(model, frame)
    assert found is not None
    source, state = found
    assert [name for name, use in state["uses"].items() if use == "active"] == some
    assert "Competition" not in state["uses"]
    house = House(source)
    client = testclient.TestClient(application(token="t", house=house), base_url="http://localhost")
    visitor = client.post("/api/visit", headers={"mercer-token": "t"}).json()["visitor"]
    headers = {"mercer-token": "t", "mercer-visitor": visitor}
    answer = client.post("/api/analysis", headers=headers, json={"state": state})
    assert answer.status_code == 200, answer.text
    columns = answer.json()["explorer"]["columns"]
    assert [c["name"] for c in columns if c["use"] == "active"] == some
    kernel = mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(frame.with_columns(["100m", "400m"]))
    assert state_of(kernel, frame)["uses"]["Discus"] == "supplementary"  # type: ignore[index]
    assert "uses" not in (state_of(mc.PCA(2).fit(frame), frame) or {})
    assert state_of(mc.PCA(2).fit(frame.matrix()[:, :3]), frame) is None


def test_columns_of_other_names_are_not_those_of_the_model() -> None:
    rng = np.random.default_rng(0)
    table = Table.of({"a": rng.lognormal(size=20), "b": rng.lognormal(size=20)})
    logs = np.log(table.matrix())
    named = Table.of({"log a": logs[:, 0], "log b": logs[:, 1]})
    assert state_of(mc.PCA(2).fit(named), table) is None
    assert state_of(mc.KernelPCA(2, kernel=mc.Gaussian(2.0)).fit(named), table) is None
    assert state_of(mc.PCA(2).fit(table.matrix()), table) is not None


def test_the_axes_of_a_state_are_those_that_were_found() -> None:
    model = mc.PCA(0.9).fit(X)
    found = state_of(model)
    assert found == {"method": "pca", "scale": False, "axes": len(model.inertias_)}
    wide = mc.PCA(120).fit(np.random.default_rng(0).normal(size=(150, 130)))
    found = state_of(wide)
    assert found is not None
    assert found["axes"] == 100


@pytest.mark.parametrize(
    ("origin", "is_heard"),
    [
        ("http://localhost:8888", True),
        ("http://127.0.0.1:8888", True),
        ("https://127.0.0.1", True),
        ("vscode-webview://0a1b", True),
        ("https://evil.example", False),
        ("http://localhost.evil.example:8888", False),
        ("http://localhost:8888.evil.example", False),
        ("http://[::1]:8888", False),
        ("http://myhost:8888", False),
        ("null", False),
        ("vscode-webview", False),
    ],
)
def test_only_pages_that_may_show_the_explorer_hear_that_it_is_there(
    origin: str, is_heard: bool
) -> None:
    app = application(token="secret", house=House(None), is_embedded=True)
    raw = testclient.TestClient(app, base_url="http://127.0.0.1")
    answer = raw.get("/alive", params={"token": "secret"}, headers={"origin": origin})
    assert answer.status_code == (200 if is_heard else 403)
    assert answer.headers.get("access-control-allow-origin") == (origin if is_heard else None)
    assert f"frame-ancestors {' '.join(NOTEBOOKS)}" in answer.headers["content-security-policy"]
    app.app.state.house.close()


def test_a_page_whose_server_was_ended_is_frozen() -> None:
    shown = mc.explore(mc.PCA(2).fit(X), live=True)
    running = live.RUNNING[-1]
    assert shown.is_live
    script = shown._repr_html_().partition("<script>")[2]
    assert 'said !== "mercer"' in script
    assert re.findall(r'"sandbox", "([^"]*)"', script) == [
        "allow-scripts allow-same-origin allow-downloads"
    ]
    for _ in range(live.MOST):
        mc.explore(mc.PCA(2).fit(X), live=True)
    assert running not in live.RUNNING
    assert not shown.is_live
    assert "<script>" not in shown._repr_html_()
    while live.RUNNING:
        live.RUNNING.pop().close()


def test_a_server_that_does_not_begin_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr(live, "PATIENCE", 0.05)
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_: None)
    monkeypatch.setattr(live, "may_serve", lambda: True)
    before = list(live.RUNNING)
    shown = mc.explore(mc.PCA(2).fit(X))
    assert not shown.is_live
    assert before == live.RUNNING
    with pytest.raises(mc.errors.InvalidParameter, match="did not begin in 0.05 s"):
        mc.explore(mc.PCA(2).fit(X), live=True)


def test_work_that_comes_after_the_end_is_cancelled() -> None:
    house = House(Source(IRIS, "iris.csv", "mc.datasets.iris()"))
    house.close()
    _, future = house.begin(Visitor(), "analysis", lambda _: 1)
    with pytest.raises(CancelledError):
        future.result(5)
    assert house.waiting == 0
