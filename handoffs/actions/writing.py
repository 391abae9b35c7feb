"""Making plans so: every record with all the rows that come with its move, or with none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from handoffs.actions import outbox
from handoffs.actions.plans import Plan
from handoffs.crashpoints import reach
from handoffs.models import Escalation, Queue, StepResult, Violation, sql
from handoffs.models.moves import move

# Columns with the value that stands where a plan says nothing.
RESULT = {
    "record_id": None,
    "step": None,
    "side": None,
    "attempt": None,
    "outcome": None,
    "output": None,
    "encoding": "",
    "confidence": None,
    "bar": None,
    "field_confidence": "{}",
    "evidence": "{}",
    "usage": "{}",
    "unknown_fields": "[]",
    "started_at": None,
    "ended_at": None,
    "actor": None,
    "contract_hash": "",
    "code": "",
    "message": "",
    "patch": "[]",
    "superseded": False,
    "awaits": False,
}
ESCALATION = {
    "record_id": None,
    "queue_id": None,
    "kind": None,
    "state": None,
    "flow": None,
    "step": None,
    "side": None,
    "result_id": None,
    "reason": None,
    "code": "",
    "question": "",
    "answers": "[]",
    "pointer": "",
    "violated": 0,
    "fingerprint": "",
    "confidence": None,
    "bar": None,
    "priority": 0,
    "version": 0,
    "assigned": False,
    "opened_at": None,
    "due_at": None,
    "resolution": "",
    "close_reason": "",
    "note": "",
    "came_from": "",
    "before": "{}",
}
RESULT_OF_ESCALATION = list(ESCALATION).index("result_id")
VIOLATION_COLUMNS = (
    "record_id", "escalation_id", "attempt", "flow", "step", "seam", "side", "pointer", "rule", "expected", "received",
    "sentence", "fingerprint", "contract_hash", "producer", "found_at",
)  # fmt: skip


def carry_out(plans: Sequence[Plan], at: datetime) -> list[Plan]:
    """Make the plans so, within the caller's transaction; the plans that won."""
    became = move([plan.moved for plan in plans], at, [_results(plans)])
    reach("half_written")
    winners = [plan for plan in plans if plan.row.id in became]
    for plan in winners:
        if plan.started:
            plan.started.row = became[plan.row.id]
    if superseded := [pk for plan in winners for pk in plan.superseded]:
        StepResult.objects.filter(pk__in=superseded).update(superseded=True)
    _write_rest(winners)
    return winners


def carry_out_one(plan: Plan, at: datetime) -> bool:
    """Make one plan so, and say whether it won. Where one statement is all it takes, that is its transaction."""
    if sql.is_postgres() and not (plan.escalation or plan.violations or plan.superseded):
        return bool(move([plan.moved], at, [_results([plan])]))
    with transaction.atomic():
        return bool(carry_out([plan], at))


def write_rows(plans: Sequence[Plan]) -> None:
    """Write the results, escalations and violations of plans whose records have just come in."""
    results = _results(plans)
    sql.insert(results.model, results.columns, results.rows)
    _write_rest(plans)


def _results(plans: Sequence[Plan]) -> sql.Along:
    rows = [[r.get(c, default) for c, default in RESULT.items()] for p in plans for r in p.results]
    return sql.Along(StepResult, tuple(RESULT), rows)


def _write_rest(plans: Sequence[Plan]) -> None:
    escalated = [plan for plan in plans if plan.escalation is not None]
    if escalated:
        _write_escalations(escalated)
    rows = [[v[c] for c in VIOLATION_COLUMNS] for plan in plans for v in plan.violations]
    sql.insert(Violation, VIOLATION_COLUMNS, rows)


def _write_escalations(plans: Sequence[Plan]) -> None:
    queues = Queue.objects.in_bulk({p.escalation["queue_id"] for p in plans if p.escalation})
    results = _awaiting_results(plans)
    rows = []
    for plan in plans:
        values = plan.escalation
        if values is None:
            continue
        if values["due_at"] <= plan.at:  # nobody set a time of its own
            values["due_at"] = plan.at + queues[values["queue_id"]].due_within
        values["result_id"] = values.get("result_id") or results.get(plan.row.id)
        rows.append([values.get(c, default) for c, default in ESCALATION.items()])
    if about := [str(row[RESULT_OF_ESCALATION]) for row in rows if row[RESULT_OF_ESCALATION] is not None]:
        StepResult.objects.filter(pk__in=about).update(awaits=True)
    sql.insert(Escalation, tuple(ESCALATION), rows)
    opened = Escalation.objects.unresolved().filter(record__in=[p.row.id for p in plans])
    ids = dict(opened.values_list("record_id", "pk"))
    outbox.tell(*(_told(plan, ids[plan.row.id], queues) for plan in plans))
    for plan in plans:
        for violation in plan.violations:
            violation["escalation_id"] = ids[plan.row.id]


def _told(plan: Plan, pk: int, queues: Mapping[int, Queue]) -> outbox.Telling:
    values = plan.escalation or {}
    queue = queues[values["queue_id"]]
    return outbox.opened(values, pk=pk, external_id=plan.row.external_id, queue=queue, at=plan.at)


def _awaiting_results(plans: Sequence[Plan]) -> dict[int, int]:
    """The ids of the results just written by plans that escalate over one, by record."""
    records = [p.row.id for p in plans if p.results]
    newest = StepResult.objects.filter(record__in=records).order_by("pk").values_list("record_id", "pk")
    return dict(newest)
