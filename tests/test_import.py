from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import mercer
from mercer.cli.doctor_command import EXTRAS
from mercer.reading.model import FittedAxes

HOMES: dict[str, str] = mercer._homes()  # type: ignore[attr-defined]
MOST_NAMES = 80
MODULES = ["base", "algebra", "powers", "transforms", "metric", "tensor", "pairs", "vectors"]


def in_a_new_process(code: str) -> Any:
    """Return what the code prints as JSON."""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def loaded_after(expression: str) -> list[str]:
    code = f"import sys, json, mercer; {expression}; print(json.dumps([*sys.modules]))"
    modules: list[str] = in_a_new_process(code)
    return modules


def exists(module: str) -> bool:
    return find_spec(module) is not None


def test_importing_mercer_loads_nothing_that_costs_time() -> None:
    loaded = loaded_after("dir(mercer), mercer.__version__")
    assert "mercer" in loaded
    for heavy in ("numpy", "scipy", "sklearn", "array_api_compat", "narwhals", "mercer.check"):
        assert heavy not in loaded


def test_a_kernel_does_not_load_scikit_learn_nor_its_like() -> None:
    loaded = loaded_after("mercer.Gaussian()([0.0, 1.0])")
    assert "mercer.kernels.radial" in loaded
    for heavy in ("sklearn", "torch", "dask", "matplotlib", "pandas", "numba"):
        assert heavy not in loaded


def test_a_page_is_written_without_a_drawing_library(tmp_path: Path) -> None:
    # Loading one takes longer than everything that a page needs.
    page = tmp_path / "page.html"
    make = f"mercer.report(mercer.PCA(2).fit(mercer.datasets.iris()), {str(page)!r}, choices={{}})"
    loaded = loaded_after(make)
    assert "<svg" in page.read_text(encoding="utf-8")
    assert not {"matplotlib", "plotly"} & set(loaded)


