"""What goes wrong around a step's code: errors, dead workers, results that come twice or late, tries used up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from handoffs import runner
from handoffs.actions.starts import Started
from handoffs.actions.work import Failure
from handoffs.drill import drive, proof
from handoffs.drill.cases import Case, SeamReport
from handoffs.drill.examples import Passage, Rehearsal
from handoffs.drill.inputs import crashed
from handoffs.drill.proof import Fault
from handoffs.drill.stage import Stage, nothing_kept
from handoffs.engine import Delivery
from handoffs.flows import Flow, Step
from handoffs.models import StepResult
from handoffs.states import Kind, Outcome, Status

TRANSIENT = Failure("drill_transient", "A drill plays that it failed.")
PERMANENT = Failure("drill_permanent", "A drill plays that it failed.", permanent=True)


@dataclass(frozen=True, slots=True)
class Scene:
    """One record whose attempt at a step has just begun."""

    stage: Stage
    flow: Flow
    step: Step
    passage: Passage
    started: Started

    @property
    def record_id(self) -> int:
        return self.started.record_id

    @property
    def good(self) -> Delivery:
        return Delivery(self.passage.output, confidence=1.0)


def fault_cases(stage: Stage, step: Step, done: Rehearsal, report: SeamReport) -> Iterator[Case]:
    """One case per fault; what can't be tried is noted in the report."""
    if step.by == "human":
        return
    for kind, (note, prove) in FAULTS.items():
        with nothing_kept():
            with stage.play(outside=step.name) as flow:
                record_id = drive.advance(flow, drive.opened(flow, done.example), until=step.name).id
            with stage.play() as flow:
                started = drive.claimed(flow, record_id)
                if started is None:
                    yield Case(kind, "", note, "", "not_escalated", "The attempt did not begin.", engine=True)
                    continue
                found = _tried(kind, note, prove, Scene(stage, flow, step, done.passages[step.name], started))
        if found is None:
            report.not_applicable[kind] = "the step never looks whether it still has its lease"
        else:
            yield found


def _tried(kind: str, note: str, prove: Callable[[Scene], bool], scene: Scene) -> Case | None:
    try:
        applies = prove(scene)
    except Fault as fault:
        return Case(kind, "", note, "", fault.code, fault.sentence, engine=True)
    except Exception as error:
        broke = crashed(error)
        return Case(kind, "", note, "", broke.code, broke.sentence, engine=True)
    return Case(kind, "", note, "", engine=True) if applies else None


def _run_failing(scene: Scene, fault: str) -> Failure | None:
    """Run the step's own code while what it works with fails; None where it does not look at its input."""
    probe = scene.stage.probe
    if scene.started.step.by != "worker":
        return None
    with probe.failing(scene.step.name, fault):
        ended = runner.run(scene.started).ended
        looks = Counter(probe.touched)
    again = [name for name, count in looks.items() if count > 1]
    if again:
        raise Fault("retries_inside", f"It looked at {again[0]} {looks[again[0]]} times, each time in vain.")
    if looks and not isinstance(ended, Failure):
        raise Fault("error_swallowed", "It met an error in its input, and gave back a result.")
    return ended if looks and isinstance(ended, Failure) else None


def _transient(scene: Scene) -> bool:
    drive.end(scene.started, _run_failing(scene, "transient") or TRANSIENT)
    record = drive.fresh(scene.record_id)
    _leaves_a_trace(scene, Outcome.FAILED)
    if scene.step.retry.cap > 1:
        if (record.status, record.step) != (Status.READY, scene.step.name):
            raise Fault("error_lost", f"After a transient error the record is {record.status} at {record.step}.")
        _completes(scene)
    else:
        _stops_as_failed(scene)
    return True


def _permanent(scene: Scene) -> bool:
    drive.end(scene.started, _run_failing(scene, "permanent") or PERMANENT)
    _leaves_a_trace(scene, Outcome.FAILED)
    for _ in range(scene.step.retry.cap):  # code that makes another error of it is tried again
        _fail_again(scene, PERMANENT)
    _stops_as_failed(scene)
    return True


