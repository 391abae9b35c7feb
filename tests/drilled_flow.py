"""A flow for a drill in a process of its own, which can be held in the middle of it: in the step's code."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tests.faulty_flows import Booked, Priced, flow

_calls = 0
IN_THE_MIDDLE = 20  # calls of the step's code, of some sixty


def book(priced: Priced, context: Any) -> Booked:
    global _calls
    _calls += 1
    if _calls == IN_THE_MIDDLE and (reached := os.environ.get("DRILL_REACHED")):
        Path(reached).touch()
        time.sleep(50)  # until it is killed
    return Booked(number=priced.number)


drilled = flow(run=book, name="drilled")
