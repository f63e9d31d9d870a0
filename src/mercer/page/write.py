"""The page put together and written: template, styles, scripts, and the policy that binds them."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from mercer.analysis import Analysis, analyse
from mercer.data.raw_files import regular
from mercer.dimension.rules import Choice
from mercer.errors import InvalidInput, extra
from mercer.page.data import Value, describe
from mercer.page.panels import CONTRIBUTIONS, map_sections
from mercer.page.reproduce import Reading, command_line, of_file, versions
from mercer.page.safe_text import PAGE, clean, embed_text, short
from mercer.page.sections import Picture, Section, blank, with_sections
from mercer.pictures.limits import LIMITS
from mercer.pictures.scene import Sheet
from mercer.pictures.with_scripts import LOOK, Linking, as_value, with_words
from mercer.pictures.with_svg import svg_of
from mercer.progress import Progress, follow_work
from mercer.settings import spelled
from mercer.store.file import write_whole

ASSETS = Path(__file__).parent / "assets"
TEMPLATE = "page.html"

START = "start.js"
"""The module of scripts that begins a page, and imports the others; the explorer has another."""

IMPORT = re.compile(r'^import (?:\{ mercer \} from )?"\./(\w+\.js)";\n', re.MULTILINE)
"""A line of a script that names another."""


@spelled
def report(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    model: Any,
    path: str | os.PathLike[str],
    *,
    table: Any = None,
    title: str | None = None,
    choices: Mapping[str, Choice] | None = None,
    command: str | Sequence[str] | None = None,
    source: str | os.PathLike[str] | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
    supplementary: Any = None,
    sections: Sequence[Section] = (),
    clusters: int | None = None,
    most_bytes: int | None = None,
    progress: bool | Progress | None = None,
) -> Path:
    """Write what a model found as one HTML file, and return its path.

    The file holds everything it needs and asks the network nothing; its pictures and tables are
    there without scripts too, and on paper. It takes at most 10 MB: above 10 000 individuals it
    shows their density and a sample. Names that come from data are text and nothing else. The same
    model and table make the same bytes.

    Parameters
    ----------
    model
        A fitted `PCA`, `KernelPCA`, `CA`, `MCA`, `FAMD`, `MFA`, `ClassicalMDS` or `StressMDS`; or
        what `analyse` returned, whose page has both maps and says why and what to doubt; or a
        table, a data frame or a file's name, which is then analysed.
    path
        Where to write; an existing file is replaced once the new one is whole.
    table : Table, data frame or SquareMatrix, optional
        What the model was fitted on, with its factors and supplementary columns; by default the
        numbers that the model keeps.
    title : str, optional
        The title of the page.
    choices : mapping, optional
        What `choose_dimension` with ``rule="all"`` returned. By default the rules are asked, Horn's
        with 199 permutations where these take less than a minute.
    command : str or sequence of str, optional
        The command line that made the page, to be shown.
    source : path, optional
        The file of the data, whose name and SHA-256 sum are shown.
    reading : mapping or mercer.page.Reading, optional
        The arguments of `mercer.read` with which that file was read, for the code that is shown.
        A `Reading` also names the rows that took no part in the fit and the column of weights.
    supplementary : Table or data frame, optional
        Individuals that took no part in the fit, to be shown on its axes.
    sections : sequence of mercer.page.Section
        What else the page says: words, pictures that ``describe`` returned, tables.
    clusters : int, optional
        How many classes of individuals the page shows; by default as many as their tree suggests.
    most_bytes : int, optional
        The largest size of the page, 10 000 000 by default.
    progress : bool or function, optional
        True for a line on the standard error, or a function of the parts done and the parts there
        are: permutations of Horn's test where it is asked, then pictures drawn.

    Examples
    --------
    >>> import mercer as mc
    >>> from tempfile import TemporaryDirectory
    >>> model = mc.PCA(2).fit([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> with TemporaryDirectory() as folder:
    ...     page = mc.report(model, Path(folder, "page.html"), choices={})
    ...     page.name, page.stat().st_size < 10_000_000
    ('page.html', True)
    """
    target = Path(path)
    file = None if source is None else regular(source)
    if not isinstance(model, Analysis) and not hasattr(model, "fit"):
        model = analyse(model, random_state=0)
    straight = model.model if isinstance(model, Analysis) else model

    def tried(tell: Progress | None) -> Iterator[Value]:
        asked = choices
        for most in (LIMITS.points, LIMITS.sample, PAGE.fewest_points):
            value = describe(
                model,
                table=table,
                title=title,
                choices=asked,
                command=command,
                source=file,
                name=target.name,
                most_points=most,
                supplementary=supplementary,
                reading=reading,
                sections=[section.code for section in sections],
                clusters=clusters,
                tell=tell,
            )
            yield with_sections(value, [*map_sections(straight, value), *sections])
            asked = asked if asked is not None else {}

    with follow_work(progress, "parts") as tell:
        return _written(target, tried(tell), most_bytes, tell)


def document(  # noqa: PLR0913  (keywords with defaults, none of which implies another)
    path: str | os.PathLike[str],
    title: str,
    sentences: Sequence[str],
    sections: Sequence[Section],
    *,
    code: str | None = None,
    command: str | Sequence[str] | None = None,
    source: str | os.PathLike[str] | None = None,
    most_bytes: int | None = None,
) -> Path:
    """Write a page of sections alone, with the same promises as `mercer.report`.

    Parameters
    ----------
    path
        Where to write; an existing file is replaced once the new one is whole.
    title, sentences
        The title, and sentences: the first says what was done, and stands below those after it,
        which say what was found.
    sections
        What follows, in this order; the first picture of all stands below the sentences.
    code, command
        Python code and the command line that make the page again.
    source
        The file of the data, whose name and SHA-256 sum are shown.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import pictures
    >>> bend = pictures.curves.describe([0.0, 1.0, 2.0], {"rise": [0.0, 1.0, 4.0]})
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "p.html")
    ...     page = document(target, "A rise", ["It rises."], [Section("Curve", (), [bend])])
    ...     page.stat().st_size < 10_000_000
    True
    """
    file = None if source is None else regular(source)
    facts = [*versions().items(), *of_file(file)]
    reproduce = {"code": code, "command": command_line(command), "facts": facts}
    value = blank(title, sentences, reproduce)
    return _written(Path(path), iter([with_sections(value, sections)]), most_bytes)


def _written(
    target: Path,
    tried: Iterator[Value],
    most_bytes: int | None,
    tell: Progress | None = None,
) -> Path:
    """Write the first page that is small enough."""
    largest = PAGE.bytes if most_bytes is None else most_bytes
    for value in tried:
        page = render_page(value, tell).encode("utf-8")
        if len(page) <= largest:
            write_whole(target, [page])
            return target
    raise InvalidInput(
        f"the page would take {len(page):,} bytes, more than {largest:,}: give a table with "
        "fewer columns or shorter labels"
    )


def render_page(value: Value, tell: Progress | None = None) -> str:
    """Return a value as a page; ``tell`` hears of the pictures drawn."""
    jinja2 = extra("jinja2", "report", "a report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["cell"] = cell
    environment.filters["unbroken"] = unbroken
    markup = environment.filters["safe"]
    panels = {name: _harmless(picture) for name, picture in value["panels"].items()}
    bare = {name: replace(picture, title="", notes=()) for name, picture in panels.items()}
    figures: dict[str, Any] = {}
    for name in panels:
        figures[name] = markup(svg_of(bare[name], panels[name].title, name))
        if tell is not None:
            tell(len(figures), len(panels))
    script = joined(START)
    page: str = template(jinja2, environment).render(
        value=value,
        panels=panels,
        figures=figures,
        formula=None if value["kernel"] is None else markup(value["kernel"]["formula"] or ""),
        policy=policy([script]),
        style=markup(asset("page.css")),
        script=markup(script),
        data=markup(embed_text(_as_data(value, panels))),
    )
    return page


def modules(name: str, read: Callable[[str], str]) -> tuple[str, ...]:
    r"""Return the scripts that one imports, and it, in the order in which they run.

    >>> texts = {"a.js": 'import "./c.js";\nimport "./b.js";\n', "b.js": 'import "./c.js";\n'}
    >>> modules("a.js", lambda name: texts.get(name, ""))
    ('c.js', 'b.js', 'a.js')
    """
    found: dict[str, None] = {}
    for other in IMPORT.findall(read(name)):
        found |= dict.fromkeys(modules(other, read))
    return tuple(found | {name: None})


def joined(name: str) -> str:
    """Return scripts as one module: a file that is opened from disk may import no other."""
    texts = (IMPORT.sub("", asset(one)) for one in modules(name, asset))
    return "\n".join(texts).replace("export const mercer", "const mercer", 1)


def template(jinja2: Any, environment: Any) -> Any:
    """Return the page's template, compiled once and kept where Python keeps compiled modules."""
    kept = ASSETS.parent / "__pycache__"
    if not sys.dont_write_bytecode and os.access(kept, os.W_OK):
        environment.bytecode_cache = jinja2.FileSystemBytecodeCache(str(kept))
        with suppress(OSError):  # a full disk
            return environment.get_template(TEMPLATE)
    environment.bytecode_cache = None
    return environment.get_template(TEMPLATE)


def for_scripts(value: Value) -> Value:
    """Return the value of a page as its scripts read it, every picture as data."""
    return _as_data(value, {name: _harmless(it) for name, it in value["panels"].items()})


def _as_data(value: Value, panels: dict[str, Picture]) -> Value:
    linking = _linking(value)
    return {
        **value,
        "panels": {
            name: as_value(replace(picture, title="", notes=()), linking)
            for name, picture in panels.items()
        },
        "titles": {name: picture.title for name, picture in panels.items()},
        "captions": {name: picture.notes for name, picture in panels.items()},
        "follow": following(value),
        "look": {**LOOK, "classes": (value.get("groups") or {}).get("colour")},
    }


def picture_value(picture: Picture, names: Sequence[str], rows: Iterable[int]) -> Value:
    """Return one picture as scripts read it, linked to the individuals of these names and rows."""
    linking = Linking({"individuals": (names, rows)})
    return as_value(replace(_harmless(picture), title="", notes=()), linking)


def following(value: Value) -> dict[str, Value]:
    """Return the pictures that show the axes which a reader chooses: of which map and side."""
    found: dict[str, Value] = {
        name: {"space": "curved" if name == "curved" else "straight"}
        for name in ("plane-1-2", "circle", "categories", "curved")
    }
    found["scree"] = {"space": "straight", "picks": True}
    for kind in CONTRIBUTIONS:
        for side in (0, 1):
            panel = value["panels"].get(f"{kind}-{side + 1}")
            title = "" if panel is None else panel.title.replace(value["axes"][side], "{axis}")
            found[f"{kind}-{side + 1}"] = {"space": "straight", "side": side, "title": title}
    return {name: how for name, how in found.items() if name in value["panels"]}


def _harmless(picture: Picture) -> Picture:
    """Return a picture without controls in its words; names are cut as those the page lists."""
    found: Picture = with_words(picture, clean)
    notes = picture.notes
    if isinstance(found, Sheet) and isinstance(picture, Sheet):  # its caption speaks for its panels
        notes += tuple(note for panel in picture.panels for note in panel.notes)
        found = replace(found, panels=tuple(replace(panel, notes=()) for panel in found.panels))
    return replace(found, notes=tuple(clean(note, 600) for note in dict.fromkeys(notes)))


def _linking(value: Value) -> Linking:
    """Return whom the page lists, for the pictures that show the same elements."""
    people = value["individuals"]
    rows = range(len(people["names"])) if people["rows"] is None else people["rows"]
    listed = {"individuals": (people["names"], rows), "imputed": (people["names"], rows)}
    tables = value["linked"] | ({"supplementary": value["passive"]} if value["passive"] else {})
    listed |= {of: (table["names"], range(len(table["names"]))) for of, table in tables.items()}
    return Linking(listed)


def unbroken(text: str) -> Any:
    """Return prose in which no number, percentage or flag is cut at the end of a line.

    >>> unbroken("within 8e-14 <of> it; --no-scale keeps units")
    Markup('within <span class="whole">8e-14</span> &lt;of&gt; it; <span
    class="whole">--no-scale</span> keeps units')
    """
    markup = extra("markupsafe", "report", "a report")
    parts = re.split(r"(\d[\d.]*e-\d+|\d[\d.]* %|--[a-z][a-z-]*)", text)
    whole = (f'<span class="whole">{part}</span>' for part in parts[1::2])
    prose = [str(markup.escape(part)) for part in parts[::2]]
    return markup.Markup("".join(a + b for a, b in zip(prose, [*whole, ""], strict=True)))


def policy(scripts: Sequence[str]) -> str:
    """Return the content security policy under which only these scripts run, and nothing is asked.

    Styles are not bound: pictures hold some in their elements, and they can ask nothing either.

    >>> policy(["a"]).split("; ")[:2]
    ["default-src 'none'", "script-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='"]
    """
    sums = " ".join(map(_source, scripts))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {sums}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def asset(name: str) -> str:
    """Return a file that stands beside the template."""
    return (ASSETS / name).read_text(encoding="utf-8")


def cell(found: Any, kind: str) -> str:
    """Return a cell of a table as text.

    >>> cell(0.4321, "share"), cell(1.23456, "number"), cell(None, "number"), cell("a", "text")
    ('43.2 %', '1.23', '', 'a')
    """
    if found is None:
        return ""
    if isinstance(found, str):
        return found
    if kind == "share":
        return f"{100 * found:.1f} %"
    return f"{found:.0e}" if kind == "error" else short(found)
