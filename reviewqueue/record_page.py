"""The record page: what it holds now and who wrote that, what each attempt delivered, what happened."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest

from handoffs.exact_json import Unreadable
from handoffs.models import Escalation
from handoffs.states import INTAKE, Side, Status
from reviewqueue.case import Case
from reviewqueue.comparing import compare
from reviewqueue.escalation_page import tell_origins
from reviewqueue.json_lines import lines_of
from reviewqueue.panels import Shown, deliveries, strip
from reviewqueue.rows import shown_columns
from reviewqueue.schema_fields import shape_of
from reviewqueue.schema_forms import SchemaForm
from reviewqueue.sheets import Look
from reviewqueue.timeline import WHO, timeline

TABS = ("values", "results", "changes", "json", "history")
RESULT = ("step", "side", "attempt", "outcome", "confidence", "bar", "actor", "code", "message", "contract_hash")


def context(request: HttpRequest, case: Case) -> dict[str, Any]:
    tab, who = request.GET.get("tab", ""), request.GET.get("who", "all")
    waiting = next((e for e in case.escalations if not e.is_resolved), None)
    found = {
        "case": case,
        "record": case.record,
        "tab": tab if tab in TABS else TABS[0],
        "steps": strip(case),
        "waiting": waiting,
        "escalations": case.escalations,
        "who": who if who in WHO else "all",
        "may_keep": case.may_keep,
        "may_reopen": case.may_decide and case.record.status in {Status.COMPLETED, Status.CLOSED},
        "may_close": case.may_decide and case.record.status in {Status.READY, Status.RUNNING},
        "document": case.document(Look.of(request.GET)),
        "deliveries": deliveries(case),
        "timeline_query": "tab=history&",
        "producer": case.actors.name(case.record.producer),
        "columns": shown_columns(case.record),
    }
    return found | _tab(case, str(found["tab"]), who, request.GET.get("against", ""))


def _tab(case: Case, tab: str, who: str, against: str) -> dict[str, Any]:
    if tab == "json":
        return {"lines": lines_of(case.record.payload)}
    if tab == "changes":
        return {"comparison": compare(case, against)}
    if tab == "history":
        return {"timeline": timeline(case, who)}
    if tab == "values":
        return {"shown": values(case)}
    return {}


def values(case: Case) -> Shown:
    """The document where the record stands now, by field."""
    body = case.record.payload
    form = _form(case, body)
    if form is None:
        return Shown("", "json", [], lines_of(body), None, len(body))
    tell_origins(case, form.leaves)
    return Shown("", "fields", [], None, form, len(body))


def _form(case: Case, body: str) -> SchemaForm | None:
    ended = case.record.status in {Status.COMPLETED, Status.CLOSED} and case.record.step != INTAKE
    side = Side.INTAKE if case.is_at_intake else Side.RETURNS if ended and _completed(case) else Side.RECEIVES
    contract = case.contract(side)
    if contract is None or case.record.encoding:
        return None
    try:
        form = SchemaForm(shape_of(contract), body)
    except Unreadable:
        return None
    return form if isinstance(form.sent, dict) else None


def _completed(case: Case) -> bool:
    return case.record.status == Status.COMPLETED


def as_json(case: Case) -> dict[str, Any]:
    """Everything that is kept of a record, short of its documents' bytes."""
    record = case.record
    outputs = dict(record.results.values_list("pk", "output"))
    return {
        "id": record.pk,
        "flow": record.flow,
        "external_id": record.external_id,
        "status": record.status,
        "step": record.step,
        "queue": record.queue.slug,
        "title": record.title,
        "producer": record.producer,
        "opened_at": record.opened_at,
        "ended_at": record.ended_at,
        "attempt": record.attempt,
        "tries_left": record.tries_left,
        "body": record.payload,
        "encoding": record.encoding,
        "results": [
            {name: getattr(result, name) for name in RESULT}
            | {"started_at": result.started_at, "ended_at": result.ended_at, "output": outputs[result.pk]}
            | {name: json.loads(getattr(result, name)) for name in ("field_confidence", "evidence", "usage", "patch")}
            for result in case.results
        ],
        "escalations": [_escalation(each) for each in case.escalations],
        "history": list(
            record.transitions.order_by("seq").values(
                "seq", "event", "old_status", "new_status", "step", "attempt", "actor", "code", "digest", "happened_at",
                "hash",
            )
        ),
        "comments": [
            {"author": c.author.get_username(), "text": c.text, "written_at": c.written_at} for c in case.comments
        ],
        "attachments": [
            {"name": a.name, "media_type": a.media_type, "size": a.size, "sha256": a.digest} for a in case.attachments
        ],
    }  # fmt: skip


def _escalation(escalation: Escalation) -> dict[str, Any]:
    names = ("pk", "kind", "state", "step", "reason", "code", "question", "pointer", "violated", "confidence", "bar")
    times = ("opened_at", "due_at", "resolved_at", "resolution", "close_reason", "note")
    return {name: getattr(escalation, name) for name in (*names, *times)}
