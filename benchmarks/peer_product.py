"""Handoffs as one of the products that are compared: `Peer(n)` says what to start and how to judge the end.

`python peer_product.py submit` opens the records; two ordinary workers (`manage.py worker`) work them off.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import conf

HERE = Path(__file__).resolve().parent
MANAGE = [sys.executable, "-m", "django"]
BATCH = 200
FLOW = "bench_invoice"
QUEUE = "malformed"


class Peer:
    """`n` records; the harness gives the addresses of PostgreSQL and Redis in `conf`."""

    poll = "SELECT count(*) FROM handoffs_record WHERE status IN ('completed', 'escalated')"
    warm = 8

    def __init__(self, n: int, workers: str = "2", batch: str = "100") -> None:
        self.n, self.workers = n, int(workers)
        paths = [str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", ""), conf.HERE]
        self.env = {
            "DJANGO_SETTINGS_MODULE": "reviewqueue.settings",
            "DATABASE_URL": conf.DSN,
            "REDIS_URL": conf.REDIS,
            "SECRET_KEY": "only-for-a-benchmark",
            "HANDOFFS_APPS": "",
            "HANDOFFS_FLOWS": "invoice_flow",
            "HANDOFFS_STATE_DIR": f"{conf.HOME}/handoffs",
            "HANDOFFS_BATCH": batch,
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "N": str(n),
        }

    def setup(self, run: Callable[..., Any]) -> None:
        run([*MANAGE, "migrate", "--verbosity=0"], self.env)
        run([sys.executable, __file__, "prepare"], self.env)

    def daemons(self) -> list[tuple[list[str], dict[str, str]]]:
        return [([*MANAGE, "worker"], self.env)] * self.workers

    def actors(self) -> list[tuple[list[str], dict[str, str]]]:
        return [([sys.executable, __file__, "submit"], self.env)]

    def audit(self, db: Any) -> tuple[list[int], list[int]]:
        """(numbers parked in the named queue, numbers done); one that a step was done twice for comes twice."""
        parked = db.execute(
            "SELECT r.external_id::int FROM handoffs_record r JOIN handoffs_escalation e ON e.record_id = r.id "
            "JOIN handoffs_queue q ON q.id = e.queue_id "
            "WHERE r.status = 'escalated' AND e.state = 'open' AND e.kind = 'refused' AND q.slug = %s",
            [QUEUE],
        )
        done = db.execute(
            "SELECT external_id::int FROM handoffs_record WHERE status = 'completed' UNION ALL "
            "SELECT r.external_id::int FROM handoffs_stepresult s JOIN handoffs_record r ON r.id = s.record_id "
            "GROUP BY r.external_id, s.step HAVING count(*) > 1"
        )
        return [row[0] for row in parked], [row[0] for row in done]


def prepare() -> None:
    """The queue with its owner."""
    from django.contrib.auth import get_user_model

    from handoffs.models import Queue

    owner = get_user_model().objects.create(username="owner")
    Queue.objects.create(slug=QUEUE, title="Malformed", owner=owner)


def submit() -> None:
    from invoice_flow import invoice, payload

    from handoffs.actions.records import Opening, open_records

    conf.ready()
    numbers = range(int(os.environ["N"]))
    for first in range(0, len(numbers), BATCH):
        openings = [Opening(json.dumps(payload(i)).encode(), str(i)) for i in numbers[first : first + BATCH]]
        open_records(flow=invoice, openings=openings, actor="benchmark")


if __name__ == "__main__":
    import django

    django.setup()
    {"prepare": prepare, "submit": submit}[sys.argv[1]]()
