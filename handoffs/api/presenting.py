"""Rows as the API tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.urls import NoReverseMatch, get_script_prefix, reverse

from handoffs import strict_json
from handoffs.actions.plans import Plan
from handoffs.api.problems import PREFIX
from handoffs.api.replies import Json
from handoffs.models import Attachment, Escalation, Record, StepResult, Violation
from handoffs.models.moves import RecordRow
from handoffs.states import Side, Status

MOST_VIOLATIONS = 100


def address(path: str) -> str:
    """An address of the API, without the host."""
    return f"{get_script_prefix()}api/v1/{path}"


def page(name: str, *args: Any) -> str | None:
    """The address of a reviewer's page, if this site has it."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return None


def time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def brief(record: Record | RecordRow, pk: int) -> Json:
    """What every answer about a record holds."""
    return {
        "id": pk,
        "flow": record.flow,
        "external_id": record.external_id,
        "status": record.status,
        "step": record.step,
        "attempt": record.attempt,
        "tries_left": record.tries_left,
        "seq": record.seq,
        "links": links(pk),
    }


def planned(plan: Plan) -> Json:
    """As `brief`, of a record as its plan leaves it."""
    moved = {"status": plan.status.value, "step": plan.step}
    moved |= {name: plan.get(name) for name in ("attempt", "tries_left")}
    return brief(plan.row, plan.row.id) | moved | {"seq": plan.row.seq + len(plan.moved.happened)}


def links(pk: int) -> Json:
    here = address(f"records/{pk}")
    return {"self": here, "wait": f"{here}/wait", "page": page("record", pk)}


def whole(record: Record) -> Json:
    """All about a record but its document, which is put in as text."""
    waiting = record.escalations.unresolved().select_related("queue").first()
    return brief(record, record.pk) | {
        "title": record.title,
        "queue": record.queue.slug,
        "opened_at": time(record.opened_at),
        "available_at": time(record.available_at) if record.status == Status.READY else None,
        "lease_expires_at": time(record.lease_expires_at),
        "ended_at": time(record.ended_at),
        "attempts": [attempt(result) for result in _attempts(record)],
        "violations": [violation(v) for v in _violations(record, waiting)],
        "escalation": escalation(waiting) if waiting else None,
        "attachments": [attachment(a) for a in record.attachments.defer("content").order_by("pk")],
    }


def _attempts(record: Record) -> list[StepResult]:
    return list(record.results.filter(attempt__isnull=False).defer("output").order_by("pk")[:1000])


def _violations(record: Record, waiting: Escalation | None) -> list[Violation]:
    found = waiting.violations if waiting else record.violations
    return list(found.order_by("-pk")[:MOST_VIOLATIONS])[::-1]


def document_of(record: Record) -> str:
    """The text of the document at its seam, if it is JSON that everybody can read; null otherwise."""
    if record.encoding:
        return "null"
    read = strict_json.read(record.payload.encode("utf-8", "surrogatepass"), max_bytes=len(record.payload) * 4 + 1)
    return record.payload if isinstance(read, strict_json.Body) else "null"


def attempt(result: StepResult) -> Json:
    return {
        "attempt": result.attempt,
        "step": result.step,
        "outcome": result.outcome,
        "code": result.code,
        "confidence": result.confidence,
        "bar": result.bar,
        "actor": result.actor,
        "started_at": time(result.started_at),
        "ended_at": time(result.ended_at),
    }


def violation(found: Violation) -> Json:
    return {
        "side": found.side,
        "pointer": PREFIX.get(Side(found.side), "") + found.pointer,
        "rule": found.rule,
        "expected": found.expected,
        "received": found.received,
        "sentence": found.sentence,
    }


def escalation(found: Escalation) -> Json:
    return {
        "id": found.pk,
        "kind": found.kind,
        "code": found.code,
        "queue": found.queue.slug,
        "state": found.state,
        "reason": found.reason,
        "opened_at": time(found.opened_at),
        "due_at": time(found.due_at),
        "page": page("escalation", found.pk),
    }


def attachment(found: Attachment) -> Json:
    return {
        "id": found.pk,
        "name": found.name,
        "media_type": found.media_type,
        "size": found.size,
        "digest": found.digest,
        "link": found.link or None,
        "stored": not found.link,
    }


def escalated(plan: Plan) -> Json | None:
    """The escalation that a plan has just opened."""
    if plan.escalation is None:
        return None
    found = Escalation.objects.unresolved().filter(record=plan.row.id).select_related("queue").first()
    return escalation(found) if found else None
