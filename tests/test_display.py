"""Models and results can always be shown and completed, in a few lines and at no cost."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as mc
import mercer.display
from mercer.display import MOST_LINES, Shown, costly, costly_names
from mercer.estimator import Model
from tests.fitted import MODELS, NUMBERS, STRINGS, fitted, skip_where_scikit_learn_breaks
from tests.results import SHORT, public_results, results

COMPUTING = ("gram", "engines", "solve", "spectrum.dense", "spectrum.exact", "davidson", "lowrank")
"""Modules of which no function is called without numbers being computed."""

HARMLESS = ("__repr__", "shape", "is_symmetric", "seconds")
"""Names of those that read numbers, or add up a few."""

DECOMPOSING = ("eigh", "eigvalsh", "svd", "cholesky", "solve", "qr", "inv")


def calls(action: Callable[[], object]) -> list[str]:
    """Return the functions that compute which an action calls, by module and name."""
    found = []

    def note(frame: FrameType, event: str, what: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        name = frame.f_code.co_name
        if (
            event == "call"
            and name not in HARMLESS
            and module.startswith(tuple(f"mercer.{m}" for m in COMPUTING))
        ):
            found.append(f"{module}.{name}")
        if event == "call" and module.endswith("linalg") and name in DECOMPOSING:
            found.append(f"{module}.{name}")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return found


def read_all(model: object, names: list[str]) -> None:
    for name in names:
        with suppress(AttributeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant columns, of points at the barycentre
            getattr(model, name)


@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_is_shown_without_computing_anything(name: str) -> None:
    skip_where_scikit_learn_breaks(name)
    model = fitted(name)
    before = set(vars(model))
    assert calls(lambda: model._repr_html_()) == []
    assert calls(lambda: repr(model)) == []
    assert calls(lambda: dir(model)) == []
    assert set(vars(model)) == before
    assert type(model).__name__ in model._repr_html_()


@pytest.mark.parametrize("name", MODELS)
def test_every_name_of_a_fitted_model_has_a_value_or_a_reason(name: str) -> None:
    model = fitted(name)
    names = dir(model)
    read_all(model, names)
    assert len(names) > 10
    for attribute in ("variables_", "individuals_", "inertias_", "goodness_", "function_"):
        assert hasattr(model, attribute) in (True, False)


@pytest.mark.parametrize("name", MODELS)
def test_what_was_computed_is_kept(name: str) -> None:
    model = fitted(name)
    kept = [n for n in dir(model) if not isinstance(getattr(type(model), n, None), costly)]
    read_all(model, kept)
    assert calls(lambda: read_all(model, kept)) == []


class Slow(Model):
    def fit(self) -> Slow:
        self.fitted_ = True
        return self

    @property
    def matrix_(self) -> Any:
        return mc.Gram(mc.Linear(), NUMBERS).dense()

    @cached_property
    def kept_(self) -> Any:
        return mc.Gram(mc.Linear(), NUMBERS).dense()


@pytest.mark.skipif(
    not hasattr(BaseEstimator, "_get_fitted_attr_html"),
    reason="this version of scikit-learn shows no attributes",
)
def test_the_laws_above_find_a_property_that_computes() -> None:
    model = Slow().fit()
    assert "mercer.gram.dense" in calls(model._repr_html_)
    read_all(model, ["kept_"])
    assert calls(lambda: model.kept_) == []
    assert "kept_" in model._repr_html_()
    assert costly_names(Slow) == {"kept_"}


def test_what_is_kept_can_be_replaced_and_forgotten() -> None:
    model: Any = mc.PCA(2).fit(np.random.default_rng(0).standard_normal((9, 3)))
    found = model.individuals_
    model.individuals_ = "mine"
    assert model.individuals_ == "mine"
    del model.individuals_
    assert np.array_equal(model.individuals_.coordinates, found.coordinates)
    del model.individuals_
    with pytest.raises(AttributeError, match="individuals_"):
        del model.individuals_


def test_the_reason_why_a_value_does_not_exist_is_told() -> None:
    model = fitted("KernelPCA of strings")
    assert not hasattr(model, "variables_")
    with pytest.raises(AttributeError, match="not rows of variables"):
        model.variables_  # noqa: B018  (asking is the test)
    with pytest.raises(mc.errors.NotAvailable, match="too large for double precision"):
        fitted("ClassicalMDS of huge distances").eigenvalues_  # noqa: B018


def test_models_are_shown_inside_others() -> None:
    pca = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2))
    pipe = make_pipeline(pca).fit(STRINGS)
    assert "KernelPCA" in pipe._repr_html_()
    assert "transform" in dir(pipe)
    steps = Pipeline([("pca", pca), ("svc", mc.SVC())])
    y = np.arange(len(STRINGS)) % 2
    search = GridSearchCV(steps, {"svc__C": [0.1, 1.0]}, cv=2).fit(STRINGS, y)
    assert "KernelPCA" in search._repr_html_()
    assert not hasattr(search.best_estimator_["pca"], "variables_")


def test_ipython_shows_and_completes(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    from IPython.core.interactiveshell import InteractiveShell

    if find_spec("jedi") is not None:  # which completes nothing where it cannot write to the home
        monkeypatch.setattr("jedi.settings.cache_directory", str(tmp_path))
    monkeypatch.setattr(sys, "ps1", "", raising=False)  # which a shell sets and leaves
    shell: Any = cast(Any, InteractiveShell)(history_length=0)
    shell.user_ns["model"] = fitted("KernelPCA of graphs")
    found, _ = shell.display_formatter.format(shell.user_ns["model"])
    assert "KernelPCA" in found["text/html"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its new interface is provisional, its old one pending
        names = {found.text for found in shell.Completer.completions("model.in", len("model.in"))}
    assert {"inertias_", "individuals_"} <= {name.rpartition(".")[2] for name in names}


@pytest.mark.parametrize("name", ["PCA of numbers", "ClassicalMDS of distances"])
def test_a_second_fit_forgets_what_was_computed_for_the_first(name: str) -> None:
    model = fitted(name)
    values = {n: getattr(model, n, None) for n in sorted(costly_names(type(model)))}
    attributes = [n for n, value in values.items() if isinstance(value, np.ndarray)]
    assert attributes
    data = MODELS[name][1]
    again, fresh = model.fit(data[:9, :9] ** 2), fitted(name).fit(data[:9, :9] ** 2)
    for attribute in attributes:
        assert np.array_equal(getattr(again, attribute), getattr(fresh, attribute))


def test_every_public_result_has_an_example_here() -> None:
    shown = {type(value) for value in results().values()}
    without = [k.__name__ for k in public_results() if not any(issubclass(s, k) for s in shown)]
    # A part of an approximate spectrum, shown below it; and a page, which a frame shows.
    assert sorted(without) == ["Barycentre", "Explored"]
    assert len(public_results()) > 40


def test_every_public_result_shows_itself() -> None:
    plain = [k.__name__ for k in public_results() if not issubclass(k, Shown)]
    assert plain == []
    assert not any(issubclass(kind, Shown) for kind in SHORT)


def test_results_are_shown_in_a_few_lines() -> None:
    for name, value in results().items():
        text = repr(value)
        assert len(text.splitlines()) <= MOST_LINES, name
        assert len(text) <= 1500, name
        assert "object at 0x" not in text, name
        assert "array(" not in text, name
        page = value._repr_html_()
        assert page.startswith("<table>"), name
        assert len(page) <= 6000, name
        assert all(tag not in page for tag in ("<i>", "<b>side", "<b>blue")), name


def test_every_fact_of_a_result_exists_or_has_a_reason() -> None:
    for name, value in results().items():
        for fact in getattr(value, "facts", {}):
            assert fact in dir(type(value)) or hasattr(value, fact), (name, fact)
        for attribute in dir(value):
            with suppress(AttributeError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(value, attribute)


def test_showing_a_result_computes_nothing() -> None:
    for name, value in results().items():
        assert calls(lambda value=value: repr(value)) == [], name  # type: ignore[misc]


def test_tables_are_tidy_or_data_frames() -> None:
    tables = {n: v.table for n, v in results().items() if callable(getattr(v, "table", None))}
    del tables["simulation"]  # whose table is a drawn study
    assert len(tables) > 15
    for name, table in tables.items():
        frame, plain = table("pandas"), table()
        assert pd.DataFrame(plain).shape == frame.shape, name
        assert type(frame).__module__.startswith("pandas"), name
        assert len(frame.columns) > 1, name
        assert len(table("polars")) == len(frame), name


def two_alike() -> Any:
    """Return points whose axes have one inertia between them."""
    return np.vstack([np.eye(5), -np.eye(5)])


WARNING: dict[str, Callable[[], object]] = {
    "a fit": lambda: mc.PCA(4).fit(two_alike()),
    "a kernel": lambda: mc.KernelPCA(4, kernel=mc.Gaussian(2.0)).fit(two_alike()),
    "a transformer": lambda: mc.KernelPCA(4).fit_transform(two_alike()),
    "a map": lambda: mc.ClassicalMDS(4, metric="euclidean").fit(two_alike()),
    "a pipeline": lambda: make_pipeline(StandardScaler(), mc.PCA(4)).fit(two_alike()),
    "a pipeline's transform": lambda: make_pipeline(mc.PCA(4)).fit_transform(two_alike()),
    "names of columns at fit alone": lambda: (
        mc.KernelPCA(1).fit(pd.DataFrame(NUMBERS, columns=list("abc"))).transform(NUMBERS)
    ),
    "names of columns after fit alone": lambda: (
        mc.SVC().fit(NUMBERS, NUMBERS[:, 0] > 0).predict(pd.DataFrame(NUMBERS, columns=list("abc")))
    ),
    "a cached property": lambda: (
        mc.PCA().fit(np.column_stack([NUMBERS, np.ones(len(NUMBERS))])).variables_
    ),
    "a search": lambda: mc.StressMDS(2, max_iter=1, random_state=0).fit(
        np.abs(NUMBERS[:, :1] - NUMBERS[:, :1].T)
    ),
}


@pytest.mark.parametrize("name", WARNING)
def test_a_warning_points_at_the_line_of_the_user(name: str) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        WARNING[name]()
    assert found
    assert {warning.filename for warning in found} == {__file__}


SIDES = np.vstack([np.eye(40), -np.eye(40)])
SAME = pd.DataFrame({"x": NUMBERS[:, 0]} | {f"c{j}": np.ones(len(NUMBERS)) for j in range(50)})

OF_MANY: dict[str, tuple[Callable[[], object], str]] = {
    "equal inertias": (lambda: mc.PCA(30).fit(SIDES), "axes: 1 to 30. Their"),
    "of a kernel": (lambda: mc.KernelPCA(30, kernel="linear").fit(SIDES), "axes: 1 to 30. Their"),
    "of distances": (
        lambda: mc.ClassicalMDS(30, metric="euclidean").fit(SIDES),
        "axes: 1 to 30. Their",
    ),
    "individuals at the barycentre": (
        lambda: mc.PCA(1).fit(np.r_[np.zeros(60), -1.0, 1.0][:, None]).individuals_.cos2,
        "at the barycentre: 0 to 59",
    ),
    "variables that are constant": (
        lambda: mc.PCA(1).fit(SAME).variables_,
        r"\(NaN\): c0, c1, c2, c3, c4 and 45 more",
    ),
    "columns that are constant": (
        lambda: mc.PCA(1, standardize=True).fit(SAME),
        "standardised: c0, c1, c2, c3, c4 and 45 more",
    ),
    "columns that hold the same": (
        lambda: mc.KernelPCA(1, kernel=mc.Columns()).fit(SAME),
        "column 'c0', 'c1', 'c2', 'c3', 'c4' and 45 more holds the same",
    ),
    "supplementary columns": (
        lambda: mc.PCA(1).fit(NUMBERS).supplementary(variables=SAME),
        "c0, c1, c2, c3, c4 and 45 more",
    ),
    "fitted variables": (
        lambda: mc.fit_variables(mc.PCA(2).fit(NUMBERS), SAME, permutations=9),
        "c0, c1, c2, c3, c4 and 45 more",
    ),
}


@pytest.mark.parametrize("what", OF_MANY)
def test_a_warning_of_many_names_ranges_or_a_few(what: str) -> None:
    act, message = OF_MANY[what]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        act()
    said = [str(one.message) for one in found]
    assert any(re.search(message, text) for text in said), said
    assert all(len(text) < 400 for text in said)


def test_no_warning_is_given_in_another_way() -> None:
    source = Path(mercer.display.__file__).parent
    found = [
        str(path.relative_to(source))
        for path in sorted(source.rglob("*.py"))
        if "warnings.warn(" in path.read_text(encoding="utf-8")
    ]
    assert found == ["display.py"]
