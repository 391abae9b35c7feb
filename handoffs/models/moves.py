"""The one mutator of records: `create` brings rows in, `move` changes them, both with their history rows.

A move is a compare-and-set on status, attempt and `seq` (the number of the last history row). Whoever read an older row
loses and changes nothing; only winners get history rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from handoffs.models import sql
from handoffs.models.chain import COVERED, digest, link, moment
from handoffs.models.history import Transition
from handoffs.models.records import Record
from handoffs.states import Event, Status, require


class RecordRow(NamedTuple):
    """A record's row as it was read."""

    id: int
    flow: str
    external_id: str | None
    status: str
    step: str
    queue_id: int
    job_queue: str
    attempt: int
    tries_left: int
    available_at: datetime
    started_at: datetime | None
    lease_expires_at: datetime | None
    claimed_with: int
    alone: bool
    payload: str
    encoding: str
    answer: str
    title: str
    columns: str
    priority: int
    producer: str
    opened_at: datetime
    ended_at: datetime | None
    purged_at: datetime | None
    salt: str
    seq: int
    head: str


ReadRow = tuple[datetime, RecordRow]
"""When it was read, in database time, and the row."""

COLUMNS: tuple[str, ...] = RecordRow._fields
# What a move sets whole, and what it leaves as it is unless told.
SET = (
    "status", "step", "queue_id", "job_queue", "attempt", "tries_left", "available_at", "started_at",
    "lease_expires_at", "claimed_with", "alone", "encoding", "answer", "ended_at", "purged_at", "priority", "seq",
    "head",
)  # fmt: skip
KEEP_UNLESS_TOLD = ("payload", "title", "columns", "salt")
FENCE = ("status", "attempt", "seq")
TOLD = (*COVERED, "happened_at", "hash")


@dataclass(frozen=True, slots=True)
class Happened:
    """One event of a record, to become one history row."""

    event: Event
    old: Status | None
    new: Status
    step: str
    attempt: int
    actor: str
    code: str = ""
    body: str | None = None  # only its salted digest is kept


@dataclass(slots=True)
class Move:
    """From a row as it was read to what it shall be, and what happened on the way."""

    row: RecordRow
    changes: dict[str, Any] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)


def history_rows(
    record_id: int, salt: str, seq: int, head: str, happened: Iterable[Happened], at: datetime
) -> tuple[list[list[Any]], int, str]:
    """(rows for Transition, last seq, new head). Each event is held against the table of states.

    Raises:
        TransitionNotAllowed: an event that the table does not know.
    """
    rows: list[list[Any]] = []
    when = moment(at)
    for h in happened:
        require(h.old, h.event, h.new)
        seq += 1
        marked = digest(salt, h.body) if h.body is not None else ""
        old = h.old.value if h.old else ""
        values = [record_id, seq, h.event.value, old, h.new.value, h.step, h.attempt, h.actor, h.code, marked]
        head = link(head, [*values, when])
        rows.append([*values, at, head])
    return rows, seq, head


def move(moves: Sequence[Move], at: datetime, along: Sequence[sql.Along] = ()) -> dict[int, RecordRow]:
    """Make the moves so, all at once; the winners' rows as they are now. Only what is theirs of `along` comes in."""
    rows: list[list[Any]] = []
    history: dict[int, list[list[Any]]] = {}
    became: dict[int, RecordRow] = {}
    for m in moves:
        row = m.row
        history[row.id], seq, head = history_rows(row.id, row.salt, row.seq, row.head, m.happened, at)
        new = became[row.id] = row._replace(**m.changes, seq=seq, head=head)
        fence = (row.status, row.attempt, row.seq)
        rows.append([row.id, *fence, *(getattr(new, c) for c in SET), *(m.changes.get(c) for c in KEEP_UNLESS_TOLD)])
    told = sql.Along(Transition, TOLD, [line for lines in history.values() for line in lines])
    won = sql.update(Record, keep=FENCE, columns=SET, coalesced=KEEP_UNLESS_TOLD, rows=rows, along=[told, *along])
    return {record_id: became[record_id] for record_id in won}


def create(rows: Sequence[RecordRow], happened: Sequence[Sequence[Happened]], at: datetime) -> dict[str, int]:
    """Bring new records in; the ids of those that came in, by salt. A taken (flow, external_id) is left out.

    The `id`, `seq` and `head` of the rows are ignored: ids are reserved first, since history rows are hashed with them.
    """
    new: list[RecordRow] = []
    history: dict[str, list[list[Any]]] = {}
    for record_id, row, events in zip(sql.reserve_ids(Record, len(rows)), rows, happened, strict=True):
        history[row.salt], seq, head = history_rows(record_id, row.salt, 0, "", events, at)
        new.append(row._replace(id=record_id, seq=seq, head=head))
    ids = sql.insert_returning(Record, COLUMNS, new, "salt", "flow, external_id")
    sql.insert(Transition, TOLD, [line for salt in ids for line in history[salt]])
    return ids


def lock(ids: Iterable[int]) -> dict[int, RecordRow]:
    """The rows of these records, locked until the transaction ends, in the order of their ids."""
    where, params = sql.any_of(ids)
    found = sql.select(Record, COLUMNS, f"{where} ORDER BY id", params)
    return {row[0]: RecordRow._make(row) for row in found}


def lock_known(known: Mapping[int, RecordRow | None]) -> dict[int, RecordRow]:
    """As `lock`, for rows of which most are known: only what has changed since is read again, or was not known.

    No move leaves `seq` as it is, so a known row whose fence still stands is the row, but for a lease renewed since.
    """
    where, params = sql.any_of(known)
    fences = {row[0]: row[1:] for row in sql.select(Record, ("id", *FENCE), f"{where} ORDER BY id", params)}
    same = {i: row for i, row in known.items() if row and fences.get(i) == (row.status, row.attempt, row.seq)}
    others = lock(fences.keys() - same.keys()) if len(same) < len(fences) else {}
    return {record_id: same.get(record_id) or others[record_id] for record_id in fences}


def read_one(record_id: int, *, locked: bool) -> ReadRow | None:
    """The row of one record, or None; `locked` until the transaction ends, or not at all."""
    found = sql.select_one(Record, COLUMNS, record_id, locked=locked)
    return (found[0], RecordRow._make(found[1])) if found else None


def as_row(values: tuple[Any, ...]) -> RecordRow | None:
    """The row of a record from the values of COLUMNS as the driver gave them; None where there was none to join."""
    return RecordRow._make(sql.read_rows(Record, COLUMNS, [values])[0]) if values and values[0] is not None else None


def rows_where(where: str, params: Sequence[Any], *, limit: int, order: str = "id") -> list[RecordRow]:
    """Rows that fit a condition and nobody else has locked."""
    found = sql.select(Record, COLUMNS, f"{where} ORDER BY {order} LIMIT %s", [*params, limit], skip_locked=True)
    return [RecordRow._make(row) for row in found]
