"""The server of the explorer: every route, who may ask, and what it refuses."""

from __future__ import annotations

import base64
import io
import json
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.analysis import complete_analysis
from mercer.analysis.choice import NAMES
from mercer.cli import main
from mercer.data.table import Table
from mercer.datasets.examples import EXAMPLES, NETWORKS
from mercer.explorer import live, server
from mercer.explorer.answers import analysis_of, answer, straight_of
from mercer.explorer.cards import feature_distances
from mercer.explorer.code_of_state import code_of, command_of
from mercer.explorer.limits import Limits
from mercer.explorer.running import bound, is_local
from mercer.explorer.server import Desk, application
from mercer.explorer.sessions import House, Job, Superseded
from mercer.explorer.slider import slide
from mercer.explorer.source import Source, of_file, source_of
from mercer.explorer.state import METHODS, State, arrange_table
from mercer.page.subject import subject_of
from mercer.page.write import START, asset, modules
from mercer.reading.links import Scores
from tests.hostile import HOSTILE

testclient = pytest.importorskip("starlette.testclient")

TOKEN = "secret"
HOST = "http://127.0.0.1"

PATIENCE = 120.0
"""Seconds until something must have happened, on a machine that does other things too."""


class Client:
    """A page as the server sees it: with its token, and the name it was given."""

    def __init__(self, house: House) -> None:
        app = application(token=TOKEN, house=house)
        self.raw = testclient.TestClient(app, base_url=HOST, raise_server_exceptions=False)
        self.headers = {"mercer-token": TOKEN}
        self.about = self.ask("visit").json()
        self.headers["mercer-visitor"] = self.about["visitor"]

    def ask(self, what: str, value: Any = None, **more: Any) -> Any:
        content = more.pop("content", json.dumps(value if value is not None else {}))
        return self.raw.post(f"/api/{what}", content=content, headers=self.headers, **more)

    def analysis(self, **state: Any) -> Any:
        return self.ask("analysis", {"state": state})


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    made = House(Source(mc.datasets.iris(), "iris.csv", "mc.datasets.iris()"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(house: House) -> Client:
    return Client(house)


def test_the_scripts_are_those_of_reports_and_the_methods_those_of_analyses() -> None:

    def read(name: str) -> str:
        return (server.FILES[name] / name).read_text(encoding="utf-8")

    of_page, of_explorer = modules(START, asset), modules(server.BEGINS, read)
    assert of_page[-1] == START
    assert of_explorer[-1] == server.BEGINS
    assert set(of_page[:-1]) == {name for name in server.SHARED if name.endswith(".js")}
    assert set(of_explorer) == {*server.MODULES, server.BEGINS}
    assert set(of_page[:-1]) < set(of_explorer)
    assert set(METHODS) == set(NAMES)


def test_the_page_is_for_those_who_know_the_token(client: Client) -> None:
    assert client.raw.get("/").status_code == 403
    assert client.raw.get("/?token=wrong").status_code == 403
    page = client.raw.get(f"/?token={TOKEN}")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.text.count("<script") == page.text.count('<script type="module" src="/assets/') == 1
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert client.raw.get("/favicon.ico").status_code == 204


@pytest.mark.parametrize("name", sorted(server.FILES))
def test_every_file_of_the_page_is_handed_out(client: Client, name: str) -> None:
    found = client.raw.get(f"/assets/{name}")
    assert found.status_code == 200
    assert found.headers["content-type"].startswith(
        "text/css" if name.endswith(".css") else "text/javascript"
    )


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../server.py",
        "/assets/%2e%2e/server.py",
        "/assets/..%2fserver.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/..%5cserver.py",
        "/assets/\\\\host\\share",
        "/assets/page.css%00.js",
        "/assets/explorer.html",
        "/assets/server.py",
        "/../../etc/passwd",
    ],
)
def test_no_path_leads_out_of_the_list(client: Client, path: str) -> None:
    found = client.raw.get(path)
    assert found.status_code in (403, 404)
    assert "root:" not in found.text
    assert "import" not in found.text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_other_hosts_are_not_answered(client: Client, host: str) -> None:
    headers = {**client.headers, "host": host}
    assert client.raw.get(f"/?token={TOKEN}", headers=headers).status_code == 400
    assert client.raw.post("/api/visit", headers=headers).status_code == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999"])
def test_other_pages_may_not_ask(client: Client, origin: str) -> None:
    headers = {**client.headers, "origin": origin}
    assert client.raw.post("/api/visit", headers=headers).status_code == 403
    own = {**client.headers, "origin": HOST}
    assert client.raw.post("/api/visit", headers=own).status_code == 200
    crossed = {**client.headers, "sec-fetch-site": "cross-site"}
    assert client.raw.post("/api/visit", headers=crossed).status_code == 403


@pytest.mark.parametrize("token", ["", "Secret", "secret ", "é"])
def test_no_question_is_answered_without_the_token(client: Client, token: str) -> None:
    headers = {**client.headers, "mercer-token": token.encode("utf-8")}
    for what in ("visit", "analysis", "upload", "report", "progress"):
        assert client.raw.post(f"/api/{what}", headers=headers).status_code == 403


def test_a_visitor_finds_the_data_and_is_known_again(client: Client) -> None:
    assert client.about["source"]["name"] == "iris.csv"
    assert client.about["source"]["count"] == 150
    assert {e["name"] for e in client.about["examples"]} == {*EXAMPLES, *NETWORKS}
    assert client.ask("visit").json()["visitor"] == client.about["visitor"]
    stranger = {**client.headers, "mercer-visitor": "nobody"}
    assert client.raw.post("/api/analysis", headers=stranger).status_code == 410


def test_an_analysis_is_that_of_the_library(client: Client) -> None:
    value = client.analysis().json()
    found = mc.analyse(mc.datasets.iris(), random_state=0)
    assert found.curved is not None
    made = value["explorer"]
    assert made["analysis"] == found.analysis == "pca"
    uses = {c["name"]: c["use"] for c in made["columns"]}
    assert uses == dict.fromkeys(found.active, "active") | {"Species": "colour"}
    assert (
        value["curved"]["axes"][0]
        == f"Dim 1 ({100 * found.curved.explained_variance_ratio_[0]:.1f} %)"
    )
    assert {"plane-1-2", "curved", "scree", "circle", "contributions-1"} <= set(value["panels"])
    assert "gram" not in value["panels"]


def test_roles_method_scale_and_axes_change_it(client: Client) -> None:
    mixed = client.analysis(uses={"Species": "active"}).json()["explorer"]
    assert mixed["analysis"] == "famd"
    fewer = client.analysis(uses={"Sepal.Width": "ignored"}).json()["explorer"]
    assert {c["name"]: c["use"] for c in fewer["columns"]}["Sepal.Width"] == "ignored"
    units = client.analysis(scale=False, axes=2).json()
    assert units["explorer"]["scaled"] is False
    assert len(units["axes"]) == 2
    named = client.analysis(uses={"Species": "name"}).json()
    assert named["individuals"]["names"][0] == "setosa"
    assert client.analysis(method="mds").json()["explorer"]["usual"] is None


