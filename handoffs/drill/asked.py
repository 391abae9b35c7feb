"""A drill that somebody asked for on a page: a worker's job, and what `manage.py drill` shares with it."""

from __future__ import annotations

import json
import random

from django.db import close_old_connections, connection

from handoffs import dispatch, readiness
from handoffs.actions.drills import keep_drill
from handoffs.drill.report import as_data
from handoffs.drill.run import Drill
from handoffs.flows import Flow, get_flow
from handoffs.models import sql
from handoffs.models.queues import forget_queues


def prepared(flow: Flow, seed: int | None = None) -> Drill:
    """A drill that knows what the last green one refused; without a seed, a new one is drawn."""
    green = readiness.last_green(flow)
    drawn = random.SystemRandom().randrange(1, 100_000) if seed is None else seed
    return Drill(flow, drawn, before=json.loads(green.schemas) if green else {})


def drill(name: str, by: str) -> None:
    """Drill a flow whole and keep what was found. Safe to run twice at once, or never."""
    dispatch.end_with_listener()
    close_old_connections()
    forget_queues()
    try:
        flow, began = get_flow(name), sql.now()
        report = prepared(flow).run()
        keep_drill(flow=flow, report=as_data(report), started_at=began, actor=by)
    finally:
        connection.close()
