"""Which decisions an escalation offers: each with its key, what it will do, and why it waits where it does.

One name for each act: the button, the heading of its form, the history and the address say the same word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs.actions import judging
from handoffs.actions.escalations import actor_of
from handoffs.bodies import body_digest
from handoffs.contracts import Violation
from handoffs.flows import Flow
from handoffs.models import Escalation
from handoffs.reasons import fields
from handoffs.states import INTAKE, Kind, Outcome, Resolution, Side
from reviewqueue.actors import name_of
from reviewqueue.case import Case

KEYS = {
    Resolution.FIX: "f",
    Resolution.APPROVE: "y",
    Resolution.ANSWER: "",
    Resolution.RETRY: "r",
    Resolution.CLOSE: "c",
}
ORDER = (Resolution.ANSWER, Resolution.APPROVE, Resolution.FIX, Resolution.RETRY, Resolution.CLOSE)
# Kinds where the step as it stands is not run again: a person's step, one that is gone, one that has ended.
ONLY_FROM = frozenset({Kind.REVIEW, Kind.STRANDED, Kind.REOPENED})


@dataclass(frozen=True, slots=True)
class Decision:
    """One verdict. `why_not` is empty where it can be given now."""

    name: str
    label: str
    key: str
    effect: str
    why_not: str = ""

    @property
    def is_open(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, slots=True)
class Start:
    """A step from which the record can be retried, with what its stored input would break there now."""

    step: str
    violations: tuple[Violation, ...]


@dataclass(frozen=True)
class Decisions:
    """What can be decided about one escalation, and by this person."""

    case: Case

    @property
    def kind(self) -> Kind:
        return Kind(self._escalation.kind)

    @property
    def _escalation(self) -> Escalation:
        if self.case.escalation is None:
            raise ValueError("decisions are about an escalation")
        return self.case.escalation

    @cached_property
    def allowed(self) -> frozenset[Resolution]:
        return judging.open_for(self._escalation)

    def allows(self, resolution: Resolution) -> bool:
        return resolution in self.allowed

    @cached_property
    def barred(self) -> str:
        """Why this person can decide nothing here; empty if they can."""
        case = self.case
        if case.is_resolved:
            return _("It is decided.")
        if not case.may_decide:
            return _("You may look at this queue, but not decide in it.")
        if case.flow is None:
            return _("The flow %(name)s is not in the code that runs here.") % {"name": case.record.flow}
        if case.is_held_by_another:
            return _("%(name)s has it. Take it over first.") % {"name": name_of(self._escalation.assignee)}
        return ""

    # --- which body a verdict is about -------------------------------------------------------------------------------

    @property
    def fix_side(self) -> Side:
        """The body that a fix edits unless another one is asked for."""
        side = Side(self._escalation.side)
        return Side.RECEIVES if self.kind in {Kind.ASKED, Kind.REVIEW} and side is Side.RETURNS else side

    @property
    def fix_sides(self) -> list[Side]:
        """All bodies that a fix may edit: a failed step's input, or the output in its stead."""
        if self.kind is Kind.FAILED:
            return [Side.RECEIVES, Side.RETURNS]
        return [self.fix_side]

    # --- what the input would break now ------------------------------------------------------------------------------

    @property
    def input_side(self) -> Side:
        return Side.INTAKE if self.case.is_at_intake else Side.RECEIVES

    @cached_property
    def retry_breaks(self) -> tuple[Violation, ...]:
        """Why a retry would be refused now."""
        if self.case.flow is None or (self.case.step is None and not self.case.is_at_intake):
            return ()
        return self.case.judge(self.input_side, self.case.record.payload)

    @cached_property
    def approve_breaks(self) -> tuple[Violation, ...]:
        """Why an approval would be refused now; a record that had completed is approved as it is."""
        if self.kind is not Kind.LOW_CONFIDENCE or self.case.step is None:
            return ()
        return self.case.judge(Side.RETURNS, self.case.body(Side.RETURNS))

    @cached_property
    def starts(self) -> list[Start]:
        """The steps from which it can be retried: those before, of which the input is stored; the last one first."""
        case = self.case
        if Resolution.RETRY not in self.allowed or case.flow is None:
            return []
        reached = len(case.flow.steps)
        if case.step is not None and self.kind is not Kind.REOPENED:
            reached = case.flow.index(case.step.name)
        elif case.is_at_intake:
            reached = 0
        found = []
        for step in reversed(case.flow.steps[:reached]):
            stored = judging.stored_input(case.plan, step)
            if stored is not None and (self.kind is Kind.STRANDED or self._ran(step.name)):
                found.append(Start(step.name, judging.judge_input(case.plan, step, stored)))
        return found

    def _ran(self, step: str) -> bool:
        return any(result.step == step for result in self.case.results)

    # --- the bar -----------------------------------------------------------------------------------------------------

    @property
    def retries_here(self) -> bool:
        """Whether the record's own step can be run again."""
        return self.kind not in ONLY_FROM and not self.retry_breaks

    @property
    def first_start(self) -> Start | None:
        return next((start for start in self.starts if not start.violations), None)

    @cached_property
    def all(self) -> list[Decision]:
        """The verdicts that the kind allows, in the order of the bar."""
        shown = [r for r in ORDER if r in self.allowed]
        if self.kind in ONLY_FROM and not self.starts:
            shown = [r for r in shown if r is not Resolution.RETRY]
        return [self._decision(resolution) for resolution in shown]

    @cached_property
    def first(self) -> Decision | None:
        """The one that the page offers before the others."""
        return next((decision for decision in self.all if decision.is_open), None)

    @property
    def waiting(self) -> list[Decision]:
        """Those that can't be given now; each says why. One reason for all of them is said once, elsewhere."""
        return [] if self.barred else [decision for decision in self.all if decision.why_not]

    @property
    def digest(self) -> str:
        """Of the output that an approval takes."""
        return body_digest(self.case.body(Side.RETURNS))

    @property
    def reasons(self) -> list[str]:
        return self._escalation.queue.reasons

    def get(self, name: str) -> Decision | None:
        return next((decision for decision in self.all if decision.name == name), None)

    def _decision(self, resolution: Resolution) -> Decision:
        label, effect = LABELS[resolution](), self._effect(resolution)
        return Decision(resolution.value, label, KEYS[resolution], effect, self.barred or self._why_not(resolution))

    def _why_not(self, resolution: Resolution) -> str:
        if resolution is Resolution.RETRY and self.kind in ONLY_FROM:
            return "" if self.first_start else _("Retry waits: the stored input of no step holds its contract now.")
        if resolution is Resolution.RETRY and self.retry_breaks:
            return _("Retry waits: %(breaks)s") % {"breaks": still_broken(self.retry_breaks)}
        if self._needs_another(resolution):
            return _("You fixed this record: here somebody else has to approve it.")
        if resolution is Resolution.APPROVE and self.approve_breaks:
            return _("Approve waits: %(breaks)s") % {"breaks": still_broken(self.approve_breaks)}
        return ""

    def _needs_another(self, resolution: Resolution) -> bool:
        if not (self._escalation.queue.two_people and judging.approves(self._escalation, resolution)):
            return False
        mine = [r for r in self.case.results if r.actor == actor_of(self.case.user) and not r.superseded]
        return any(result.outcome == Outcome.FIXED for result in mine)

    def _effect(self, resolution: Resolution) -> str:
        """What happens next."""
        step = {"step": self._escalation.step}
        if resolution is Resolution.FIX:
            return self.effect_of_fix(self.fix_side)
        if resolution is Resolution.APPROVE:
            if self.kind is Kind.REOPENED:
                return _("The record is complete again, as it was.")
            return _("The output is taken as it is.") + f" {self._onward}"
        if resolution is Resolution.ANSWER:
            if self.kind is Kind.REVIEW:
                return _("What you give is the output of %(step)s.") % step + f" {self._onward}"
            return _("%(step)s runs again and gets your answer.") % step
        if resolution is Resolution.RETRY:
            if self.kind in ONLY_FROM:
                return _("A step before runs again on its stored input; what came after no longer counts.")
            if self.case.is_at_intake:
                return _("The record is taken in as it is.")
            return _("%(step)s runs once more on the same input.") % step
        return _("The record ends here, with a reason. It can be reopened.")

    def effect_of(self, verb: Resolution, side: Side) -> str:
        """What an edit of one body does."""
        return self.effect_of_fix(side) if verb is Resolution.FIX else self._effect(verb)

    def effect_of_fix(self, side: Side) -> str:
        step = {"step": self._escalation.step}
        if side is Side.RETURNS:
            return _("Your version stands for the output of %(step)s.") % step + f" {self._onward}"
        if side is Side.INTAKE and self.case.flow is not None:
            return _("The record is taken in and goes to %(step)s.") % {"step": self.case.flow.steps[0].name}
        return _("%(step)s gets your version, with all its tries.") % step

    @property
    def _onward(self) -> str:
        following = _following(self.case.flow, self._escalation.step)
        if following is None:
            return _("The record is complete then.")
        return _("The record goes on to %(step)s.") % {"step": following}


