"""What `manage.py worker` is: a loop of repairs beside listening children, which are started again when they end.

RQ's own worker ends when the job queue server goes away, and a step may take its worker down. Nothing is lost by that:
the rows say what is to be done, and the next child does it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection

from handoffs import children, conf, dispatch, reconcile
from handoffs.actions import repairs
from handoffs.children import Child
from handoffs.flows import declared
from handoffs.sender import Sender

logger = logging.getLogger(__name__)

TICK = 0.5  # seconds between two looks at the children
BEAT = 15.0  # seconds between two heartbeats
SHORTEST_ROUND = 0.2  # seconds between two rounds of repairs, however much becomes due
PAUSES = (0.5, 30.0)  # seconds before a child that ended is started again: at first, and at most
STEADY = 30.0  # seconds after which a child counts as healthy
STOP_MARGIN = 15.0  # seconds for a stop, beside the longest step
ASK_AGAIN = 1.0  # seconds after which a fork that was asked to stop, and has not, is asked again


def command(*words: str) -> list[str]:
    """The command line of one of our management commands, for a child."""
    return [sys.executable, "-m", "django", *words]


def environment(**changes: str) -> dict[str, str]:
    """This process's environment for a child that imports from the same places."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | changes


def longest_step(job_queue: str) -> float:
    """The longest time, in seconds, that a step of a job queue may take."""
    steps = [step for flow in declared().values() for step in flow.steps]
    return max((s.timeout for s in steps if s.by == "worker" and s.job_queue == job_queue), default=0.0)


def name_of(kind: str, detail: str = "") -> str:
    """How this process is named in the heartbeats."""
    return f"{kind}:{socket.gethostname()[:60]}-{os.getpid()}" + (f":{detail}" if detail else "")


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set; a second one raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Repairs:
    """Rounds of the reconciler at their times. A database that is away is told once, and tried again."""

    def __init__(self, job_queue: str = "") -> None:
        self.name = name_of("reconciler")
        self._job_queue = job_queue
        self._next = 0.0
        self._next_beat = 0.0
        self._away = False

    def when_due(self, *workers: str) -> None:
        """Do a round if it is time for one, and note that this process and the named workers are alive."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + conf.get("PERIOD")
            with self._database():
                reconcile.reconcile()
                if self._job_queue and (due := repairs.due_in(self._job_queue)) is not None:
                    self._next = min(self._next, time.monotonic() + max(due, SHORTEST_ROUND))
        if now >= self._next_beat:
            self._next_beat = now + BEAT
            with self._database():
                self._beat(workers)

    def pause(self, longest: float) -> float:
        """Seconds until the next round or heartbeat, at most `longest`."""
        return min(max(min(self._next, self._next_beat) - time.monotonic(), 0.01), longest)

    def end(self, *workers: str) -> None:
        """Note that this process and the named workers end."""
        with self._database():
            for name in (self.name, *workers):
                repairs.gone(name)
        connection.close()

    def _beat(self, workers: Sequence[str]) -> None:
        reconcile.seen(self.name)
        for name in workers:
            repairs.seen(name=name, kind="worker", job_queue=self._job_queue)

    @contextmanager
    def _database(self) -> Iterator[None]:
        close_old_connections()
        try:
            yield
            if self._away:
                logger.info("The database answers again.")
            self._away = False
        except DatabaseError as error:
            if not self._away:
                logger.warning("The database does not answer, trying again: %s", str(error).partition("\n")[0])
            self._away = True
            with suppress(DatabaseError):
                connection.close()


@dataclass(slots=True)
class Place:
    """One child to be kept running."""

    child: Child | None = None
    began: float = 0.0
    failures: int = 0
    start_at: float = 0.0

    def note_end(self, now: float) -> float:
        """Plan the next start; the pause until then, which doubles with each early end."""
        self.failures = 0 if now - self.began > STEADY else self.failures + 1
        pause = min(PAUSES[0] * 2.0 ** min(self.failures - 1, 10), PAUSES[1]) if self.failures else 0.0
        self.child, self.start_at = None, now + pause
        return pause


class Supervisor:
    """Keeps `size` listening children of one job queue running, and does the repairs between."""

    def __init__(self, job_queue: str, size: int = 1) -> None:
        self.job_queue = job_queue
        self.name = name_of("worker", job_queue)
        self.places = [Place() for _ in range(size)]
        self.repairs = Repairs(job_queue)
        self.sender = Sender()
        self._server_away = False

    def run(self) -> None:
        """Work until SIGTERM or SIGINT; then let the steps that run come to their end and hand back the rest."""
        with stop_signals() as stop:
            self.sender.start()
            try:
                while not stop.is_set():
                    self.look_after_children()
                    self.repairs.when_due(*[self.name] * any(place.child for place in self.places))
                    stop.wait(self.repairs.pause(TICK))
                self.stop_children()
            except KeyboardInterrupt:
                logger.warning("Stopped at once: what was running is taken up again when its lease runs out.")
                self.kill_children()
        self.sender.stop()
        self.repairs.end(self.name)

    def look_after_children(self) -> None:
        now = time.monotonic()
        for place in self.places:
            if place.child and (code := place.child.poll()) is not None:
                pause = place.note_end(now)
                logger.warning("A worker ended (%s); the next one starts in %.1f s.", _in_words(code), pause)
        due = [place for place in self.places if not place.child and place.start_at <= now]
        if due and self._server_answers():
            for place in due:
                place.child, place.began = self._start(), now
        elif due:
            for place in due:
                place.start_at = now + 1.0

    def _start(self) -> Child:
        words = command("worker", "--child", "--queue", self.job_queue)
        return children.start(words, env=environment())

    def _server_answers(self) -> bool:
        there = dispatch.answers(self.job_queue)
        if not there and not self._server_away:
            logger.warning(
                "The job queue server %s does not answer. What comes in waits in the database; trying again.",
                dispatch.server_name(),
            )
        elif there and self._server_away:
            logger.info("The job queue server answers again.")
        self._server_away = not there
        return there

    def stop_children(self) -> None:
        """Ask the children and their forks to stop, wait for the steps that run, and kill what is left."""
        living = [place.child for place in self.places if place.child and place.child.poll() is None]
        for child in living:
            child.ask_to_stop()
        deadline = time.monotonic() + longest_step(self.job_queue) + STOP_MARGIN
        for turn in count():
            if turn % round(ASK_AGAIN / 0.05) == 0:
                self._ask_forks(living)
            living = [child for child in living if child.poll() is None]
            if not living or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self.kill_children()

    def _ask_forks(self, living: Sequence[Child]) -> None:
        """A fork hands back what it has not begun. One that has just been made misses the signal, so it is repeated."""
        for child in living:
            for pid in children.children_of(child.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def kill_children(self) -> None:
        for place in self.places:
            if place.child:
                place.child.stop(grace=0)
                place.child = None


def _in_words(code: int) -> str:
    return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
