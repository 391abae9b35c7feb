"""For the tests of your own flows: in the test's database, without a job queue server, through the real engine.

    @pytest.mark.django_db
    def test_a_missing_order_is_refused():
        assert_refused("invoices", "check", {"total": "12"}, pointer="/supplier")

The queues that the flow names must be there, with an owner who can log in.
"""

from __future__ import annotations

import json
from typing import Any

from handoffs.drill import drive, inputs, proof
from handoffs.drill.cases import CODES
from handoffs.drill.examples import Rehearsal, examples_of, rehearse
from handoffs.drill.mutants import Mutant, mutants
from handoffs.drill.proof import Before, Fault
from handoffs.drill.stage import Stage, nothing_kept
from handoffs.flows import Flow, get_flow
from handoffs.shapes import Shape
from handoffs.states import INTAKE, Kind

__all__ = ["assert_recovers", "assert_refused", "drill_cases"]


def assert_refused(flow: Flow | str, step: str, body: object, *, pointer: str | None = None) -> None:
    """Assert that a body is refused before the step ("intake": when it comes in), and that its code is not called.

    `body` is JSON data, or the bytes as sent. With `pointer`, the place must be among the violations.
    """
    _prove(_flow(flow), step, _mutant(body, pointer or ""), pointer, recover=False)


def assert_recovers(flow: Flow | str, step: str, body: object) -> None:
    """As `assert_refused`; and a reviewer's right fix brings the record to its end, with a history that holds."""
    _prove(_flow(flow), step, _mutant(body, ""), None, recover=True)


def drill_cases(flow: Flow | str, *, seed: int = 1) -> list[tuple[str, Mutant]]:
    """(step, mutant) for each malformed body of the intake contract, for `pytest.mark.parametrize`. No database."""
    found = _flow(flow)
    _, examples = examples_of(found) if found.examples else ("", [])
    if not examples:
        raise AssertionError(f"Give {found.name} good examples with examples=.")
    valid = json.loads(examples[0].body)
    return [(INTAKE, mutant) for mutant in mutants(Shape.of(found.intake), valid, seed=f"{seed} {INTAKE}")]


def _flow(flow: Flow | str) -> Flow:
    return get_flow(flow) if isinstance(flow, str) else flow


def _mutant(body: object, pointer: str) -> Mutant:
    if isinstance(body, Mutant):
        return body
    raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    return Mutant("given", pointer, "as the test gives it", raw)


def _prove(flow: Flow, step: str, mutant: Mutant, pointer: str | None, *, recover: bool) -> None:
    stage = Stage(flow)
    done = _good(stage, step)
    try:
        if step == INTAKE:
            with nothing_kept(), stage.play() as staged:
                _at_intake(stage, staged, done, mutant, pointer, recover=recover)
        else:
            _before_step(stage, step, done, mutant, pointer, recover=recover)
    except Fault as fault:
        raise AssertionError(f"{CODES.get(fault.code, fault.code)} {fault.sentence}".strip()) from fault


def _good(stage: Stage, step: str) -> Rehearsal:
    source, examples = examples_of(stage.flow)
    tried = [rehearse(stage, example, source) for example in examples]
    good = next((done for done in tried if not done.stopped and (step == INTAKE or step in done.passages)), None)
    if good is None:
        why = next((done.stopped for done in tried if done.stopped), "")
        raise AssertionError(f"No good example of {stage.flow.name} reaches {step}. {why}".strip())
    return good


def _at_intake(
    stage: Stage, flow: Flow, done: Rehearsal, mutant: Mutant, pointer: str | None, *, recover: bool
) -> None:
    first = flow.steps[0].name
    before = Before.of(None, stage.probe, first)
    record_id = drive.opened(flow, done.example, body=mutant.body)
    record = drive.fresh(record_id)
    _names(proof.has_stopped(flow, record, INTAKE, Kind.REFUSED), pointer)
    proof.nothing_ran(record, stage.probe, first, before)
    proof.is_kept(record, mutant.body)
    if recover:
        proof.recovers(flow, record_id, lambda found: drive.fix(found, done.example.body))


def _before_step(
    stage: Stage, name: str, done: Rehearsal, mutant: Mutant, pointer: str | None, *, recover: bool
) -> None:
    step, passage = stage.flow.step(name), done.passages[name]
    with nothing_kept():
        with stage.play(outside=name) as flow:
            record_id = drive.advance(flow, drive.opened(flow, done.example), until=name).id
        with stage.play() as flow:
            sent = inputs.put(record_id, step, mutant)
            before = Before.of(drive.fresh(record_id), stage.probe, name)
            inputs.arrive(flow, drive.fresh(record_id))
            record = drive.fresh(record_id)
            proof.nothing_ran(record, stage.probe, name, before)
            _names(proof.has_stopped(flow, record, name, Kind.REFUSED), pointer)
            proof.is_kept(record, sent)
            if recover:
                proof.recovers(flow, record_id, lambda found: inputs.mend(found, step, passage, mutant))


def _names(escalation: Any, pointer: str | None) -> None:
    found = list(escalation.violations.order_by("pk").values_list("pointer", flat=True))
    if pointer is not None and pointer not in found:
        raise AssertionError(f"It was refused at {', '.join(found) or 'no place'}, not at {pointer}.")
