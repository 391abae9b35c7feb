"""Running one step's code: its input and context in, how it ended out. Whatever the code raises becomes data here."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import cached_property
from typing import overload

from structlog.contextvars import bound_contextvars

from handoffs.actions.starts import Started
from handoffs.actions.work import Ended, Failure, Finished, heartbeat
from handoffs.crashpoints import reach
from handoffs.engine import TIMEOUT
from handoffs.flows import AttachmentRef, NeedsHuman, PermanentError, Step, StepContext, TransientError
from handoffs.models import Attachment
from handoffs.returned import delivery, ended_by

logger = logging.getLogger(__name__)


class StepTimedOut(BaseException):
    """The step's time is over. Not an Exception, so that a step's own `except Exception` can't swallow it."""


class Attachments(Sequence[AttachmentRef]):
    """A record's attachments, read from the database only when a step looks at them."""

    def __init__(self, record_id: int) -> None:
        self._record_id = record_id

    @cached_property
    def _found(self) -> list[AttachmentRef]:
        rows = Attachment.objects.filter(record=self._record_id).defer("content").order_by("pk")
        return [AttachmentRef(a.name, a.media_type, a.digest, a.size, _reader(a.pk)) for a in rows]

    @overload
    def __getitem__(self, index: int) -> AttachmentRef: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[AttachmentRef]: ...
    def __getitem__(self, index: int | slice) -> AttachmentRef | Sequence[AttachmentRef]:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)


def _reader(pk: int):  # type: ignore[no-untyped-def]
    return lambda: bytes(Attachment.objects.values_list("content", flat=True).get(pk=pk) or b"")


def run(started: Started) -> Finished:
    """Run a step's code on what it was handed."""
    reach("mid_work")
    return Finished(started.record_id, started.attempt, _run(started), started.body, started.row)


def _run(started: Started) -> Ended:
    step = started.step
    assert step.run is not None  # noqa: S101 - a worker's step has code, by declaration
    given = started.value if started.value is not None else json.loads(started.body)
    try:
        with _named_in_logs(started), time_limit(step.timeout):
            returned = step.run(given, context_of(started))
    except StepTimedOut:
        return timed_out(step)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the step's own code: whatever it raises must not stop the worker
        if not isinstance(error, NeedsHuman | PermanentError | TransientError):
            logger.warning("record %s: %s raised %s", started.record_id, step.name, type(error).__name__[:60])
        return ended_by(error)
    return delivery(returned)


def _named_in_logs(started: Started) -> AbstractContextManager[None]:
    """What the step's own code logs says which attempt it belongs to."""
    return bound_contextvars(record=started.record_id, step=started.step.name, attempt=started.attempt)


def timed_out(step: Step) -> Failure:
    return Failure(TIMEOUT, f"It took longer than {step.timeout:g} s.")


def context_of(started: Started) -> StepContext:
    return StepContext(
        record_id=started.record_id,
        external_id=started.external_id,
        flow=started.flow.name,
        step=started.step.name,
        attempt=started.attempt,
        key=started.key,
        deadline=started.started_at + timedelta(seconds=started.step.timeout),
        answer=started.answer or None,
        heartbeat=lambda: _beat(started),
        attachments=Attachments(started.record_id),
    )


def _beat(started: Started) -> None:
    heartbeat(record_id=started.record_id, attempt=started.attempt)


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `StepTimedOut` in the block after `seconds`, in the main thread; other threads have no limit of their own.

    An alarm that was set before (RQ's own) is set again afterwards, with the time that is left of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: object) -> None:
        raise StepTimedOut

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, over)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001))
