"""Moving one record over the stage, by the same actions that workers, agents and reviewers use."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from handoffs import runner
from handoffs.actions import repairs, verdicts, work
from handoffs.actions.attachments import File, attach
from handoffs.actions.records import Opening, open_record
from handoffs.actions.starts import Claimer, Started
from handoffs.actions.verdicts import Seen
from handoffs.bodies import body_digest
from handoffs.contracts import check
from handoffs.drill import outside
from handoffs.drill.outside import Answer
from handoffs.drill.samples import NoSample, sample
from handoffs.drill.stage import ACTOR, JOB_QUEUE
from handoffs.engine import Delivery, assemble, check_output
from handoffs.flows import Flow, Intake, Step, StepContext
from handoffs.models import Escalation, Record, StepResult, sql
from handoffs.models.moves import RecordRow, lock
from handoffs.returned import delivery
from handoffs.shapes import Shape
from handoffs.states import Kind, Side, Status

MOST_MOVES = 200
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class CannotAnswer(Exception):
    """No valid output for a step could be made; the message says what would help."""


def opened(flow: Flow, example: Intake, *, body: bytes | None = None) -> int:
    """Open a record from an example, or with another body in its place.

    It has no external id: one that is taken already would open nothing.
    """
    raw = example.body.encode("utf-8", "surrogatepass") if body is None else body
    return open_record(flow=flow, opening=Opening(raw, None, example.attachments), actor=ACTOR).record_id


def handed_in(flow: Flow, example: Intake, body: bytes) -> tuple[Answer, int | None]:
    """Hand a body in over HTTP, with an example's files: (the answer, the record; None where none was kept)."""
    answer = outside.hand_in(flow, body)
    record_id = answer.data.get("record", answer.data).get("id")
    for name, media_type, content in example.attachments if record_id else ():
        attach(record=Record.objects.get(pk=record_id), what=File(name, media_type, content), actor=ACTOR)
    return answer, record_id


def fresh(record_id: int) -> RecordRow:
    """The record's row as it is now."""
    return lock([record_id])[record_id]


def waiting(record_id: int) -> Escalation | None:
    """The record's unresolved escalation."""
    found = Escalation.objects.unresolved().select_related("queue__owner", "record", "result")
    return found.filter(record=record_id).first()


def advance(flow: Flow, record_id: int, *, until: str = "") -> RecordRow:
    """Let the record go on, people's and agents' steps included, until it is ready at `until`, stops or ends."""
    for _ in range(MOST_MOVES):
        record = ripen(record_id)
        if record.status == Status.READY and record.step == until:
            return record
        if not _moved(flow, record, until):
            return record
    return fresh(record_id)


def _moved(flow: Flow, record: RecordRow, until: str) -> bool:
    """Whether the record could be moved on by whoever it waits for."""
    if record.status == Status.READY:
        step = flow.step(record.step)
        if step.by == "worker":
            return serve(record.id, until=until)
        if step.by == "agent":
            deliver(record, answer_for(flow, step, record))
            return True
        return arrive(record.id)
    if record.status == Status.ESCALATED:
        escalation = waiting(record.id)
        if escalation is not None and escalation.kind == Kind.REVIEW and record.step != until:
            review(escalation, answer_for(flow, flow.step(record.step), record).output)
            return True
    return False


def ripen(record_id: int) -> RecordRow:
    """Let the waits of a backoff and of a verdict's undo be over, and give the row as it is then."""
    record = fresh(record_id)
    if record.status == Status.READY and record.available_at > LONG_AGO:
        Record.objects.filter(pk=record_id).update(available_at=LONG_AGO)
    return record


def serve(record_id: int, *, until: str = "") -> bool:
    """Let a worker take what is ready, and what follows in the same chain; whether anything moved."""
    claimed = work.claim_ready(job_queue=JOB_QUEUE, actor=ACTOR, limit=1)
    held = claimed.started
    while held:
        held = work.commit([runner.run(started) for started in held], claimer(until=until))
    return claimed.moved > 0


def claimer(*, until: str = "") -> Claimer:
    """A worker of this stage that starts nothing at `until`."""
    return Claimer(ACTOR, lambda step: step.by == "worker" and step.job_queue == JOB_QUEUE and step.name != until)


def claimed(flow: Flow, record_id: int) -> Started | None:
    """Let the worker or agent of the step begin the attempt that is ready, and not do it."""
    step = flow.step(fresh(record_id).step)
    if step.by == "worker":
        found = work.claim_ready(job_queue=JOB_QUEUE, actor=ACTOR, limit=1).started
    else:
        found = _claimed_outside(flow, step, record_id)
    return next((started for started in found if started.record_id == record_id), None)


def _claimed_outside(flow: Flow, step: Step, record_id: int) -> list[Started]:
    # Real records may wait before the step; this one must be the first.
    Record.objects.filter(pk=record_id, status=Status.READY).update(available_at=LONG_AGO)
    told, at = outside.claim(flow, step).data.get("claims", ()), sql.now()
    lease = at + timedelta(seconds=step.lease_seconds)
    return [Started(c["record"], None, flow, step, c["attempt"], "", None, "", at, lease) for c in told]


