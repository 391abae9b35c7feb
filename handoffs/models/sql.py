"""The two spellings of our set-based SQL: `json_to_recordset` on PostgreSQL, `json_each` on SQLite.

Everything here works on many rows with one statement, because the limit of the product is what the database can commit.
Times are database times: a transaction reads the clock once, with `now()`, and passes it on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import connection, models
from pydantic_core import to_json

Rows = Sequence[Sequence[Any]]
OLD = "expected_"  # before the names of the columns that a compare-and-set expects


@dataclass(frozen=True, slots=True)
class Along:
    """Rows of another table that come in with their records; their first column is `record_id`."""

    model: type[models.Model]
    columns: Sequence[str]
    rows: Rows


@cache
def is_postgres() -> bool:
    return connection.vendor == "postgresql"


def clock() -> str:
    """The database's clock as an SQL expression, for a statement with parameters; read it with `read_time`."""
    return "clock_timestamp()" if is_postgres() else "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"


def now() -> datetime:
    """The database's clock (UTC)."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {clock()}", [])
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


def alone(what: str) -> bool:
    """Whether this transaction is the only one that does `what`; on SQLite every writing one is the only one."""
    if not is_postgres():
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", [what])
        return bool(cursor.fetchone()[0])


@cache
def _fields(model: type[models.Model]) -> dict[str, models.Field[Any, Any]]:
    return {str(f.column): f for f in model._meta.concrete_fields}


@cache
def _record_type(model: type[models.Model], columns: tuple[str, ...]) -> str:
    """The columns with their types, as `json_to_recordset` wants them."""
    return ", ".join(f"{c} {_plain_type(model, c.removeprefix(OLD))}" for c in columns)


def _plain_type(model: type[models.Model], column: str) -> str:
    kind = _fields(model)[column].rel_db_type(connection) or "text"
    # A cast to varchar(20) would cut silently; as text, a value that is too long is an error.
    return "text" if kind.startswith("varchar") else kind.split(" CHECK")[0]


@cache
def _times(model: type[models.Model], columns: tuple[str, ...]) -> frozenset[int]:
    """The places of the columns that hold times."""
    fields = _fields(model)
    return frozenset(i for i, c in enumerate(columns) if isinstance(fields[c.removeprefix(OLD)], models.DateTimeField))


def adapt(model: type[models.Model], columns: Sequence[str], rows: Rows) -> list[list[Any]]:
    """Values as SQLite's driver takes them: times in the same form as Django writes them."""
    times = _times(model, tuple(columns))
    if not times:
        return [list(row) for row in rows]
    # A batch has few distinct times, most of them the same one.
    written: dict[Any, Any] = {}
    adapted = []
    for row in rows:
        values = list(row)
        for i in times:
            if (value := values[i]) is not None:
                if value not in written:
                    written[value] = write_time(value)
                values[i] = written[value]
        adapted.append(values)
    return adapted


def insert(model: type[models.Model], columns: Sequence[str], rows: Rows) -> None:
    """Insert many rows in one round trip."""
    if not rows:
        return
    table, names = model._meta.db_table, ", ".join(columns)
    with connection.cursor() as cursor:
        if is_postgres():
            source, params = values(model, columns, rows)
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {source} AS v", params)  # noqa: S608
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
        came_in = f"INSERT INTO {table} ({names}) SELECT {names} FROM {source} AS v WHERE true{skip}"  # noqa: S608
        cursor.execute(f"{came_in} RETURNING {key}, id", params)
        return dict(cursor.fetchall())


def reserve_ids(model: type[models.Model], count: int) -> list[int]:
    """Ids for rows that are inserted in this transaction; on SQLite the transaction holds the only writer's lock."""
    if not count:
        return []
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if is_postgres():
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, count]
            )
            return [row[0] for row in cursor.fetchall()]
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = (cursor.fetchone() or (0,))[0]
        return list(range(last + 1, last + 1 + count))


def values(model: type[models.Model], columns: Sequence[str], rows: Rows) -> tuple[str, list[Any]]:
    """A table expression over the given rows, with its parameter; columns keep their names.

    The rows travel as one JSON text: the drivers write and the databases read it in C, where arrays of text cost
    PostgreSQL's driver more than all the rest of a commit. SQLite may read a JSON number with an error in its last
    place, so floats go through `insert` there.
    """
    if is_postgres():
        body = to_json([dict(zip(columns, row, strict=True)) for row in rows]).decode()
        types = _record_type(model, tuple(columns))
        return f"(SELECT * FROM json_to_recordset(%s::json) AS j({types}))", [body]  # noqa: S608 - our own names
    picked = ", ".join(f"json_extract(value, '$[{i}]') AS {c}" for i, c in enumerate(columns))
    return (
        f"(SELECT {picked} FROM json_each(%s))",  # noqa: S608 - our own names
        [to_json(adapt(model, columns, rows)).decode()],
    )


