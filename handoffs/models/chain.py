"""The hash chain of a record's history: how it is made, and whether it still holds.

Each history row carries the hash of the row before it and of itself, and the record carries the last one (`head`) with
its number (`seq`). So whoever edits, removes, adds or swaps rows leaves a place where the hashes do not fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from handoffs.states import TRANSITIONS, Event, Status

# What a row's hash covers, besides the time.
_canonical = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode
COVERED = ("record_id", "seq", "event", "old_status", "new_status", "step", "attempt", "actor", "code", "digest")


_canonical = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode


def digest(salt: str, body: str) -> str:
    """The salted digest of a body, hexadecimal: SHA-256 of the salt and the UTF-8 text."""
    return hashlib.sha256((salt + body).encode()).hexdigest()


def link(head: str, values: Sequence[Any]) -> str:
    """The next hash of a chain: SHA-256 of the hash before and the canonical row, hexadecimal."""
    return hashlib.sha256((head + _canonical(values)).encode()).hexdigest()


def moment(at: datetime) -> str:
    """A time as it stands in the canonical row."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Line:
    """One history row as it was read."""

    record_id: int
    seq: int
    event: str
    old_status: str
    new_status: str
    step: str
    attempt: int
    actor: str
    code: str
    digest: str
    happened_at: datetime
    hash: str

    @property
    def covered(self) -> list[Any]:
        return [*(getattr(self, name) for name in COVERED), moment(self.happened_at)]


@dataclass(frozen=True, slots=True)
class End:
    """What a record's own row says about where its history ends."""

    seq: int
    head: str
    status: str
    attempt: int


def faults(lines: Sequence[Line], end: End) -> list[str]:
    """Hold a record's history, ordered by `seq`, against itself and the record's row: one sentence for each fault."""
    found: list[str] = []
    before = End(0, "", "", 0)
    for line in lines:
        found += (f"{line.seq}: {fault}" for fault in _faults_of(line, before))
        before = End(line.seq, line.hash, line.new_status, line.attempt)
    for name in End.__slots__:
        told, there = getattr(before, name), getattr(end, name)
        if told != there:
            found.append(f"the record's {name} is {there!r}, its history ends with {told!r}")
    return found


def _faults_of(line: Line, before: End) -> Iterator[str]:
    if line.seq != before.seq + 1:
        yield f"it follows {before.seq}"
    if line.hash != link(before.head, line.covered):
        yield "the hash is not that of the row and the one before it"
    if line.old_status != before.status:
        yield f"it begins {line.old_status!r}, the one before ends {before.status!r}"
    if not _is_listed(line):
        yield f"no record can {line.event!r} from {line.old_status!r} to {line.new_status!r}"
    if line.attempt != before.attempt + (line.event == Event.START):
        yield f"its attempt is {line.attempt}, the one before has {before.attempt}"


def _is_listed(line: Line) -> bool:
    try:
        old = Status(line.old_status) if line.old_status else None
        return Status(line.new_status) in TRANSITIONS.get((old, Event(line.event)), frozenset())
    except ValueError:
        return False
