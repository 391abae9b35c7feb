"""What a bell starts: claim, work, commit, until nothing is ready or the slice is over.

A claim takes many records; their steps run one after another (or in threads, where they wait on a network), and what
has ended is committed in small batches, each together with the starts of the next steps. Claims begin small and grow
while they are worked off quickly, so that a worker with slow steps does not hold what an idle one could take.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError, close_old_connections, connection

from handoffs import conf, dispatch, runner
from handoffs.actions import batch_work, work
from handoffs.actions.starts import Claimer, Started
from handoffs.actions.work import Failure, Finished
from handoffs.crashpoints import reach
from handoffs.flows import Step, declared
from handoffs.leases import Leases
from handoffs.models.queues import forget_queues

logger = logging.getLogger(__name__)
FLUSH = 0.25  # seconds after which ended attempts are committed although others of the batch still wait
FIRST = 4  # records in a worker's first claim
QUICK, SLOW = 1.0, 10.0  # seconds of work on a claim below which the next one is twice as large, above which half
PAUSES = (0.2, 1.0, 5.0)  # seconds between tries to commit
RELEASED = Failure("stopped", "The worker was asked to stop.", released=True)


def serve(job_queue: str) -> None:
    """Work off a job queue. Safe to run twice at once, or never: the rows say what is to be done."""
    dispatch.end_with_listener()
    reach("after_dequeue")
    close_old_connections()
    forget_queues()
    stop = threading.Event()
    try:
        with _stopped_by_sigterm(stop):
            drain(job_queue, stop=stop)
    finally:
        connection.close()


def drain(job_queue: str, *, stop: threading.Event | None = None, seconds: float | None = None) -> int:
    """Claim and work until nothing is ready, `stop` is set or the slice is over; how many attempts ended."""
    with Drain(job_queue, stop or threading.Event()) as running:
        return running.until(time.monotonic() + (conf.get("SLICE") if seconds is None else seconds))


@contextmanager
def _stopped_by_sigterm(stop: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Drain:
    """One worker's pass over a job queue: what it holds, what has ended and what still runs in threads."""

    def __init__(self, job_queue: str, stop: threading.Event) -> None:
        self.job_queue, self.stop = job_queue, stop
        self.actor = f"worker:{socket.gethostname()[:60]}-{os.getpid()}"
        self.waiting: deque[Started] = deque()
        self.futures: dict[Future[Finished], Started] = {}
        self.finished: list[Finished] = []
        self.ended = 0
        self.end = float("inf")
        least = max([1, *(s.concurrency for s in self._steps() if s.concurrency > 1)])
        self.limits = least, max(least, int(conf.get("BATCH")))
        self.limit = self._within(FIRST)
        self.leases = Leases()
        self._threads: ThreadPoolExecutor | None = None

    def _steps(self) -> list[Step]:
        steps = [s for flow in declared().values() for s in flow.steps]
        return [s for s in steps if s.by == "worker" and s.job_queue == self.job_queue]

    def __enter__(self) -> Drain:
        return self

    def __exit__(self, *error: object) -> None:
        self.leases.end()
        if self._threads:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def until(self, end: float) -> int:
        """Claim and work until nothing is ready or `end` (of `time.monotonic`): then what is held ends its step."""
        self.end = end
        while not self.is_over() and self.turn():
            pass
        return self.ended

    def is_over(self) -> bool:
        return self.stop.is_set() or time.monotonic() >= self.end

    def turn(self) -> bool:
        """Some records, then some items of the batches that run, so that neither waits for all of the other."""
        claimed = self.claim()
        if claimed:
            began = time.monotonic()
            self.work_off()
            self.fit(time.monotonic() - began)
        return bool(batch_work.work_off(limit=conf.get("BATCH"), is_stopped=self.stop.is_set)) or claimed

    def fit(self, seconds: float) -> None:
        """Fit the size of the next claim to the time that this one took."""
        if seconds < QUICK:
            self.limit = self._within(self.limit * 2)
        elif seconds > SLOW:
            self.limit = self._within(self.limit // 2)

    def _within(self, size: int) -> int:
        least, most = self.limits
        return min(max(size, least), most)

    def claim(self) -> bool:
        """Take more work; whether there was any, refused records included."""
        claimed = work.claim_ready(job_queue=self.job_queue, actor=self.actor, limit=self.limit)
        reach("after_claim")
        if claimed.more:
            dispatch.ring(self.job_queue)  # an idle worker can join in
        self.take(claimed.started)
        return claimed.moved > 0

    def take(self, started: list[Started]) -> None:
        for one in started:
            self.leases.hold(one)
            if one.step.concurrency > 1:
                self.futures[self.threads.submit(self._in_thread, one)] = one
            else:
                self.waiting.append(one)

    @property
    def threads(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max(s.concurrency for s in self._steps()))
        return self._threads

    def _in_thread(self, started: Started) -> Finished:
        self.leases.begin(started.record_id)
        try:
            return runner.run(started)
        finally:
            connection.close()

    def work_off(self) -> None:
        """Run what is held, and what follows it in the same chain, to its end."""
        last = time.monotonic()
        while self.waiting or self.futures or self.finished:
            if self.stop.is_set():
                self.hand_back()
            elif self.waiting:
                self.finished.append(runner.run(self.waiting.popleft()))
            self.collect(block=not self.waiting and not self.finished)
            if self.finished and (not self.waiting or time.monotonic() - last > FLUSH):
                self.commit()
                last = time.monotonic()

    def collect(self, *, block: bool) -> None:
        """Take what the threads have ended; with `block`, wait for the first of them."""
        if not self.futures:
            return
        done, _ = wait(self.futures, timeout=FLUSH if block else 0, return_when=FIRST_COMPLETED)
        if block and done:
            done |= wait(self.futures, timeout=0.01).done  # those that end together are committed together
        for future in done:
            del self.futures[future]
            self.finished.append(future.result())
        for future, one in list(self.futures.items()):
            if self.leases.is_overdue(one):  # no alarm reaches a thread; its late result will change nothing
                del self.futures[future]
                self.finished.append(Finished(one.record_id, one.attempt, runner.timed_out(one.step)))

    def commit(self) -> None:
        batch, self.finished = self.finished, []
        held = len(batch) + len(self.waiting) + len(self.futures)
        reach("before_commit")
        started = _patiently(lambda: work.commit(batch, Claimer(self.actor, self._serves, held)))
        reach("after_commit")
        self.ended += len(batch)
        for ended in batch:
            self.leases.let_go(ended.record_id)
        self.take(started)

    def _serves(self, step: Step) -> bool:
        return step.by == "worker" and step.job_queue == self.job_queue and not self.is_over()

    def hand_back(self) -> None:
        """Give back what has not begun, and what runs in threads: nothing waits for a lease after a clean stop."""
        held = [*self.waiting, *self.futures.values()]
        self.waiting.clear()
        self.futures.clear()
        self.finished += [Finished(one.record_id, one.attempt, RELEASED) for one in held]


def _patiently(write: Callable[[], list[Started]]) -> list[Started]:
    """Write once more where the database dropped us: work that is done must not be lost with a connection.

    What was written after all comes late the second time, and changes nothing.
    """
    for pause in PAUSES:
        try:
            return write()
        except (OperationalError, InterfaceError) as error:
            logger.warning("not committed, trying again in %g s: %s", pause, str(error).partition("\n")[0])
            connection.close()
            time.sleep(pause)
    return write()
