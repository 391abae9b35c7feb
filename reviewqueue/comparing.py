"""Two versions of one body, field by field: now against what was sent, the previous attempt, the last accepted one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.utils.translation import gettext as _

from handoffs.exact_json import Unreadable, parse
from handoffs.models import StepResult
from handoffs.patching import patch_of
from handoffs.states import Outcome, Side
from reviewqueue.actors import is_person
from reviewqueue.case import Case
from reviewqueue.differences import MOST, Change, changes

LARGEST: Final = 2_100_000  # characters of a body that is compared
EDITS: Final = 20  # edits whose changes the timeline tells
TAKEN: Final = frozenset({Outcome.ACCEPTED, Outcome.FIXED, Outcome.APPROVED, Outcome.ANSWERED})
NAMES: Final[dict[str, Callable[[], str]]] = {
    "sent": lambda: _("what was sent"),
    "previous": lambda: _("the previous attempt"),
    "accepted": lambda: _("what was accepted before"),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`against`: what it is compared with now; `ways`: (name, words) of all it can be compared with."""

    against: str
    ways: list[tuple[str, str]]
    before: str = ""
    after: str = ""
    rows: list[Change] = field(default_factory=list)
    patch: str = ""
    problem: str = ""

    @property
    def is_cut(self) -> bool:
        return len(self.rows) == MOST


def compare(case: Case, wanted: str) -> Comparison:
    """The body of the page against another version of it: the one that is asked for, or the first there is."""
    own = _own(case)
    found = _others(case, own)
    ways = [(name, words()) for name, words in NAMES.items() if name in found]
    against = wanted if wanted in found else next((name for name, _words in ways), "")
    if not against:
        return Comparison("", [], problem=_("There is no other version of it yet."))
    before = _output(found[against])
    after = _output(own) if own is not None else _body(case)
    return _compared(case, against, ways, (before, after), (found[against], own))


def _compared(
    case: Case,
    against: str,
    ways: list[tuple[str, str]],
    bodies: tuple[str, str],
    results: tuple[StepResult, StepResult | None],
) -> Comparison:
    if max(map(len, bodies)) > LARGEST:
        return Comparison(against, ways, problem=_("It is too large to be compared here."))
    try:
        rows = changes(parse(bodies[0]), parse(bodies[1]))
        patch = patch_of(*bodies)
    except Unreadable:
        return Comparison(against, ways, problem=_("One of the two is no JSON, so there are no fields to compare."))
    names = [_named(case, result) for result in results]
    return Comparison(against, ways, names[0], names[1], rows, patch if len(patch) < LARGEST // 10 else "")


def _own(case: Case) -> StepResult | None:
    """The result that made the body which the page is about; None where none did (it came in as it is)."""
    escalation = case.escalation
    made = [result for result in case.results if _has_output(result)]
    if escalation is not None and escalation.resolved_at is not None:
        decided = [r for r in made if r.attempt is None and r.ended_at == escalation.resolved_at]
        made = decided or [r for r in made if r.ended_at <= escalation.opened_at]
    elif escalation is not None and escalation.side == Side.RETURNS and escalation.result_id:
        return next((r for r in made if r.pk == escalation.result_id), None)
    standing = [r for r in made if Outcome(r.outcome) in TAKEN and not r.superseded]
    return standing[-1] if standing else None


def _has_output(result: StepResult) -> bool:
    return _size(result) > 0 and result.side != Side.ENVELOPE


def _size(result: StepResult) -> int:
    """How long its output is, as `Case.results` counted it; 0 where there is none."""
    return int(getattr(result, "size", None) or 0)


def _others(case: Case, own: StepResult | None) -> dict[str, StepResult]:
    """What it can be compared with, by name; each version once."""
    earlier = [r for r in case.results if _has_output(r) and (own is None or r.pk < own.pk)]
    machine = [r for r in earlier if not is_person(r.actor)]
    found: dict[str, StepResult] = {}
    if own is not None and is_person(own.actor) and machine:
        found["sent"] = machine[-1]
    start = found.get("sent", own)
    tried = [r for r in machine if start is not None and r.step == start.step and r.pk < start.pk]
    if tried:
        found["previous"] = tried[-1]
    taken = [r for r in earlier if Outcome(r.outcome) in TAKEN and not r.superseded and r not in found.values()]
    if taken:
        found["accepted"] = taken[-1]
    return found


def _output(result: StepResult) -> str:
    return StepResult.objects.filter(pk=result.pk).values_list("output", flat=True).get() or ""


def _body(case: Case) -> str:
    return case.body(Side(case.escalation.side)) if case.escalation else case.record.payload


def _named(case: Case, result: StepResult | None) -> str:
    if result is None:
        return _("now")
    if is_person(result.actor):
        return case.actors.name(result.actor)
    if result.attempt is None:
        return _("what came in")
    return _("%(step)s, attempt %(n)d") % {"step": result.step, "n": result.attempt}


# --- edits in the timeline -------------------------------------------------------------------------------------------


def edits(case: Case) -> dict[int, list[Change]]:
    """What each edit of a person changed, by the id of its result; of a large history the latest only."""
    pairs = _edited(case.results)[-EDITS:]
    touched = {each.pk: _size(each) for pair in pairs for each in pair}
    if not pairs or sum(touched.values()) > LARGEST:
        return {}
    ids = list(touched)
    outputs = dict(StepResult.objects.filter(pk__in=ids).values_list("pk", "output"))
    found = {}
    for before, result in pairs:
        try:
            found[result.pk] = changes(parse(outputs[before.pk] or ""), parse(outputs[result.pk] or ""))
        except Unreadable:
            continue
    return found


def _edited(results: Sequence[StepResult]) -> list[tuple[StepResult, StepResult]]:
    """(what an edit started from, the edit): an output's attempt, or the input as it was handed over."""
    found = []
    for place, result in enumerate(results):
        if not is_person(result.actor) or not _has_output(result) or json.loads(result.patch) == []:
            continue
        earlier = [r for r in results[:place] if _has_output(r)]
        own = [r for r in earlier if result.side == Side.RETURNS and r.step == result.step]
        taken = [r for r in earlier if Outcome(r.outcome) in TAKEN]
        if before := (own or taken or earlier)[-1:]:
            found.append((before[0], result))
    return found