def end(started: Started, ended: work.Ended, *, until: str = "") -> Answer | None:
    """Let whoever began an attempt say how it ended; it may be late. An agent outside is answered."""
    if started.step.by != "worker":
        return outside.end(started.record_id, started.attempt, ended)
    finished = work.Finished(started.record_id, started.attempt, ended, started.body)
    after = work.commit([finished], claimer(until=until))
    while after:
        after = work.commit([runner.run(each) for each in after], claimer(until=until))
    return None


def lose(record_id: int) -> None:
    """Let the lease of the running attempt run out, and the reconciler find it."""
    Record.objects.filter(pk=record_id, status=Status.RUNNING).update(lease_expires_at=LONG_AGO)
    repairs.expire_leases(only=record_id)


def arrive(record_id: int) -> bool:
    """Put a record that is ready before a person's step to its queue, or refuse it there."""
    return repairs.ask_people(only=record_id) > 0


def deliver(record: RecordRow, ended: work.Ended) -> Answer:
    """Let an agent outside say how its attempt ended, without claiming it first."""
    attempt = record.attempt if record.status == Status.RUNNING else record.attempt + 1
    return outside.end(record.id, attempt, ended)


def review(escalation: Escalation, text: str) -> None:
    """Let the queue's owner do the step that a person does. Raises what the verdict raises."""
    verdicts.answer(escalation_id=escalation.pk, by=escalation.queue.owner, seen=Seen(escalation.version), text=text)


def fix(escalation: Escalation, body: str, *, side: Side | None = None, shown: str = "") -> None:
    """Let the queue's owner put a body in the place of the one that stopped. Raises what the verdict raises."""
    seen = Seen(escalation.version, body_digest(shown) if shown else "")
    verdicts.fix(escalation_id=escalation.pk, by=escalation.queue.owner, seen=seen, body=body, side=side)


def approve(escalation: Escalation) -> None:
    """Let the queue's owner take the waiting output as it is. Raises what the verdict raises."""
    verdicts.approve(escalation_id=escalation.pk, by=escalation.queue.owner, seen=Seen(escalation.version))


def retry(escalation: Escalation, *, step: str | None = None) -> None:
    """Let the queue's owner grant another try. Raises what the verdict raises."""
    seen = Seen(escalation.version)
    verdicts.retry(escalation_id=escalation.pk, by=escalation.queue.owner, seen=seen, step=step)


# --- what agents and people would deliver ----------------------------------------------------------------------------


def answer_for(flow: Flow, step: Step, record: RecordRow) -> Delivery:
    """What whoever does this step would deliver: its stand-in's output, else one that is made from its contract.

    Raises:
        CannotAnswer: neither gives an output that holds.
    """
    body = assemble(step, record.payload, work.outputs_of(record.id))[0]
    if step.stand_in is not None:
        return _from_stand_in(flow, step, record, body)
    try:
        output = json.dumps(_carried_over(Shape.of(step.returns), json.loads(body)), ensure_ascii=False)
    except NoSample as problem:
        raise CannotAnswer(f"{problem} Give {step.name} a stand_in=.") from problem
    if violations := check_output(step, body, output)[1]:
        first = violations[0]
        made_up = f"An output made up for {step.name} breaks {first.pointer}"
        raise CannotAnswer(f"{made_up}: {first.sentence} Give it a stand_in=.")
    return Delivery(output, confidence=1.0)


def _from_stand_in(flow: Flow, step: Step, record: RecordRow, body: str) -> Delivery:
    context = StepContext(
        record_id=record.id,
        external_id=None,
        flow=flow.name,
        step=step.name,
        attempt=record.attempt + 1,
        key=f"{record.id}:{step.name}",
        deadline=sql.now() + timedelta(seconds=step.timeout),
        answer=None,
        heartbeat=lambda: None,
    )
    try:
        returned = step.stand_in(check(step.receives, body, side=Side.RECEIVES).value, context)  # type: ignore[misc]
        ended = delivery(returned)
    except Exception as error:  # the flow's own code
        raise CannotAnswer(f"The stand-in of {step.name} failed: {type(error).__name__}: {error}"[:500]) from error
    if not isinstance(ended, Delivery):
        raise CannotAnswer(f"The stand-in of {step.name} gave back no contract.")
    return ended


def _carried_over(shape: Shape, given: Any) -> Any:
    """A valid value that keeps what was given under the same names."""
    form = shape.forms()[0]
    if not isinstance(given, dict) or form.kind != "object":
        return sample(shape)
    made = {}
    for name, field in form.fields.items():
        if name in given:
            made[name] = given[name]
        elif name in form.required:
            made[name] = sample(field)
    return made


def handed_over(record_id: int, step: str) -> StepResult | None:
    """What a step handed over last, and what still counts."""
    results = StepResult.objects.standing().filter(record=record_id, step=step)
    return results.exclude(side=Side.RECEIVES).order_by("-pk").first()
