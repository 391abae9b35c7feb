"""A flow for processes that are killed: what happens to a record is written in its body. Leases are short."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Annotated, Any

from handoffs import Carried, Contract, Flow, Result, Retry, Step

QUEUE = "parcel-troubles"
JOURNAL = "PARCEL_JOURNAL"  # names a file that gets a line at each call of a step's code, where set
RETRY = Retry(cap=3, first=0.2)


class Parcel(Contract):
    """`broken`: weigh leaves out what label needs. `deadly`: label kills its process. `seconds`: each step sleeps."""

    number: Annotated[int, Carried()]
    broken: bool = False
    deadly: bool = False
    seconds: float = 0.0


class Weighed(Parcel):
    grams: int | None


class ToLabel(Parcel):
    grams: int


class Labelled(Contract):
    number: Annotated[int, Carried()]
    seconds: float
    label: str


class Shipped(Contract):
    number: Annotated[int, Carried()]
    label: str
    tracking: str


def _begin(given: Any, context: Any) -> None:
    if journal := os.environ.get(JOURNAL):
        with Path(journal).open("a") as lines:
            lines.write(f"{context.step} {given.number} {context.attempt} {os.getpid()}\n")
    time.sleep(given.seconds)


def weigh(given: Parcel, context: Any) -> Result:
    _begin(given, context)
    grams = None if given.broken else 100 + given.number
    return Result(Weighed(**given.model_dump(), grams=grams), confidence=0.9)


def label(given: ToLabel, context: Any) -> Labelled:
    _begin(given, context)
    if given.deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return Labelled(number=given.number, seconds=given.seconds, label=f"L{given.number}-{given.grams}")


def ship(given: Labelled, context: Any) -> Shipped:
    _begin(given, context)
    return Shipped(number=given.number, label=given.label, tracking=f"T-{context.key.partition(':')[2]}-{given.number}")


def _step(name: str, receives: type[Contract], returns: type[Contract], run: Any) -> Step:
    return Step(name, receives=receives, returns=returns, run=run, retry=RETRY, timeout=5, lease=6)


parcels = Flow(
    "parcels",
    intake=Parcel,
    escalate_to=QUEUE,
    title="{number}",
    steps=[
        _step("weigh", Parcel, Weighed, weigh),
        _step("label", ToLabel, Labelled, label),
        _step("ship", Labelled, Shipped, ship),
    ],
)
