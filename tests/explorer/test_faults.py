"""What the server of the explorer survives: 24 faults, numbered, and every route asked once."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.cli import main
from mercer.explorer import guard, server, sessions
from mercer.explorer.limits import Limits
from mercer.explorer.running import is_local
from mercer.explorer.server import application
from mercer.explorer.sessions import House
from mercer.explorer.source import Source
from tests.explorer.test_explorer_server import HOST, TOKEN, Client, testclient

CSV = b"a,b,c\n1,2,3\n2,1,5\n4,4,1\n3,5,2\n"

FAULTS: dict[int, Callable[..., None]] = {}


def fault(number: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a case under its number."""

    def enter(case: Callable[..., None]) -> Callable[..., None]:
        assert number not in FAULTS
        FAULTS[number] = case
        return case

    return enter


class Place:
    """What a case may use: a client with data, its house, a folder, and pytest's patches."""

    def __init__(self, tmp_path: Path, patch: pytest.MonkeyPatch) -> None:
        self.tmp, self.patch = tmp_path, patch
        self.house = House(Source(mc.datasets.swiss(), "swiss", "mc.datasets.swiss()"))
        self.client = Client(self.house)

    def upload(self, body: bytes, name: str = "data.csv", **more: Any) -> Any:
        return self.client.ask("upload", params={"name": name, **more}, content=body)


def is_refused(answer: Any, *statuses: int) -> None:
    """Check that a refusal says so in one sentence of JSON, without a traceback."""
    assert answer.status_code in statuses, answer.text[:300]
    assert set(answer.json()) <= {"error", "ways"}
    assert answer.json()["error"]
    assert "Traceback" not in answer.text


def leads_nowhere(place: Place, *names: str) -> None:
    for name in names:
        answer = place.client.raw.get(f"/assets/{name}")
        assert answer.status_code in (400, 404)
        assert b"root:" not in answer.content


@fault(1)
def dots_in_a_path(place: Place) -> None:
    leads_nowhere(place, "../server.py", "../../../../etc/passwd", "page.css/../../server.py")


@fault(2)
def encoded_dots_in_a_path(place: Place) -> None:
    leads_nowhere(place, "%2e%2e/server.py", "%2e%2e%2fserver.py", "..%5cserver.py", "%252e%252e")


@fault(3)
def an_absolute_path(place: Place) -> None:
    leads_nowhere(place, "/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "C:%5Cboot.ini")


@fault(4)
def a_path_of_the_network(place: Place) -> None:
    leads_nowhere(place, "%5c%5cserver%5cshare", "//server/share")
    found = place.upload(CSV, "\\\\server\\share\\x.csv")
    assert found.json()["source"]["name"] == "x.csv"


@fault(5)
def a_name_with_nul(place: Place) -> None:
    leads_nowhere(place, "page.css%00.js", "%00")
    found = place.upload(CSV, "a\0b.csv")
    assert found.status_code == 200
    assert "\0" not in found.json()["source"]["name"]


@fault(6)
def a_file_named_by_a_way_out(place: Place) -> None:
    place.patch.chdir(place.tmp)
    (place.tmp / "kept.csv").write_text("mine")
    for name in ("../kept.csv", "kept.csv", str(place.tmp / "kept.csv"), "..", "/"):
        assert place.upload(CSV, name).status_code == 200
    assert (place.tmp / "kept.csv").read_text() == "mine"
    assert [p.name for p in place.tmp.iterdir()] == ["kept.csv"]


@fault(7)
def a_link_beside_the_files(place: Place) -> None:
    secret = place.tmp / "secret"
    secret.write_text("root:secret")
    assets = place.tmp / "assets"
    assets.mkdir()
    (assets / "link.js").symlink_to(secret)
    place.patch.setattr(server, "ASSETS", assets)
    leads_nowhere(place, "link.js")


@fault(8)
def a_body_that_says_it_is_too_large(place: Place) -> None:
    place.patch.setattr(House, "limits", Limits(upload_bytes=100))
    is_refused(place.upload(b"x" * 101), 413)
    is_refused(place.client.ask("kernel", {"text": "x" * 2_000_000}), 413)


@fault(9)
def a_body_that_does_not_say_its_size(place: Place) -> None:
    place.patch.setattr(House, "limits", Limits(upload_bytes=1_000))
    parts = (b"x" * 400 for _ in range(100))
    is_refused(place.upload(parts), 413)  # type: ignore[arg-type]


@fault(10)
def a_body_that_comes_slowly(place: Place) -> None:
    place.patch.setattr(House, "limits", Limits(upload_seconds=0.05, question_seconds=0.05))
    begun = monotonic()
    told = told_while_data_come(place)
    assert told[0]["status"] == 408
    assert b"too slowly" in told[1]["body"]
    assert monotonic() - begun < 10


def told_while_data_come(place: Place) -> list[Any]:
    """Return what an upload hears that does not end."""
    names = {**place.client.headers, "host": "127.0.0.1"}
    scope = {
        **{"type": "http", "method": "POST", "path": "/api/upload", "query_string": b"name=x.csv"},
        "headers": [(k.encode(), v.encode()) for k, v in names.items()],
    }
    told: list[Any] = []

    async def drop() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"1,", "more_body": True}

    async def hear(message: Any) -> None:
        told.append(message)

    asyncio.run(place.client.raw.app(scope, drop, hear))
    return told


