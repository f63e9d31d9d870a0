"""The server of the explorer: what it hands out, to whom, and how much it takes.

It listens to this machine alone unless it is told otherwise, answers those who know the token in
its address, and runs no code and opens no path that a visitor names. Nothing is sent anywhere.
What reads data and analyses them is imported when it is asked for: the first page is there before.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from hmac import compare_digest
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from mercer.errors import MercerError, MissingExtra, TooLarge, extra
from mercer.explorer.guard import LOCAL, Guard, refusal
from mercer.explorer.sessions import House, Superseded, Visitor, quiet, refined_key
from mercer.progress import Progress, hear_residuals

if TYPE_CHECKING:
    from mercer.explorer.source import Source
    from mercer.explorer.state import State

ASSETS = Path(__file__).parent / "assets"

PAGE = Path(__file__).parents[1] / "page" / "assets"
"""Where the scripts and the styles of reports stand."""

OWN = (
    "explorer.css",
    "doubts.js",
    "stage.js",
    "beside.js",
    "kernels.js",
    "roles.js",
    "explorer.js",
)
"""The files that the explorer adds to them."""

SHARED = (
    *("page.css", "text.js", "page.js", "sheets.js", "marks.js", "names.js"),
    *("crowd.js", "frame.js", "space.js", "cursor.js", "picture.js", "controls.js"),
)
"""Those that it shares with reports."""

FILES = {**dict.fromkeys(SHARED, PAGE), **dict.fromkeys(OWN, ASSETS)}
"""All files that are handed out."""

BEGINS = "explorer.js"
"""The module of scripts that begins the page."""

MODULES = tuple(name for name in FILES if name.endswith(".js") and name != BEGINS)
"""Those that it imports, all asked for at once."""

MOST_FILES, LAST = 10_000, 12
"""Files that are dropped at once, and residuals that are told."""


TALK = logging.getLogger("mercer.explorer")


class Refused(MercerError):
    """A question that is not answered, with the status to say so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Ended(Refused):
    """Nothing is answered any more."""

    def __init__(self) -> None:
        super().__init__(503, "the server was ended")


def application(
    source: Source | None = None,
    *,
    token: str | None = None,
    hosts: tuple[str, ...] = LOCAL,
    house: House | None = None,
    is_embedded: bool = False,
) -> Any:
    """Return the explorer as an ASGI application; ``token`` is what its pages must know.

    An embedded one may stand in a frame of a notebook on this machine.
    """
    extra("starlette", "serve", "the explorer")
    from starlette.applications import Starlette
    from starlette.routing import Route

    given = token_hex(16) if token is None else token
    desk = Desk(House(source) if house is None else house, given)

    @asynccontextmanager
    async def lives(_: Any) -> Any:
        yield
        desk.house.close()

    routes = [
        Route("/", desk.page),
        Route("/favicon.ico", desk.icon),
        *([Route("/alive", desk.alive)] if is_embedded else []),
        Route("/assets/{name}", desk.asset),
        Route("/api/visit", desk.heard(desk.visit, None), methods=["POST"]),
        *(
            Route(f"/api/{name}", desk.heard(work, name), methods=["POST"])
            for name, work in (
                ("open", desk.open),
                ("upload", desk.upload),
                ("analysis", desk.analysis),
                ("slide", desk.slide),
                ("refine", desk.refine),
                ("function", desk.function),
                ("gradients", desk.gradients),
                ("card", desk.card),
                ("kernel", desk.kernel),
                ("report", desk.report),
                ("cancel", desk.cancel),
                ("progress", desk.progress),
            )
        ),
    ]
    made = Starlette(routes=routes, lifespan=lives)
    made.state.token, made.state.house = given, desk.house
    return Guard(made, given, hosts, is_embedded=is_embedded)


