"""Keyset paging: a page is asked for by the last row before it, so that rows which leave never make the next page skip.

A cursor is that row's place in the order, signed. A page costs the same wherever it lies, because each part of an order
is one range of one index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

SIZE = 50
_SALT = "reviewqueue.paging"
M = TypeVar("M", bound=Model)


class BadCursor(Exception):
    """The address names no place in this list: it was cut, changed, or made for another order."""


@dataclass(frozen=True, slots=True)
class Order:
    """A total order: one to three fields as `order_by` takes them, the last of them `pk`."""

    name: str
    fields: tuple[str, ...]

    def cursor(self, row: Model) -> str:
        """The place of a row."""
        values = [getattr(row, field.lstrip("-")) for field in self.fields]
        written = [v.isoformat() if isinstance(v, datetime) else v for v in values]
        return signing.dumps([self.name, *written], salt=_SALT)

    def place(self, cursor: str) -> list[Any]:
        """The values at a cursor, one for each field.

        Raises:
            BadCursor: it is not one that `cursor` made for this order.
        """
        try:
            name, *values = signing.loads(cursor, salt=_SALT)
        except (signing.BadSignature, ValueError) as error:
            raise BadCursor from error
        if name != self.name or len(values) != len(self.fields):
            raise BadCursor
        return [_read(field, value) for field, value in zip(self.fields, values, strict=True)]

    def after(self, place: list[Any]) -> Iterator[Q]:
        """The conditions whose rows, one condition after the other, are all that follow a place.

        Two fields go into one range, a third field into a second one: with `a < x OR (a = x AND b > y)` in one
        condition, a database reads all rows that share `a` before it finds the place.
        """
        steps = list(zip(self.fields, place, strict=True))
        near = _beyond(*steps[-1])
        if len(steps) > 1:
            near = _from(*steps[-2]) & (_beyond(*steps[-2]) | near)
        if len(steps) > 2:
            field, value = steps[0]
            yield Q(**{field.lstrip("-"): value}) & near
            yield _beyond(field, value)
        else:
            yield near


def _read(field: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if field.endswith(("_at", "_until")) else value


def _beyond(field: str, value: Any) -> Q:
    return Q(**{f"{field[1:]}__lt": value}) if field.startswith("-") else Q(**{f"{field}__gt": value})


def _from(field: str, value: Any) -> Q:
    return Q(**{f"{field[1:]}__lte": value}) if field.startswith("-") else Q(**{f"{field}__gte": value})


@dataclass(frozen=True, slots=True)
class Page(Generic[M]):
    """Some rows, and where the next ones begin."""

    rows: list[M]
    next: str | None
    is_first: bool


def page(rows: QuerySet[M], order: Order, cursor: str = "", size: int = 0) -> Page[M]:
    """The page after a cursor, or the first. Takes one query, or two where the order has three fields.

    Raises:
        BadCursor: see `Order.place`.
    """
    size = size or SIZE
    ordered = rows.order_by(*order.fields)
    parts = [ordered.filter(q) for q in order.after(order.place(cursor))] if cursor else [ordered]
    found: list[M] = []
    for part in parts:
        if len(found) <= size:
            found += part[: size + 1 - len(found)]
    more = len(found) > size
    found = found[:size]
    return Page(found, order.cursor(found[-1]) if more else None, not cursor)
