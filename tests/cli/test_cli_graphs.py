"""``mercer graphs``: folders, groups, aligned nodes, refusals, and the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer as mc
from mercer.cli.graphs_command import distances_of

GRAPHML = """<graphml><key id="k" for="node" attr.name="label"/><graph edgedefault="undirected">
<node id="a"><data key="k">x</data></node><node id="b"><data key="k">y</data></node>
<edge source="a" target="b"/></graph></graphml>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    root = tmp_path / "nets"
    for group, share in (("control", 0.3), ("treated", 0.7)):
        (root / group).mkdir(parents=True)
        for i in range(4):
            pairs = [(u, v) for u in range(6) for v in range(u) if rng.random() < share]
            lines = [f"g{u} g{v} {1 + u}" for u, v in pairs] or ["g0 g1"]
            (root / group / f"net{i}.edges").write_text("\n".join(lines))
    return root


def test_the_axes_are_those_of_the_library(folder: Path, run: Any, tmp_path: Path) -> None:
    model, table = tmp_path / "g.mercer", tmp_path / "c.csv"
    words = [
        "graphs",
        folder,
        "--no-page",
        "--rank",
        2,
        "--json",
        "--out",
        model,
        "--coords",
        table,
    ]
    code, out, err = run(*words)
    assert code == 0
    value = json.loads(out)
    assert "8 graphs, in 2 groups" in err
    assert value["graphs"][4] == "treated/net0"
    assert value["groups"] == ["control"] * 4 + ["treated"] * 4
    files = sorted(folder.rglob("*.edges"))
    points = [mc.Graph.read(mc.read(path)) for path in files]
    expected = mc.KernelPCA(2, kernel=mc.kernels.WeisfeilerLehman(3).normalised()).fit(points)
    assert [axis["inertia"] for axis in value["axes"]] == pytest.approx(expected.inertias_.tolist())
    loaded = mc.load(model)
    np.testing.assert_allclose(loaded.transform(points), expected.transform(points), atol=1e-12)
    assert loaded.table_.row_names == tuple(value["graphs"])
    assert table.read_text().splitlines()[0] == "individual,dim1,dim2"


def test_aligned_kernels_match_nodes_by_name(folder: Path, run: Any) -> None:
    (folder / "control" / "net0.edges").write_text("g5 g4 2.0\ng9 g0\n")
    (folder / "control" / "net1.edges").write_text("g0 g9\ng4 g5 3.0\n")
    words = ["--kernel", "aligned_edges()", "--no-page", "--json", "-q"]
    code, out, _ = run("graphs", folder / "control", *words)
    assert code == 0
    value = json.loads(out)
    names = sorted({n for p in folder.rglob("control/*") for n in mc.read(p).names})
    graphs = []
    for path in sorted(folder.rglob("control/*.edges")):
        given = mc.read(path)
        order = np.array([names.index(n) for n in given.names])
        graphs.append(mc.Graph(order[np.array(given.edges)], None, given.weights, len(names)))
    assert mc.kernels.AlignedEdges()(graphs[:2])[0, 1] == 7.0  # 2·3 + 1·1
    expected = mc.KernelPCA(3, kernel=mc.kernels.AlignedEdges()).fit(graphs)
    assert value["inertia"] == pytest.approx(expected.inertia_)


def test_labels_are_those_of_files_or_names_of_nodes(tmp_path: Path, run: Any) -> None:
    (tmp_path / "a.graphml").write_text(GRAPHML)
    (tmp_path / "b.graphml").write_text(GRAPHML.replace(">y<", ">z<").replace('"b"', '"c"'))
    found = {}
    for labels in ("own", "names", "none"):
        words = ["--kernel", "vertex_histogram()", "--labels", labels, "--no-page", "--json", "-q"]
        code, out, _ = run("graphs", tmp_path, *words)
        assert code == 0
        found[labels] = json.loads(out)["inertia"]
    assert found == {"own": pytest.approx(0.5), "names": pytest.approx(0.5), "none": 0.0}


def test_the_attribute_that_is_the_label_is_asked_for(tmp_path: Path, run: Any) -> None:
    text = GRAPHML.replace('attr.name="label"', 'attr.name="element"')
    (tmp_path / "a.graphml").write_text(text)
    (tmp_path / "b.graphml").write_text(text.replace(">y<", ">z<"))
    words = ["--kernel", "vertex_histogram()", "--no-page", "--json"]
    code, out, _ = run("graphs", tmp_path, *words, "--label", "element")
    assert (code, json.loads(out)["inertia"]) == (0, pytest.approx(0.5))
    code, _, err = run("graphs", tmp_path, *words)
    assert code == 0
    assert "attributes 'element', and none is named label" in err
    code, _, err = run("graphs", tmp_path, *words, "--label", "atom")
    assert code == 3
    assert "no node has the attribute 'atom'; there are 'element'" in err


def test_loops_and_repetitions_are_refused_by_file_unless_simplified(
    folder: Path, run: Any
) -> None:
    (folder / "control" / "net1.edges").write_text("a b 1.0\nb a 3.0\na a\n")
    code, _, err = run("graphs", folder, "--no-page")
    assert code == 3
    assert "control/net1.edges: " in err
    assert "--simplify" in err
    assert run("graphs", folder, "--no-page", "--simplify")[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["nowhere"], 3, "not a folder"),
        (["{folder}", "--pattern", "*.csv"], 3, "no files that match *.csv"),
        (["{folder}", "--kernel", "linear()"], 2, "cannot read graphs"),
        (["{folder}", "--kernel", "columns()"], 2, "cannot read graphs"),
        (["{folder}", "--kernel", "weisfeiler()"], 2, "did you mean weisfeiler_lehman"),
        (["{folder}", "--labels", "colours"], 2, "invalid choice"),
    ],
)
def test_mistakes_have_codes(
    folder: Path, run: Any, words: list[str], code: int, message: str
) -> None:
    given = [word.format(folder=folder) for word in words]
    found, _, err = run("graphs", *given, "--no-page")
    assert (found, message in err) == (code, True), err


