"""The cluster that tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.machines import Machines


@pytest.fixture(scope="package")
def machines() -> Iterator[Machines]:
    pytest.importorskip("distributed")
    from tests.machines import Machines

    made = Machines()
    yield made
    made.close()


@pytest.fixture
def client(machines: Machines) -> Iterator[Any]:
    """Yield the client of a cluster of two workers, both there; a test that stalls fails."""
    from tests.machines import no_longer_than

    with no_longer_than():
        yield machines.client()
