"""Contracts of one field, and what holding a body against them found."""

from __future__ import annotations

from typing import Any

from pydantic import create_model

from handoffs.contracts import Checked, Contract, check
from handoffs.states import Side


def one(annotation: Any) -> type[Contract]:
    """A contract of one field, `v`."""
    return create_model("One", __base__=Contract, v=(annotation, ...))


def judged(annotation: Any, text: str) -> Checked:
    return check(one(annotation), f'{{"v": {text}}}', side=Side.RETURNS)


def rules(checked: Checked) -> list[tuple[str, str]]:
    return [(violation.pointer, violation.rule) for violation in checked.violations]