def _cap(scene: Scene) -> bool:
    drive.end(scene.started, TRANSIENT)
    for _ in range(scene.step.retry.cap + 1):
        _fail_again(scene, TRANSIENT)
    ran = drive.fresh(scene.record_id).attempt - scene.started.attempt + 1
    if ran != scene.step.retry.cap:
        raise Fault("cap_ignored", f"{ran} tries of {scene.step.retry.cap} ran.")
    _stops_as_failed(scene)
    return True


def _fail_again(scene: Scene, failure: Failure) -> None:
    record = drive.ripen(scene.record_id)
    if (record.status, record.step) == (Status.READY, scene.step.name) and (
        started := drive.claimed(scene.flow, scene.record_id)
    ):
        drive.end(started, failure)


def _dead(scene: Scene) -> bool:
    drive.lose(scene.record_id)
    record = drive.fresh(scene.record_id)
    if record.status == Status.RUNNING:
        raise Fault("lease_not_ended")
    _leaves_a_trace(scene, Outcome.LEASE_LOST)
    if record.status == Status.ESCALATED:
        _stops_as_failed(scene)
    else:
        _completes(scene)
    return True


def _late(scene: Scene) -> bool:
    drive.lose(scene.record_id)
    before = drive.fresh(scene.record_id)
    drive.end(scene.started, scene.good)
    after = drive.fresh(scene.record_id)
    if (before.status, before.step, before.payload) != (after.status, after.step, after.payload):
        raise Fault("late_result_applied", f"The record was {before.status}, and is {after.status} at {after.step}.")
    if after.status == Status.ESCALATED:
        _stops_as_failed(scene)
    else:
        _completes(scene)
    return True


def _twice(scene: Scene) -> bool:
    drive.end(scene.started, scene.good)
    before = drive.fresh(scene.record_id)
    drive.end(scene.started, scene.good)
    after = drive.fresh(scene.record_id)
    counted = StepResult.objects.filter(record=scene.record_id, attempt=scene.started.attempt)
    if counted.exclude(outcome=Outcome.LATE).count() != 1 or before.status != after.status or before.step != after.step:
        raise Fault("result_applied_twice", f"The record was {before.status}, and is {after.status} at {after.step}.")
    _completes(scene)
    return True


def _taken_over(scene: Scene) -> bool:
    """The worker was taken for dead, and its code goes on: does it stop when it is told?"""
    probe = scene.stage.probe
    if scene.started.step.by != "worker":
        return False
    with probe.failing(scene.step.name, "stale"):
        ended = runner.run(scene.started).ended
    if probe.raised and not isinstance(ended, Failure):
        raise Fault("stale_ignored", "Its heartbeat said that it had lost its lease, and it gave back a result.")
    if not probe.raised and scene.step.concurrency > 1:
        raise Fault("never_looks", f"{scene.step.concurrency} run at once.")
    return probe.raised > 0


def _leaves_a_trace(scene: Scene, outcome: Outcome) -> None:
    results = StepResult.objects.filter(record=scene.record_id, attempt=scene.started.attempt)
    if not results.filter(outcome=outcome).exists():
        raise Fault("error_lost", "No result says how the attempt ended.")


def _stops_as_failed(scene: Scene) -> None:
    proof.has_stopped(scene.flow, drive.fresh(scene.record_id), scene.step.name, Kind.FAILED)
    proof.recovers(scene.flow, scene.record_id, drive.retry)


def _completes(scene: Scene) -> None:
    record = drive.advance(scene.flow, scene.record_id)
    if record.status != Status.COMPLETED:
        stopped = drive.waiting(record.id)
        raise Fault("not_completed", stopped.reason if stopped else f"It stays {record.status} at {record.step}.")
    proof.history_holds(record)


FAULTS: dict[str, tuple[str, Callable[[Scene], bool]]] = {
    "transient_error": ("what it works with is away for a moment", _transient),
    "permanent_error": ("what it works with is gone", _permanent),
    "cap_reached": ("it fails at every try", _cap),
    "worker_dead": ("its worker dies in mid-step", _dead),
    "result_late": ("its result comes after its lease ran out", _late),
    "result_twice": ("its result comes twice", _twice),
    "taken_over": ("another worker has taken over", _taken_over),
}
