"""The pages: each can be reached, every link leads somewhere, every public name is documented."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml
from packaging.version import Version

import mercer as mc
from mercer.cli.commands import parser, with_command
from tests.examples import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(p for p in DOCS.rglob("*.md") if "_build" not in p.parts)
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
NAMED = {
    name
    for text in TEXTS.values()
    for block in re.findall(r"```\{names\}\n(.*?)```", text, flags=re.DOTALL)
    for name in block.split()
}


WITHOUT_EXAMPLE = {
    "mercer.data.OnDisk",  # what open_points returns
    "mercer.networks.ReplicateStudy",  # what replicate_study returns
    *(f"mercer.pictures.replicate_{what}" for what in ("curve", "map", "networks", "pairs")),
}
"""Names whose example is that of the call before them, which takes seconds."""


def listed_in(page: Path) -> list[Path]:
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", TEXTS[page], flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [page.parent / f"{line}.md" for line in lines if line and not line.startswith(":")]


def anchors(text: str) -> set[str]:
    bare = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.*)$", bare, flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads]
    return {*plain, *re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)}


def test_every_page_is_reached_from_the_first_and_once() -> None:
    left, found = [DOCS / "index.md"], list[Path]()
    while left:
        page = left.pop()
        found.append(page)
        left += listed_in(page)
    assert sorted(found) == PAGES


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        to = (page.parent / file).resolve() if file else page
        assert to.exists(), target
        if anchor and to.suffix == ".md":
            assert anchor in anchors(to.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for table in re.findall(r"((?:^\|.*\n)+)", text, flags=re.MULTILINE):
        counts = {len(re.split(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(counts) == 1, table[:200]


@pytest.mark.parametrize(
    "module", ["mercer", "kernels", "networks", "data", "datasets", "results", "pictures"]
)
def test_the_reference_has_every_public_name(module: str) -> None:
    path = module if module == "mercer" else f"mercer.{module}"
    stub = Path(str(import_module(path).__file__))
    stub = stub.with_suffix(".pyi") if stub.with_suffix(".pyi").exists() else stub
    names = re.findall(
        r"^from .* import \w+ as (\w+)$", stub.read_text("utf-8"), flags=re.MULTILINE
    )
    assert names
    for name in names:
        found = getattr(mc, name) if module == "mercer" else None
        if type(found).__name__ == "module":
            continue
        ends = {documented for documented in NAMED if documented.endswith(f".{name}")}
        assert ends, f"{path}.{name} is in no page of docs/reference"


def test_the_reference_has_every_error() -> None:
    own = [n for n, v in vars(mc.errors).items() if getattr(v, "__module__", "") == "mercer.errors"]
    assert {
        f"mercer.errors.{name}" for name in own if isinstance(vars(mc.errors)[name], type)
    } <= NAMED


def test_the_readme_begins_with_three_lines_of_shell_and_five_of_python() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shell, python = (
        re.findall(rf"```{tongue}\n(.*?)```", text, flags=re.DOTALL) for tongue in ("sh", "python")
    )
    lines = [line.partition("#")[0].split() for line in shell[0].splitlines()]
    assert len(lines) == 3
    for program, *words in lines:
        assert program == "mercer"
        parser().parse_args(with_command(words))
    assert python[0].count(">>>") == 5
    assert text.index("two-maps.png") < text.index("```sh") < text.index("```python")


SHOWN_ELSEWHERE = {"errors", "results"}
"""What is raised or returned: calls that do so have the examples."""


def documented(name: str) -> str:
    module, _, last = name.rpartition(".")
    return str(inspect.getdoc(getattr(import_module(module), last)))


@pytest.mark.parametrize("page", sorted(DOCS.glob("reference/*.md")), ids=lambda page: page.stem)
def test_every_name_of_the_reference_has_an_example(page: Path) -> None:
    blocks = re.findall(r"```\{names\}\n(.*?)```", TEXTS[page], flags=re.DOTALL)
    named = [name for block in blocks for name in block.split()]
    without = {name for name in named if ">>>" not in documented(name)}
    assert page.stem in SHOWN_ELSEWHERE or without <= WITHOUT_EXAMPLE


def test_the_bibliography_has_what_docstrings_cite_and_nothing_else() -> None:
    text = (DOCS / "references.bib").read_text(encoding="utf-8")
    docstrings = "\n".join(documented(name) for name in sorted(NAMED))
    for entry in text.split("\n@")[5:]:  # after the five texts
        authors, year = (
            re.search(r"author = \{(.*)\}", entry),
            re.search(r"year = \{(\d+)\}", entry),
        )
        assert authors is not None
        assert year is not None
        first = authors[1].split(",")[0]
        assert re.search(rf"\b{first}\b[^;]{{0,200}}\b{year[1]}\b", docstrings), entry[:40]


def test_every_error_of_the_texts_is_told_on_a_page() -> None:
    told = "\n".join(text for page, text in TEXTS.items() if page.parent.name == "canon")
    found = {int(number) for number in re.findall(r"\bE(\d+)\b", told)}
    assert found == set(range(1, 40))


def test_the_reference_names_nothing_that_is_not_there() -> None:
    for name in NAMED:
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last), name


def test_files_of_the_release_name_what_is_there() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    stated = tomllib.loads(project)
    assert "version" in stated["project"]["dynamic"]  # that of a tag, and no other beside it
    assert stated["tool"]["hatch"]["version"]["source"] == "vcs"
    assert not re.search(r"^version:", cited, flags=re.MULTILINE)
    assert Version(mc.__version__) >= Version("0.1.dev0")
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"make ([\w-]+)", workflow)) <= set(targets)
    for path in re.findall(r"--ignore (\S+)", workflow):
        assert (ROOT / path).exists(), path


def test_the_workflow_runs_the_gates_on_every_system_and_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]
    matrix = jobs["systems"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    runs = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert "make test PYTHON=python" in runs["systems"]
    assert "make test-oldest" in runs["oldest"]
    assert {"make release", "make docs"} <= set(runs["release"])


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_run_and_are_stored_without_outputs(file: Path) -> None:
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    space: dict[str, object] = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]
            assert cell["execution_count"] is None
            exec("".join(cell["source"]), space)
    plt.close("all")


def test_every_notebook_has_a_page() -> None:
    shown = re.findall(r"^\{notebook\} (\w+)$", "\n".join(TEXTS.values()), flags=re.MULTILINE)
    assert sorted(shown) == [file.stem for file in NOTEBOOKS]
    assert len(NOTEBOOKS) == 3
