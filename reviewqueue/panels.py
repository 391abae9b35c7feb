"""The parts of a record's page that only show: the way through the steps, how sure the agent was, attempts, bodies."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from handoffs.bodies import raw_bytes
from handoffs.exact_json import Unreadable
from handoffs.models import StepResult
from handoffs.states import INTAKE, Event, Kind, Outcome, Side, Status
from reviewqueue.case import Case
from reviewqueue.json_lines import Lines, lines_of, raw_lines
from reviewqueue.schema_fields import shape_of
from reviewqueue.schema_forms import SchemaForm
from reviewqueue.timeline import duration

VIEWS = ("fields", "json", "raw", "changes")
LOWEST = 8  # fields whose confidence is shown at once


@dataclass(frozen=True, slots=True)
class StepMark:
    """One step of the flow, and how far the record is with it."""

    name: str
    state: str  # done, stopped, running, coming
    icon: str
    word: str


def strip(case: Case) -> list[StepMark]:
    """The steps in their order; empty where the code does not have the flow."""
    if case.flow is None:
        return []
    record = case.record
    here = [step.name for step in case.flow.steps].index(case.step.name) if case.step else -1
    if case.escalation is not None and case.is_resolved:
        here = _place_of(case, record.step)
    skipped = {t.step for t in case.transitions if t.event == Event.SKIP}
    marks = []
    for place, step in enumerate(case.flow.steps):
        if record.status == Status.COMPLETED or place < here:
            is_skipped = step.name in skipped
            marks.append(_mark(step.name, "done", "arrow" if is_skipped else "completed", is_skipped))
        elif place > here:
            marks.append(StepMark(step.name, "coming", "ready", _("to come")))
        else:
            marks.append(_here(case, step.name))
    return marks


def _place_of(case: Case, name: str) -> int:
    names = [step.name for step in case.flow.steps] if case.flow else []
    return names.index(name) if name in names else -1


def _mark(name: str, state: str, icon: str, is_skipped: bool) -> StepMark:
    return StepMark(name, state, icon, _("not needed") if is_skipped else _("done"))


def _here(case: Case, name: str) -> StepMark:
    status = case.record.status
    if status == Status.ESCALATED:
        kind = Kind(case.escalation.kind) if case.escalation and not case.is_resolved else None
        return StepMark(name, "stopped", kind.value if kind else "escalated", _("stopped"))
    if status == Status.RUNNING:
        return StepMark(name, "running", "running", _("running"))
    if status == Status.CLOSED:
        return StepMark(name, "stopped", "closed", _("closed here"))
    return StepMark(name, "running", "ready", _("ready"))


# --- confidence ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sureness:
    """How sure the maker of a body was. `fields`: (pointer, value), the lowest first; `more`: the others."""

    by: str
    value: float | None
    bar: float | None
    fields: list[tuple[str, float]]
    more: list[tuple[str, float]]


def sureness(case: Case) -> Sureness | None:
    """Of the output that waits, or of the step that handed over what was refused; None where no step did."""
    stopped = case.escalation.result if case.escalation else None
    result = stopped if stopped is not None and stopped.output is not None else _last_made(case)
    if result is None:
        return None
    values: Any = json.loads(result.field_confidence)
    numbers = values.items() if isinstance(values, dict) else []
    fields = sorted(
        ((str(key), float(value)) for key, value in numbers if _is_number(value)), key=lambda each: (each[1], each[0])
    )
    return Sureness(result.step, result.confidence, result.bar, fields[:LOWEST], fields[LOWEST:])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _last_made(case: Case) -> StepResult | None:
    """The latest result of an attempt that was taken, if no person's edit came after it."""
    made = [r for r in case.results if r.outcome == Outcome.ACCEPTED and r.attempt is not None and not r.superseded]
    return made[-1] if made else None


# --- attempts --------------------------------------------------------------------------------------------------------

OUTCOMES = {
    Outcome.ACCEPTED: lambda: _("accepted"),
    Outcome.BROKEN_OUTPUT: lambda: _("broken output"),
    Outcome.LOW_CONFIDENCE: lambda: _("not sure enough"),
    Outcome.FAILED: lambda: _("failed"),
    Outcome.LEASE_LOST: lambda: _("lost: no sign of life"),
    Outcome.RELEASED: lambda: _("handed back"),
    Outcome.ASKED: lambda: _("asked"),
    Outcome.CLOSED: lambda: _("closed while it ran"),
    Outcome.LATE: lambda: _("too late, not applied"),
    Outcome.FIXED: lambda: _("fixed"),
    Outcome.APPROVED: lambda: _("approved"),
    Outcome.ANSWERED: lambda: _("answered"),
}


@dataclass(frozen=True, slots=True)
class Delivered:
    """One result in words. `usage`: what the agent says that it took."""

    result: StepResult
    by: str
    outcome: str
    time: str
    usage: str
    unknown: list[str]

    @property
    def shows_code(self) -> bool:
        """Whether its code says more than its outcome."""
        return self.result.code not in ("", self.result.outcome)


def deliveries(case: Case) -> list[Delivered]:
    """All results, the newest first: attempts, and what people made."""
    return [
        _delivered(case, result) for result in reversed(case.results) if result.step != INTAKE or result.patch != "[]"
    ]


def _delivered(case: Case, result: StepResult) -> Delivered:
    usage: Any = json.loads(result.usage)
    parts = [f"{key} {value}" for key, value in usage.items()] if isinstance(usage, dict) else []
    outcome = OUTCOMES[Outcome(result.outcome)]()
    if result.superseded:
        outcome = _("%(outcome)s, no longer counts") % {"outcome": outcome}
    unknown = [str(pointer) for pointer in json.loads(result.unknown_fields)]
    time = duration(result.duration_ms) if result.attempt is not None else ""
    return Delivered(result, case.actors.name(result.actor), outcome, time, ", ".join(parts)[:200], unknown)


# --- a body ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """A body as the page shows it, in one of the VIEWS."""

    title: str
    view: str
    views: list[str]
    lines: Lines | None
    form: SchemaForm | None
    size: int


def shown_body(case: Case, side: Side, view: str, title: str = "") -> Shown:
    """A body on one side. Violations, as judged when it stopped, are marked in it."""
    body = case.body(side)
    form = _form(case, side, body)
    views = [each for each in VIEWS if each != "fields" or form is not None]
    view = view if view in views else views[0]
    lines = None
    if view == "json":
        lines = lines_of(body, _broken(case))
    elif view == "raw":
        lines = _raw(case, body)
    return Shown(title or _title(case, side), view, views, lines, form if view == "fields" else None, len(body))


def _form(case: Case, side: Side, body: str) -> SchemaForm | None:
    contract = case.contract(side)
    if contract is None or case.record.encoding:
        return None
    try:
        form = SchemaForm(shape_of(contract), body)
    except Unreadable:
        return None
    return form if isinstance(form.sent, dict) else None


def _raw(case: Case, body: str) -> Lines:
    encoding = case.record.encoding if body == case.record.payload else ""
    text = raw_bytes(body, encoding).decode("utf-8", "replace") if encoding else body
    return raw_lines(text)


def _broken(case: Case) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for violation in case.violations:
        found.setdefault(violation.pointer, []).append(violation.sentence)
    return found


def _title(case: Case, side: Side) -> str:
    if side is Side.INTAKE or case.is_at_intake:
        return _("What came in")
    step = {"step": case.step.name if case.step else case.record.step}
    if side is Side.RETURNS:
        return _("What %(step)s delivered") % step
    return _("What %(step)s was handed") % step
