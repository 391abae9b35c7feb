"""Taking work and delivering it."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from ninja import Router

from handoffs.actions import submissions, work
from handoffs.actions.starts import Started
from handoffs.actions.submissions import Submission, Submitted
from handoffs.actions.work import Ended, Failure, Question
from handoffs.api import presenting, receipts
from handoffs.api.auth import caller, read_beside, record_for, require, step_for
from handoffs.api.describing import (
    AttemptNumber,
    RecordId,
    contract_body,
    json_body,
    properties_of,
    writes,
)
from handoffs.api.envelopes import (
    AroundOutput,
    ClaimsSent,
    FailureSent,
    QuestionSent,
    Received,
    ReleaseSent,
    read_as,
    read_result,
    too_large_result,
)
from handoffs.api.idempotency import once
from handoffs.api.replies import Reply, reply, spliced
from handoffs.api.schemas import Beat, Claims, ResultOut
from handoffs.errors import StepNotOpen, UnknownRecord
from handoffs.models import Attachment
from handoffs.scopes import Verb

router = Router(tags=["work"])
ATTEMPT = "/records/{record_id}/attempts/{attempt}"
AROUND = {
    "output": {"description": "What the step returns, as its contract has it."},
    "confidence": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "description": "From 0 to 1."},
}
RESULT = {
    "output": {"label": "cancellation"},
    "confidence": 0.93,
    "field_confidence": {"/label": 0.93},
    "evidence": {"/label": {"quote": "Please stop order 1042."}},
    "usage": {"model": "small-1", "input_tokens": 412, "output_tokens": 16, "cost": 0.0004},
}


@router.post(
    "/flows/{flow}/steps/{step}/claims",
    **writes("claim", "Claim ready records of a step", {200: Claims}, contract_body(ClaimsSent, {"limit": 5})),
)
def claim(request: HttpRequest, flow: str, step: str) -> HttpResponse:
    """Starts one attempt of each: from now on its lease runs, and `heartbeat` renews it. Records whose input breaks
    what the step receives are not handed out: they wait for a person."""

    def act(raw: bytes) -> Reply:
        found, at = step_for(request, Verb.WORK, flow, step)
        if at.by != "agent":
            raise StepNotOpen(f"{at.name} is not done by an agent outside.")
        sent = read_as(ClaimsSent, raw, empty="{}")
        claimed = work.claim_step(flow=found, step=at, actor=caller(request).actor, limit=sent.limit)
        return Reply(200, '{"claims":[' + ",".join(_shown(claimed.started)) + "]}")

    return once(request, act)


def _shown(started: list[Started]) -> list[str]:
    files: dict[int, list[Attachment]] = {s.record_id: [] for s in started}
    for found in Attachment.objects.filter(record__in=files).defer("content").order_by("pk"):
        files[found.record_id].append(found)
    return [_claim(s, files[s.record_id]) for s in started]


def _claim(started: Started, files: list[Attachment]) -> str:
    here = presenting.address(f"records/{started.record_id}/attempts/{started.attempt}")
    verbs = ("heartbeat", "result", "failure", "question", "release")
    value = {
        "record": started.record_id,
        "external_id": started.external_id,
        "flow": started.flow.name,
        "step": started.step.name,
        "attempt": started.attempt,
        "key": started.key,
        "answer": started.answer or None,
        "lease_expires_at": presenting.time(started.lease_expires_at),
        "attachments": [presenting.attachment(a) for a in files],
        "links": {verb: f"{here}/{verb}" for verb in verbs},
    }
    return spliced(value, "input", started.body)


@router.post(
    f"{ATTEMPT}/result",
    **writes(
        "submit",
        "Deliver the result of an attempt",
        {200: ResultOut},
        json_body(properties_of(AroundOutput) | AROUND, RESULT, required=("output",)),
    ),
)
def result(request: HttpRequest, record_id: RecordId, attempt: AttemptNumber) -> HttpResponse:
    """For a claimed attempt, or, without a claim, for the attempt that would begin next: then it begins and ends in one
    commit. An output that breaks its contract is refused with a receipt and uses a try; within the cap the agent may
    repair it under the next attempt's number, and at the cap the record waits for a person. A confidence below the
    step's bar is taken (200), and a person decides."""

    def judge(received: Received) -> Reply:
        submitted = _submit(request, record_id, attempt, received.delivery, received.step, received.said)
        return receipts.of_result(submitted, attempt, received)

    return once(request, lambda raw: judge(read_result(raw)), too_large=lambda found: judge(too_large_result(found)))