@fault(11)
def a_file_that_unfolds(place: Place) -> None:
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 20_000_000, 9)
    assert len(bomb) < 400_000
    is_refused(place.upload(bomb, "bomb.csv.gz"), 413, 422)


@fault(12)
def an_array_of_objects(place: Place) -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return Path.write_text, (place.tmp / "ran", "code ran")

    held = io.BytesIO()
    np.save(held, np.array([Bad()], dtype=object), allow_pickle=True)
    is_refused(place.upload(held.getvalue(), "x.npy"), 422)
    assert not (place.tmp / "ran").exists()


@fault(13)
def a_question_that_is_deep_or_no_json(place: Place) -> None:
    for text in ("[" * 200_000, "{", '{"state": NaN', "\0", "[]", "1"):
        is_refused(place.client.ask("analysis", content=text), 400)
    is_refused(place.client.ask("analysis", {"state": {"uses": {"x": []}}}), 422)


@fault(14)
def many_fits_at_once(place: Place) -> None:
    found: list[int] = []

    def visit() -> None:
        found.append(Client(place.house).analysis(axes=2).status_code)

    threads = [threading.Thread(target=visit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 6


@fault(15)
def work_for_which_nobody_waits(place: Place) -> None:
    begun, end = threading.Event(), threading.Event()

    def slow(tell: Any) -> None:
        begun.set()
        while not end.is_set():
            sleep(0.01)
            tell(0, 1)

    visitor = place.house.visitor(place.client.about["visitor"])
    assert visitor is not None
    _, older = place.house.begin(visitor, "analysis", slow)
    assert begun.wait(10)
    newer = place.client.analysis(axes=2)
    assert newer.status_code == 200
    assert isinstance(older.exception(10), sessions.Superseded)
    end.set()


@fault(16)
def too_much_that_waits(place: Place) -> None:
    place.patch.setattr(House, "limits", Limits(waiting=0))
    is_refused(place.client.analysis(), 413)
    place.patch.setattr(House, "limits", Limits(waiting=9))
    assert place.client.analysis(axes=2).status_code == 200


@fault(17)
def another_host(place: Place) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost.", "[::2]", "0.0.0.0"):
        answer = place.client.raw.get("/", headers={"host": host}, params={"token": TOKEN})
        is_refused(answer, 400)


@fault(18)
def another_origin(place: Place) -> None:
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"):
        headers = {**place.client.headers, "origin": origin}
        is_refused(place.client.raw.post("/api/visit", headers=headers), 403)


@fault(19)
def a_form_of_another_page(place: Place) -> None:
    for site in ("cross-site", "same-site"):
        headers = {**place.client.headers, "sec-fetch-site": site}
        is_refused(place.client.raw.post("/api/open", headers=headers, content=b"{}"), 403)
    form = {"content-type": "application/x-www-form-urlencoded"}  # which asks no leave before it
    is_refused(place.client.raw.post("/api/open", headers=form, content=b"example=iris"), 403)


@fault(20)
def no_token_or_another(place: Place) -> None:
    for token in ("", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
        answer = place.client.raw.post("/api/visit", headers={"mercer-token": token})
        is_refused(answer, 403)
        page = place.client.raw.get("/", params={"token": token})
        assert page.status_code == 403
        assert "<script" not in page.text


@fault(21)
def other_machines_without_the_token(place: Place) -> None:
    assert not is_local("0.0.0.0")
    app = application(token=TOKEN, hosts=(*guard.LOCAL, "10.0.0.7"))
    raw = testclient.TestClient(app, base_url="http://10.0.0.7:8080")
    is_refused(raw.post("/api/visit"), 403)
    assert raw.get("/").status_code == 403
    assert raw.post("/api/visit", headers={"mercer-token": TOKEN}).status_code == 200


@fault(22)
def code_where_a_kernel_is_asked_for(place: Place) -> None:
    place.patch.chdir(place.tmp)
    for text in (
        "__import__('os').mkdir('ran')",
        "(lambda: open('ran', 'w'))()",
        "gaussian(bandwidth=open('ran', 'w'))",
        "gaussian.__class__",
        "[k for k in (1,)]",
    ):
        assert place.client.ask("kernel", {"text": text}).json()["ok"] is False
        is_refused(place.client.analysis(kernel=text), 422)
    assert list(place.tmp.iterdir()) == []


@fault(23)
def a_visitor_who_was_let_go_or_never_came(place: Place) -> None:
    place.client.headers["mercer-visitor"] = "somebody-else"
    is_refused(place.client.analysis(), 410)
    other = Client(place.house)
    place.house.idle = 0.0
    sleep(0.01)
    is_refused(other.analysis(), 410)


@fault(24)
def a_bug_in_the_work(place: Place) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("secret of the machine")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mercer.explorer.answers.answer", broken)
        answer = place.client.analysis()
    is_refused(answer, 500)
    assert "secret" not in answer.text
    assert place.client.analysis(axes=2).status_code == 200


def test_there_are_24_faults() -> None:
    assert sorted(FAULTS) == list(range(1, 25))


@pytest.mark.parametrize(
    "number", sorted(FAULTS), ids=[f"H{n}-{FAULTS[n].__name__}" for n in sorted(FAULTS)]
)
def test_a_fault_ends_in_words(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(tmp_path, monkeypatch)
    try:
        FAULTS[number](place)
    finally:
        place.house.close()
        caplog.clear()


def test_a_server_that_ends_does_not_wait_for_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, monkeypatch)
    monkeypatch.setattr(House, "limits", Limits(upload_seconds=5.0, question_seconds=5.0))
    place.house.is_ending = lambda: True
    told = told_while_data_come(place)
    assert told[0]["status"] == 503
    assert b"the server was ended" in told[1]["body"]
    place.house.close()


def test_a_host_that_others_reach_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    refused = "300.0.0.1"  # no address of any machine: it is warned of before it is refused
    assert main(["serve", "--no-open", "--host", refused]) != 0
    said = capsys.readouterr().err
    assert "other machines can reach" in said
    assert "Traceback" not in said


QUESTIONS: dict[str, tuple[Any, str]] = {
    "/api/visit": ({}, "visitor"),
    "/api/open": ({"example": "iris"}, "source"),
    "/api/analysis": ({"state": {"axes": 2}}, "panels"),
    "/api/slide": ({"state": {"bandwidth": 2.0}}, "space"),
    "/api/refine": ({"state": {}}, "refined"),
    "/api/function": ({"axis": 1}, "panel"),
    "/api/gradients": ({"axes": [1, 2]}, "panel"),
    "/api/card": ({"row": 3}, "nearest"),
    "/api/kernel": ({"text": "linear()"}, "ok"),
    "/api/cancel": ({}, "cancelled"),
    "/api/progress": ({"kind": "refine"}, "residuals"),
}
"""A question to each route, and what its answer must have."""


def test_every_route_answers_with_what_it_must_have() -> None:
    house = House(None)
    client = Client(house)
    routes = {route.path for route in application(house=house).app.routes}
    asked = {"/", "/favicon.ico", "/assets/{name}", "/api/upload", "/api/report", *QUESTIONS}
    assert routes == asked
    for path, (question, has) in QUESTIONS.items():
        answer = client.ask(path.removeprefix("/api/"), question)
        assert answer.status_code == 200, (path, answer.text[:300])
        assert has in answer.json(), path
        for name, value in guard.HEADERS.items():
            assert answer.headers[name] == value
        assert client.raw.get(path, headers=client.headers).status_code == 405
        assert client.raw.post(path).status_code == 403
    page = client.ask("report", {"state": {"axes": 2}, "view": [1, 0, None, 0]})
    assert page.content.startswith(b"<!doctype html>")
    assert page.headers["content-disposition"].startswith("attachment")
    assert (
        client.ask("upload", params={"name": "x.csv"}, content=CSV).json()["source"]["count"] == 4
    )
    assert client.raw.get("/favicon.ico").status_code == 204
    assert client.raw.get("/", params={"token": TOKEN}).status_code == 200
    assert client.raw.get("/assets/beside.js").headers["content-type"].startswith("text/javascript")
    assert client.raw.get("/else").status_code == 404
    house.close()


def test_several_files_are_networks_and_their_list_must_be_true() -> None:
    client = Client(House(None))
    files = {f"net{i}.edges": b"a b\nb c\nc a\n" + b"a d\n" * (i % 2) for i in range(6)}
    head = json.dumps([[f"../{name}", len(body)] for name, body in files.items()]).encode()
    whole = head + b"\n" + b"".join(files.values())
    found = client.ask("upload", params={"several": "yes"}, content=whole)
    assert found.json()["source"] == {
        "name": "networks",
        "count": 6,
        "kind": "networks",
        "columns": [],
    }
    value = client.analysis().json()
    assert value["individuals"]["names"] == [f"net{i}" for i in range(6)]
    for wrong in (
        b"",
        b"[]",
        b"x\n",
        b'[["a", -1]]\n',
        head + b"\nshort",
        b'[["a.edges", 3]]\na b',
    ):
        is_refused(client.ask("upload", params={"several": "yes"}, content=wrong), 400, 413, 422)
    assert HOST in str(client.raw.base_url)