@cache
def _text(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def _answers() -> Any:
    """Return what makes analyses, imported when the first one is asked for."""
    return import_module("mercer.explorer.answers")


def _sources() -> Any:
    """Return what reads data."""
    return import_module("mercer.explorer.source")


def _state(question: dict[str, Any]) -> State:
    """Return the state that a question asks about."""
    state: State = import_module("mercer.explorer.state").State.of(question.get("state", {}))
    return state


def _examples() -> dict[str, str]:
    """Return what there is to try, by name, with what it holds."""
    known = import_module("mercer.datasets.examples")
    return {name: about for name, (_, about) in (*known.EXAMPLES.items(), *known.NETWORKS.items())}


def _clean(text: object, most: int = 120) -> str:
    """Return a text in one line without controls, cut where it is long."""
    return "".join(c if c.isprintable() else " " for c in str(text)[:most])


def _embedded(value: Any) -> str:
    text: str = import_module("mercer.page.safe_text").embed_text(value)
    return text


class Desk:
    """The routes: each reads a question, has the work done, and answers."""

    def __init__(self, house: House, token: str) -> None:
        self.house, self.token = house, token

    async def page(self, request: Any) -> Any:
        """Hand out the page to those who know the token."""
        from starlette.responses import HTMLResponse

        given = request.query_params.get("token", "")
        if not compare_digest(given.encode(), self.token.encode()):
            said = "Open the address that mercer serve has printed: it holds the token."
            return HTMLResponse(_text(ASSETS, "closed.html").replace("{said}", said), 403)
        scripts = "\n".join(
            (
                f'<script type="module" src="/assets/{BEGINS}"></script>',
                *(f'<link rel="modulepreload" href="/assets/{name}">' for name in MODULES),
            )
        )
        return HTMLResponse(_text(ASSETS, "explorer.html").replace("{scripts}", scripts))

    async def alive(self, request: Any) -> Any:
        """Tell a notebook whose page knows the token that the server is there."""
        from starlette.responses import Response

        given = request.query_params.get("token", "")
        if not compare_digest(given.encode(), self.token.encode()):
            return refusal(403, "the token is missing or wrong")
        origin = request.headers.get("origin")  # which the guard has heard
        allowed = {} if origin is None else {"access-control-allow-origin": origin}
        return Response("mercer", headers={**allowed, "vary": "origin"})

    async def icon(self, _: Any) -> Any:
        from starlette.responses import Response

        return Response(status_code=204)

    async def asset(self, request: Any) -> Any:
        """Hand out one of the files that stand in a list; no path is made of a name."""
        from starlette.responses import Response

        name = request.path_params["name"]
        if name not in FILES:
            return refusal(404, "there is no such file")
        text = _text(FILES[name], name)
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(text, media_type=kind)

    def heard(
        self, work: Callable[..., Awaitable[Any]], kind: str | None
    ) -> Callable[[Any], Awaitable[Any]]:
        """Return a route that answers with the value of some work, or with why there is none."""

        async def route(request: Any) -> Any:
            from starlette.responses import Response

            try:
                if kind is None:
                    found = await work(request)
                else:
                    found = await work(request, self._visitor(request))
            except asyncio.CancelledError:  # the server ends, and waits for nobody
                return self._refusal(Ended())
            except Exception as error:
                return self._refusal(error)
            if isinstance(found, Response):
                return found
            text = found if isinstance(found, str) else json.dumps(found, allow_nan=False)
            return Response(text, media_type="application/json")

        return route

    def _visitor(self, request: Any) -> Visitor:
        found = self.house.visitor(request.headers.get("mercer-visitor", ""))
        if found is None:
            raise Refused(410, "this page was idle for long and was let go: load it again")
        return found

    def _refusal(self, error: Exception) -> Any:
        """Return an error as an answer: what, why, and what a visitor can press."""
        advice = tuple(getattr(error, "advice", ()))
        if isinstance(error, Refused):
            return refusal(error.status, str(error))
        if isinstance(error, Superseded):  # no error: the page has asked something else since
            from starlette.responses import Response

            return Response(status_code=204)
        if isinstance(error, TooLarge):
            return refusal(413, _clean(error, 1_000))
        if isinstance(error, MissingExtra):
            return refusal(501, _clean(error, 1_000))
        if isinstance(error, MercerError):
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            words = import_module("mercer.explorer.words")
            return refusal(
                422, _clean(words.in_words(first, advice), 1_500), ways=words.ways(advice)
            )
        if isinstance(error, MemoryError):
            return refusal(413, "there is not enough memory for this")
        TALK.exception("a question was not answered")
        return refusal(
            500,
            f"this is a bug in mercer, not a mistake of yours ({type(error).__name__}): please "
            "report it with what stands where mercer serve was started",
        )

    async def _body(self, request: Any, kind: str) -> bytes:
        """Return the body of a request, which must be small enough and come in time."""
        limits = self.house.limits
        most, patience = limits.question_bytes, limits.question_seconds
        if kind == "upload":
            most, patience = limits.upload_bytes, limits.upload_seconds
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared) > most:
            raise Refused(413, _too_long(most, kind))

        async def collect() -> bytes:
            parts, size = [], 0
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise Refused(413, _too_long(most, kind))
                parts.append(part)
            return b"".join(parts)

        coming, until = asyncio.ensure_future(collect()), monotonic() + patience
        try:
            while monotonic() < until:
                if await self._is_done(coming):
                    return coming.result()
            raise Refused(408, "the data came too slowly")
        finally:
            coming.cancel()

    async def _question(self, request: Any) -> dict[str, Any]:
        body = await self._body(request, "question")
        try:
            value = json.loads(body or b"{}")
        except (ValueError, RecursionError) as error:
            raise Refused(400, "the question is no JSON") from error
        if not isinstance(value, dict):
            raise Refused(400, "a question must be an object")
        return value

    async def _worked(
        self, request: Any, visitor: Visitor, kind: str, work: Callable[[Progress], Any]
    ) -> Any:
        """Have work done while somebody waits for it."""
        job, future = self.house.begin(visitor, kind, work)
        waited = asyncio.wrap_future(future)
        while not await self._is_done(waited):
            if await request.is_disconnected():
                job.is_cancelled = True
        found = waited.result()
        if job.is_cancelled:  # since the work last told how far it was
            raise Superseded("nobody waits for this any more")
        return found

    async def _is_done(self, waited: asyncio.Future[Any]) -> bool:
        """Wait a moment for work, and return whether it is done; nobody waits at the end."""
        await asyncio.wait({waited}, timeout=0.25)
        if not waited.done() and self.house.is_ending():
            raise Ended
        return waited.done()

    def _about(self, visitor: Visitor) -> dict[str, Any]:
        found = visitor.study.source
        if found is None:
            return {"source": None}
        about = {"name": found.name, "count": len(found.data), "kind": found.kind}
        return {"source": {**about, "columns": _sources().columns_of(found)}}

    async def visit(self, request: Any) -> Any:
        """Welcome a visitor, again where they are known, and say what there is to explore."""
        offered = await asyncio.to_thread(_examples)
        if self.house.reading is not None:
            reading = asyncio.wrap_future(self.house.reading)
            while not await self._is_done(reading):
                pass
            reading.result()  # raises why there is nothing to explore
        known = self.house.visitor(request.headers.get("mercer-visitor", ""))
        visitor = self.house.arrive() if known is None else known
        examples = [{"name": name, "about": about} for name, about in offered.items()]
        offers = {"examples": examples, "most": self.house.limits.upload_bytes}
        return {"visitor": visitor.name, **offers, **self._about(visitor)}

    async def open(self, request: Any, visitor: Visitor) -> Any:
        """Open one of the examples, or the data that the server was started with."""
        name = (await self._question(request)).get("example")
        if name is None and self.house.source is not None:
            visitor.bring(self.house.source, is_own=False)
        elif isinstance(name, str) and name in _examples():
            visitor.bring(_sources().of_example(name), is_own=False)
        else:
            raise Refused(404, "there is no such example")
        return self._about(visitor)

    async def upload(self, request: Any, visitor: Visitor) -> Any:
        """Read a file that a visitor has dropped; its name is a word, and no path."""
        given = request.query_params.get("name", "data.csv")
        name = _clean(given.replace("\\", "/").rpartition("/")[2], 120) or "data.csv"
        body = await self._body(request, "upload")
        if not body:
            raise Refused(422, "the file is empty")
        if request.query_params.get("several") == "yes":
            work = partial(_sources().source_of_files, _files(body))
        else:
            work = partial(_sources().source_of, body, name)
        source = await self._worked(request, visitor, "upload", work)
        self.house.room_for(source.bytes, visitor)
        visitor.bring(source, is_own=True)
        return self._about(visitor)

    async def analysis(self, request: Any, visitor: Visitor) -> Any:
        """Answer with everything that the page shows of a state."""
        state, study = _state(await self._question(request)), visitor.study

        def work(tell: Progress) -> tuple[str, Any]:
            with quiet():
                straight = study.straight_map(state, tell)
                curved = study.exact_map(state) if state.exact else None
                found, subject = _answers().answer(
                    study.read_as(state), state, straight, tell, curved
                )
                return _embedded(found), subject

        # What nobody waits for any more leaves the map that is shown.
        page, study.subject = await self._worked(request, visitor, "analysis", work)
        study.drawn = None
        return page

    async def slide(self, request: Any, visitor: Visitor) -> Any:
        """Answer with the curved map alone, as the slider moves."""
        state, study = _state(await self._question(request)), visitor.study

        def work(tell: Progress) -> tuple[str, Any]:
            with quiet():
                before = study.drawn
                if before is None and study.subject is not None:
                    before = study.subject.coordinates
                straight = study.straight_map(state, tell)
                found, drawn = import_module("mercer.explorer.slider").slide(
                    straight, state, tell, before
                )
                return _embedded(found), drawn

        page, study.drawn = await self._worked(request, visitor, "slide", work)
        return page

    async def refine(self, request: Any, visitor: Visitor) -> Any:
        """Make the curved map of all individuals, which an analysis with ``exact`` then shows."""
        state, study = _state(await self._question(request)), visitor.study

        def work(tell: Progress) -> Any:
            residuals = visitor.jobs["refine"].residuals
            with quiet(), hear_residuals(residuals.append):
                straight = study.straight_map(state, tell)
                model = _answers().exact_map(straight, state, tell)
                if model is not None:
                    study.refined = refined_key(state), model
                return {"refined": model is not None, "residuals": residuals[-LAST:]}

        return await self._worked(request, visitor, "refine", work)

    async def function(self, request: Any, visitor: Visitor) -> Any:
        """Answer with an axis as a function of two variables."""
        asked = await self._question(request)
        axis, on, subject = asked.get("axis", 1), asked.get("on"), visitor.study.subject
        if type(axis) is not int or subject is None:
            raise Refused(422, "an axis of the map must be named by its number")
        if on is not None and not (isinstance(on, list) and all(isinstance(n, str) for n in on)):
            raise Refused(422, "variables must be named by a list of words")

        def work(_: Progress) -> str:
            with quiet():
                return _embedded(_answers().function(subject, axis, on))

        return await self._worked(request, visitor, "function", work)

    async def gradients(self, request: Any, visitor: Visitor) -> Any:
        """Answer with where individuals move on two axes when a variable rises."""
        axes, subject = (await self._question(request)).get("axes", [1, 2]), visitor.study.subject
        is_pair = isinstance(axes, list) and len(axes) == 2 and all(type(k) is int for k in axes)
        if not is_pair or subject is None:
            raise Refused(422, "two axes of the map must be named by their numbers")

        def work(_: Progress) -> str:
            with quiet():
                found = import_module("mercer.explorer.gradients").gradients(subject, axes)
                return _embedded(found)

        return await self._worked(request, visitor, "gradients", work)

    async def card(self, request: Any, visitor: Visitor) -> Any:
        """Answer with the neighbours of an individual."""
        row = (await self._question(request)).get("row")
        subject, source = visitor.study.subject, visitor.study.source
        if type(row) is not int or subject is None:
            raise Refused(422, "a row of the analysis must be named by its number")
        data = None if source is None else source.data
        return await self._worked(request, visitor, "card", partial(_card, subject, row, data))

    async def kernel(self, request: Any, visitor: Visitor) -> Any:
        """Answer with what can be said of a written kernel."""
        text, study = (await self._question(request)).get("text"), visitor.study
        if not isinstance(text, str):
            raise Refused(422, "a kernel must be written as text")

        def work(_: Progress) -> Any:
            with quiet():
                return import_module("mercer.explorer.verdict").verdict(text, study.shown)

        return await self._worked(request, visitor, "kernel", work)

    async def report(self, request: Any, visitor: Visitor) -> Any:
        """Answer with the page of a state, as a file."""
        from starlette.responses import Response

        asked = await self._question(request)
        state, view, study = _state(asked), asked.get("view"), visitor.study

        def work(tell: Progress) -> bytes:
            with quiet():
                straight = study.straight_map(state, tell)
                curved = study.exact_map(state) if state.exact else None
                page: bytes = _answers().page_of(
                    study.read_as(state), state, straight, tell, view, curved
                )
                return page

        page = await self._worked(request, visitor, "report", work)
        name = {"content-disposition": 'attachment; filename="report.html"'}
        return Response(page, media_type="application/octet-stream", headers=name)

    async def cancel(self, request: Any, visitor: Visitor) -> Any:
        """End the work of a visitor, or that of one kind."""
        kind = (await self._question(request)).get("kind")
        for name, job in visitor.jobs.items():
            if kind is None or name == kind:
                job.is_cancelled = True
        return {"cancelled": True}

    async def progress(self, request: Any, visitor: Visitor) -> Any:
        """Answer with how far the work of a visitor is, and the residuals of a refinement."""
        kind = (await self._question(request)).get("kind", "analysis")
        job = visitor.jobs.get(kind) if isinstance(kind, str) else None
        if job is None:
            return {"done": 0, "total": 0, "residuals": []}
        return {"done": job.done, "total": job.total, "residuals": job.residuals[-LAST:]}


