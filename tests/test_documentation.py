"""The pages: each can be reached, every link leads somewhere, every public name is documented."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
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


def documented(name: str) -> str:
    module, _, last = name.rpartition(".")
    return str(inspect.getdoc(getattr(import_module(module), last)))


@pytest.mark.parametrize("page", sorted(DOCS.glob("reference/*.md")), ids=lambda page: page.stem)
def test_every_name_of_the_reference_has_an_example(page: Path) -> None:
    blocks = re.findall(r"```\{names\}\n(.*?)```", TEXTS[page], flags=re.DOTALL)
    named = [name for block in blocks for name in block.split()]
    assert not [name for name in named if ">>>" not in documented(name)]


def documented_kernels() -> dict[str, type[mc.Kernel]]:
    kinds = {
        name: getattr(import_module(name.rpartition(".")[0]), name.rpartition(".")[2])
        for name in sorted(NAMED)
    }
    return {
        name: kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, mc.Kernel) and kind is not mc.Kernel
    }


def test_every_kernel_of_the_reference_states_its_formula() -> None:
    kernels = documented_kernels()
    assert len(kernels) > 60
    assert not [name for name in kernels if ".. math::" not in documented(name)]


def test_every_kernel_of_the_reference_states_its_domain() -> None:
    for name, kind in documented_kernels().items():
        said = documented(name)
        assert re.search(r"^Points are ", said, flags=re.MULTILINE), name
        for parameter in kind.domain:
            stated = rf"``{parameter}(``|=)|^{parameter} : "
            assert re.search(stated, said, flags=re.MULTILINE), (name, parameter)


def cited_works() -> list[str]:
    """Return how docstrings cite the bibliography after the five texts: first author and year."""
    cited = []
    for entry in (DOCS / "references.bib").read_text(encoding="utf-8").split("\n@")[5:]:
        authors = re.search(r"author = \{(.*)\}", entry)
        year = re.search(r"year = \{(\d+)\}", entry)
        assert authors is not None
        assert year is not None
        cited.append(rf"\b{authors[1].split(',')[0]}\b[^;]{{0,200}}\b{year[1]}\b")
    return cited


def test_every_kernel_of_the_reference_cites_a_text() -> None:
    texts = [r"\b(Beeny|Martin|Yao),", r"\bGallier and Quaintance\b", r"\bKroese et al\."]
    source = re.compile("|".join([*texts, *cited_works()]))
    assert not [name for name in documented_kernels() if not source.search(documented(name))]


def test_the_bibliography_has_what_docstrings_cite_and_nothing_else() -> None:
    docstrings = "\n".join(documented(name) for name in sorted(NAMED))
    assert not [work for work in cited_works() if not re.search(work, docstrings)]


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


def test_the_source_archive_has_the_folders_that_are_tracked_and_no_others() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = stated["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert all((ROOT / name).exists() for name in included)
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        assert {line.partition("/")[0] for line in listed.splitlines()} == set(included)


def test_every_template_of_an_issue_asks_for_the_doctor() -> None:
    files = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    asked = {f.stem: yaml.safe_load(f.read_text("utf-8")).get("body", []) for f in files}
    asked.pop("config")
    assert {"missing", "wrong"} <= set(asked)
    for fields in asked.values():
        assert any("`mercer doctor`" in field["attributes"]["label"] for field in fields)


def test_what_is_tried_with_the_lowest_versions_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.search(r"^NUMBERS := \$\(addprefix tests/,(.*)\)$", makefile, re.MULTILINE)
    assert found is not None
    assert {"kernels", "sklearn", "spectrum", "data", "gp"} <= set(found[1].split())
    assert all((ROOT / "tests" / name).exists() for name in found[1].split())


def test_the_workflow_runs_the_gates_on_every_system_and_python() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]
    matrix = jobs["systems"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    runs = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert "make test PYTHON=python" in runs["systems"]
    assert "make test-oldest" in runs["oldest"]
    assert {"make release", "make docs"} <= set(runs["release"])


@pytest.mark.skipif(shutil.which("bash") is None, reason="the gate is a script of bash")
def test_the_gate_knows_no_variable_that_a_newcomer_has_not(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "asked: $*"\nenv\n', encoding="utf-8")
    make.chmod(0o755)
    kept = {"HOME": str(tmp_path), "PIP_INDEX_URL": "an-index"}
    ours = {"PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1", "CI": "true"}
    path = {"PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "run"], env=kept | ours | path, capture_output=True, check=True
    )
    first, *lines = done.stdout.decode().splitlines()
    assert first == "asked: test"
    seen = {name: value for name, _, value in (line.partition("=") for line in lines)}
    own = {"PWD", "OLDPWD", "SHLVL", "_"}  # a shell sets these itself
    assert {name: seen[name] for name in seen.keys() - own} == kept | path


NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore::mercer.errors.ExchangeableAxes")  # as readers see them
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