def test_kernels_and_bandwidths_change_the_curved_map_alone(client: Client) -> None:
    usual, other = client.analysis().json(), client.analysis(bandwidth=0.3).json()
    assert usual["axes"] == other["axes"]
    assert usual["curved"]["axes"] != other["curved"]["axes"]
    assert other["explorer"]["bandwidth"] == 0.3
    written = client.analysis(kernel="linear()").json()
    shares = [axis.split("(")[1] for axis in written["axes"]]
    assert [axis.split("(")[1] for axis in written["curved"]["axes"]][:4] == shares[:4]
    beside = client.analysis(against="laplacian(bandwidth='median')").json()
    assert beside["titles"]["plane-1-2"].startswith("Map to compare")
    said = " ".join(beside["sentences"])
    assert "The two maps show the same (alignment " in said
    assert "straight" not in said  # which is not drawn then


def test_a_slide_is_the_curved_map_of_the_answer(client: Client) -> None:
    state = {"bandwidth": 1.0}
    whole = client.analysis(**state).json()["curved"]
    slid = client.ask("slide", {"state": state}).json()
    assert slid["exact"] is True
    assert slid["space"]["axes"] == whole["axes"]
    assert slid["space"]["coordinates"] == whole["coordinates"]


def test_a_slide_of_many_is_a_preview_that_says_so() -> None:
    x = np.random.default_rng(0).normal(size=(3_100, 3))
    source = Source(mc.read(x), "x", "x")
    straight = straight_of(source, State())
    found, _ = slide(straight, State())
    assert found["exact"] is False
    assert len(found["space"]["coordinates"][0]) == 3_100
    value, _ = answer(source, State(), straight)
    said = [d for d in value["explorer"]["doubts"] if "landmarks" in d["text"]]
    assert said[0]["ways"][0]["set"] == {"exact": True}
    exact, subject = answer(source, State(exact=True), straight)
    assert not subject.model.spectrum_.is_approximate
    assert not [d for d in exact["explorer"]["doubts"] if "landmarks" in d["text"]]


def test_the_card_names_the_nearest_in_feature_space(client: Client) -> None:
    client.analysis(bandwidth=1.0)
    found = client.ask("card", {"row": 0}).json()
    model = mc.analyse(mc.datasets.iris(), curved="gaussian(bandwidth=1.0)", random_state=0).curved
    assert model is not None
    away = feature_distances(subject_of(model), 0)
    assert found["nearest"][0]["row"] == int(np.argsort(away)[1])
    assert len(found["nearest"]) == 5
    for row in (-1, 150, "0", 1.5, None, True):
        assert client.ask("card", {"row": row}).status_code == 422


def test_a_kernel_is_judged_as_it_is_written(client: Client) -> None:
    good = client.ask("kernel", {"text": "gaussian(1) + 0.5 * linear()"}).json()
    assert good["ok"]
    assert good["said"].startswith("Positive definite")
    bad = client.ask("kernel", {"text": "gaussian(1) - linear()"}).json()
    assert not bad["ok"]
    assert bad["at"] == 12
    witness = client.ask("kernel", {"text": "sigmoid(offset=-3)"}).json()
    assert not witness["ok"]
    assert "individuals" in witness["said"]
    for text in ("__import__('os').system('x')", "9**9**9", "(" * 10_000, "a" * 1_000_000):
        answer = client.ask("kernel", {"text": text})
        assert answer.status_code in (200, 413)
        assert answer.status_code == 413 or answer.json()["ok"] is False


def test_a_kernel_that_is_none_is_refused_with_its_reason(client: Client) -> None:
    found = client.analysis(kernel="sigmoid(offset=-3)")
    assert found.status_code == 422
    assert "positive definite" in found.json()["error"]


@pytest.mark.parametrize(
    "state",
    [
        {"axes": 0},
        {"axes": 1.5},
        {"bandwidth": -1},
        {"bandwidth": "wide"},
        {"method": "magic"},
        {"scale": "yes"},
        {"kernel": 3},
        {"missing": "guess"},
        {"uses": {"Species": "gone"}},
        {"uses": {"nothing": "active"}},
        {"uses": []},
        {"factors": "Species"},
        {"factors": [1]},
        {"factors": ["nothing"]},
        {"transposed": 1},
        {"transposed": True, "uses": {"Species": "name"}},
        {"else": 1},
        [],
        "state",
    ],
)
def test_a_state_that_cannot_be_is_refused_in_words(client: Client, state: Any) -> None:
    found = client.ask("analysis", {"state": state})
    assert found.status_code == 422
    assert len(found.json()["error"]) > 10


@pytest.mark.parametrize("body", ["{", "[1]", "null", '"a"', "[" * 100_000, "\x00", "NaN"])
def test_a_question_that_is_none_is_refused(client: Client, body: str) -> None:
    assert client.ask("analysis", content=body.encode()).status_code == 400


def test_examples_open_and_others_do_not(house: House) -> None:
    client = Client(house)
    for name in (*EXAMPLES, *NETWORKS):
        about = client.ask("open", {"example": name}).json()["source"]
        assert about["count"] > 10
        assert client.analysis().status_code == 200
    assert client.analysis().json()["explorer"]["kind"] == "networks"  # the last
    assert client.ask("open", {"example": "embedded"}).status_code == 404
    assert client.ask("open", {"example": "../iris"}).status_code == 404
    assert client.ask("open").json()["source"]["name"] == "iris.csv"


CSV = b"name,x,y,team\n" + b"".join(
    f"r{i},{i % 7},{(i * i) % 11},{'ab'[i % 2]}\n".encode() for i in range(20)
)


@pytest.mark.parametrize(
    "name",
    [
        "data.csv",
        "../../etc/passwd",
        "..\\..\\windows\\system.ini",
        "/etc/shadow",
        "\\\\host\\share\\x.csv",
        "a\x00b.csv",
        "x" * 5_000 + ".csv",
        '<img src=x onerror="alert(1)">.csv',
        "",
    ],
)
def test_a_dropped_file_is_read_and_its_name_is_a_word(house: House, name: str) -> None:
    client = Client(house)
    about = client.ask("upload", content=CSV, params={"name": name}).json()["source"]
    assert about["count"] == 20
    assert not set(about["name"]) & set("/\\\0")
    assert client.analysis().status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80\x04\x95junk",  # a pickle
        b"PK\x03\x04 no zip",
        b"\x93NUMPY\x01\x00",
        b"\x89HDF\r\n\x1a\n",
        b"a,b\n1,2\n3\n",
        b"\x89MERCER\nmodel",
        b"\xff\xfe\x00",
    ],
)
def test_a_file_that_is_no_table_is_refused_in_words(house: House, body: bytes) -> None:
    client = Client(house)
    found = client.ask("upload", content=body, params={"name": "file.csv"})
    assert found.status_code in (413, 422)
    assert "/tmp" not in found.json()["error"]
    assert client.analysis().status_code == 200  # the data that were there still are


