"""The reconciler: one round repairs what a crash, a flushed job queue server or a deploy left behind.

Any process may run it, and several at once: every repair is a compare-and-set.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from handoffs import dispatch
from handoffs.actions import batches, drills, idempotency, repairs, watching
from handoffs.errors import QueueServerAway

logger = logging.getLogger(__name__)
FORGOTTEN_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Round:
    """What one round did."""

    expired: int  # leases that ran out
    asked: int  # records put before a person
    stranded: int  # records whose step is gone
    late: int  # steps whose work waits too long for a start
    rung: int  # bells rung because none waited
    server_away: bool  # the job queue server did not answer


def reconcile() -> Round:
    """Do one round."""
    expired = repairs.expire_leases()
    asked = repairs.ask_people()
    stranded = repairs.strand_lost()
    late = repairs.watch_starts()
    drills.watch_held()
    watching.watch()
    rung, away = _ring_where_silent()
    return Round(expired, asked, stranded, late, rung, away)


def _ring_where_silent() -> tuple[int, bool]:
    rung = 0
    for name in repairs.waiting_job_queues():
        try:
            if not dispatch.has_bell(name):
                rung += dispatch.ring(name)
        except QueueServerAway as error:
            logger.warning("%s Ready work waits.", error)
            return rung, True
        except KeyError:
            logger.warning("No worker can serve the job queue %s: add it to HANDOFFS_JOB_QUEUES.", name)
    return rung, False


def seen(name: str) -> None:
    """Note that this reconciler is alive, and forget processes that ended long ago."""
    repairs.seen(name=name, kind="reconciler")
    repairs.forget_silent(FORGOTTEN_AFTER)
    idempotency.forget_old_keys()
    batches.forget_drafts()
