"""Just ask a human."""

from __future__ import annotations

import json
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from handoffs import asks
from handoffs.actions.records import Asked, Opening, open_record
from handoffs.api import presenting, waiting
from handoffs.api.auth import asked_queue, asked_text, caller, require
from handoffs.api.cutting import member
from handoffs.api.describing import RecordId, contract_body, reads, writes
from handoffs.api.envelopes import read_as
from handoffs.api.idempotency import answer, once
from handoffs.api.problems import Problem
from handoffs.api.replies import Json, Reply, dumped, spliced
from handoffs.api.schemas import AskOut, AskWaited
from handoffs.errors import UnknownQueue
from handoffs.flows import get_flow
from handoffs.models import Escalation, Queue, Record
from handoffs.scopes import Verb
from handoffs.states import Outcome, Status

router = Router(tags=["asks"])
EXAMPLE = {
    "queue": "refund-questions",
    "question": "Is this a complaint or a cancellation?",
    "context": {"subject": "Order 1042", "text": "Please stop it."},
    "answers": ["complaint", "cancellation"],
}


@router.post(
    "/asks",
    **writes("askHuman", "Ask the people of a queue", {201: AskOut}, contract_body(asks.Ask, EXAMPLE)),
)
def ask(request: HttpRequest) -> HttpResponse:
    """Needs the scope `asks/<queue>: ask`. Give `answers` to choose from, or a small `answer_schema`, or neither for
    free text; `due` is a time with its zone, by default as the queue has it."""

    def act(raw: bytes) -> Reply:
        if not caller(request).knows(asks.FLOW):
            require(request, Verb.ASK, asks.FLOW)
        sent = read_as(asks.Ask, raw)
        require(request, Verb.ASK, asks.FLOW, sent.queue)
        if not Queue.objects.filter(slug=sent.queue).exists():
            raise UnknownQueue(f"There is no queue “{sent.queue}”.")
        asked = Asked(sent.queue, sent.question, tuple(sent.answers or ()), sent.due)
        opened = open_record(flow=get_flow(asks.FLOW), opening=Opening(raw, asked=asked), actor=caller(request).actor)
        record = _found(request, opened.record_id, Verb.ASK)
        return Reply(201, _shown(record), {"Location": presenting.address(f"asks/{record.pk}")})

    return once(request, act)


@router.get("/asks/{ask_id}", **reads("getAsk", "See a question and its answer", AskOut))
def see(request: HttpRequest, ask_id: RecordId) -> HttpResponse:
    """`answer` is the answer once it is given, digit for digit."""
    return answer(lambda: Reply(200, _shown(_found(request, ask_id))))


@router.get("/asks/{ask_id}/wait", **reads("waitForAsk", "Wait for the answer", AskWaited))
def wait(request: HttpRequest, ask_id: RecordId, timeout: Annotated[float, Field(ge=0, le=600)] = 30.0) -> HttpResponse:
    """Answers when the answer is given, or after `timeout` seconds."""

    def act() -> Reply:
        _found(request, ask_id)
        happened = waiting.until(lambda: _is_done(_found(request, ask_id)), timeout)
        body = f'{{"done":{dumped(happened.done)},"ask":{_shown(_found(request, ask_id))}}}'
        return Reply(200, body, happened.headers)

    return answer(act)


def _found(request: HttpRequest, ask_id: int, *verbs: Verb) -> Record:
    """An ask that this token may see: with the scope to ask in its queue, or to read it."""
    record = Record.objects.filter(pk=ask_id, flow=asks.FLOW).select_related("queue").first()
    token = caller(request)
    allowed = verbs or (Verb.ASK, Verb.READ)
    if record is None or not any(token.allows(verb, asks.FLOW, asked_queue(record)) for verb in allowed):
        raise Problem("not_found", f"There is no ask {ask_id}.")
    return record


def _is_done(record: Record) -> bool:
    return record.status in {Status.COMPLETED, Status.CLOSED} and waiting.stands(record.pk)


def _shown(record: Record) -> str:
    done = _is_done(record)
    given = (
        record.results.filter(outcome__in=[Outcome.ANSWERED, Outcome.FIXED], superseded=False).order_by("-pk").first()
    )
    verdict = record.escalations.select_related("resolved_by").order_by("-pk").first()
    answered = done and record.status == Status.COMPLETED
    facts: Json = {
        "id": record.pk,
        "status": ("answered" if answered else "closed") if done else "waiting",
        "queue": asked_queue(record),
        "question": json.loads(member(asked_text(record), "question") or '""'),
        "due_at": presenting.time(verdict.due_at) if verdict and not done else None,
        "answered_by": _who(verdict) if answered else None,
        "answered_at": presenting.time(verdict.resolved_at) if answered and verdict else None,
        "reason": verdict.close_reason if done and not answered and verdict else None,
        "links": presenting.links(record.pk) | _links(record.pk),
    }
    text = member(given.output, "answer") if answered and given and given.output else None
    return spliced(facts, "answer", text or "null")


def _links(pk: int) -> Json:
    here = presenting.address(f"asks/{pk}")
    return {"self": here, "wait": f"{here}/wait"}


def _who(verdict: Escalation | None) -> str | None:
    person = verdict.resolved_by if verdict else None
    return (person.get_full_name() or person.get_username()) if person else None
