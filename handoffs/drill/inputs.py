"""Malformed inputs: at the intake as they are sent, before a step as what stands at the seam."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from handoffs import conf, runner
from handoffs.actions import work
from handoffs.drill import drive, outside, proof
from handoffs.drill.cases import Case
from handoffs.drill.examples import Passage, Rehearsal
from handoffs.drill.judging import Hole, Judged, Schemas, is_allowed, judge, laxer
from handoffs.drill.kept import Place, with_kept
from handoffs.drill.mutants import Mutant, raw_mutants
from handoffs.drill.proof import Before, Fault
from handoffs.drill.stage import Stage, nothing_kept
from handoffs.flows import Flow, Step
from handoffs.models import Escalation, Record, StepResult
from handoffs.models.moves import RecordRow
from handoffs.states import INTAKE, Kind, Side

SLICE = 25  # cases in one transaction: a drill must not keep the database for itself
CLASSES = 14  # that a contract usually has; one with fewer is tried with more of each
LARGEST_SENT = 100_000  # bytes of a mutant that goes through the engine; larger ones show nothing more there
LONGEST_KEPT = 4000  # characters of a failing body


def chosen(made: Sequence[Mutant], per_class: int, always: Sequence[Mutant] = ()) -> list[Mutant]:
    """The mutants that go through the engine, spread over the places: some of each class, and more of few classes."""
    by_class: dict[str, list[Mutant]] = {}
    for mutant in made:
        if len(mutant.body) <= LARGEST_SENT and mutant not in always:
            by_class.setdefault(mutant.kind, []).append(mutant)
    first = [mutant for some in by_class.values() for mutant in some[:per_class]]
    rest = [mutant for some in by_class.values() for mutant in some[per_class:]]
    return [*always, *first, *rest[: max(0, per_class * CLASSES - len(first))]]


def case(mutant: Mutant, *, fault: Fault | None = None, engine: bool = False, allowed: bool = False) -> Case:
    code, sentence = (fault.code, fault.sentence) if fault else ("", "")
    body = mutant.body[:LONGEST_KEPT].decode("utf-8", "backslashreplace") if fault else ""
    return Case(mutant.kind, mutant.pointer, mutant.note, mutant.digest, code, sentence, engine, allowed, body)


def intake_cases(stage: Stage, done: Rehearsal, *, seed: str, per_class: int, before: Schemas) -> Iterator[Case]:
    """Every mutant of the intake: by contract, by bytes, and some of each class through the engine."""
    valid = done.example.body
    judged = judge(stage.flow.intake, json.loads(valid), seed=seed, before=before.get(INTAKE))
    yield from writes_of(judged)
    judged, always = with_kept(judged, stage.flow.intake, valid, Place(stage.flow.name, INTAKE, Side.INTAKE))
    picked = chosen(judged.refused, per_class, always)
    raw = raw_mutants(valid.encode(), seed=seed, largest=conf.get("MAX_BODY"))
    sent = {mutant.digest for mutant in picked}
    yield from (case(mutant) for mutant in (*judged.refused, *judged.counted) if mutant.digest not in sent)
    for mutant in (*picked, *raw):
        with nothing_kept(), stage.play() as flow:
            fault = caught(lambda m=mutant, f=flow: _prove_intake(stage, f, done, m))  # type: ignore[misc]
        yield case(mutant, fault=fault, engine=True)
    for hole in judged.holes:
        allowed = is_allowed(stage.flow, INTAKE, hole.mutant)
        yield case(hole.mutant, fault=Fault(hole.code), allowed=allowed)


def writes_of(judged: Judged) -> Iterator[Case]:
    if judged.writes:
        yield Case("judging", "", "while contracts judge", "", "acts_before_validation", judged.writes[0])


def caught(prove: Callable[[], None]) -> Fault | None:
    try:
        prove()
    except Fault as fault:
        return fault
    except Exception as error:  # whatever breaks here would break a reviewer's or a worker's action
        return crashed(error)
    return None


def crashed(error: Exception) -> Fault:
    return Fault("crashed", f"{type(error).__name__}: {error}"[:500])


def _prove_intake(stage: Stage, flow: Flow, done: Rehearsal, mutant: Mutant) -> None:
    first = flow.steps[0].name
    before = Before.of(None, stage.probe, first)
    answer, record_id = drive.handed_in(flow, done.example, mutant.body)
    if record_id is None:  # a body that is not even read; its sender is told, and a file of that size comes otherwise
        proof.is_told(answer, "too_large")
        record_id = drive.opened(flow, done.example, body=mutant.body)
    record = drive.fresh(record_id)
    if record.step != INTAKE:
        raise Fault("let_through")
    escalation = proof.has_stopped(flow, record, INTAKE, Kind.REFUSED)
    proof.is_told(answer)
    proof.nothing_ran(record, stage.probe, first, before)
    proof.says_why(escalation)
    proof.is_kept(record, mutant.body, outside.envelope("input", mutant.body))
    proof.gate_is_shut(escalation)
    proof.recovers(flow, record_id, lambda found: drive.fix(found, done.example.body))


# --- before a step ---------------------------------------------------------------------------------------------------


def step_cases(
    stage: Stage, step: Step, done: Rehearsal, *, seed: str, per_class: int, before: Schemas
) -> Iterator[Case]:
    """Every mutant of what a step is handed, and some of each class through the engine."""
    passage = done.passages[step.name]
    judged = judge(step.receives, json.loads(passage.body), seed=seed, before=before.get(f"{step.name} receives"))
    yield from writes_of(judged)
    place = Place(stage.flow.name, step.name, Side.RECEIVES)
    judged, always = with_kept(judged, step.receives, passage.body, place)
    holes = _distinct([*judged.holes, *laxer(stage.flow, step, passage.document, seed=seed)])
    picked = chosen(judged.refused, per_class, always)
    sent = {mutant.digest for mutant in picked}
    yield from (case(mutant) for mutant in (*judged.refused, *judged.counted) if mutant.digest not in sent)
    open_holes = [hole for hole in holes if not is_allowed(stage.flow, step.name, hole.mutant)]
    yield from (case(h.mutant, fault=Fault(h.code), allowed=True) for h in holes if h not in open_holes)
    tried = {mutant.digest for mutant in chosen([hole.mutant for hole in open_holes if hole.mutant.body], per_class)}
    yield from (case(h.mutant, fault=Fault(h.code)) for h in open_holes if h.mutant.digest not in tried)
    todo: list[Mutant | Hole] = [*picked, *(hole for hole in open_holes if hole.mutant.digest in tried)]
    for start in range(0, len(todo), SLICE):
        yield from _slice(stage, step, done, todo[start : start + SLICE])


def _distinct(holes: Sequence[Hole]) -> list[Hole]:
    return list({hole.mutant.name: hole for hole in reversed(holes)}.values())[::-1]


def _slice(stage: Stage, step: Step, done: Rehearsal, todo: Sequence[Mutant | Hole]) -> list[Case]:
    """Bring one record before the step, then try each body there, each in a savepoint of its own."""
    with nothing_kept():
        with stage.play(outside=step.name) as flow:
            record_id = drive.advance(flow, drive.opened(flow, done.example), until=step.name).id
        return [_tried(stage, step, done.passages[step.name], record_id, one) for one in todo]


def _tried(stage: Stage, step: Step, passage: Passage, record_id: int, one: Mutant | Hole) -> Case:
    mutant = one if isinstance(one, Mutant) else one.mutant
    with nothing_kept(), stage.play() as flow:
        sent = put(record_id, step, mutant)
        if isinstance(one, Hole):
            return case(mutant, fault=_what_it_does(flow, record_id, step, one), engine=True)
        fault = caught(lambda: _prove_refused(stage, flow, record_id, step, passage, mutant, sent))
    return case(mutant, fault=fault, engine=True)


def put(record_id: int, step: Step, mutant: Mutant) -> bytes:
    """Let a body stand before the step as if it had come there; the document's bytes.

    What the step takes from earlier steps is put where it is taken from.
    """
    document = mutant.body
    data: Any = json.loads(document.decode("utf-8", "surrogatepass"))
    if step.takes and isinstance(data, dict):
        for key, taken in step.takes.items():
            results = StepResult.objects.standing().filter(record=record_id, step=taken)
            if key in data:
                results.update(output=json.dumps(data.pop(key), ensure_ascii=False))
            else:
                results.update(superseded=True)
        document = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
    Record.objects.filter(pk=record_id).update(payload=document.decode("utf-8", "surrogatepass"))
    return document


def arrive(flow: Flow, record: RecordRow) -> None:
    """Let whoever does the step come for the record; of an agent, deliver at once."""
    step = flow.step(record.step)
    if step.by == "agent":
        drive.claimed(flow, record.id)
    elif step.by == "human":
        drive.arrive(record.id)
    else:
        drive.serve(record.id)


def _prove_refused(
    stage: Stage, flow: Flow, record_id: int, step: Step, passage: Passage, mutant: Mutant, sent: bytes
) -> None:
    record = drive.fresh(record_id)
    before = Before.of(record, stage.probe, step.name)
    arrive(flow, record)
    record = drive.fresh(record_id)
    proof.nothing_ran(record, stage.probe, step.name, before)
    escalation = proof.has_stopped(flow, record, step.name, Kind.REFUSED)
    proof.says_why(escalation)
    proof.is_kept(record, sent)
    proof.gate_is_shut(escalation)
    proof.recovers(flow, record_id, lambda found: mend(found, step, passage, mutant))


def mend(escalation: Escalation, step: Step, passage: Passage, mutant: Mutant) -> None:
    """Put the right document there; where what an earlier step gave is broken, let that step run anew."""
    data = json.loads(mutant.body.decode("utf-8", "surrogatepass"))
    lost = [taken for key, taken in step.takes.items() if isinstance(data, dict) and key not in data]
    broken = [taken for key, taken in step.takes.items() if f"{mutant.pointer}/".startswith(f"/{key}/")]
    if lost or broken:
        drive.retry(escalation, step=(lost or broken)[0])
    else:
        drive.fix(escalation, passage.document, side=Side.RECEIVES)


def _what_it_does(flow: Flow, record_id: int, step: Step, hole: Hole) -> Fault:
    """What becomes of a body that is let through: whether it breaks the step's code."""
    if flow.step(step.name).by != "worker":
        return Fault(hole.code)
    started = drive.claimed(flow, record_id)
    if started is None:
        return Fault(hole.code)
    ended = runner.run(started).ended
    if not isinstance(ended, work.Failure):
        return Fault(hole.code, f"The code of {step.name} took it.")
    if ended.permanent and ended.code != "wrong_return":
        return Fault(hole.code, f"The code of {step.name} refused it: {ended.sentence}")
    return Fault("code_broke", ended.sentence)
