"""Malformed outputs: what a step's code, an agent or a person delivers, and the confidence that comes with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from handoffs import conf, seams
from handoffs.bodies import raw_bytes
from handoffs.contracts import check
from handoffs.drill import drive, outside, proof
from handoffs.drill.cases import Case
from handoffs.drill.examples import Passage, Rehearsal
from handoffs.drill.inputs import SLICE, case, caught, chosen, writes_of
from handoffs.drill.judging import Schemas, is_allowed, judge
from handoffs.drill.kept import Place, with_kept
from handoffs.drill.mutants import Mutant, encode, raw_mutants
from handoffs.drill.proof import Fault
from handoffs.drill.samples import NoSample, sample
from handoffs.drill.stage import Stage, nothing_kept
from handoffs.engine import Delivery, check_output
from handoffs.errors import ContractBroken
from handoffs.flows import Flow, Step
from handoffs.models import StepResult
from handoffs.shapes import Shape
from handoffs.states import Kind, Side, Status
from handoffs.strict_json import pointer
from handoffs.titles import parts

CONFIDENT = {"confidence": 1.0}
WRONG_CONFIDENCES: tuple[object, ...] = (87, "high", True)


def output_cases(
    stage: Stage, step: Step, done: Rehearsal, *, seed: str, per_class: int, before: Schemas
) -> Iterator[Case]:
    """Every mutant of what a step hands over, its carried facts and its confidence."""
    passage = done.passages[step.name]
    valid = json.loads(passage.output)
    beside, known = (step.receives, passage.body), before.get(f"{step.name} returns")
    judged = judge(step.returns, valid, seed=f"{seed} output", before=known, beside=beside)
    yield from writes_of(judged)
    place = Place(stage.flow.name, step.name, Side.RETURNS)
    judged, always = with_kept(judged, step.returns, passage.output, place)
    picked = chosen(judged.refused, per_class, always)
    sent = {mutant.digest for mutant in picked}
    yield from (case(mutant) for mutant in (*judged.refused, *judged.counted) if mutant.digest not in sent)
    for hole in judged.holes:
        yield case(hole.mutant, fault=Fault(hole.code), allowed=is_allowed(stage.flow, step.name, hole.mutant))
    raw = raw_mutants(passage.output.encode(), seed=seed, largest=conf.get("MAX_BODY")) if step.by == "agent" else []
    facts, unheld = _carried(step, passage)
    yield from (case(mutant, fault=Fault("let_through")) for mutant in unheld)
    todo: list[Mutant | tuple[str, object]] = [*picked, *raw, *facts, *_confidences(step)]
    for start in range(0, len(todo), SLICE):
        yield from _slice(stage, step, done, todo[start : start + SLICE])


def _confidences(step: Step) -> list[tuple[str, object]]:
    if step.by == "human":
        return []
    wrong: list[tuple[str, object]] = [("confidence_invalid", value) for value in WRONG_CONFIDENCES]
    if step.confidence is None:
        return wrong
    low: list[tuple[str, object]] = [("confidence_low", step.confidence / 2)] if step.confidence > 0 else []
    return [*wrong, ("confidence_missing", None), *low]


def _carried(step: Step, passage: Passage) -> tuple[list[Mutant], list[Mutant]]:
    """(mutants of carried facts, those of them that nothing would refuse)."""
    receives, returns = Shape.of(step.receives), Shape.of(step.returns)
    output = json.loads(passage.output)
    facts = dict.fromkeys((*seams.facts(receives), *seams.facts(returns)))
    held: list[Mutant] = []
    unheld: list[Mutant] = []
    for fact in facts:
        path = [0 if part == "*" else part for part in parts(fact)]
        shapes = [shape.at([str(part) for part in path]) for shape in (receives, returns)]
        if None in shapes or not _stands(output, path):
            continue
        for mutant in _other_facts(step, output, path, shapes[1]):
            refused = check_output(step, passage.body, mutant.body.decode())[1]
            (held if refused else unheld).append(mutant)
    return held, unheld


def _stands(value: Any, path: Sequence[str | int]) -> bool:
    try:
        for part in path:
            value = value[part]
    except (KeyError, IndexError, TypeError):
        return False
    return value is not None


def _other_facts(step: Step, output: Any, path: Sequence[str | int], shape: Shape | None) -> Iterator[Mutant]:
    """The output with one fact changed into another valid one, and with it left out."""
    where = pointer(list(path))
    value = _get(output, path)
    for other in (other for other in _others(shape, value) if other != value):
        changed = json.loads(json.dumps(output))
        _get(changed, path[:-1])[path[-1]] = other
        mutant = Mutant("carried_changed", where, f"it became {json.dumps(other)[:60]}", encode(changed))
        # Refused for this fact alone, not because the other value breaks the contract anyway.
        if not check(step.returns, mutant.body.decode(), side=Side.RETURNS).violations:
            yield mutant
            break
    if isinstance(path[-1], str):
        dropped = json.loads(json.dumps(output))
        del _get(dropped, path[:-1])[path[-1]]
        yield Mutant("carried_dropped", where, "the fact is left out", encode(dropped))


def _get(value: Any, path: Sequence[str | int]) -> Any:
    for part in path:
        value = value[part]
    return value


def _others(shape: Shape | None, value: Any) -> Iterator[Any]:
    """Values that may be valid in the place of this one."""
    for form in shape.forms() if shape else ():
        yield from (other for other in form.values or () if other != value)
        try:
            if (made := sample(form)) not in (value, None):
                yield made
        except NoSample:
            pass
    if isinstance(value, str):
        yield from (f"{value}0", f"{value}x", f"1{value}", "2026-11-29", "2026-11-29T08:00:00Z")
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1)
    elif isinstance(value, list):
        yield from ([], [*value, *value[:1]])


# --- through the engine ----------------------------------------------------------------------------------------------


def _slice(stage: Stage, step: Step, done: Rehearsal, todo: Sequence[Mutant | tuple[str, object]]) -> list[Case]:
    with nothing_kept():
        with stage.play(outside=step.name) as flow:
            record_id = drive.advance(flow, drive.opened(flow, done.example), until=step.name).id
        return [_tried(stage, step, done.passages[step.name], record_id, one) for one in todo]


def _tried(stage: Stage, step: Step, passage: Passage, record_id: int, one: Mutant | tuple[str, object]) -> Case:
    with nothing_kept(), stage.play() as flow:
        if isinstance(one, Mutant):
            fault = caught(lambda: _prove_output(stage, flow, record_id, step, passage, one))
            return case(one, fault=fault, engine=True)
        kind, value = one
        fault = caught(lambda: _prove_confidence(flow, record_id, step, passage, value))
        code, sentence = (fault.code, fault.sentence) if fault else ("", "")
        return Case(kind, "/confidence", f"confidence {value!r}", "", code, sentence, engine=True)


def _prove_output(stage: Stage, flow: Flow, record_id: int, step: Step, passage: Passage, mutant: Mutant) -> None:
    if step.by == "human":
        _prove_answer(flow, record_id, passage, mutant.body.decode("utf-8", "surrogatepass"))
        return
    following = flow.following(step.name)
    calls = stage.probe.calls[following.name] if following else 0
    _deliver_until_stopped(flow, record_id, step, mutant.body)
    record = drive.fresh(record_id)
    if following and stage.probe.calls[following.name] != calls:
        raise Fault("code_called", f"The code of {following.name} was called.")
    escalation = proof.has_stopped(flow, record, step.name, Kind.BROKEN_OUTPUT)
    proof.says_why(escalation)
    shown = _kept_as_delivered(record_id, step, mutant)
    proof.recovers(flow, record_id, lambda found: drive.fix(found, passage.output, side=Side.RETURNS, shown=shown))


def _kept_as_delivered(record_id: int, step: Step, mutant: Mutant) -> str:
    """What is kept of the output, as text; of one that is too large to be read there is nothing."""
    result = StepResult.objects.filter(record=record_id, step=step.name).exclude(output=None).order_by("pk").last()
    kept = result.output or "" if result else ""
    known = {mutant.body, outside.envelope("output", mutant.body, CONFIDENT)}
    if mutant.kind != "huge" and (result is None or raw_bytes(kept, result.encoding) not in known):
        raise Fault("body_changed", "No result keeps the output as it was delivered.")
    return kept


def _prove_answer(flow: Flow, record_id: int, passage: Passage, text: str) -> None:
    """A person's answer that breaks the contract is refused, and nothing changes."""
    drive.arrive(record_id)
    escalation = proof.has_stopped(flow, drive.fresh(record_id), drive.fresh(record_id).step, Kind.REVIEW)
    try:
        with nothing_kept():
            drive.review(escalation, text)
    except ContractBroken:
        proof.recovers(flow, record_id, lambda found: drive.review(found, passage.output))
        return
    raise Fault("let_through", "The answer was taken.")


def _deliver_until_stopped(flow: Flow, record_id: int, step: Step, output: bytes, confidence: object = 1.0) -> None:
    """Deliver the same at each try; as often as the cap allows, and not once more."""
    for _ in range(step.retry.cap + 1):
        record = drive.ripen(record_id)
        if record.status != Status.READY or record.step != step.name:
            return
        if (started := drive.claimed(flow, record_id)) is None:
            continue
        if step.by == "agent":
            around = {"confidence": confidence} if confidence is not None else {}
            answer = outside.deliver(record_id, started.attempt, output, around)
            if confidence == 1.0:
                proof.is_told(answer)
        else:
            drive.end(started, Delivery(output.decode("utf-8", "surrogatepass"), confidence=confidence))
    if drive.fresh(record_id).status == Status.READY:
        raise Fault("cap_ignored", f"More than {step.retry.cap} tries.")


def _prove_confidence(flow: Flow, record_id: int, step: Step, passage: Passage, value: object) -> None:
    _deliver_until_stopped(flow, record_id, step, passage.output.encode(), value)
    proof.has_stopped(flow, drive.fresh(record_id), step.name, Kind.LOW_CONFIDENCE)
    proof.recovers(flow, record_id, drive.approve)
