"""What should happen: pure decisions, returned as values.

No clock, no database, no settings: time, limits and stored outputs come in as arguments. `enter` decides what becomes
of a document that arrives at a step, `judge` what an attempt's output is worth, `fail` what follows when there is none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from handoffs.carried import check_carried
from handoffs.contracts import (
    Checked,
    Contract,
    Violation,
    check,
    check_between,
    read_confidence,
    schema,
)
from handoffs.flows import Flow, Step
from handoffs.states import Event, Kind, Outcome, Side

Outputs = Callable[[str], str | None]
"""The text of the latest standing output of an earlier step of this record, or None."""

CONFIDENCE_MISSING = "confidence_missing"
CONFIDENCE_LOW = "confidence_low"
INVALID_CONFIDENCE = "invalid_confidence"
LEASE_LOST = "lease_lost"
TIMEOUT = "timeout"


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def as_json(value: object) -> str:
    """Compact JSON text for a column that only we read."""
    return _encode(value)


@dataclass(frozen=True, slots=True)
class Arrival:
    """What becomes of a document at a step.

    `event` is REFUSE, ASK, START, or None where the record waits at `step`, ready; with `step` None the flow is done.
    """

    skipped: tuple[str, ...]
    step: Step | None
    event: Event | None = None
    checked: Checked | None = None
    body: str = ""
    code: str = ""
    sentence: str = ""

    @property
    def violations(self) -> tuple[Violation, ...]:
        return self.checked.violations if self.checked else ()


def enter(flow: Flow, name: str, document: str, *, outputs: Outputs, may_start: Callable[[Step], bool]) -> Arrival:
    """Decide at the step `name` and, where steps are skipped, at those that follow: refuse, skip, then ask or start."""
    skipped: list[str] = []
    step: Step | None = flow.step(name)
    while step is not None:
        body, checked = check_input(step, document, outputs)
        if checked.violations and step.enforce:
            return Arrival(tuple(skipped), step, Event.REFUSE, checked, body, "input_contract")
        try:
            wanted = step.when is None or checked.value is None or step.when(checked.value)
        except Exception as error:  # the flow's own code: whatever it raises, a person must see it
            return Arrival(tuple(skipped), step, Event.REFUSE, checked, body, "when_failed", _named(error))
        if wanted:
            return Arrival(tuple(skipped), step, _onward(step, may_start), checked, body)
        skipped.append(step.name)
        step = flow.following(step.name)
    return Arrival(tuple(skipped), None)


def _onward(step: Step, may_start: Callable[[Step], bool]) -> Event | None:
    if step.by == "human":
        return Event.ASK
    return Event.START if may_start(step) else None


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def check_input(step: Step, document: str, outputs: Outputs) -> tuple[str, Checked]:
    """The body that a step is handed, held against what it receives."""
    body, clashes = assemble(step, document, outputs)
    checked = check(step.receives, body, side=Side.RECEIVES)
    return body, Checked(None, (*clashes, *checked.violations), checked.unknown) if clashes else checked


def assemble(step: Step, document: str, outputs: Outputs) -> tuple[str, tuple[Violation, ...]]:
    """The body that a step is handed: the document, plus what it takes from earlier steps, under its keys.

    The texts are joined as they are, so that no number changes on the way.
    """
    if not step.takes:
        return document, ()
    keys = _keys(document)
    clashes = tuple(_clash(key) for key in step.takes if key in keys)
    if clashes or keys is None:
        return document, clashes
    parts = [f"{json.dumps(key)}:{output}" for key, name in step.takes.items() if (output := outputs(name)) is not None]
    inside = document.strip()[1:-1].strip()
    return "{" + ",".join([*([inside] if inside else []), *parts]) + "}", ()


def _keys(document: str) -> Any:
    data = json.loads(document)
    return data.keys() if isinstance(data, dict) else ()


def _clash(key: str) -> Violation:
    return Violation(
        side=Side.RECEIVES,
        pointer=f"/{key}",
        rule="taken_key",
        expected="a key that only the step's `takes` fills",
        received="the document has it too",
        sentence=f"“{key}” comes from an earlier step, but the document has a field of that name.",
    )


@dataclass(frozen=True, slots=True)
class Delivery:
    """What an attempt delivered: the output's text, and what surrounds it, as sent.

    `flaws` say why it could not be read, or what is wrong around the output; `encoding` is how `output` is kept then.
    """

    output: str
    confidence: object = None
    field_confidence: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    flaws: tuple[Violation, ...] = ()
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What follows from an attempt's end.

    `event` is ACCEPT (the caller finds out whether it was the last step), RETRY, ESCALATE or ASK; `delay`: seconds.
    """

    event: Event
    outcome: Outcome
    kind: Kind | None = None
    code: str = ""
    sentence: str = ""
    delay: float = 0.0
    confidence: float | None = None
    violations: tuple[Violation, ...] = ()
    unknown: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def judge(step: Step, given: str, delivery: Delivery, *, tries_left: int) -> Judgement:
    """Hold an output against its contract, its carried facts and its bar. `tries_left` counts those after this one."""
    checked, violations = _read_output(step, given, delivery)
    confidence, flawed = read_confidence(delivery.confidence)
    # What can't be read is refused even by a step that only observes: there is nothing to hand on.
    if ((violations or flawed) and step.enforce) or delivery.flaws:
        kind = Kind.BROKEN_OUTPUT if violations else Kind.LOW_CONFIDENCE
        code = ("unreadable" if delivery.flaws else "output_contract") if violations else INVALID_CONFIDENCE
        again = step.on_broken_output == "retry" and tries_left > 0
        return Judgement(
            Event.RETRY if again else Event.ESCALATE,
            Outcome.BROKEN_OUTPUT if violations else Outcome.LOW_CONFIDENCE,
            None if again else kind,
            code,
            confidence=confidence,
            violations=(*violations, *flawed),
            unknown=checked.unknown,
        )
    judged = Judgement(
        Event.ACCEPT,
        Outcome.ACCEPTED,
        confidence=confidence,
        violations=(*violations, *flawed),
        unknown=checked.unknown,
    )
    return _hold_against_bar(step, judged)