def _following(flow: Flow | None, step: str) -> str | None:
    if flow is None or step == INTAKE:
        return None
    found = flow.following(step)
    return found.name if found else None


def still_broken(violations: Sequence[Violation]) -> str:
    """Which fields keep a verdict waiting: “/total and /due_date still break the contract.”"""
    places = {violation.pointer for violation in violations}
    if not any(places):
        return violations[0].sentence
    words = {"fields": fields(violations)}
    return (
        ngettext("%(fields)s still breaks the contract.", "%(fields)s still break the contract.", len(places)) % words
    )


LABELS = {
    Resolution.FIX: lambda: _("Fix"),
    Resolution.APPROVE: lambda: _("Approve"),
    Resolution.ANSWER: lambda: _("Answer"),
    Resolution.RETRY: lambda: _("Retry"),
    Resolution.CLOSE: lambda: _("Close"),
}
DONE = {
    Resolution.FIX: lambda label: _("%(what)s fixed.") % {"what": label},
    Resolution.APPROVE: lambda label: _("%(what)s approved.") % {"what": label},
    Resolution.ANSWER: lambda label: _("%(what)s answered.") % {"what": label},
    Resolution.RETRY: lambda label: _("%(what)s retried.") % {"what": label},
    Resolution.CLOSE: lambda label: _("%(what)s closed.") % {"what": label},
}
