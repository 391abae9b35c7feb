"""A flow for real workers in processes of their own: what a step does is written in the record's body."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from handoffs import Contract, Flow, Retry, Step, TransientError

QUEUE = "nap-troubles"


class Nap(Contract):
    """`seconds` to sleep; `kill` takes the worker down on the first attempt, `fail` is refused until that attempt."""

    seconds: float = 0.0
    kill: bool = False
    fail_until: int = 0


class Rested(Contract):
    attempt: int


def nap(given: Nap, context: Any) -> Rested:
    if given.kill and context.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if context.attempt < given.fail_until:
        raise TransientError("Too early.", code="too_early")
    time.sleep(given.seconds)
    return Rested(attempt=context.attempt)


naps = Flow(
    "naps",
    intake=Nap,
    escalate_to=QUEUE,
    steps=[Step("nap", receives=Nap, returns=Rested, run=nap, timeout=5, lease=6, retry=Retry(cap=3, first=0.5))],
)
