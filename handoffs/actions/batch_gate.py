"""What a batch would do to each of its items, judged without changing anything: the gate of its preview.

The verdict judges again when its turn comes; what is said here is how things stand now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext as _

from handoffs.actions.escalations import Person, actor_of, is_held_by_another, who_was_first
from handoffs.actions.judging import body_of, fixed_by, judge_body, open_for, violations_now
from handoffs.actions.plans import Plan, seam_name
from handoffs.bodies import same
from handoffs.contracts import Violation
from handoffs.errors import NothingChanged, PatchDoesNotFit, UnknownFlow, UnknownStep
from handoffs.flows import Flow, get_flow
from handoffs.models import Escalation, Queue
from handoffs.models.moves import COLUMNS, RecordRow
from handoffs.patching import patched
from handoffs.states import INTAKE, BatchVerb, ItemState, Kind, Resolution, Side

JUDGED: Final = 1000  # items whose bodies a preview holds against their contracts; the others in their turn
CHUNK: Final = 100  # escalations, with their bodies, in memory at once
VERDICTS: Final = {
    BatchVerb.FIX: Resolution.FIX,
    BatchVerb.RETRY: Resolution.RETRY,
    BatchVerb.APPROVE: Resolution.APPROVE,
    BatchVerb.CLOSE: Resolution.CLOSE,
}
# Where the step as it stands is not run again: which step to go back to is a decision of its own.
JUDGED_VERBS: Final = frozenset({BatchVerb.FIX, BatchVerb.RETRY, BatchVerb.APPROVE})
ONE_BY_ONE: Final = frozenset({Kind.REVIEW, Kind.STRANDED, Kind.REOPENED})


@dataclass(frozen=True, slots=True)
class Finding:
    """How one item stands: its version, and why it would be left where it would."""

    escalation_id: int
    version: int
    state: ItemState
    code: str = ""
    sentence: str = ""
    fingerprint: str = ""


def foresee(
    ids: list[int], *, verb: BatchVerb, by: Person, now: datetime, choice: Mapping[str, Any]
) -> Iterator[Finding]:
    """A finding for each escalation that the person may see, in the order of the ids."""
    decidable = dict(Queue.objects.decidable_by(by).values_list("pk", "two_people"))
    for first in range(0, len(ids), CHUNK):
        wanted = ids[first : first + CHUNK]
        gate = _Gate(verb, by, now, decidable, first < JUDGED, choice)
        found = Escalation.objects.visible_to(by).filter(pk__in=wanted)
        related = ["record", "assignee", *(["result"] if gate.judges_bodies else [])]
        rows = {e.pk: e for e in found.select_related(*related).defer(*gate.not_read)}
        gate.note_fixes(rows.values())
        yield from (gate.finding(rows[pk]) for pk in wanted if pk in rows)


@dataclass(frozen=True, slots=True)
class _Gate:
    verb: BatchVerb
    by: Person
    now: datetime
    decidable: Mapping[int, bool]  # a queue's id: whether approving takes two people there
    judges: bool
    choice: Mapping[str, Any]

    fixed: set[int] = field(default_factory=set)  # records of which the person fixed a body

    def note_fixes(self, escalations: Iterable[Escalation]) -> None:
        """Read what the person fixed, where it matters."""
        if self.verb is BatchVerb.APPROVE:
            records = [e.record_id for e in escalations if self.decidable.get(e.queue_id)]
            self.fixed.update(fixed_by(actor_of(self.by), records) if records else ())

    @property
    def judges_bodies(self) -> bool:
        return self.judges and self.verb in JUDGED_VERBS

    @property
    def not_read(self) -> list[str]:
        return ["before", "note", "question"] + ([] if self.judges_bodies else ["record__payload", "record__answer"])

    def finding(self, escalation: Escalation) -> Finding:
        if left := self._left_alone(escalation):
            return Finding(escalation.pk, escalation.version, ItemState.SKIPPED, *left)
        return self._judged(escalation)

    def _left_alone(self, escalation: Escalation) -> tuple[str, str] | None:
        """(code, sentence) of why it is none of ours to decide so."""
        if escalation.queue_id not in self.decidable:
            return "not_allowed", _("You may look at its queue, but not decide in it.")
        if escalation.is_resolved:
            return "decided", _("It is decided already.")
        replaces = self.verb is BatchVerb.ASSIGN and escalation.assigned
        if not replaces and is_held_by_another(escalation, self.by, self.now):
            return "held", who_was_first(escalation)
        return self._does_not_allow(escalation)

    def _does_not_allow(self, escalation: Escalation) -> tuple[str, str] | None:
        verdict = VERDICTS.get(self.verb)
        if verdict is not None and verdict not in open_for(escalation):
            return "not_offered", _("It stopped in a way that this does not decide.")
        if escalation.record_id in self.fixed:
            return "not_allowed", _("You fixed this record: here somebody else has to approve it.")
        if self.verb is BatchVerb.FIX and self.choice.get("side") != escalation.side:
            return "other_side", _("It is another of its bodies that a fix edits.")
        if self.verb is BatchVerb.RETRY and Kind(escalation.kind) in ONE_BY_ONE:
            return "one_by_one", _("It has to go back to a step before: decide it by itself.")
        return None

    def _judged(self, escalation: Escalation) -> Finding:
        try:
            flow = get_flow(escalation.record.flow)
            found = self._broken(escalation, flow) if self.judges_bodies else ("", ())
        except (UnknownFlow, UnknownStep, PatchDoesNotFit, NothingChanged) as error:
            return Finding(escalation.pk, escalation.version, ItemState.FAILED, error.code, str(error))
        seam, violations = found
        if not violations:
            return Finding(escalation.pk, escalation.version, ItemState.WAITING)
        first = violations[0]
        mark = first.fingerprint(flow=flow.name, seam=seam, producer="")
        return Finding(
            escalation.pk, escalation.version, ItemState.FAILED, "contract_broken", said_of(violations), mark
        )

    def _broken(self, escalation: Escalation, flow: Flow) -> tuple[str, tuple[Violation, ...]]:
        """(seam, what keeps the verdict from being taken now)."""
        row = RecordRow(**{name: getattr(escalation.record, name) for name in COLUMNS})
        plan = Plan(row, flow, self.now, actor_of(self.by))
        step = None if plan.step == INTAKE else flow.step(plan.step)
        if self.verb is BatchVerb.RETRY:
            side = Side.INTAKE if step is None else Side.RECEIVES
            return seam_name(flow, step, side), violations_now(row, plan, side)
        if self.verb is BatchVerb.FIX:
            side = Side(escalation.side)
            return seam_name(flow, step, side), judge_body(plan, side, fixed(escalation, row, self.choice)).violations
        if escalation.kind == Kind.REOPENED:
            return "", ()
        output = body_of(escalation, row, Side.RETURNS)
        return seam_name(flow, step, Side.RETURNS), judge_body(plan, Side.RETURNS, output).violations


def fixed(escalation: Escalation, row: Any, choice: Mapping[str, Any]) -> str:
    """The body of an escalation with the chosen change.

    Raises:
        PatchDoesNotFit: it has nothing at a place where the patch changes something.
        NothingChanged: it is so already.
    """
    before = body_of(escalation, row, Side(choice["side"]))
    after = patched(before, choice["patch"])
    if same(before, after):
        raise NothingChanged
    return after


def said_of(violations: Iterable[Violation]) -> str:
    """The first violation, and how many more there are."""
    first, *others = violations
    said = f"{first.pointer} {first.sentence}".strip()
    return f"{said} +{len(others)}" if others else said
