"""The parameters of a kernel expression as a flat tree of names, to list and to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mercer.errors import InvalidParameter
from mercer.kernels.base import Kernel


def parameters(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a kernel expression as a flat mapping from path to value.

    >>> from mercer import Gaussian, Linear
    >>> parameters(Gaussian(bandwidth=0.5) + 0.1 * Linear())
    {'0__bandwidth': 0.5, '1__weight': 0.1}
    """
    return kernel.parameters()


def with_parameters(
    kernel: Kernel, values: Mapping[str, Any] | None = None, /, **more: Any
) -> Kernel:
    """Return the kernel with some parameters changed, named as in `parameters`.

    >>> from mercer import Gaussian, Linear
    >>> with_parameters(Gaussian(bandwidth=0.5) + 0.1 * Linear(), {"0__bandwidth": 2.0})
    Gaussian(bandwidth=2.0) + 0.1 * Linear()
    """
    changes = {**(values or {}), **more}
    own = {n: changes.pop(n) for n in list(changes) if n in kernel.own_parameters()}
    children = kernel.children()
    for name, child in children.items():
        prefix = f"{name}__"
        part = {n[len(prefix) :]: changes.pop(n) for n in list(changes) if n.startswith(prefix)}
        if part:
            children[name] = with_parameters(child, part)
    if changes:
        raise InvalidParameter(
            f"{kernel} has no parameter {', '.join(sorted(changes))}; it has "
            f"{', '.join(kernel.parameters()) or 'none'}"
        )
    changed = kernel.with_children(children)
    return replace(changed, **own) if own else changed  # type: ignore[type-var]
