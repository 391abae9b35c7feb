"""Whether a connection that was kept between two requests still works, found out for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.db import InterfaceError, OperationalError, connection


def first_row(statement: str, params: Sequence[Any]) -> tuple[Any, ...] | None:
    """The only row of a request's first query. Django would ask the connection beforehand whether it still works; here
    the query itself finds out, and is asked again on a new connection where it does not."""
    here: Any = connection
    if here.health_check_enabled and not here.health_check_done and not here.in_atomic_block:
        here.health_check_done = True
        with suppress(OperationalError, InterfaceError):
            return _row(statement, params)
        connection.close()
    return _row(statement, params)


def _row(statement: str, params: Sequence[Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        found: tuple[Any, ...] | None = cursor.fetchone()
        return found
