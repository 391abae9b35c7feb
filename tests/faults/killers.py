"""Kills the processes of a real worker in the middle of their steps, and keeps the tally of whom it hit."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress

from django.db import connection

from handoffs import children
from handoffs.children import Child
from tests.workers import forks, listeners

HELD = """
    SELECT r.id FROM handoffs_record r JOIN handoffs_transition t ON t.record_id = r.id
    WHERE r.status = 'running' AND t.event = 'start' AND t.attempt = r.attempt AND t.actor LIKE %s"""


class Killer:
    """Strikes the fork that runs steps, the listener above it, or both; no record more than `most` times."""

    def __init__(self, seed: int, worker: Child, *, most: int, spared: set[int]) -> None:
        self.random, self.worker = random.Random(seed), worker
        self.most, self.spared = most, spared
        self.hits: Counter[int] = Counter()
        self.strikes: Counter[str] = Counter()

    @property
    def killed(self) -> int:
        return self.strikes.total()

    def strike(self) -> bool:
        """Kill one worker in mid-step; whether there was one that holds only records which may be hit once more."""
        with suppress(ProcessLookupError, IndexError):
            fork = self.random.choice(forks(self.worker))
            os.kill(fork, signal.SIGSTOP)  # so that what it holds does not change between the look and the kill
            time.sleep(0.05)  # a commit that was under way comes to its end in the database
            held = held_by(fork)
            if not held or any(self.hits[record] >= self.most for record in held - self.spared):
                os.kill(fork, signal.SIGCONT)
                return False
            self._kill(fork)
            self.hits.update(held)
            return True
        return False

    def _kill(self, fork: int) -> None:
        above = [pid for pid in listeners(self.worker) if fork in children.children_of(pid)]
        chosen = self.random.choice(["fork", "listener", "both"])
        self.strikes[chosen] += 1
        for pid in {"fork": [fork], "listener": above, "both": [*above, fork]}[chosen]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def held_by(pid: int) -> set[int]:
    """The records whose running attempts that process began."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, [f"worker:%-{pid}"])
        return {row[0] for row in cursor.fetchall()}
