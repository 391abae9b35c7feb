"""Lists as files: every row of a filter, read in chunks by keyset and sent while it is read.

A table program runs a cell that begins like a formula, so in CSV such text gets an apostrophe before it; NDJSON has the
text as it is. Times stand twice: in UTC, and where the person is.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from handoffs.models import Escalation, Record
from reviewqueue.paging import Order, page
from reviewqueue.rows import listed_escalations, listed_records, shown_columns

CHUNK = 500
BOM = "\ufeff"
# The last ones are what some programs take for the first.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
Cells = dict[str, Any]
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Table:
    """What an export has: how its rows are loaded, and what they say in a time zone."""

    name: str
    loaded: Callable[[Any], QuerySet[Any]]
    cells: Callable[[Any, tzinfo], Cells]
    heads: tuple[str, ...]

    def rows(self, found: QuerySet[Any], order: Order, zone: tzinfo) -> Iterator[Cells]:
        """All rows, one chunk after the other. A row that moves meanwhile may come twice or not at all."""
        return (self.cells(row, zone) for row in _in_chunks(self.loaded(found), order))


class _Echo:
    """A file that gives back what it is told to write."""

    def write(self, text: str) -> str:
        return text


def as_csv(table: Table, rows: Iterator[Cells], *, bom: bool) -> Iterator[str]:
    """The lines of a CSV file (RFC 4180), every text in quotes; with a byte order mark for programs that want one."""
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_NONNUMERIC)
    yield (BOM if bom else "") + str(writer.writerow(table.heads))
    for row in rows:
        yield str(writer.writerow([safe(row[head]) for head in table.heads]))


def as_ndjson(rows: Iterator[Cells]) -> Iterator[str]:
    """One JSON object on each line."""
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def safe(value: Any) -> Any:
    """A cell that no table program runs. Numbers are ours and stay numbers."""
    if value is None:
        return ""
    if isinstance(value, int | float):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA) else text


def escalation_cells(escalation: Escalation, zone: tzinfo) -> Cells:
    """One escalation."""
    return {
        "escalation": escalation.label,
        "record": f"REC-{escalation.record_id}",
        "external_id": escalation.record.external_id,
        "title": escalation.record.title,
        "flow": escalation.flow,
        "step": escalation.step,
        "kind": escalation.kind,
        "state": escalation.state,
        "queue": escalation.queue.slug,
        "priority": escalation.priority,
        "reason": escalation.reason,
        "code": escalation.code,
        "pointer": escalation.pointer,
        "violations": escalation.violated,
        "confidence": escalation.confidence,
        "bar": escalation.bar,
        "assignee": escalation.assignee.get_username() if escalation.assignee else None,
        "resolution": escalation.resolution or None,
        "resolved_by": escalation.resolved_by.get_username() if escalation.resolved_by else None,
        "close_reason": escalation.close_reason or None,
        **times("opened", escalation.opened_at, zone),
        **times("due", escalation.due_at, zone),
        **times("first_seen", escalation.first_seen_at, zone),
        **times("resolved", escalation.resolved_at, zone),
    }


def record_cells(record: Record, zone: tzinfo) -> Cells:
    """One record. `columns` has the flow's own ones, as `name: value` pairs."""
    return {
        "record": f"REC-{record.pk}",
        "external_id": record.external_id,
        "title": record.title,
        "columns": "; ".join(f"{name}: {value}" for name, value in shown_columns(record)),
        "flow": record.flow,
        "step": record.step,
        "status": record.status,
        "queue": record.queue.slug,
        "priority": record.priority,
        "attempt": record.attempt,
        "from": record.producer,
        **times("opened", record.opened_at, zone),
        **times("ended", record.ended_at, zone),
    }


def times(name: str, at: datetime | None, zone: tzinfo) -> Cells:
    return {
        f"{name}_utc": at.astimezone(UTC).isoformat(timespec="seconds") if at else None,
        f"{name}_local": at.astimezone(zone).isoformat(timespec="seconds") if at else None,
    }


def _in_chunks(rows: QuerySet[M], order: Order) -> Iterator[M]:
    cursor: str | None = ""
    while cursor is not None:
        chunk = page(rows, order, cursor, CHUNK)
        yield from chunk.rows
        cursor = chunk.next


def _timed(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}_{zone}" for name in names for zone in ("utc", "local"))


ESCALATIONS = Table(
    "escalations",
    listed_escalations,
    escalation_cells,
    (
        "escalation", "record", "external_id", "title", "flow", "step", "kind", "state", "queue", "priority", "reason",
        "code", "pointer", "violations", "confidence", "bar", "assignee", "resolution", "resolved_by", "close_reason",
        *_timed("opened", "due", "first_seen", "resolved"),
    ),
)  # fmt: skip
RECORDS = Table(
    "records",
    listed_records,
    record_cells,
    (
        "record", "external_id", "title", "columns", "flow", "step", "status", "queue", "priority", "attempt", "from",
        *_timed("opened", "ended"),
    ),
)  # fmt: skip