def _submit(
    request: HttpRequest, record_id: int, attempt: int, ended: Ended, step: str | None, said: int | None
) -> Submitted:
    token = caller(request)

    def may_work(flow: str, at: str) -> bool:
        if not token.knows(flow):
            raise UnknownRecord(f"There is no record {record_id}.")
        return token.allows(Verb.WORK, flow, at)

    submission = Submission(record_id, attempt, ended, step, said)
    return submissions.submit(submission=submission, may_work=may_work, actor=token.actor, read=read_beside(request))


def _end(
    request: HttpRequest, record_id: int, attempt: int, read: Callable[[bytes], tuple[Ended, str | None, int | None]]
) -> HttpResponse:
    def act(raw: bytes) -> Reply:
        record_for(request, Verb.WORK, record_id)  # before the body: to others the record is not there
        return receipts.of_end(_submit(request, record_id, attempt, *read(raw)), attempt)

    return once(request, act)


@router.post(
    f"{ATTEMPT}/failure",
    **writes(
        "fail",
        "Say that an attempt failed",
        {200: ResultOut},
        contract_body(FailureSent, {"code": "upstream_down", "message": "The mail server answered 503."}),
    ),
)
def failure(request: HttpRequest, record_id: RecordId, attempt: AttemptNumber) -> HttpResponse:
    """Another try follows after a wait, as far as the cap allows; a `permanent` failure goes to a person at once."""

    def read(raw: bytes) -> tuple[Ended, str | None, int | None]:
        sent = read_as(FailureSent, raw)
        return Failure(sent.code, sent.message, permanent=sent.permanent), sent.step, sent.attempt

    return _end(request, record_id, attempt, read)


@router.post(
    f"{ATTEMPT}/question",
    **writes(
        "ask",
        "Ask a person before going on",
        {200: ResultOut},
        contract_body(QuestionSent, {"question": "A complaint?", "answers": ["complaint", "cancellation"]}),
    ),
)
def question(request: HttpRequest, record_id: RecordId, attempt: AttemptNumber) -> HttpResponse:
    """The try is given back. Once a person has answered, the record is ready again, and every claim of this step has
    the answer in `answer`."""

    def read(raw: bytes) -> tuple[Ended, str | None, int | None]:
        sent = read_as(QuestionSent, raw)
        return Question(sent.question, tuple(sent.answers)), sent.step, sent.attempt

    return _end(request, record_id, attempt, read)


@router.post(
    f"{ATTEMPT}/release",
    **writes(
        "release",
        "Hand an attempt back unfinished",
        {200: ResultOut},
        contract_body(ReleaseSent, {"reason": "shutting down"}, required=False),
    ),
)
def release(request: HttpRequest, record_id: RecordId, attempt: AttemptNumber) -> HttpResponse:
    """The try is given back, and somebody else may start at once."""

    def read(raw: bytes) -> tuple[Ended, str | None, int | None]:
        sent = read_as(ReleaseSent, raw, empty="{}")
        return Failure("released", sent.reason, released=True), sent.step, sent.attempt

    return _end(request, record_id, attempt, read)


@router.post(f"{ATTEMPT}/heartbeat", **writes("heartbeat", "Renew the lease of an attempt", {200: Beat}))
def heartbeat(request: HttpRequest, record_id: RecordId, attempt: AttemptNumber) -> HttpResponse:
    """Call it well before the lease ends. 409 `stale_attempt` says that the attempt has ended: stop working."""

    def act(raw: bytes) -> Reply:
        record = record_for(request, Verb.WORK, record_id)
        require(request, Verb.WORK, record.flow, record.step)
        ends = work.heartbeat(record_id=record_id, attempt=attempt)
        return reply(200, {"lease_expires_at": presenting.time(ends)})

    return once(request, act, media_types=None)
