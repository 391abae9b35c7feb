"""The receipt of what an agent delivered: taken, or refused with all that a repair needs."""

from __future__ import annotations

from typing import Any

from handoffs.actions.submissions import Submitted
from handoffs.api import presenting
from handoffs.api.envelopes import Received
from handoffs.api.idempotency import REPLAYED
from handoffs.api.problems import problem, violations
from handoffs.api.replies import Json, Reply, reply
from handoffs.contracts import contract_hash
from handoffs.engine import INVALID_CONFIDENCE, Judgement
from handoffs.models import StepResult, Violation
from handoffs.states import Event, Outcome


def of_result(submitted: Submitted, attempt: int, received: Received) -> Reply:
    """Answer a posted result."""
    judgement = submitted.judgement
    if judgement is None:
        return _not_judged(submitted, attempt)
    if judgement.violations and judgement.event is not Event.ACCEPT:
        return _refused(submitted, judgement, attempt, received)
    return _taken(submitted, attempt, judgement.outcome, judgement.code)


def of_end(submitted: Submitted, attempt: int) -> Reply:
    """Answer a failure, a question or a release."""
    judgement = submitted.judgement
    if submitted.late or submitted.repeated or submitted.not_begun:
        return _not_judged(submitted, attempt)
    if judgement is None:
        return _taken(submitted, attempt, Outcome.RELEASED, "")
    return _taken(submitted, attempt, judgement.outcome, judgement.code)


def _taken(submitted: Submitted, attempt: int, outcome: str, code: str) -> Reply:
    return reply(200, _facts(submitted, attempt) | {"outcome": outcome, "code": code})


def _facts(submitted: Submitted, attempt: int) -> Json:
    plan = submitted.plan
    return {"record": presenting.planned(plan), "attempt": attempt, "escalation": presenting.escalated(plan)}


def _not_judged(submitted: Submitted, attempt: int) -> Reply:
    facts = _facts(submitted, attempt)
    if submitted.repeated is not None:
        return _repeated(submitted.repeated, facts)
    if submitted.not_begun:
        sentence = f"{submitted.step} did not begin: it refused its input, or was skipped."
        return problem(409, "step_not_open", sentence, **facts)
    sentence = f"Attempt {attempt} has ended. What came is kept in the record's history, and changes nothing."
    return problem(409, "stale_attempt", sentence, **facts)


def _repeated(result: StepResult, facts: Json) -> Reply:
    refused = Violation.objects.filter(record=result.record_id, attempt=result.attempt).exists()
    if refused:
        sentence = f"Attempt {result.attempt} was delivered before with this output, and judged {result.outcome}."
        return problem(409, "duplicate_result", sentence, **facts)
    return reply(200, facts | {"outcome": result.outcome, "code": result.code}, {REPLAYED: "true"})


def _refused(submitted: Submitted, judgement: Judgement, attempt: int, received: Received) -> Reply:
    facts = _facts(submitted, attempt)
    status, code = received.status or 422, received.code or "contract_broken"
    if judgement.code == INVALID_CONFIDENCE:
        code = INVALID_CONFIDENCE
    return problem(
        status,
        code,
        _what_follows(submitted, judgement, facts),
        violations=violations(judgement.violations),
        contract=_contract(submitted),
        resubmit=_resubmit(submitted, judgement),
        **facts,
        **received.more,
    )


def _what_follows(submitted: Submitted, judgement: Judgement, facts: Json) -> str:
    step, count = submitted.step, len(judgement.violations)
    broken = judgement.violations[0].sentence if count == 1 else f"{count} things break the contract."
    if judgement.event is Event.RETRY:
        left = submitted.plan.get("tries_left")
        return f"The result of {step} was refused: {broken} Tries left: {left}; repair it and resubmit."
    queue = (facts["escalation"] or {}).get("queue", "its queue")
    return f"The result of {step} was refused: {broken} The record waits for a person in {queue}."


def _contract(submitted: Submitted) -> dict[str, Any]:
    flow = submitted.plan.flow
    returns = flow.step(submitted.step).returns
    url = presenting.address(f"flows/{flow.name}/steps/{submitted.step}/contract")
    return {"name": returns.__name__, "hash": contract_hash(returns), "url": url}


def _resubmit(submitted: Submitted, judgement: Judgement) -> Json | None:
    if judgement.event is not Event.RETRY:
        return None
    following = submitted.plan.get("attempt") + 1
    url = presenting.address(f"records/{submitted.plan.row.id}/attempts/{following}/result")
    return {"method": "POST", "url": url, "attempt": following}
