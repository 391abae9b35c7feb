"""Opening records: what comes in is kept, whatever it is."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from handoffs import conf, dispatch, engine, strict_json
from handoffs.actions.plans import Plan
from handoffs.actions.starts import nobody
from handoffs.actions.writing import write_rows
from handoffs.bodies import storable, storable_text
from handoffs.contracts import Contract, Violation, check, contract_hash, from_flaws
from handoffs.crashpoints import reach
from handoffs.engine import as_json
from handoffs.errors import ExternalIdInUse, UnknownQueue
from handoffs.flows import Flow
from handoffs.models import Attachment, Record, sql
from handoffs.models.chain import digest
from handoffs.models.moves import RecordRow, create
from handoffs.models.queues import queue_id
from handoffs.states import INTAKE, Event, Kind, Outcome, Side, Status

LONGEST_ID = 200
Document = tuple[str, str, bytes]
"""(file name, media type, content)"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is to answer, in which queue, and by when (None: as the queue says)."""

    queue: str
    question: str
    answers: tuple[str, ...] = ()
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """One record to be opened: its body as sent, and what comes along."""

    body: bytes
    external_id: str | None = None
    attachments: Sequence[Document] = ()
    refused: tuple[Violation, ...] = ()  # why what surrounds the body can't be taken; the body is kept all the same
    asked: Asked | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What became of an opening. `conflict`: the external id is taken, with another body; nothing was written."""

    record_id: int
    status: str
    created: bool
    conflict: bool = False
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    text: str
    encoding: str
    value: Contract | None
    data: object
    violations: tuple[Violation, ...]
    unknown: tuple[str, ...] = ()


def open_record(*, flow: Flow, opening: Opening, actor: str) -> Opened:
    """Open one record.

    Raises:
        ExternalIdInUse: a record of this flow has the external id and another body; nothing was written.
        UnknownQueue: a queue that the flow names does not exist.
    """
    opened = open_records(flow=flow, openings=[opening], actor=actor)[0]
    if opened.conflict:
        raise ExternalIdInUse(f"“{opening.external_id}” is record {opened.record_id}, with another body.")
    return opened


@transaction.atomic
def open_records(*, flow: Flow, openings: Sequence[Opening], actor: str) -> list[Opened]:
    """Open many records in one transaction; one answer each, in order. A bad one never hurts its neighbours.

    The same external id with the same body gives the same answer again and opens nothing.
    """
    at = sql.now()
    openings = [_fitting(opening) for opening in openings]
    judged = [_judge(flow, opening) for opening in openings]
    plans = [_plan(flow, o, j, actor, at) for o, j in zip(openings, judged, strict=True)]
    distinct = _first_of_each(openings)
    # In one order: two that open the same ids in other orders would wait for each other in a circle.
    new = sorted((plans[i] for i in distinct), key=lambda plan: plan.row.external_id or "")
    ids = create([_row(plan) for plan in new], [plan.moved.happened for plan in new], at)
    written = [plan for plan in new if plan.row.salt in ids]
    for plan in written:
        plan.adopt(ids[plan.row.salt])
    reach("half_written")
    write_rows(written)
    _attach(written, plans, openings, actor, at)
    reach("in_open")
    dispatch.ring_for(written)
    return _answers(flow, openings, plans, judged, ids)


def _fitting(opening: Opening) -> Opening:
    """The opening with an external id that its column holds; any other is told as a flaw, and the body is kept."""
    sent = opening.external_id
    if not sent or storable_text(sent, LONGEST_ID) == sent:
        return opening if sent else replace(opening, external_id=None)
    limit, shown = f"at most {LONGEST_ID} characters", storable_text(sent, 120)
    sentence = f"The external id has {limit}, and none that can't be stored."
    flaw = Violation(Side.ENVELOPE, "/external_id", "unfit_id", limit, shown, sentence)
    return replace(opening, external_id=None, refused=(*opening.refused, flaw))


def _judge(flow: Flow, opening: Opening) -> _Judged:
    if opening.refused:
        return _Judged(*storable(opening.body), None, None, opening.refused)
    read = strict_json.read(opening.body, max_bytes=conf.get("MAX_BODY"))
    if isinstance(read, tuple):
        return _Judged(*storable(opening.body), None, None, from_flaws(read, side=Side.INTAKE))
    checked = check(flow.intake, read.text, side=Side.INTAKE)
    return _Judged(read.text, "", checked.value, read.data, checked.violations, checked.unknown)


def _plan(flow: Flow, opening: Opening, judged: _Judged, actor: str, at: datetime) -> Plan:
    plan = Plan(_blank(flow, opening, judged, actor, at), flow, at, actor)
    first = flow.steps[0]
    plan.happen_opened(judged.text)
    if judged.violations:
        plan.happen(Event.REFUSE, Status.ESCALATED, code="intake_contract")
        plan.escalate(Kind.REFUSED, Side.INTAKE, judged.violations, code="intake_contract")
        return plan
    plan.place(first)
    plan.describe(judged.value, judged.data)
    plan.result(
        INTAKE,
        Side.INTAKE,
        Outcome.ACCEPTED,
        output=judged.text,
        contract_hash=contract_hash(flow.intake),
        unknown_fields=as_json(judged.unknown),
    )
    if first.by != "worker":
        plan.arrive(engine.enter(flow, first.name, judged.text, outputs=_none, may_start=_never), nobody(actor))
    if opening.asked:
        _put_question(plan, opening.asked)
    return plan


def _put_question(plan: Plan, asked: Asked) -> None:
    """The built-in flow of asks has no queue of its own: each ask names one."""
    where = queue_id(asked.queue, 0)
    plan.set(queue_id=where)
    if plan.escalation is not None:
        plan.escalation |= {"queue_id": where, "question": asked.question, "answers": as_json(asked.answers)}
        plan.escalation["due_at"] = asked.due_at or plan.at


def _none(name: str) -> None:
    return None


def _never(step: object) -> bool:
    return False


def _blank(flow: Flow, opening: Opening, judged: _Judged, actor: str, at: datetime) -> RecordRow:
    name = opening.asked.queue if opening.asked else flow.queue_of(INTAKE)
    queue = queue_id(name, 0)
    if not queue:
        raise UnknownQueue(f"Flow {flow.name} escalates to the queue “{name}”, which does not exist.")
    return RecordRow(
        id=0,
        flow=flow.name,
        external_id=opening.external_id,
        status=Status.READY.value,
        step=INTAKE,
        queue_id=queue,
        job_queue="",
        attempt=0,
        tries_left=0,
        available_at=at,
        started_at=None,
        lease_expires_at=None,
        claimed_with=0,
        alone=False,
        payload=judged.text,
        encoding=judged.encoding,
        answer="",
        title="",
        columns="[]",
        priority=0,
        producer=actor,
        opened_at=at,
        ended_at=None,
        purged_at=None,
        salt=secrets.token_hex(16),
        seq=0,
        head="",
    )


def _row(plan: Plan) -> RecordRow:
    """The row as the plan leaves it."""
    return RecordRow(**{name: plan.get(name) for name in RecordRow._fields})


def _first_of_each(openings: Sequence[Opening]) -> list[int]:
    """The places of the openings that are not repeats of an external id within the same call."""
    seen: set[str] = set()
    places = []
    for place, opening in enumerate(openings):
        if opening.external_id is None or opening.external_id not in seen:
            places.append(place)
        if opening.external_id is not None:
            seen.add(opening.external_id)
    return places


def _attach(
    written: Sequence[Plan], plans: Sequence[Plan], openings: Sequence[Opening], actor: str, at: datetime
) -> None:
    new = {id(plan) for plan in written}
    limit = conf.get("MAX_ATTACHMENT")
    Attachment.objects.bulk_create(
        Attachment(
            record_id=plan.row.id,
            name=storable_text(name, 255),
            media_type=storable_text(media_type, 100),
            size=len(content),
            digest=hashlib.sha256(content).hexdigest(),
            content=content if len(content) <= limit else None,
            added_at=at,
            added_by=actor,
        )
        for plan, opening in zip(plans, openings, strict=True)
        if id(plan) in new
        for name, media_type, content in {document[2]: document for document in opening.attachments}.values()
    )


def _answers(
    flow: Flow, openings: Sequence[Opening], plans: Sequence[Plan], judged: Sequence[_Judged], ids: dict[str, int]
) -> list[Opened]:
    taken = [o.external_id for o, p in zip(openings, plans, strict=True) if p.row.salt not in ids]
    there = {r.external_id: r for r in Record.objects.filter(flow=flow.name, external_id__in=taken)} if taken else {}
    answers = []
    for opening, plan, j in zip(openings, plans, judged, strict=True):
        if plan.row.salt in ids:
            answers.append(Opened(ids[plan.row.salt], plan.status.value, True, violations=j.violations))
            continue
        record = there[opening.external_id]
        same = record.transitions.filter(seq=1, digest=digest(record.salt, j.text)).exists()
        answers.append(Opened(record.pk, record.status, False, conflict=not same, violations=j.violations))
    return answers
