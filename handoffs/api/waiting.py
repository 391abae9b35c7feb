"""Long polls: a few requests wait here; the rest are answered at once and told when to ask again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from handoffs import conf
from handoffs.models import Escalation, sql

PAUSES = (0.05, 0.1, 0.2, 0.4)  # seconds between looks at the database; the last one stays
ASK_AGAIN = "5"  # seconds


@dataclass(frozen=True, slots=True)
class Happened:
    """Whether it happened, and headers for who has to ask again."""

    done: bool
    headers: Mapping[str, str] = field(default_factory=dict)


class _Waiters:
    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()

    def enter(self) -> bool:
        with self.lock:
            if self.count >= conf.get("WAITERS"):
                return False
            self.count += 1
            return True

    def leave(self) -> None:
        with self.lock:
            self.count -= 1


waiters = _Waiters()


def until(happened: Callable[[], bool], seconds: float) -> Happened:
    """Wait until something has happened, for at most so many seconds (bounded by the installation)."""
    if happened():
        return Happened(True)
    seconds = min(seconds, conf.get("LONGEST_WAIT"))
    if seconds <= 0:
        return Happened(False)
    if not waiters.enter():
        return Happened(False, {"Retry-After": ASK_AGAIN})
    try:
        return Happened(_watch(happened, time.monotonic() + seconds))
    finally:
        waiters.leave()


def _watch(happened: Callable[[], bool], end: float) -> bool:
    looks = 0
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, PAUSES[min(looks, len(PAUSES) - 1)]))
        looks += 1
        if happened():
            return True
    return False


def stands(record_id: int) -> bool:
    """Whether the verdict that ended a record, if one did, can't be taken back any more."""
    recent = sql.now() - timedelta(seconds=conf.get("UNDO"))
    return not Escalation.objects.filter(record=record_id, resolved_at__gt=recent).exists()
