"""Named places at which a test run may kill this process; they do nothing unless the environment names one.

`CRASHPOINT=in_commit` kills at the first visit, `CRASHPOINT=in_commit:3` at the third. A name with `in_` lies within a
transaction, after its last statement; `half_written` between the records' rows and those that come with them.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

_visits: Counter[str] = Counter()


def reach(name: str) -> None:
    """Kill this process, as a power cut would, if the environment asks for it here."""
    wanted = os.environ.get("CRASHPOINT")
    if wanted is None:
        return
    place, _, nth = wanted.partition(":")
    if place == name:
        _visits[name] += 1
        if _visits[name] == int(nth or 1):
            os.kill(os.getpid(), signal.SIGKILL)