def test_two_files_of_one_name_are_refused(folder: Path, run: Any) -> None:
    (folder / "control" / "net0.edgelist").write_text("a b\n")
    code, _, err = run("graphs", folder, "--no-page")
    assert code == 3
    assert "'control/net0'" in err


def test_a_dry_run_writes_nothing(folder: Path, run: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = run("graphs", folder, "--dry-run", "--json", "--page", page)
    assert code == 0
    assert json.loads(out)["individuals"] == 8
    assert not page.exists()


def test_the_page_tells_of_graphs_and_groups(folder: Path, run: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    assert run("graphs", folder, "--page", page, "-q")[0] == 0
    text = page.read_text()
    assert "The graphs" in text
    assert "treated/net3" in text
    assert "Graphs of different groups are" in text
    assert "mercer graphs" in text
    code, _, err = run("graphs", folder, "--page", page)
    assert code == 0
    assert f"{page} is overwritten" in err
    page.write_text("mine")
    assert run("graphs", folder, "--page", page, "-q")[0] == 2
    assert run("graphs", folder, "--page", page, "-q", "--force")[0] == 0


def test_distances_are_those_of_the_kernel() -> None:
    x = [mc.Graph([(0, 1)]), mc.Graph([(0, 1), (1, 2)]), mc.Graph([])]
    k = mc.kernels.VertexHistogram()
    assert distances_of(k, x).tolist() == [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]


def test_tables_of_several_types_are_fitted_and_projected_by_their_columns(
    run: Any, tmp_path: Path
) -> None:
    data, model = tmp_path / "mixed.csv", tmp_path / "m.mercer"
    lines = [
        f"p{i},{30 + i * i},{'north' if i % 3 else 'south'},{'good' * (i + 1)}" for i in range(8)
    ]
    data.write_text("\n".join(["id,age,clinic,note", *lines]))
    words = ["--kernel", "columns()", "--rank", 2, "--json", "-q"]
    code, out, _ = run("fit", data, *words, "--out", model)
    assert code == 0
    assert json.loads(out)["inertia"] == pytest.approx(3.0)
    turned = tmp_path / "new.csv"
    turned.write_text("id,note,clinic,age\np1,goodgood,north,31\n")
    code, out, _ = run("project", model, turned, "--json", "-q")
    assert code == 0
    found = json.loads(out)["columns"]
    expected = mc.load(model).individuals_.coordinates[1]
    assert [found["dim1"][0], found["dim2"][0]] == pytest.approx(expected.tolist())
    ages = [30 + i * i for i in range(8)]
    found = []
    for age in ("", sum(ages) / len(ages)):  # a number that is missing is the mean of the fit
        turned.write_text(f"id,note,clinic,age\np1,goodgood,north,{age}\np2,good,south,34\n")
        code, out, _ = run("project", model, turned, "--impute", "mean", "--json", "-q")
        assert code == 0
        found.append(json.loads(out)["columns"]["dim1"][0])
    assert found[0] == pytest.approx(found[1])
    code, _, err = run("project", model, turned, "--impute", "mode")
    assert code == 2
    assert "--drop-na" in err


def test_a_folder_of_graphs_is_sent_to_the_commands_that_take_one(
    folder: Path, run: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(folder.parent)
    for command in ("fit", "report", "dim"):
        answer = run(command, "nets")
        assert answer.code == 3
        assert "nets is a folder of graphs: `mercer graphs nets` places them on axes" in answer.err
        assert "`mercer serve nets` explores them" in answer.err
    one = run("fit", "nets/control/net0.edges")
    assert one.code == 3
    assert "holds one graph: `mercer graphs FOLDER` compares several" in one.err
    assert run("nets", "--no-page", "--json").value["command"] == "graphs"
    (tmp_path / "plain").mkdir()
    assert "plain is a folder; name one of the files in it" in run("fit", "plain").err


def test_a_page_of_graphs_is_asked_for_by_its_own_flag(
    folder: Path, run: Any, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    answer = run("graphs", folder, "--out", page)
    assert answer.code == 2
    assert f"--page {page} writes the page" in answer.err
    assert not page.exists()


def test_too_few_graphs_are_counted_in_words(folder: Path, run: Any) -> None:
    for path in {*folder.rglob("treated/*"), *folder.rglob("net[123].edges")}:
        path.unlink()
    assert "has 1 file named *.graphml" in run("graphs", folder).err
    (folder / "control" / "net0.edges").unlink()
    assert "has no files named *.graphml" in run("graphs", folder).err


def test_the_page_of_graphs_tells_the_rules_and_no_axes_that_are_not_there(
    folder: Path, run: Any, tmp_path: Path
) -> None:
    for i in range(2):  # graphs alike have axes without inertia
        for group in ("control", "treated"):
            (folder / group / f"net{i}.edges").write_text("g0 g1\ng1 g2\n")
    page = tmp_path / "page.html"
    assert run("graphs", folder, "--page", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "<b>Kaiser:</b>" in text
    assert "<b>Horn:</b>" not in text
    assert "are equal in size" not in text
    kernel = mc.kernels.WeisfeilerLehman(3).normalised()
    alike = [mc.Graph([(0, 1), (1, 2), (2, 3), (3, 4)]) for _ in range(2)]
    assert distances_of(kernel, alike).max() == 0.0
