"""The explorer of a notebook: a server on this machine for what a cell shows."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from inspect import signature
from secrets import token_urlsafe
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

import numpy as np

from mercer.analysis import Analysis
from mercer.data import read
from mercer.data.matrices import SquareMatrix
from mercer.data.sequences import Sequences
from mercer.data.table import Role, Table
from mercer.errors import MercerError, extra
from mercer.explorer.running import bound
from mercer.explorer.server import application
from mercer.explorer.sessions import House
from mercer.explorer.source import Source
from mercer.explorer.state import METHODS, MOST_AXES, kernel_of
from mercer.mds import ClassicalMDS, StressMDS
from mercer.page.subject import subject_of
from mercer.pca import PCA, KernelPCA

ELSEWHERE = (
    *("JUPYTERHUB_USER", "COLAB_RELEASE_TAG", "KAGGLE_KERNEL_RUN_TYPE", "BINDER_SERVICE_HOST"),
    *("DATABRICKS_RUNTIME_VERSION", "CODESPACES", "SSH_CONNECTION"),
)
"""What the surroundings hold where a notebook runs on another machine than its browser."""

MOST = 4
"""Servers of a notebook; the oldest ends for another."""

PATIENCE = 5.0
"""Seconds in which a server must have begun."""

SAID = {
    PCA: ("n_components", "standardize"),
    KernelPCA: ("n_components", "kernel"),
    ClassicalMDS: ("n_components", "metric"),
    StressMDS: ("n_components", "metric"),
}
"""Parameters of models that a state of the explorer says, or the data that it is given."""

ELSE_ALIKE = ("engine", "threads", "memory", "deterministic", "random_state")
"""Parameters of how a model is found: others find the same."""

State = dict[str, Any]


class Running:
    """A server in a thread, which ends with the notebook or when it is told to."""

    def __init__(self, source: Source, state: State) -> None:
        uvicorn = extra("uvicorn", "serve", "the explorer")
        self.place, self.token = bound("127.0.0.1", 0), token_urlsafe(16)
        self.base = f"http://127.0.0.1:{self.place.getsockname()[1]}"
        house = House(source)
        app = application(token=self.token, house=house, is_embedded=True)
        self.server = uvicorn.Server(
            uvicorn.Config(app, log_level="critical", access_log=False, server_header=False)
        )
        house.is_ending = lambda: bool(self.server.should_exit)
        self.hash = quote(json.dumps(state))
        self.thread = Thread(target=self.server.run, args=([self.place],), daemon=True)
        self.thread.start()
        until = monotonic() + PATIENCE
        while not self.server.started and monotonic() < until:
            sleep(0.01)

    @property
    def is_alive(self) -> bool:
        """Whether the server has begun and was not ended."""
        begun = bool(self.server.started) and not self.server.should_exit
        return begun and self.thread.is_alive()

    @property
    def address(self) -> str:
        """Where the page is, with its token and its state."""
        return f"{self.base}/?token={self.token}#{self.hash}"

    @property
    def alive(self) -> str:
        """Where a page hears whether the server is there."""
        return f"{self.base}/alive?token={self.token}"

    def close(self) -> None:
        """End the server."""
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        self.place.close()


RUNNING: list[Running] = []


def may_serve() -> bool:
    """Whether this is a notebook whose browser seems to be on this machine."""
    has_all = all(find_spec(name) is not None for name in ("uvicorn", "starlette"))
    return "ipykernel" in sys.modules and has_all and not any(map(os.environ.get, ELSEWHERE))


def start_server(source: Source, state: State) -> Running | None:
    """Return a new server of some data, which begins in a state; None where it does not begin."""
    while len(RUNNING) >= MOST:
        RUNNING.pop(0).close()
    made = Running(source, state)
    if not made.is_alive:
        made.close()
        return None
    RUNNING.append(made)
    return made


def state_of_model(model: Any, table: Any = None) -> tuple[Source, State] | None:
    """Return the data of a model and the state in which the explorer shows it, None for others.

    Of a model with weights, or with parameters that no state says, the explorer would show another.

    >>> from mercer import datasets
    >>> state_of_model(PCA(2, standardize=True).fit(datasets.iris()))[1]
    {'method': 'pca', 'scale': True, 'axes': 2}
    """
    state: State | None
    if isinstance(model, Analysis):
        data = model.table if table is None else table
        state = _of_analysis(model, data)
    elif hasattr(model, "fit"):
        data, state = _of_model(model, table)
    else:
        data, state = model, {}
    if state is None:
        return None
    if data is not None and not isinstance(data, Table | SquareMatrix | Sequences):
        try:
            data = read(data, missing="keep")
        except MercerError:
            return None
    if not isinstance(data, Table | SquareMatrix | Sequences):
        return None
    if isinstance(model, PCA | KernelPCA) and isinstance(data, Table):
        uses = _uses(model, data)
        if uses is None:
            return None
        state = {**state, "uses": uses} if uses else state
    return Source(data, "data", "data"), state


def _uses(model: Any, table: Table) -> dict[str, str] | None:
    """Return which numbers of a table a model is of, {} for the active ones, None if unknown.

    >>> table = Table.of({"x": [0.0, 1.0, 5.0], "y": [2.0, 1.0, 1.0], "z": [0.0, 3.0, 4.0]})
    >>> _uses(PCA(1).fit(table.with_columns(["x", "z"])), table)
    {'x': 'active', 'y': 'supplementary', 'z': 'active'}
    """
    variables = subject_of(model).variables
    if variables is None:
        return {}
    names = set(map(str, variables.names))
    roles = zip(table.names, table.roles, strict=True)
    numbers = [name for name, role in roles if role is Role.NUMBER]
    if names == set(table.active):
        return {}
    if names <= set(numbers):
        return {name: "active" if name in names else "supplementary" for name in numbers}
    # Columns without names are called x0, x1, …, and are those of the table in its order.
    return {} if names == {f"x{j}" for j in range(len(table.active))} else None


def _of_analysis(made: Analysis, data: Any) -> State | None:
    asked = made.asked
    if made.analysis != "ca" and not _weighs_alike(made.model):  # its weights are those of counts
        return None
    kernel = asked.get("kernel" if isinstance(data, Sequences) else "curved")
    written = None if kernel is None else _written(kernel)
    if (kernel is not None and written is None) or (isinstance(data, Table) and "kernel" in asked):
        return None
    state: State = {} if written is None else {"kernel": written}
    if "n_components" in asked:
        state["axes"] = min(int(asked["n_components"]), MOST_AXES)
    if isinstance(data, SquareMatrix) and "method" in asked:
        state["method"] = made.analysis
    if not isinstance(data, Table) or made.analysis not in METHODS:
        return state
    uses = {f.name: f.use for f in made.fates if f.use != "name" and f.name in data.names}
    is_scaled = {"scale": made.scaled} if made.analysis == "pca" or "scale" in asked else {}
    return {"method": made.analysis, "uses": uses, **is_scaled, **state}


def _written(kernel: Any) -> str | None:
    """Return a kernel as the page writes it, None for one that has no written form."""
    try:
        return str(kernel_of(str(kernel)))
    except MercerError:
        return None


def _weighs_alike(model: Any) -> bool:
    """Whether all individuals, and all pairs of them, have the same weight."""
    weights = subject_of(model).weights
    return not getattr(model, "_has_pair_weights", False) and bool(
        np.ptp(weights) <= 1e-9 * np.max(weights)
    )


def _is_said(model: Any) -> bool:
    """Whether a state says all that decides what a model shows."""
    if type(model) not in SAID or not _weighs_alike(model):
        return False
    given = signature(type(model)).parameters.values()
    others = [p for p in given if p.name not in (*SAID[type(model)], *ELSE_ALIKE)]
    return all(_is_usual(getattr(model, p.name), p.default) for p in others)


def _is_usual(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str | int | float) and value == default)


def _numbers_of(model: Any) -> Table | None:
    """Return the numbers that a model keeps, under the names that it knows."""
    found = subject_of(model)
    if found.table is None or found.variables is None:
        return found.table
    names = tuple(map(str, found.variables.names))
    row_names = tuple(map(str, found.names)) if found.has_names else found.table.row_names
    return replace(found.table, names=names, row_names=row_names)


def _of_model(model: Any, table: Any) -> tuple[Any, State | None]:
    if not _is_said(model):
        return None, None
    count = min(subject_of(model).axes, MOST_AXES)
    axes = {"axes": count} if model.n_components is not None and count else {}
    if isinstance(model, ClassicalMDS | StressMDS):
        if table is None:
            square = np.asarray(model.dissimilarity_matrix_, float)
            table = SquareMatrix(square, tuple(map(str, subject_of(model).names)))
        method = "mds" if isinstance(model, ClassicalMDS) else "stress"
        # A table beside pairs says more of individuals, and is not what the map is made of.
        return table, {"method": method, **axes} if isinstance(table, SquareMatrix) else None
    data = table if table is not None else _numbers_of(model)
    if isinstance(model, PCA):
        return data, {"method": "pca", "scale": bool(model.standardize), **axes}
    kernel = _written(model.kernel_)
    if kernel is None:
        return None, None
    return data, {"method": "pca", "scale": False, "kernel": kernel, **axes}