def update(
    model: type[models.Model],
    *,
    keep: Sequence[str],
    columns: Sequence[str],
    coalesced: Sequence[str],
    rows: Rows,
    along: Sequence[Along] = (),
) -> set[int]:
    """Compare and set, for many rows: the ids of the winners. Only their rows of `along` come in.

    Each row holds id, the expected values of the columns `keep`, then the new values of `columns`, then those of
    `coalesced`, where None means unchanged.
    """
    if not rows:
        return set()
    source, params = values(model, ["id", *(OLD + c for c in keep), *columns, *coalesced], rows)
    sets = [f"{c} = v.{c}" for c in columns] + [f"{c} = coalesce(v.{c}, r.{c})" for c in coalesced]
    # The ids once more by themselves: from the rows of a JSON text PostgreSQL can't tell how few there are.
    mine, ids = any_of((row[0] for row in rows), "r.id")
    guard = " AND ".join([mine, "r.id = v.id", *(f"r.{c} = v.{OLD}{c}" for c in keep)])
    params = [*params, *ids]
    changed = f"UPDATE {model._meta.db_table} AS r SET {', '.join(sets)} FROM {source} AS v WHERE {guard}"  # noqa: S608
    if not is_postgres():
        with connection.cursor() as cursor:
            cursor.execute(f"{changed} RETURNING id", params)
            won = {row[0] for row in cursor.fetchall()}
        for more in along:
            insert(more.model, more.columns, [row for row in more.rows if row[0] in won])
        return won
    inserts, more_params = _inserts_of_winners([more for more in along if more.rows])
    with connection.cursor() as cursor:
        whole = f"WITH won AS ({changed} RETURNING r.id){inserts} SELECT id FROM won"  # noqa: S608
        cursor.execute(whole, [*params, *more_params])
        return {row[0] for row in cursor.fetchall()}


def _inserts_of_winners(along: Sequence[Along]) -> tuple[str, list[Any]]:
    """(further parts of a WITH, parameters): all in the one round trip that the update takes. The order stays."""
    parts, params = "", []
    for place, more in enumerate(along):
        table, names = more.model._meta.db_table, ", ".join(more.columns)
        source, rows = values(more.model, more.columns, more.rows)
        chosen = f"SELECT {names} FROM {source} AS v WHERE {more.columns[0]} = ANY(ARRAY(SELECT id FROM won))"  # noqa: S608
        parts += f", along{place} AS (INSERT INTO {table} ({names}) {chosen})"
        params += rows
    return parts, params


def select(
    model: type[models.Model],
    columns: Sequence[str],
    where: str,
    params: Sequence[Any],
    *,
    skip_locked: bool = False,
) -> list[tuple[Any, ...]]:
    """Rows to be changed in this transaction, locked on PostgreSQL (on SQLite the transaction is IMMEDIATE)."""
    lock = ""
    if is_postgres():
        lock = " FOR UPDATE SKIP LOCKED" if skip_locked else " FOR UPDATE"
    sql = f"SELECT {', '.join(columns)} FROM {model._meta.db_table} WHERE {where}{lock}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql, [write_time(p) if isinstance(p, datetime) else p for p in params])
        return read_rows(model, columns, cursor.fetchall())


def select_one(
    model: type[models.Model], columns: Sequence[str], pk: int, *, locked: bool
) -> tuple[datetime, tuple[Any, ...]] | None:
    """(the database's clock, a row) in one round trip, or None where there is no such row."""
    lock = " FOR UPDATE" if locked and is_postgres() else ""
    row = f"SELECT {', '.join(columns)} FROM {model._meta.db_table} WHERE id = %s{lock}"  # noqa: S608
    with connection.cursor() as cursor:
        # The clock stands outside of what locks, so that it is read when the lock is there.
        cursor.execute(f"SELECT {clock()}, r.* FROM ({row}) AS r", [pk])  # noqa: S608
        found = cursor.fetchone()
    return (read_time(found[0]), read_rows(model, columns, [found[1:]])[0]) if found else None


def read_rows(model: type[models.Model], columns: Sequence[str], found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows as the driver gave them, with Python's values: SQLite knows no times and no booleans."""
    if is_postgres():
        return found
    readers = _readers(model, tuple(columns))
    return [tuple(read(v) if read else v for read, v in zip(readers, row, strict=True)) for row in found]


@cache
def _readers(model: type[models.Model], columns: tuple[str, ...]) -> tuple[Callable[[Any], Any] | None, ...]:
    """What makes SQLite's values of these columns into Python's."""
    kinds = [_fields(model)[c] for c in columns]
    return tuple(
        read_time if isinstance(k, models.DateTimeField) else bool if isinstance(k, models.BooleanField) else None
        for k in kinds
    )


def any_of(ids: Iterable[int], column: str = "id") -> tuple[str, list[Any]]:
    """(condition on a column, parameters) that holds for the given ids."""
    wanted = sorted(ids)
    if is_postgres():
        return f"{column} = ANY(%s)", [wanted]
    return f"{column} IN (SELECT value FROM json_each(%s))", [json.dumps(wanted)]  # noqa: S608
