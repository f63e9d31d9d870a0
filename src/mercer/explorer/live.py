"""The explorer of a notebook: a server on this machine for what a cell shows."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
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
from mercer.data.table import Table
from mercer.errors import MercerError
from mercer.explorer.running import bound
from mercer.explorer.server import application, needed
from mercer.explorer.sessions import House
from mercer.explorer.source import Source
from mercer.explorer.state import METHODS, kernel_of
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

State = dict[str, Any]


class Running:
    """A server in a thread, which ends with the notebook or when it is told to."""

    def __init__(self, source: Source, state: State) -> None:
        uvicorn = needed("uvicorn")
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


def started(source: Source, state: State) -> Running:
    """Return a new server of some data, which begins in a state."""
    while len(RUNNING) >= MOST:
        RUNNING.pop(0).close()
    RUNNING.append(Running(source, state))
    return RUNNING[-1]


def explored(model: Any, table: Any = None) -> tuple[Source, State] | None:
    """Return the data of a model and the state in which the explorer shows it, None for others.

    >>> from mercer import datasets
    >>> explored(PCA(2, standardize=True).fit(datasets.iris()))[1]
    {'method': 'pca', 'scale': True, 'axes': 2}
    """
    if isinstance(model, Analysis):
        data = model.table if table is None else table
        state = _of_analysis(model, data)
    elif hasattr(model, "fit"):
        data, state = _of_model(model, table)
    else:
        data, state = model, {}
    if data is not None and not isinstance(data, Table | SquareMatrix | Sequences):
        try:
            data = read(data, missing="keep")
        except MercerError:
            return None
    if not isinstance(data, Table | SquareMatrix | Sequences):
        return None
    return Source(data, "data", "data"), state


def _of_analysis(made: Analysis, data: Any) -> State:
    if not isinstance(data, Table) or made.analysis not in METHODS:
        return {}
    state: State = {"method": made.analysis, "uses": {}}
    state["uses"] = {f.name: f.use for f in made.fates if f.use != "name" and f.name in data.names}
    if made.analysis == "pca":
        state["scale"] = made.scaled
    curved = made.asked.get("curved")
    return state if curved is None else {**state, "kernel": str(curved)}


def _numbers_of(model: Any) -> Table | None:
    """Return the numbers that a model keeps, under the names that it knows."""
    found = subject_of(model)
    if found.table is None or found.variables is None:
        return found.table
    names = tuple(map(str, found.variables.names))
    row_names = tuple(map(str, found.names)) if found.has_names else found.table.row_names
    return replace(found.table, names=names, row_names=row_names)


def _of_model(model: Any, table: Any) -> tuple[Any, State]:
    axes = {} if getattr(model, "n_components", None) is None else {"axes": model.n_components}
    if isinstance(model, ClassicalMDS | StressMDS):
        given = getattr(model, "dissimilarity_matrix_", None)
        names = subject_of(model).names
        square = np.zeros((0, 0)) if given is None else np.asarray(given, float)
        if table is None and len(square):
            table = SquareMatrix(square, tuple(map(str, names)))
        method = "mds" if isinstance(model, ClassicalMDS) else "stress"
        return table, {"method": method, **axes}
    if not isinstance(model, PCA | KernelPCA):
        return None, {}
    data = table if table is not None else _numbers_of(model)
    if isinstance(model, PCA):
        return data, {"method": "pca", "scale": bool(model.standardize), **axes}
    try:
        kernel = str(kernel_of(str(model.kernel_)))
    except MercerError:  # it has no written form
        return None, {}
    return data, {"method": "pca", "scale": False, "kernel": kernel, **axes}
