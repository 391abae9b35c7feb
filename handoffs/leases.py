"""The leases of what a worker holds, renewed while its code is busy."""

from __future__ import annotations

import logging
import threading
import time

from django.db import Error as DatabaseError
from django.db import connection

from handoffs.actions import work
from handoffs.actions.starts import Started

logger = logging.getLogger(__name__)
AGAIN = 2.0  # seconds, at most, after which leases that could not be renewed are renewed


class Leases:
    """Renews the leases of all that a worker holds, from a thread of its own, while the worker's code is busy.

    One that hangs in a thread is given up when its step's time is over. A database that is away is asked again.
    """

    def __init__(self) -> None:
        self._held: dict[int, Started] = {}
        self._due: dict[int, float] = {}
        self._begun: dict[int, float] = {}
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._ended = False
        self._thread: threading.Thread | None = None

    def hold(self, started: Started) -> None:
        with self._lock:
            self._held[started.record_id] = started
            self._due[started.record_id] = time.monotonic() + started.step.lease_seconds / 3
        self._changed.set()  # its lease may be shorter than all that the thread knows of
        if self._thread is None:
            self._thread = threading.Thread(target=self._renew, name="leases", daemon=True)
            self._thread.start()

    def begin(self, record_id: int) -> None:
        with self._lock:
            self._begun[record_id] = time.monotonic()

    def is_overdue(self, started: Started) -> bool:
        begun = self._begun.get(started.record_id)
        return begun is not None and time.monotonic() - begun > started.step.timeout

    def let_go(self, record_id: int) -> None:
        with self._lock:
            for kept in (self._held, self._due, self._begun):
                kept.pop(record_id, None)

    def end(self) -> None:
        self._ended = True
        self._changed.set()
        if self._thread:
            self._thread.join(timeout=5)

    def _renew(self) -> None:
        while not self._ended:
            self._changed.wait(self._pause())
            self._changed.clear()
            try:
                self._renew_due()
            except DatabaseError as error:
                logger.warning("leases not renewed, trying again: %s", type(error).__name__)
                connection.close()
        connection.close()

    def _renew_due(self) -> None:
        now = time.monotonic()
        with self._lock:
            due = {i: one for i, one in self._held.items() if self._due[i] <= now}
            for record_id, one in due.items():  # soon again if this fails, in its time if it does not
                self._due[record_id] = now + min(one.step.lease_seconds / 10, AGAIN)
        if due:
            work.renew({record_id: one.attempt for record_id, one in due.items()})
        with self._lock:
            for record_id, one in due.items():
                if self._held.get(record_id) is one:
                    self._due[record_id] = now + one.step.lease_seconds / 3

    def _pause(self) -> float | None:
        with self._lock:
            return max(min(self._due.values()) - time.monotonic(), 0.0) if self._due else None
