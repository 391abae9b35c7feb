"""What the buttons of a form do, without a script: each sends the whole form, and the form comes back rearranged.

A button is named `op` and says what it does and to which field: "add:/lines", "remove:/lines/2", "restore:/total".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reviewqueue.schema_nodes import HERE, LEFT_OUT, NULL

Data = Mapping[str, str]
Operation = Callable[[Data, str], dict[str, str]]
"""Gives the entries of the form's data that change."""

OPENED = 10  # items that are opened at once


def apply(data: Data | None) -> tuple[Data | None, frozenset[str]]:
    """(the form's data after its button, `op`, was pressed; the fields that are restored)"""
    if data is None or not data.get("op"):
        return data, frozenset()
    operation, _, name = data["op"].partition(":")
    if operation == "restore":
        return data, frozenset({name})
    if change := _OPERATIONS.get(operation):
        return {**data, **change(data, name)}, frozenset()
    return data, frozenset()


def _add(data: Data, name: str) -> dict[str, str]:
    order = [part for part in data.get(f"order:{name}", "").split(",") if part]
    taken = [int(part[1:]) for part in order if part[0] == "n" and part[1:].isdecimal()]
    return {f"order:{name}": ",".join([*order, f"n{max(taken, default=-1) + 1}"]), f"state:{name}": HERE}


def _remove(data: Data, name: str) -> dict[str, str]:
    parent, _, key = name.rpartition("/")
    order = data.get(f"order:{parent}", "").split(",")
    return {f"order:{parent}": ",".join(part for part in order if part != key), f"state:{parent}": HERE}


def _shift(by: int) -> Operation:
    def change(data: Data, name: str) -> dict[str, str]:
        parent, _, key = name.rpartition("/")
        order = data.get(f"order:{parent}", "").split(",")
        if key not in order:
            return {}
        place = order.index(key)
        if not 0 <= place + by < len(order):
            return {}
        neighbour = order[place + by]
        first, dash, last = neighbour.partition("-")
        if dash:  # over the nearest item of those that are not shown
            parts = _split(int(first), int(last), at_end=by < 0)
            order[place + by : place + by + 1] = parts
            place += len(parts) - 1 if by < 0 else 0
        order[place], order[place + by] = order[place + by], order[place]
        return {f"order:{parent}": ",".join(order)}

    return change


def _split(first: int, last: int, *, at_end: bool) -> list[str]:
    if first == last:
        return [str(first)]
    return [f"{first}-{last - 1}", str(last)] if at_end else [str(first), f"{first + 1}-{last}"]


def _show(data: Data, name: str) -> dict[str, str]:
    """Open ten items of a list from the one whose number was typed."""
    wanted = data.get(f"show:{name}", "")
    start = int(wanted) - 1 if wanted.isascii() and wanted.isdecimal() and len(wanted) < 10 else 0
    order = []
    for part in data.get(f"order:{name}", "").split(","):
        first, dash, last = part.partition("-")
        if not (dash and first.isdecimal() and last.isdecimal()):
            order.append(part)
            continue
        low, high = max(int(first), start), min(int(last), start + OPENED - 1)
        if low > high:
            order.append(part)
            continue
        order += [f"{first}-{low - 1}"] if int(first) < low else []
        order += map(str, range(low, high + 1))
        order += [f"{high + 1}-{last}"] if high < int(last) else []
    return {f"order:{name}": ",".join(order)}


def _clear(data: Data, name: str) -> dict[str, str]:
    """Leave out a field that is shown as JSON."""
    return {name: ""}


def _put(state: str) -> Operation:
    return lambda data, name: {f"state:{name}": state}


_OPERATIONS: Final[dict[str, Operation]] = {
    "add": _add,
    "remove": _remove,
    "up": _shift(-1),
    "down": _shift(1),
    "show": _show,
    "clear": _clear,
    "fill": _put(HERE),
    "null": _put(NULL),
    "drop": _put(LEFT_OUT),
}
