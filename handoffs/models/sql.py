"""The two spellings of our set-based SQL: `unnest` on PostgreSQL, `json_each` on SQLite.

Everything here works on many rows with one statement, because the limit of the product is what the database can commit.
Times are database times: a transaction reads the clock once, with `now()`, and passes it on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import connection, models
from django.db.backends.utils import CursorWrapper

Rows = Sequence[Sequence[Any]]


def is_postgres() -> bool:
    return connection.vendor == "postgresql"


def now() -> datetime:
    """The database's clock (UTC)."""
    clock = "clock_timestamp()" if is_postgres() else "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {clock}", [])
        read: datetime = read_time(cursor.fetchone()[0])
        return read


def read_time(value: Any) -> Any:
    """A time as the driver gives it: SQLite knows no time zones and gives text or a time without one, or None."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def write_time(value: datetime | None) -> Any:
    """A time as the driver takes it, in the same form as Django writes it."""
    if value is None or is_postgres():
        return value
    return connection.ops.adapt_datetimefield_value(value)


@cache
def _fields(model: type[models.Model]) -> dict[str, models.Field[Any, Any]]:
    return {str(f.column): f for f in model._meta.concrete_fields}


@cache
def _array_type(model: type[models.Model], column: str) -> str:
    kind = _fields(model)[column].rel_db_type(connection) or "text"
    # A cast to varchar(20)[] would cut silently; as text, a value that is too long is an error.
    return "text" if kind.startswith("varchar") else kind.split(" CHECK")[0]


def adapt(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Values as the driver takes them: times in the database's form."""
    if is_postgres():
        return [list(row) for row in rows]
    fields = _fields(model)
    times = {i for i, name in enumerate(columns) if isinstance(fields[name], models.DateTimeField)}
    return [[write_time(v) if i in times else v for i, v in enumerate(row)] for row in rows]


def insert(model: type[models.Model], columns: Sequence[str], rows: Rows) -> None:
    """Insert many rows in one round trip."""
    if not rows:
        return
    table, names = model._meta.db_table, ", ".join(columns)
    with connection.cursor() as cursor:
        if is_postgres():
            arrays = ", ".join(f"%s::{_array_type(model, c)}[]" for c in columns)
            cursor.execute(
                f"INSERT INTO {table} ({names}) SELECT * FROM unnest({arrays})",  # noqa: S608 - our own names
                [list(values) for values in zip(*rows, strict=True)],
            )
            return
        marks = ", ".join(["%s"] * len(columns))
        cursor.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 - our own names
            adapt(model, columns, rows),
        )


def insert_returning(
    model: type[models.Model], columns: Sequence[str], rows: Rows, key: str, conflict: str = ""
) -> dict[Any, int]:
    """Insert many rows; the ids of those that came in, by the value of their column `key` (unique among the rows).

    `conflict` names the columns of a unique constraint whose violators are left out instead of raising.
    """
    if not rows:
        return {}
    table, names = model._meta.db_table, ", ".join(columns)
    skip = f" ON CONFLICT ({conflict}) DO NOTHING" if conflict else ""
    source, params = values(model, columns, rows)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM {source} AS v WHERE true{skip} "  # noqa: S608
            f"RETURNING {key}, id",
            params,
        )
        return dict(cursor.fetchall())


def values(model: type[models.Model], columns: Sequence[str], rows: Rows) -> tuple[str, list[Any]]:
    """A table expression over the given rows, with its parameters; columns keep their names.

    On SQLite the rows travel as JSON, so floats must not: there they go through `insert`.
    """
    if is_postgres():
        arrays = ", ".join(f"%s::{_array_type(model, c.removeprefix('old_'))}[]" for c in columns)
        names = ", ".join(columns)
        table = f"(SELECT * FROM unnest({arrays}) AS u({names}))"  # noqa: S608 - our own names
        return table, [list(v) for v in zip(*rows, strict=True)]
    picked = ", ".join(f"json_extract(value, '$[{i}]') AS {c}" for i, c in enumerate(columns))
    plain = [c.removeprefix("old_") for c in columns]
    return (
        f"(SELECT {picked} FROM json_each(%s))",  # noqa: S608 - our own names
        [json.dumps(adapt(model, plain, rows), ensure_ascii=False)],
    )


def update(
    model: type[models.Model],
    *,
    keep: Sequence[str],
    columns: Sequence[str],
    coalesced: Sequence[str],
    rows: Rows,
) -> set[int]:
    """Compare and set, for many rows: the ids of the winners.

    Each row holds id, the expected values of the columns `keep`, then the new values of `columns`, then those of
    `coalesced`, where None means unchanged.
    """
    if not rows:
        return set()
    source, params = values(model, ["id", *(f"old_{c}" for c in keep), *columns, *coalesced], rows)
    sets = [f"{c} = v.{c}" for c in columns] + [f"{c} = coalesce(v.{c}, r.{c})" for c in coalesced]
    guard = " AND ".join(["r.id = v.id", *(f"r.{c} = v.old_{c}" for c in keep)])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {model._meta.db_table} AS r SET {', '.join(sets)} FROM {source} AS v "  # noqa: S608
            f"WHERE {guard} RETURNING {'r.id' if is_postgres() else 'id'}",
            params,
        )
        return {row[0] for row in cursor.fetchall()}


def select(
    model: type[models.Model],
    columns: Sequence[str],
    where: str,
    params: Sequence[Any],
    *,
    skip_locked: bool = False,
) -> list[dict[str, Any]]:
    """Rows to be changed in this transaction, locked on PostgreSQL (on SQLite the transaction is IMMEDIATE)."""
    lock = ""
    if is_postgres():
        lock = " FOR UPDATE SKIP LOCKED" if skip_locked else " FOR UPDATE"
    sql = f"SELECT {', '.join(columns)} FROM {model._meta.db_table} WHERE {where}{lock}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [write_time(p) if isinstance(p, datetime) else p for p in params])
        return _dicts(model, columns, cursor)


def _dicts(model: type[models.Model], columns: Sequence[str], cursor: CursorWrapper) -> list[dict[str, Any]]:
    if is_postgres():
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    fields = _fields(model)
    readers: Mapping[int, Any] = {
        i: read_time if isinstance(fields[c], models.DateTimeField) else bool
        for i, c in enumerate(columns)
        if isinstance(fields[c], models.DateTimeField | models.BooleanField)
    }
    return [
        {c: readers[i](v) if i in readers else v for i, (c, v) in enumerate(zip(columns, row, strict=True))}
        for row in cursor.fetchall()
    ]


def any_of(ids: Iterable[int]) -> tuple[str, list[Any]]:
    """(condition on id, parameters) that holds for the given ids."""
    wanted = sorted(ids)
    if is_postgres():
        return "id = ANY(%s)", [wanted]
    return "id IN (SELECT value FROM json_each(%s))", [json.dumps(wanted)]