def test_every_extra_is_used_and_known_to_the_doctor() -> None:
    root = Path(mercer.__file__).parent
    stated = tomllib.loads((root.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {
        name: {
            re.split(r"[^\w-]", requirement)[0].lower().replace("-", "_")
            for requirement in requirements
        }
        for name, requirements in stated["project"]["optional-dependencies"].items()
    }
    assert extras.pop("all") == {"mercer"}
    assert {name: set(modules) for name, modules in EXTRAS.items()} == extras
    sources = "\n".join(path.read_text(encoding="utf-8") for path in root.rglob("*.py"))
    for library in set().union(*extras.values()):
        used = rf'^ *(import|from) {library}\b|(extra|import_module)\(\s*"{library}\b'
        assert re.search(used, sources, flags=re.MULTILINE), f"no code imports {library}"


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_public_name_is_found_in_its_module(name: str) -> None:
    module = HOMES[name]
    if not exists(module):
        pytest.skip(f"{module} is not written yet")
    found = getattr(mercer, name)
    assert getattr(found, "__name__", name).rpartition(".")[2] == name
    assert name in dir(mercer)
    assert name in mercer.__all__  # type: ignore[attr-defined]
    assert getattr(mercer, name) is found


def test_the_first_use_of_a_name_imports_only_its_module() -> None:
    loaded = loaded_after("mercer.errors.InvalidInput")
    assert "mercer.errors" in loaded
    assert "mercer.kernels.base" not in loaded


@pytest.mark.parametrize("module", MODULES)
def test_each_module_can_be_imported_first(module: str) -> None:
    code = f"import json, mercer.kernels.{module} as m; print(json.dumps(m.__name__))"
    assert in_a_new_process(code) == f"mercer.kernels.{module}"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'NoSuchKernel'"):
        getattr(mercer, "NoSuchKernel")  # noqa: B009  (a name that no type checker would let pass)
    assert not hasattr(mercer, "_no_such_name")
    with pytest.raises(ImportError):
        exec("from mercer import NoSuchKernel")


def test_the_names_are_listed_without_loading_them() -> None:
    names = in_a_new_process("import json, mercer; print(json.dumps(dir(mercer)))")
    assert {"Gaussian", "KernelPCA", "kernels", "errors", "results", "__version__"} <= set(names)
    assert len(mercer.__all__) <= MOST_NAMES  # type: ignore[attr-defined]
    assert names == sorted(set(names))


@pytest.mark.parametrize(
    ("name", "place"),
    [("Sinc", "kernels"), ("InvalidInput", "errors"), ("Bootstrap", "results"), ("Rows", "data"),
     ("infer_network", "networks")],
)  # fmt: skip
def test_a_name_of_a_namespace_says_where_it_stands(name: str, place: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"mercer.{name} is mercer.{place}.{name}") as told:
        found = getattr(mercer, name)
    assert found is getattr(getattr(mercer, place), name)
    assert told[0].filename == __file__
    assert name not in mercer.__all__  # type: ignore[attr-defined]
    assert not hasattr(mercer, "NamedTuple")  # which mercer.errors has imported
    with pytest.raises(AttributeError, match=r"did you mean Sobolev\?"):
        mercer.Sobolew  # type: ignore[attr-defined]  # noqa: B018


def test_the_worked_example_runs_and_prints_its_numbers() -> None:
    example = Path(__file__).parent.parent / "examples" / "first_steps.py"
    run = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True)
    assert "trace 144.0000" in run.stdout
    assert "-0.207107" in run.stdout
    assert "eigenvalue 0.666666666667" in run.stdout
    assert run.stderr == ""


def test_a_support_vector_machine_takes_a_kernel_as_it_is() -> None:
    x = np.random.default_rng(0).standard_normal((40, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    ours = SVC(kernel=mercer.Gaussian(bandwidth=0.5**0.5), C=2.0).fit(x, y)
    theirs = SVC(kernel="rbf", gamma=1.0, C=2.0).fit(x, y)
    np.testing.assert_allclose(
        ours.decision_function(x), theirs.decision_function(x), rtol=0, atol=1e-3
    )


def _is_kernel(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, mercer.Kernel)


def test_kernels_are_a_namespace_of_all_kernels() -> None:
    from mercer import kernels

    assert kernels.Gaussian is mercer.Gaussian
    assert {"Gaussian", "Kernel", "check_kernel", "kernel"} <= set(dir(kernels))
    public, at_the_top = (
        {name for name in dir(package) if _is_kernel(getattr(package, name))}
        for package in (kernels, mercer)
    )
    assert 5 < len(at_the_top) < 15
    assert len(public) > 50
    assert at_the_top <= public
    hidden = {
        name for name in vars(kernels)["__all__"] if isinstance(getattr(kernels, name), ModuleType)
    }
    assert not hidden, "a submodule hides the name"
    with pytest.raises(AttributeError, match="Gaussian"):
        kernels.Gausian  # type: ignore[attr-defined]  # noqa: B018


OF_OTHERS = {
    *("_actions", "_asdict", "_exit", "_fields", "_getframe", "_is_text_encoding", "_replace"),
    *("_get_fitted_attr_html", "_repr_png_"),
}
"""Names that Python, argparse, IPython and scikit-learn made, underscored as they are."""


def underscored_reads(node: ast.AST, *, is_in_class: bool = False) -> list[str]:
    """Return what is read of an object's underscored attributes outside of any class."""
    found = []
    for child in ast.iter_child_nodes(node):
        is_class = is_in_class or isinstance(child, ast.ClassDef)
        if isinstance(child, ast.Attribute) and not is_class:
            name = child.attr
            is_private = name.startswith("_") and not name.startswith("__")
            if is_private and name not in OF_OTHERS and ast.unparse(child.value) != "self":
                found.append(ast.unparse(child))
        found += underscored_reads(child, is_in_class=is_class)
    return found


def test_nothing_outside_a_class_reads_underscored_attributes() -> None:
    sources = Path(mercer.__file__).parent
    found = {
        path.relative_to(sources).as_posix(): reads
        for path in sorted(sources.rglob("*.py"))
        if (reads := underscored_reads(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_models_with_axes_are_what_their_readers_ask_for() -> None:
    x = np.random.default_rng(0).normal(size=(9, 3))
    models: list[FittedAxes] = [mercer.PCA(2).fit(x), mercer.KernelPCA(2).fit(x)]
    for model in models:
        points, slopes = model.slopes_at(None, 2)
        assert slopes.shape == (*np.shape(points), 2) == (9, 3, 2)
        assert model.data_names == (None, ("x0", "x1", "x2"), None)
        assert model.spread**2 == pytest.approx(np.var(x, axis=0).sum())
        assert len(model.individuals_.coordinates) == len(model.weights_)


def test_commands_of_the_documentation_that_measure_can_be_run() -> None:
    """They are modules of one package, which find what they share from there."""
    root = Path(__file__).parents[1]
    page = (root / "docs" / "performance.md").read_text()
    named = sorted(set(re.findall(r"python -m benchmarks\.(\w+)", page)))
    assert len(named) > 10
    code = f"""
import json, sys; sys.path.insert(0, {str(root)!r})
from importlib.util import find_spec
import benchmarks.certificate_cost
names = {named!r}
print(json.dumps([n for n in names if find_spec("benchmarks." + n) is None]))
"""
    assert in_a_new_process(code) == []