def test_objects_in_arrays_are_not_unpickled(house: House) -> None:
    held = io.BytesIO()
    np.save(held, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert Client(house).ask("upload", content=held.getvalue()).status_code == 422


def test_bodies_have_limits_of_size_and_time(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(house)
    monkeypatch.setattr(House, "limits", Limits(upload_bytes=1_000, question_bytes=100))
    assert client.ask("upload", content=b"1" * 1_001).status_code == 413

    def drip(size: int, pause: float) -> Iterator[bytes]:
        for _ in range(size):
            time.sleep(pause)
            yield b"1" * 100

    assert client.ask("upload", content=drip(20, 0.0)).status_code == 413  # nothing is declared
    assert client.ask("analysis", content=b" " * 101).status_code == 413
    monkeypatch.setattr(House, "limits", Limits(question_seconds=-1.0))
    assert client.ask("analysis", content=drip(1, 0.0)).status_code == 408


def test_cells_and_memory_have_limits(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(house)
    monkeypatch.setattr(Limits, "cells", 10)
    assert client.ask("upload", content=CSV).status_code == 413
    monkeypatch.undo()
    monkeypatch.setattr(House, "limits", Limits(all_bytes=10))
    assert client.ask("upload", content=CSV).status_code == 413


def test_missing_values_are_put_and_told_or_asked_about(house: House) -> None:
    client = Client(house)
    body = CSV.replace(b"r3,3", b"r3,")
    client.ask("upload", content=body)
    usual = client.analysis().json()
    assert usual["individuals"]["count"] == 20
    told = next(d for d in usual["explorer"]["doubts"] if "imputed" in d["text"])
    assert {"missing": "drop"} in [way["set"] for way in told["ways"]]
    assert "--impute mean --impute level" in usual["explorer"]["command"]
    refused = client.analysis(missing="error")
    assert refused.status_code == 422
    ways = {way["set"].get("missing"): way["label"] for way in refused.json()["ways"]}
    assert {"drop", "mean"} <= set(ways)
    assert "missing=" not in refused.json()["error"]
    assert client.analysis(missing="drop").json()["individuals"]["count"] == 19
    assert client.analysis(missing="mean").json()["individuals"]["count"] == 20
    beside = client.analysis(missing="error", uses={"x": "ignored"})
    assert beside.status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,2\n",
        "x,y\n1,1\n1,1\n1,1\n",
        "t\n" + "\n".join(f"word {i} and more" for i in range(9)),
    ],
)
def test_one_row_constant_columns_and_texts_are_answered_in_words(house: House, text: str) -> None:
    client = Client(house)
    opened = client.ask("upload", content=text.encode())
    found = client.analysis() if opened.status_code == 200 else opened
    assert found.status_code in (200, 422)
    if found.status_code == 422:
        assert len(found.json()["error"]) > 10


def test_the_page_of_a_state_is_a_report(client: Client) -> None:
    found = client.ask("report", {"state": {"bandwidth": 1.0}})
    assert found.status_code == 200
    assert found.headers["content-disposition"].startswith("attachment")
    assert found.headers["content-type"] == "application/octet-stream"
    assert b"<!doctype html>" in found.content[:20]
    assert b"mercer report iris.csv" in found.content
    beside = {"state": {"against": "laplacian(bandwidth='median')"}}
    page = client.ask("report", beside).content
    assert b"Map to compare" in page
    assert b"Straight map" not in page


def test_hostile_names_are_text_in_answers(house: House) -> None:
    client = Client(house)
    rows = "\n".join(
        f'"{t.replace(chr(34), chr(34) * 2)}",{i},{i * i % 7}' for i, t in enumerate(HOSTILE)
    )
    client.ask("upload", content=f"name,x,y\n{rows}\n".encode("utf-8", "replace"))
    found = client.analysis()
    assert found.status_code in (200, 422)
    assert "<script" not in found.text.lower()
    assert found.headers["content-type"] == "application/json"


def test_a_newer_question_ends_the_older_one(house: House) -> None:
    visitor = house.arrive()
    begun, ended = threading.Event(), threading.Event()

    def long(tell: Any) -> None:
        begun.set()
        try:
            for _ in range(1_000):
                time.sleep(0.005)
                tell(1, 2)
        finally:
            ended.set()

    _, first = house.begin(visitor, "analysis", long)
    assert begun.wait(PATIENCE)
    _, second = house.begin(visitor, "analysis", lambda tell: "answer")
    assert second.result(PATIENCE) == "answer"
    assert ended.is_set()
    with pytest.raises(Superseded):
        first.result(PATIENCE)


@pytest.mark.parametrize("what", ["analysis", "upload"])
def test_work_on_data_that_are_explored_no_more_is_not_taken_for_the_new(
    house: House, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    client = Client(house)
    begun, ended = threading.Event(), threading.Event()

    def late(work: Any) -> Any:
        def made(*given: Any) -> Any:
            found = work(*given)
            begun.set()
            ended.wait(30)
            return found

        return made

    with monkeypatch.context() as slow:
        slow.setattr("mercer.explorer.answers.straight_of", late(straight_of))
        slow.setattr("mercer.explorer.source.source_of", late(source_of))
        content = {"content": b"a,b\n1,2\n3,5\n4,9\n"} if what == "upload" else {}
        answers: list[Any] = []
        old = threading.Thread(target=lambda: answers.append(client.ask(what, **content)))
        old.start()
        assert begun.wait(30)
        assert client.ask("open", {"example": "decathlon"}).status_code == 200
        ended.set()
        old.join()
    assert answers[0].status_code == 204
    found = client.analysis().json()
    assert found["individuals"]["count"] == 41
    nearest = client.ask("card", {"row": 0}).json()["nearest"]
    assert {one["name"] for one in nearest} <= set(mc.datasets.decathlon().row_names or ())


@pytest.mark.parametrize("what", ["analysis", "slide"])
def test_a_cancel_that_comes_late_leaves_the_map_that_is_shown(
    house: House, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    client = Client(house)
    assert client.analysis().status_code == 200
    visitor = house.visitor(client.about["visitor"])
    assert visitor is not None
    shown, nearest = visitor.study.subject, client.ask("card", {"row": 0}).json()
    begun, ended = threading.Event(), threading.Event()

    def late(value: Any, real: Any = server._embedded) -> str:
        begun.set()
        ended.wait(30)
        return str(real(value))

    with monkeypatch.context() as slow:
        slow.setattr(server, "_embedded", late)
        answers: list[Any] = []
        asked = {"state": {"kernel": "laplacian(1.0)"}}
        old = threading.Thread(target=lambda: answers.append(client.ask(what, asked)))
        old.start()
        assert begun.wait(30)
        assert client.ask("cancel", {"kind": what}).status_code == 200
        ended.set()
        old.join()
    assert answers[0].status_code == 204
    assert visitor.study.subject is shown
    assert visitor.study.drawn is None
    assert client.ask("card", {"row": 0}).json() == nearest
    assert client.ask(what, asked).status_code == 200
    assert (
        (visitor.study.subject is shown) == (what == "slide") == (visitor.study.drawn is not None)
    )


def test_a_question_that_a_newer_one_replaced_is_no_error(house: House) -> None:
    answer = Desk(house, TOKEN)._refusal(Superseded("nobody waits for this any more"))
    assert (answer.status_code, answer.body) == (204, b"")


def test_progress_is_told_and_work_can_be_cancelled(client: Client) -> None:
    assert set(client.ask("progress").json()) == {"done", "total", "residuals"}
    assert client.ask("cancel").json() == {"cancelled": True}
    job = Job()
    job.is_cancelled = True
    with pytest.raises(Superseded):
        job.tell(1, 2)


def test_a_fit_of_the_library_stops_when_nobody_waits() -> None:
    job = Job()
    job.is_cancelled = True
    x = np.random.default_rng(0).normal(size=(500, 3))
    with pytest.raises(Superseded):
        slide(straight_of(Source(mc.read(x), "x", "x"), State()), State(), job.tell)


def test_visitors_are_bounded_and_idle_ones_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(House, "limits", Limits(visitors=3))
    house = House()
    first = house.arrive()
    for _ in range(3):
        house.arrive()
    assert len(house.visitors) == 3
    assert house.visitor(first.name) is None
    house.idle = -1.0  # as it is after a while
    house.release()
    assert not house.visitors
    house.close()


def test_the_idlest_make_room_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House()
    one, other = house.arrive(), house.arrive()
    source = Source(Table.of({"x": np.arange(10.0)}), "x", "x")
    one.bring(source, is_own=True)
    monkeypatch.setattr(House, "limits", Limits(all_bytes=source.bytes + 1))
    house.room_for(source.bytes, other)
    assert house.visitor(one.name) is None
    assert house.visitor(other.name) is other
    house.close()


def test_too_much_waiting_is_refused(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    monkeypatch.setattr(House, "limits", Limits(waiting=0))
    assert client.analysis().status_code == 413


def test_a_bug_is_told_without_its_traceback(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("secret place")

    monkeypatch.setattr("mercer.explorer.verdict.verdict", broken)
    found = client.ask("kernel", {"text": "linear()"})
    assert found.status_code == 500
    assert "bug" in found.json()["error"]
    assert "secret" not in found.text
    assert "ZeroDivisionError" in caplog.text


def test_many_ask_at_once_without_an_error(house: House) -> None:
    statuses: list[int] = []

    def visit() -> None:
        statuses.append(Client(house).analysis().status_code)

    threads = [threading.Thread(target=visit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 8


def measured(folder: Path) -> Path:
    """Write a table with gaps, an index, a constant, a text and two factors."""
    rng = np.random.default_rng(3)
    path = folder / "measured.csv"
    lines = ["id,a,b,c,count,same,stage,site,note,grade"]
    for i in range(40):
        a, b, c = (f"{v:.3f}" for v in rng.normal(size=3) + [0, i / 10, i % 3])
        gap = "" if i in (4, 9) else b
        site = "" if i == 7 else "xyz"[i % 3]
        stage = f"s{i % 4}"
        lines.append(f"r{i},{a},{gap},{c},{i + 1},5,{stage},{site},note {i % 37},{1 + i % 5 // 2}")
    path.write_text("\n".join(lines) + "\n")
    return path


STATES: dict[str, dict[str, Any]] = {
    "usual": {},
    "leaving rows out": {"missing": "drop"},
    "means": {"missing": "mean", "axes": 2},
    "gaps beside": {"missing": "error", "uses": {"b": "supplementary"}},
    "factor active": {"missing": "drop", "uses": {"stage": "active"}},
    "factors alone": {"missing": "drop", "method": "mca"},
    "text active": {"missing": "mean", "uses": {"note": "active", "site": "ignored"}},
    "kernel": {"missing": "mean", "kernel": "laplacian(2.0)"},
    "bandwidth": {"missing": "mean", "bandwidth": 0.7, "scale": False},
    "method and bandwidth": {"missing": "mean", "method": "famd", "bandwidth": 3.0},
    "colour": {"missing": "mean", "uses": {"site": "colour"}},
    "number as colour": {"missing": "mean", "uses": {"a": "colour"}},
    "text as colour": {"missing": "mean", "uses": {"note": "colour"}},
    "name": {"missing": "mean", "uses": {"count": "name"}},
    "index active": {"missing": "mean", "uses": {"count": "active"}},
    "one number left": {
        "missing": "mean",
        "uses": {"a": "ignored", "b": "supplementary", "site": "supplementary"},
    },
    "compared": {"missing": "mean", "against": "laplacian(1.0)"},
    "map": {"missing": "mean", "method": "mds"},
    "numbers as labels": {"missing": "mean", "factors": ["grade"], "uses": {"grade": "colour"}},
    "columns": {"missing": "mean", "transposed": True},
}


def same_analysis(found: Any, made: Any) -> None:
    assert found.analysis == made.analysis
    assert set(found.active) == set(made.active)
    assert set(found.supplementary) == set(made.supplementary)
    straight = [Scores.of(m.model).inertias for m in (found, made)]
    np.testing.assert_allclose(straight[0], straight[1], rtol=1e-8)
    assert (found.curved is None) == (made.curved is None)
    if made.curved is not None:
        np.testing.assert_allclose(found.curved.inertias_, made.curved.inertias_, rtol=1e-6)
    names = [t.colour and t.colour.name for t in (found.table, made.table)]
    assert names[0] == names[1]
    assert found.table.row_names == made.table.row_names


@pytest.mark.parametrize("case", STATES)
@pytest.mark.filterwarnings("ignore")
def test_code_and_command_make_the_same_analysis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.chdir(tmp_path)
    state = State.of({"missing": "drop", **STATES[case]})
    source = of_file(str(measured(tmp_path))).read_as(state)
    made = analysis_of(straight_of(source, state), state)
    names: dict[str, Any] = {}
    lines = code_of(source, state).splitlines()
    exec("\n".join(line for line in lines if "mc.report" not in line), names)
    same_analysis(names["found"], made)
    if state.against is not None:
        assert str(names["other"].curved.kernel_) != str(made.curved and made.curved.kernel_)
    seen: list[Any] = []

    def spied(*args: Any, **more: Any) -> Any:
        seen.append(complete_analysis(*args, **more))
        return seen[-1]

    monkeypatch.setattr("mercer.cli.fits.complete_analysis", spied)
    commands = [shlex.split(one) for one in command_of(source, state).split(" && ")]
    assert len(commands) == (1 if state.against is None else 2)
    for command in commands:
        assert command[0] == "mercer"
        assert main([*command[1:], "--permutations", "0", "-q"]) == 0
    same_analysis(seen[0], made)
    if state.against is not None:
        other = names["other"].curved.kernel_
        assert str(seen[1].curved.kernel_) == str(other)
        assert (tmp_path / "other.html").exists()


def genes(count: int = 250) -> bytes:
    """Return the text of a table of genes in rows and samples in columns."""
    rng = np.random.default_rng(5)
    levels = rng.gamma(2.0, 2.0, (count, 1)) * np.exp(0.2 * rng.normal(size=(count, 6)))
    lines = ["gene," + ",".join(f"sample {j + 1}" for j in range(6))]
    lines += [f"G{i}," + ",".join(f"{v:.3f}" for v in row) for i, row in enumerate(levels)]
    return "\n".join(lines).encode()


def test_samples_that_stand_in_columns_are_mapped_by_what_is_offered(house: House) -> None:
    client = Client(house)
    client.ask("upload", params={"name": "genes.csv"}, content=genes())
    found = client.analysis().json()
    offered = [way for doubt in found["explorer"]["doubts"] for way in doubt["ways"]]
    assert {"label": "Map the columns", "set": {"transposed": True}} in offered
    assert all("mercer.read" not in doubt["text"] for doubt in found["explorer"]["doubts"])
    turned = client.analysis(transposed=True).json()
    assert turned["individuals"]["names"] == [f"sample {j + 1}" for j in range(6)]
    assert [c["name"] for c in turned["explorer"]["columns"]] == [f"G{i}" for i in range(250)]
    again = client.analysis().json()
    assert len(again["individuals"]["names"]) == 250


def test_numbers_that_code_groups_become_labels_by_what_is_offered(house: House) -> None:
    client = Client(house)
    rng = np.random.default_rng(6)
    lines = [f"{a:.3f},{b:.3f},{i % 3 + 1}" for i, (a, b) in enumerate(rng.normal(size=(90, 2)))]
    client.ask("upload", params={"name": "x.csv"}, content="\n".join(["a,b,arm", *lines]).encode())
    found = client.analysis().json()
    offered = [way for doubt in found["explorer"]["doubts"] for way in doubt["ways"]]
    assert {"label": "Read as labels", "set": {"factors": ["arm"]}} in offered
    read = client.analysis(factors=["arm"]).json()
    column = next(c for c in read["explorer"]["columns"] if c["name"] == "arm")
    assert (column["kind"], column["use"]) == ("factor", "colour")
    colours = {c["name"]: c for c in read["individuals"]["colours"]}
    assert colours["arm"]["levels"] == ["1", "2", "3"]
    assert "too many to be labels" in client.analysis(factors=["a"]).json()["error"]
    assert client.analysis(factors=["none"]).status_code == 422


@pytest.mark.filterwarnings("ignore::mercer.errors.ExchangeableAxes")
def test_examples_are_known_by_name_to_code_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert next(iter(EXAMPLES)) == "planets"
    for name in EXAMPLES:
        source = of_file(name)
        assert command_of(source, State()).startswith(f"mercer report {name}")
        names: dict[str, Any] = {}
        exec(code_of(source, State()).rpartition("\n")[0], names)
        assert len(names["found"].table) == len(source.data)
        assert main(["report", name, "--permutations", "0", "--json", "-q"]) == 0
        assert json.loads(capsys.readouterr().out)["page"] == f"{name}.html"
    for name in NETWORKS:
        source = of_file(name)
        assert command_of(source, State()) == f"mercer graphs {name}"
        names = {}
        exec(code_of(source, State()).rpartition("\n")[0], names)
        assert len(names["graphs"]) == len(source.data)
        assert main(["graphs", name, "--no-page", "--json", "-q"]) == 0
        capsys.readouterr()
    (tmp_path / "iris").write_bytes(CSV)  # a file goes before
    assert len(of_file("iris").data) == 20
    assert main(["serve", "planets", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == "planets"


def test_rows_of_an_example_are_named_by_a_column() -> None:
    source = of_file("planets")
    state = State(uses={"x": "name"})
    names: dict[str, Any] = {}
    exec(code_of(source, state).rpartition("\n")[0], names)
    table, _ = arrange_table(mc.datasets.planets(), state)
    assert names["found"].table.row_names == table.row_names


def uses_of(answer: Any) -> dict[str, str]:
    return {c["name"]: c["use"] for c in answer.json()["explorer"]["columns"]}


def test_columns_keep_their_uses_when_others_move(house: House) -> None:
    client = Client(house)
    numbers = [n for n, use in uses_of(client.analysis()).items() if use == "active"]
    assert len(numbers) == 4
    for count in (1, 2, 3):
        uses = dict.fromkeys(numbers[:count], "supplementary")
        found = client.analysis(uses=uses)
        assert uses_of(found)["Species"] == "colour"
        assert found.json()["explorer"]["analysis"] == "pca"
    nothing = client.analysis(uses=dict.fromkeys(numbers, "ignored"))
    assert nothing.status_code == 422
    assert "no column is active" in nothing.json()["error"]
    assert {"uses": {"Species": "active"}} in [way["set"] for way in nothing.json()["ways"]]


def test_one_column_names_the_rows(house: House, tmp_path: Path) -> None:
    path = tmp_path / "plots.csv"
    rows = (f"{i + 1},plot {i + 1},{i % 5},{i * i % 7}" for i in range(20))
    path.write_text("id,plot,x,y\n" + "\n".join(rows))
    client = Client(House(of_file(str(path))))
    for uses, named in (({}, "plot"), ({"id": "name"}, "id")):
        found = client.analysis(uses=uses).json()
        columns = found["explorer"]["columns"]
        assert [c["name"] for c in columns if c["use"] == "name"] == [named]
        assert found["individuals"]["names"][:2] == (
            ["plot 1", "plot 2"] if not uses else ["1", "2"]
        )
    assert columns[1]["use"] == "ignored"
    assert columns[1]["why"] == '"id" names the rows'


def test_uses_that_cannot_be_are_told(house: House, tmp_path: Path) -> None:
    client = Client(house)
    client.ask("upload", content=measured(tmp_path).read_bytes(), params={"name": "m.csv"})
    found = client.analysis(missing="mean", uses={"same": "active", "a": "colour"})
    said = [d["text"] for d in found.json()["explorer"]["doubts"]]
    assert any("“same” cannot be active" in text for text in said)
    assert any("“a” is a number" in text for text in said)
    assert uses_of(found)["a"] == "colour"
    assert uses_of(found)["same"] == "ignored"


def test_what_is_missing_is_counted_as_it_is_left_out(house: House, tmp_path: Path) -> None:
    client = Client(house)
    body = measured(tmp_path).read_bytes()
    opened = client.ask("upload", content=body, params={"name": "m.csv"}).json()["source"]
    refused = client.analysis(missing="error").json()["error"]
    left = client.analysis(missing="drop").json()
    assert f"out {40 - left['individuals']['count']} of 40 rows" in refused
    # Which of the factors beside the axes colours is known once there is a map.
    beside = {"colour": "supplementary"}
    known = {c["name"]: beside.get(c["use"], c["use"]) for c in opened["columns"]}
    shown = uses_of(client.analysis(missing="mean"))
    assert known == {name: beside.get(use, use) for name, use in shown.items()}
    assert list(shown.values()).count("colour") == 1


def test_values_put_in_and_measurements_read_as_counts_are_doubts(
    house: House, tmp_path: Path
) -> None:
    client = Client(house)
    client.ask("upload", content=measured(tmp_path).read_bytes(), params={"name": "m.csv"})
    found = client.analysis(missing="mean").json()["explorer"]["doubts"]
    told = next(d for d in found if "2 missing values were imputed" in d["text"])
    assert (
        f"leaves out {40 - client.analysis(missing='drop').json()['individuals']['count']} rows"
        in told["text"]
    )
    assert told["ways"][0]["set"] == {"missing": "drop"}
    dropped = client.analysis(missing="drop").json()["explorer"]["doubts"]
    assert not [d for d in dropped if "imputed" in d["text"]]
    client.ask("open", {"example": "iris"})
    found = client.analysis(method="ca").json()["explorer"]["doubts"]
    assert any("profiles of counts" in d["text"] for d in found)


def test_one_row_is_refused_alike_by_the_explorer_and_the_report(
    house: House,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "one.csv"
    path.write_text("x,y\n1,2\n")
    client = Client(house)
    client.ask("upload", content=path.read_bytes())
    refused = client.analysis()
    assert refused.status_code == 422
    assert refused.json()["error"] == "a map needs at least 2 rows, and there is only 1 individual"
    assert main(["report", str(path)]) != 0
    assert refused.json()["error"] in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::mercer.errors.ExchangeableAxes")
def test_the_colour_is_judged_first() -> None:
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    radius = np.where(np.arange(60) < 30, 1.0, 3.0)
    table = Table.of(
        {
            "chance": rng.permutation(np.repeat(["a", "b"], 30)).tolist(),
            "ring": np.repeat(["inner", "outer"], 30).tolist(),
            "x": radius * np.cos(2 * angle),
            "y": radius * np.sin(2 * angle),
            "z": rng.normal(size=60) / 10,
        }
    )
    for colour, first in (("ring", '"ring" better'), ("chance", '"ring" better')):
        made = mc.analyse(table.coloured_by(colour), random_state=0, scale=False)
        assert first in made.adds
        assert ('"chance" it does not' in made.adds) is (colour == "chance")


def test_a_map_of_distances_has_more_than_two_axes_and_a_scree(house: House) -> None:
    client = Client(house)
    client.ask("open", {"example": "eurodist"})
    found = client.analysis().json()
    assert len(found["axes"]) > 2


def test_a_bandwidth_that_misleads_is_a_doubt_with_a_way_out(client: Client) -> None:
    found = client.analysis(bandwidth=0.001).json()["explorer"]["doubts"]
    told = next(d for d in found if "bandwidth is so small" in d["text"])
    assert "kernel=" not in told["text"]
    assert told["ways"][0]["set"]["bandwidth"] is None


def test_uses_arrange_a_table() -> None:
    table = Table.of({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"], "h": ["u", "v", "u"]})
    found, asked = arrange_table(table, State(uses={"g": "active", "h": "colour", "x": "name"}))
    assert found.row_names == ("1", "2", "3")
    assert asked["method"] == "mca"
    assert found.names[0] == "g"  # columns keep their places
    assert found.colour is not None
    assert found.colour.name == "h"


def test_only_this_machine_is_listened_to_by_default() -> None:
    assert is_local("127.0.0.1")
    assert not is_local("0.0.0.0")
    assert not is_local("example.org")
    with bound("127.0.0.1", 0) as place:
        assert place.getsockname()[0] == "127.0.0.1"
        with pytest.raises(mc.errors.InvalidParameter, match="--port"):
            bound("127.0.0.1", place.getsockname()[1])
    with pytest.raises(mc.errors.InvalidParameter, match="65535"):
        bound("127.0.0.1", 70_000)


FASTA = "".join(
    f">{'ab'[i % 2]}{i}\n{'ACGTTGCA' if i % 2 else 'AAAACCCC'}{'GT' * i}\n" for i in range(8)
)


def test_sequences_are_explored_and_their_card_has_their_letters(tmp_path: Path) -> None:
    path = tmp_path / "s.fasta"
    path.write_text(FASTA)
    client = Client(House(of_file(str(path))))
    value = client.analysis().json()
    assert value["explorer"]["kind"] == "sequences"
    assert value["individuals"]["names"][:2] == ["a0", "b1"]
    card = client.ask("card", {"row": 1}).json()
    assert (card["letters"], card["length"]) == ("ACGTTGCAGT", 10)
    other = client.analysis(kernel="string_spectrum(2).normalised()").json()
    assert other["axes"] != value["axes"]
    both = client.analysis(against="string_spectrum(2).normalised()").json()
    assert both["curved"]["axes"] == other["axes"]
    assert both["titles"]["curved"].startswith("Map to compare: normalised string spectrum")
    assert both["titles"]["curved"] != both["titles"]["plane-1-2"].replace("Map", "Map to compare")
    assert "The two maps " in " ".join(both["sentences"])
    refused = client.analysis(kernel="gaussian(1.0)")
    assert refused.status_code == 422
    assert "sequences" in refused.json()["error"]
    assert client.ask("kernel", {"text": "gaussian(1.0)"}).json()["ok"] is False
    assert "mercer report" in value["explorer"]["command"]


def test_a_folder_of_networks_is_explored_and_a_card_draws_one(tmp_path: Path) -> None:
    for kind, edges in (("ring", "a b\nb c\nc d\nd a\n"), ("star", "a b\na c\na d\na a\n")):
        (tmp_path / kind).mkdir()
        for i in range(4):
            text = edges + "".join(f"a x{j}\n" for j in range(i))
            (tmp_path / kind / f"{kind}{i}.edges").write_text(text)
    source = of_file(str(tmp_path))
    client = Client(House(source))
    value = client.analysis().json()
    assert value["explorer"]["kind"] == "networks"
    assert value["individuals"]["colours"][0]["levels"] == ["ring", "star"]
    doubts = [doubt["text"] for doubt in value["explorer"]["doubts"]]
    assert any("repeated edges" in text for text in doubts)
    drawn = client.ask("card", {"row": 0}).json()["network"]
    assert (drawn["nodes"], drawn["count"], len(drawn["x"])) == (4, 4, 4)
    away = [
        np.hypot(*np.subtract(*(np.array([drawn["x"], drawn["y"]]).T[list(e)])))
        for e in drawn["edges"]
    ]
    assert np.allclose(away, away[0], rtol=0.05)  # a ring of four is a square
    kernel = "shortest_path().normalised()"
    assert client.analysis(kernel=kernel).json()["axes"] != value["axes"]
    space: dict[str, Any] = {}
    code = code_of(source, State(kernel=kernel, axes=2)).replace("'a'", "'a'")
    (tmp_path / "star").rename(tmp_path / "other")  # which has loops, and the code would refuse
    made = code.replace(f"Path({str(tmp_path)!r})", f"Path({str(tmp_path / 'ring')!r})")
    exec(made.replace("report.html", str(tmp_path / "r.html")), space)  # noqa: S102  (ours)
    assert (tmp_path / "r.html").exists()
    assert command_of(source, State(kernel=kernel)).startswith("mercer graphs ")


def test_given_distances_name_the_nearest() -> None:
    data = mc.datasets.eurodist()
    client = Client(House(Source(data, "eurodist", "mc.datasets.eurodist()")))
    client.analysis()
    found = client.ask("card", {"row": 0}).json()["nearest"]
    D = np.asarray(data.values, float)
    assert [near["row"] for near in found] == np.argsort(D[0], kind="stable")[1:6].tolist()
    assert found[0]["distance"] == D[0, found[0]["row"]]


def test_axes_of_counts_are_functions_of_counts(house: House) -> None:
    rng = np.random.default_rng(0)
    body = "\n".join(f"r{i}," + ",".join(map(str, rng.poisson([9, 1, 4, 20]))) for i in range(12))
    client = Client(house)
    client.ask("upload", content=f"name,a,b,c,d\n{body}\n".encode())
    shown = client.analysis(method="ca").json()["explorer"]
    assert shown["functions"] == ["a", "b", "c", "d"]
    found = client.ask("function", {"axis": 1, "on": ["a", "b"]})
    assert found.status_code == 200
    assert found.json()["on"] == ["a", "b"]
    rows = [(0, 9, 0, 0), (0, 3, 0, 0), (4, 0, 0, 0), (0, 0, 5, 0), (0, 0, 0, 7), (0, 0, 2, 1)]
    body = "\n".join(f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(rows))
    client.ask("upload", content=f"name,a,b,c,d\n{body}\n".encode())
    assert client.analysis(method="ca").status_code == 200
    found = client.ask("function", {"axis": 1, "on": ["a", "b"]})  # all of its medians are 0
    assert found.status_code == 422
    assert "Dim 1 cannot be drawn over a and b: with the other variables" in found.text


def test_a_slide_lies_as_near_as_it_can_to_the_map_before(client: Client) -> None:
    client.analysis(bandwidth=2.0)
    before = client.ask("slide", {"state": {"bandwidth": 2.0}}).json()["space"]
    after = client.ask("slide", {"state": {"bandwidth": 1.2}}).json()["space"]
    F, G = (np.column_stack([unpacked(c) for c in s["coordinates"]]) for s in (after, before))
    M = F.T @ G
    # Schönemann: at the nearest rotation F'G is symmetric and positive semidefinite.
    assert np.allclose(M, M.T, atol=1e-4 * np.abs(M).max())
    assert np.linalg.eigvalsh((M + M.T) / 2).min() > -1e-4 * np.abs(M).max()
    model = mc.analyse(mc.datasets.iris(), curved="gaussian(bandwidth=1.2)", random_state=0).curved
    assert model is not None
    assert np.allclose(
        F @ F.T, model.transform(model.X_fit_) @ model.transform(model.X_fit_).T, atol=1e-4
    )


def unpacked(packed: Any) -> Any:
    return np.frombuffer(base64.b64decode(packed["data"]), "<f4")


def test_an_axis_is_a_function_of_two_variables(client: Client) -> None:
    client.analysis(bandwidth=1.0)
    found = client.ask("function", {"axis": 2, "on": ["Sepal.Width", "Petal.Length"]}).json()
    assert found["on"] == ["Sepal.Width", "Petal.Length"]
    field = found["panel"]["panels"][0]["marks"][0]
    heights = unpacked(field["values"]).reshape(field["values"]["shape"])
    model = mc.analyse(mc.datasets.iris(), curved="gaussian(bandwidth=1.0)", random_state=0).curved
    assert model is not None
    x = np.median(mc.datasets.iris().matrix(), axis=0)[None, :].copy()
    x[0, 1], x[0, 2] = unpacked(field["x"])[7], unpacked(field["y"])[30]
    assert np.isclose(heights[30, 7], model.transform(x)[0, 1], atol=1e-4)
    usual = client.ask("function", {"axis": 1}).json()
    assert len(usual["on"]) == 2
    for wrong in (
        {"axis": 0},
        {"axis": 99},
        {"axis": "1"},
        {"on": ["no"]},
        {"on": "a"},
        {"on": [1]},
    ):
        assert client.ask("function", wrong).status_code == 422


def test_columns_of_one_value_are_refused_in_words(house: House) -> None:
    client = Client(house)
    client.ask("upload", params={"name": "x.csv"}, content="a,b\n" + "1,2\n" * 5)
    answer = client.analysis()
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("all individuals are alike: a and b hold one value")


def test_levels_that_two_factors_share_are_called_by_both_names() -> None:
    answers = ["yes", "no", "maybe"]
    columns = {f"q{j}": [answers[(i * (j + 2) + j) % 3] for i in range(30)] for j in range(3)}
    client = Client(House(Source(Table.of(columns), "x", "x")))
    value = client.analysis(method="mca", uses={"q2": "supplementary"}).json()
    active, beside = (
        value["linked"][k]["names"] for k in ("categories", "supplementary categories")
    )
    assert set(beside) == {"q2=yes", "q2=no", "q2=maybe"}
    assert not set(active) & set(beside)


def test_classes_are_as_many_as_asked_for(client: Client) -> None:
    value = client.analysis(classes=5).json()
    assert len(value["sheets"]["classes"]["rows"]) == 5
    assert "clusters=5" in value["explorer"]["code"]
    assert "--clusters 5" in value["explorer"]["command"]
    assert client.analysis(classes=1).status_code == 422


def test_a_preview_is_refined_with_its_residuals_and_can_be_cancelled() -> None:
    x = np.random.default_rng(0).normal(size=(3_200, 3))
    house = House(Source(mc.read(x), "x", "x"))
    client = Client(house)
    value = client.analysis(axes=2).json()
    assert value["explorer"]["refines"]
    assert any("landmarks" in doubt["text"] for doubt in value["explorer"]["doubts"])
    found = client.ask("refine", {"state": {"axes": 2}}).json()
    assert found["refined"]
    assert found["residuals"][-1] < 1e-3
    told = client.ask("progress", {"kind": "refine"}).json()["residuals"]
    assert told == found["residuals"]
    assert min(told) == told[-1] < told[0]
    exact = client.analysis(axes=2, exact=True).json()
    assert not exact["explorer"]["refines"]
    assert not any("landmarks" in doubt["text"] for doubt in exact["explorer"]["doubts"])
    visitor = house.visitor(client.about["visitor"])
    assert visitor is not None
    assert visitor.study.exact_map(State(axes=2, exact=True, classes=4)) is not None
    assert visitor.study.exact_map(State(axes=2, bandwidth=1.0)) is None
    begun = threading.Event()

    def slow(tell: Any) -> None:
        begun.set()
        while True:
            time.sleep(0.01)
            tell(0, 1)

    _, future = house.begin(visitor, "refine", slow)
    assert begun.wait(PATIENCE)
    assert client.ask("card", {"row": 0}).status_code == 200  # others do not wait for it
    assert not future.done()
    client.ask("cancel", {"kind": "refine"})
    assert isinstance(future.exception(PATIENCE), Superseded)
    house.close()


def test_a_saved_page_has_all_axes_the_view_and_the_name_of_the_data(client: Client) -> None:
    rng = np.random.default_rng(0)
    table = Table.of({f"x{j}": rng.normal(size=40) for j in range(25)})
    client = Client(House(Source(table, "wide.csv", "mc.read('wide.csv')")))
    assert len(client.analysis(axes=25).json()["individuals"]["coordinates"]) == 25
    page = client.ask("report", {"state": {"axes": 25}, "view": [3, 2, None, 0.2]}).text
    value = json.loads(
        page.partition('<script id="value" type="application/json">')[2].partition("</script>")[0]
    )
    assert len(value["individuals"]["coordinates"]) == 25
    assert value["view"] == [3, 2, None, 0.2]
    assert value["source"] == "wide.csv"


def test_only_the_server_of_a_notebook_stands_in_frames_and_says_that_it_is_there() -> None:
    elsewhere = {"origin": "http://localhost:8888", "sec-fetch-site": "same-site"}
    for is_embedded in (False, True):
        app = application(token=TOKEN, house=House(None), is_embedded=is_embedded)
        raw = testclient.TestClient(app, base_url=HOST)
        there = raw.get("/alive", params={"token": TOKEN}, headers=elsewhere)
        assert (there.status_code == 200) is is_embedded
        policy = raw.get("/", params={"token": TOKEN}).headers["content-security-policy"]
        assert ("frame-ancestors 'none'" in policy) is not is_embedded
        assert raw.get("/alive", headers=elsewhere).status_code == 403
        for path in ("/api/visit", "/alive"):
            token = {**elsewhere, "mercer-token": TOKEN}
            assert raw.post(path, headers=token).status_code == 403
        app.app.state.house.close()


def test_what_a_notebook_explores_is_the_data_of_a_model_in_its_state() -> None:
    iris = mc.datasets.iris()
    kernel = mc.Gaussian(2.0)
    found = live.state_of_model(mc.KernelPCA(3, kernel=kernel).fit(iris.matrix()), iris)
    assert found is not None
    source, state = found
    assert source.data is iris
    assert state == {"method": "pca", "scale": False, "kernel": str(kernel), "axes": 3}
    made = mc.analyse(iris, random_state=0)
    found = live.state_of_model(made)
    assert found is not None
    assert found[1]["uses"]["Species"] == "supplementary"
    for given in (made, mc.ClassicalMDS(2).fit(mc.datasets.eurodist()), iris.matrix()):
        found = live.state_of_model(given)
        assert found is not None
        house = House(found[0])
        assert Client(house).analysis(**found[1]).status_code == 200
        house.close()
    assert (
        live.state_of_model(mc.KernelPCA(2, kernel="precomputed").fit(np.diag([1.0, 2, 3, 4])))
        is None
    )
    assert not live.may_serve()  # no notebook
    with pytest.raises(mc.errors.InvalidParameter, match="live=True"):
        mc.explore(mc.KernelPCA(2, kernel="precomputed").fit(np.diag([1.0, 2, 3, 4])), live=True)


def test_a_table_of_texts_is_refused_with_what_to_press() -> None:
    for last, offered in ((56, ["note"]), (59, [])):
        texts = [f"the story of {i},a note on case {min(i, last)} of them" for i in range(60)]
        body = "\n".join(["name,note", *texts]).encode()
        house = House(source_of(body, "texts.csv", lambda *_: None))
        refused = Client(house).analysis()
        told = refused.json()
        assert refused.status_code == 422
        assert told["error"].startswith("all columns are texts")
        assert [way["set"]["uses"] for way in told["ways"]] == [{n: "active"} for n in offered]
        for way in told["ways"]:
            assert Client(house).analysis(**way["set"]).status_code == 200
        house.close()


def test_the_kernel_of_sequences_is_said_once() -> None:
    house = House(of_file("numerals"))
    value = Client(house).analysis().json()
    assert " ".join(value["sentences"]).lower().count("spectrum(") == 1
    house.close()


def test_gradients_are_of_two_axes_that_the_map_has(house: House) -> None:
    client = Client(house)
    assert client.ask("gradients", {"axes": [1, 2]}).status_code == 422  # no map yet
    client.analysis(axes=3)
    found = client.ask("gradients", {"axes": [2, 3]}).json()
    lines = [m for m in found["panel"]["panels"][0]["marks"] if m["mark"] == "lines"]
    assert {m["name"] for m in lines} <= set(mc.datasets.iris().names)
    assert "rises by its standard deviation" in found["notes"][0]
    marks = found["panel"]["panels"][0]["marks"]
    assert "labels" not in {m["mark"] for m in marks}
    assert [(m["of"], m["ids"]) for m in marks if m["mark"] == "markers"] == [
        ("individuals", list(range(150)))
    ]
    for axes in ([1, 1], [1, 99], [1], "12", [1.0, 2.0], None):
        assert client.ask("gradients", {"axes": axes}).status_code == 422
    client.analysis(kernel="laplacian(bandwidth=1.0)")
    assert client.ask("gradients", {"axes": [1, 2]}).status_code == 200


def test_where_there_are_no_gradients_no_error_is_answered() -> None:
    house = House(Source(mc.read(np.random.default_rng(0).normal(size=(6_000, 3))), "x", "x"))
    client = Client(house)
    client.analysis()
    answer = client.ask("gradients", {"axes": [1, 2]})
    assert answer.status_code == 200
    assert answer.json()["panel"] is None
    assert "6000 individuals" in answer.json()["why"]
    house.close()


def test_distances_show_their_negative_eigenvalues() -> None:
    house = House(Source(mc.datasets.eurodist(), "eurodist", "mc.datasets.eurodist()"))
    found = Client(house).analysis().json()
    house.close()
    bars = found["panels"]["scree"]["panels"][0]["marks"][0]
    model = mc.ClassicalMDS(2).fit(mc.datasets.eurodist())
    lengths = np.frombuffer(base64.b64decode(bars["lengths"]["data"]), "<f4")
    np.testing.assert_allclose(lengths, model.eigenvalues_, rtol=1e-5, atol=1.0)
    assert lengths.min() < 0
    assert found["groups"]["sentences"][0].startswith("On the first 5 axes the points")


def test_a_witness_is_told_by_name(client: Client) -> None:
    found = client.ask("kernel", {"text": "sigmoid()"}).json()
    assert found["ok"] is False
    witness = found["witness"]
    assert witness["value"] < 0
    assert {"name", "weight"} == set(witness["rows"][0])


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(CSV)
    command = [sys.executable, "-m", "mercer", "serve", str(path), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with urllib.request.urlopen(address) as page:
            assert b"mercer explorer" in page.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_ending_the_server_during_an_analysis_is_quick_and_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "many.npy"
    np.save(path, np.random.default_rng(0).normal(size=(60_000, 40)))
    command = [sys.executable, "-m", "mercer", "serve", str(path), "--no-open", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        base, _, token = json.loads(process.stdout.readline())["address"].partition("/?token=")
        answers: list[int] = []

        def ask(what: str, visitor: str = "") -> Any:
            headers = {"mercer-token": token, "mercer-visitor": visitor}
            asked = urllib.request.Request(f"{base}/api/{what}", b"{}", headers)
            return json.loads(urllib.request.urlopen(asked, timeout=60).read())

        def analyse(visitor: str) -> None:
            try:
                ask("analysis", visitor)
                answers.append(200)
            except urllib.error.HTTPError as error:
                answers.append(error.code)

        visitor = ask("visit")["visitor"]
        waiting = threading.Thread(target=analyse, args=(visitor,))
        waiting.start()
        until = time.monotonic() + PATIENCE
        while not ask("progress", visitor)["total"] and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
        waiting.join()
    assert (process.returncode, said) == (0, "")
    assert answers == [503]  # the page says that the server is gone


def test_the_command_refuses_what_it_cannot_serve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "none.csv"), "--no-open"]) == 3
    assert "none.csv" in capsys.readouterr().err
    assert main(["serve", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["host"] == "127.0.0.1"
    assert main(["serve", "--no-open", "--port", "70000"]) == 2


def test_guesses_of_columns_are_those_of_an_analysis_and_outlive_a_change(tmp_path: Path) -> None:
    file = tmp_path / "seen.csv"
    cells = [f"{a},{b},{c}" for a in "mf" for b in "abc" for c in "yn"]
    counts = [30, 9, 2, 70, 5, 8, 1, 40, 6, 20, 9, 3]
    rows = (f"{cell},{count}" for cell, count in zip(cells, counts, strict=True))
    file.write_text("sex,dose,ill,Freq\n" + "\n".join(rows) + "\n")
    source = of_file(str(file))
    straight = straight_of(source, State())
    found = mc.analyse(mc.read(file), random_state=0)
    assert found.weighted_by == "Freq"
    np.testing.assert_allclose(straight.model.inertias_, found.model.inertias_, rtol=1e-12)
    changed = straight_of(source, State(uses={"sex": "supplementary"}))
    assert changed.proposal.active == ("dose", "ill")
    assert changed.proposal.weighted_by == "Freq"
