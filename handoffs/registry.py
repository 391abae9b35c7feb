"""Which flows there are, by name; and, for a block of code, other flows in the place of those of the same name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from handoffs.declaring import require
from handoffs.errors import UnknownFlow

if TYPE_CHECKING:
    from handoffs.flows import Flow

_declared: dict[str, Flow] = {}
# Of this thread only: a drill in one thread of a server must not change what the others see.
_instead: ContextVar[Flow | None] = ContextVar("instead", default=None)


def register(flow: Flow) -> Flow:
    """Make a flow known under its name; the same object twice is fine.

    Raises:
        DeclarationError: another flow has that name.
    """
    require(_declared.setdefault(flow.name, flow) is flow, f"Two flows are named {flow.name!r}.")
    return flow


def registered() -> list[Flow]:
    """List the registered flows themselves, whatever stands in their place in this thread."""
    return list(_declared.values())


def declared() -> dict[str, Flow]:
    """List the registered flows by name."""
    instead = _instead.get()
    return _declared | {instead.name: instead} if instead else dict(_declared)


def get_flow(name: str) -> Flow:
    """Find a registered flow.

    Raises:
        UnknownFlow: none is registered under that name.
    """
    instead = _instead.get()
    if instead is not None and instead.name == name:
        return instead
    try:
        return _declared[name]
    except KeyError:
        raise UnknownFlow(f"No flow is named {name!r}.") from None


@contextmanager
def instead(flow: Flow) -> Iterator[None]:
    """Let this flow stand in the place of the one of its name, in this thread and block."""
    token = _instead.set(flow)
    try:
        yield
    finally:
        _instead.reset(token)


def clear() -> None:
    """Forget all flows; for tests."""
    _declared.clear()
