"""Waiting until records rest: until no worker has them, nor will take them by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from handoffs import jobs
from handoffs.actions import repairs
from handoffs.flows import Flow
from handoffs.insight.standing import moving

LOOK = 0.25  # seconds between two looks
SLICE = 0.5  # seconds of work between two looks

OnLook = Callable[[int], None]
"""Told how many still move."""


def wait_until_rested(ids: Sequence[int], *, seconds: float, on_look: OnLook) -> list[int]:
    """Let workers elsewhere do it; those that still move when the time is over."""
    end = time.monotonic() + seconds
    left = moving(ids)
    on_look(len(left))
    while left and time.monotonic() < end:
        time.sleep(LOOK)
        left = moving(left)
        on_look(len(left))
    return left


def work_off(flow: Flow, ids: Sequence[int], *, seconds: float, stop: threading.Event, on_look: OnLook) -> list[int]:
    """Do it in this process, without a job queue server; those that still move when it was stopped or the time is over.

    What else is ready on the same job queues is worked off, too.
    """
    end = time.monotonic() + seconds
    job_queues = list(dict.fromkeys(step.job_queue for step in flow.steps if step.by == "worker"))
    left = moving(ids)
    while left and not stop.is_set() and time.monotonic() < end:
        worked = sum(jobs.drain(name, stop=stop, seconds=SLICE) for name in job_queues)
        left = moving(left)
        on_look(len(left))
        if left and not worked:
            due = [due for name in job_queues if (due := repairs.due_in(name)) is not None]
            stop.wait(min([LOOK, *due]))
    return left