def _too_long(most: int, kind: str) -> str:
    """Return why a body is not taken, and what to do with a file."""
    if kind == "question":
        return f"the question has more than {most:,} bytes"
    return (
        f"a page takes {most / 2**20:,.0f} MB at most: start mercer serve with the name of the "
        "file, which reads it from disk"
    )


def _card(subject: Any, row: int, data: Any, _: Progress) -> Any:
    with quiet():
        return import_module("mercer.explorer.cards").card(subject, row, data)


def _files(body: bytes) -> list[tuple[str, bytes]]:
    """Return files that came in one body: a line of their names and sizes, and then all of them."""
    head, _, rest = body.partition(b"\n")
    try:
        listed = [(str(name), int(size)) for name, size in json.loads(head)]
    except (ValueError, TypeError, RecursionError) as error:
        raise Refused(400, "the files have no list of names and sizes before them") from error
    if len(listed) > MOST_FILES or min((s for _, s in listed), default=0) < 0:
        raise Refused(413, f"these are {len(listed):,} files, more than the {MOST_FILES:,} allowed")
    if sum(size for _, size in listed) != len(rest):
        raise Refused(400, "the files have other sizes than their list says")
    found, at = [], 0
    for name, size in listed:
        found.append((_clean(name.replace("\\", "/").rpartition("/")[2]), rest[at : at + size]))
        at += size
    return found