def _read_output(step: Step, given: str, delivery: Delivery) -> tuple[Checked, tuple[Violation, ...]]:
    if delivery.flaws:
        return Checked(None, delivery.flaws, ()), delivery.flaws
    return check_output(step, given, delivery.output)


def check_output(step: Step, given: str, output: str) -> tuple[Checked, tuple[Violation, ...]]:
    """Hold an output against what the step returns, the facts it must carry, and its rules about the input."""
    checked = check(step.returns, output, side=Side.RETURNS)
    if checked.violations:
        return checked, checked.violations
    if (fits := getattr(step.returns, "__fits__", None)) is not None:
        return checked, tuple(fits(json.loads(given), json.loads(output)))
    broken = check_between(step.receives, given, checked.value)
    if not (carries(step.receives) or carries(step.returns)):
        return checked, broken
    return checked, (*check_carried(step.receives, json.loads(given), step.returns, json.loads(output)), *broken)


@cache
def carries(contract: type[Contract]) -> bool:
    """Whether a contract marks any fact as carried, at any depth."""
    return '"x-carried"' in as_json(schema(contract))


def _hold_against_bar(step: Step, judged: Judgement) -> Judgement:
    bar, confidence = step.confidence, judged.confidence
    if bar is None or not step.enforce or (confidence is not None and confidence >= bar):
        return judged
    return Judgement(
        Event.ESCALATE,
        Outcome.LOW_CONFIDENCE,
        Kind.LOW_CONFIDENCE,
        CONFIDENCE_MISSING if confidence is None else CONFIDENCE_LOW,
        confidence=confidence,
        unknown=judged.unknown,
    )


def fail(step: Step, *, code: str, sentence: str, permanent: bool, tries_left: int) -> Judgement:
    """Decide after an attempt that delivered nothing: a transient error or a lost lease, or a permanent error."""
    outcome = Outcome.LEASE_LOST if code == LEASE_LOST else Outcome.FAILED
    if permanent or tries_left <= 0:
        return Judgement(Event.ESCALATE, outcome, Kind.FAILED, code, sentence)
    used = step.retry.cap - tries_left
    return Judgement(Event.RETRY, outcome, None, code, sentence, delay=step.retry.delay(max(used, 1)))


def ask(question: str, answers: tuple[str, ...]) -> Judgement:
    """An agent needs a person before it can go on; its try is given back."""
    return Judgement(Event.ASK, Outcome.ASKED, Kind.ASKED, "asked", question, answers=answers)


def lease_ran_out(step: Step, *, claimed_with: int, tries_left: int, silent_since: str) -> Judgement:
    """Decide on an attempt that went silent. One of a claim of many is handed back: a neighbour may be to blame."""
    if claimed_with > 1:
        return Judgement(Event.RELEASE, Outcome.LEASE_LOST, None, LEASE_LOST, "A neighbour in the same claim crashed.")
    sentence = f"The worker was lost: no sign of it since {silent_since}."
    return fail(step, code=LEASE_LOST, sentence=sentence, permanent=False, tries_left=tries_left)
