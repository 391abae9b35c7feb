"""Does the whole history hold? Record by record along the hash chains, and against what was noted of it elsewhere.

The chains find whoever edits, removes, adds or swaps rows. Who can rewrite a whole chain is found only by heads that
lie where they can't write: `heads` are those to keep elsewhere, `differing` holds the history against them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from handoffs.models import AuditEntry, Record, Transition
from handoffs.models.chain import End, Line, faults, moment

AT_ONCE = 500  # records in one query

Head = dict[str, Any]
"""One line to keep elsewhere: where a record's history ends, or how many audit entries there are and their hash."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One place at which the history does not hold; `record` is None for the audit entries."""

    record: int | None
    sentence: str

    def __str__(self) -> str:
        return f"record {self.record}: {self.sentence}" if self.record is not None else self.sentence


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while some := list(islice(left, AT_ONCE)):
        yield some


def broken() -> Iterator[Flaw]:
    """Every record's history, held against itself and the record's row."""
    ends = Record.objects.order_by("pk").values_list("pk", "seq", "head", "status", "attempt")
    for some in _batches(ends.iterator(AT_ONCE)):
        told = _lines([pk for pk, *_end in some])
        for pk, *end in some:
            yield from (Flaw(pk, sentence) for sentence in faults(told.get(pk, []), End(*end)))


def _lines(records: Sequence[int]) -> dict[int, list[Line]]:
    rows = Transition.objects.filter(record__in=records).order_by("record", "seq", "pk")
    lines = (Line(*row) for row in rows.values_list(*Line.__slots__))
    return {pk: list(some) for pk, some in groupby(lines, lambda line: line.record_id)}


def heads() -> Iterator[Head]:
    """What to keep elsewhere: the audit entries as one hash, then where each record's history ends."""
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    count, digest = _entries(last)
    yield {"audit_entries": count, "last": last, "hash": digest}
    ends = Record.objects.order_by("pk").values_list("pk", "seq", "head")
    yield from ({"record": pk, "seq": seq, "hash": head} for pk, seq, head in ends.iterator(AT_ONCE))


def _entries(last: int) -> tuple[int, str]:
    """(how many audit entries there are up to one, the hash of them all)"""
    digest, count = hashlib.sha256(), 0
    rows = AuditEntry.objects.filter(pk__lte=last).order_by("pk")
    for at, *rest in rows.values_list("happened_at", "pk", "actor", "action", "subject", "before", "after").iterator():
        digest.update(json.dumps([moment(at), *rest], separators=(",", ":")).encode())
        count += 1
    return count, digest.hexdigest()


def differing(kept: Iterable[Head]) -> Iterator[Flaw]:
    """Hold the history against heads that were kept: it may have grown since, and nothing else.

    Raises:
        ValueError: a line is none that `heads` gave.
    """
    for some in _batches(kept):
        yield from _records_differing([head for head in some if "record" in head])
        for head in some:
            if "record" not in head:
                yield from _entries_differing(head)


def _records_differing(kept: Sequence[Head]) -> Iterator[Flaw]:
    records = [_of(head, "record") for head in kept]
    rows = Transition.objects.filter(record__in=records, seq__in={_of(head, "seq") for head in kept})
    there = {(record, seq): digest for record, seq, digest in rows.values_list("record", "seq", "hash")}
    for head in kept:
        found = there.get((head["record"], head["seq"]))
        if found is None:
            yield Flaw(head["record"], f"its history had {head['seq']} rows, and the last of them is not there")
        elif found != _of(head, "hash"):
            yield Flaw(head["record"], f"row {head['seq']} is not the one that was there")


def _entries_differing(head: Head) -> Iterator[Flaw]:
    count, digest = _entries(_of(head, "last"))
    if (count, digest) != (_of(head, "audit_entries"), _of(head, "hash")):
        yield Flaw(None, f"the first {head['audit_entries']} audit entries are not those that were there")


def _of(head: Head, name: str) -> Any:
    if name not in head:
        raise ValueError(f"a line without {name!r}")
    return head[name]
