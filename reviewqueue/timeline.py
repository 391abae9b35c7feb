"""What happened to a record, told from its history rows, its results and its comments; the newest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs.exact_json import parse, write
from handoffs.models import Escalation, StepResult, Transition
from handoffs.reasons import number
from handoffs.states import INTAKE, Event, Outcome, Side
from reviewqueue.actors import is_person
from reviewqueue.case import Case
from reviewqueue.comparing import edits
from reviewqueue.differences import Change
from reviewqueue.visible import cut, visible

WHO = ("all", "people", "system")
SHOWN = 200  # characters of a changed value
MOST = 300  # events on one page


@dataclass(frozen=True, slots=True)
class Happening:
    """One entry. `lead` is in bold: who or which step; `tone` and `icon` are those of the design."""

    at: datetime
    icon: str
    tone: str
    lead: str
    said: str
    quote: str = ""
    changes: list[Change] = field(default_factory=list)
    by_person: bool = False


def timeline(case: Case, who: str = "all") -> list[Happening]:
    """The entries, of people only or of the machines only where that is asked for."""
    told = sorted([*_transitions(case), *_comments(case)], key=lambda each: each.at, reverse=True)
    wanted = {"people": True, "system": False}.get(who)
    return [each for each in told if wanted is None or each.by_person is wanted][:MOST]


def _comments(case: Case) -> Iterator[Happening]:
    for comment in case.comments:
        name = comment.author.display_name
        yield Happening(comment.written_at, "comment", "", name, _("commented"), comment.text, by_person=True)


def _transitions(case: Case) -> Iterator[Happening]:
    telling = Telling(case)
    # Two rows of one moment keep their order: the later one stands above.
    for transition in reversed(case.transitions):
        if found := telling.tell(transition):
            yield found


class Telling:
    """Puts history rows into words."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.attempts = {r.attempt: r for r in case.results if r.attempt is not None and r.outcome != Outcome.LATE}
        self.edits = {(r.ended_at, r.actor): r for r in case.results if r.attempt is None}
        self.edited = edits(case) if any(r.attempt is None for r in case.results) else {}
        self.stopped = {e.opened_at: e for e in case.escalations}
        self.decided = {e.resolved_at: e for e in case.escalations if e.resolved_at}

    def tell(self, t: Transition) -> Happening | None:
        event = Event(t.event)
        if event is Event.START and t.attempt in self.attempts:
            return None  # its end tells more
        told = _TELLERS[event](self, t)
        lead, said = told[0], told[1]
        if (batch := self.case.in_batches.get(t.seq)) is not None:
            said = _("%(what)s, together with others, in %(batch)s") % {"what": said, "batch": f"BATCH-{batch}"}
        icon, tone = _LOOKS.get(event, ("info", ""))
        edit = self.edits.get((t.happened_at, t.actor)) if event in _EDITS else None
        return Happening(
            t.happened_at,
            icon,
            tone,
            lead,
            said,
            quote=told[2] if len(told) > 2 else "",
            changes=self.changed(edit) if edit else [],
            by_person=is_person(t.actor),
        )

    def changed(self, edit: StepResult) -> list[Change]:
        """What an edit changed; where that is not known any more, the new values alone."""
        return self.edited.get(edit.pk) or _changes(edit)

    def who(self, t: Transition) -> str:
        return self.case.actors.name(t.actor)

    def place(self, t: Transition) -> str:
        return _("The intake") if t.step == INTAKE else t.step

    def taken(self, t: Transition) -> str:
        """What an attempt delivered that was taken: its confidence and how long it took."""
        result = self.attempts.get(t.attempt)
        if result is None:
            return _("was accepted")
        sure = number(result.confidence) if result.confidence is not None else _("not reported")
        words = {"sure": sure, "time": duration(result.duration_ms)}
        return _("was accepted: confidence %(sure)s, %(time)s") % words

    def failed(self, t: Transition) -> tuple[str, str, str]:
        """How an attempt ended that was not taken; the message is the agent's, or the contract's."""
        result = self.attempts.get(t.attempt)
        message = result.message if result else ""
        words = {"n": t.attempt}
        if result is not None and result.outcome == Outcome.BROKEN_OUTPUT:
            return self.place(t), _("delivered an output that breaks its contract (attempt %(n)d)") % words, message
        return self.place(t), _("failed (attempt %(n)d)") % words, message

    def stop(self, t: Transition) -> Escalation | None:
        return self.stopped.get(t.happened_at)

    def decision(self, t: Transition) -> Escalation | None:
        return self.decided.get(t.happened_at)


Told = tuple[str, str] | tuple[str, str, str]


def _opened(telling: Telling, t: Transition) -> Told:
    return telling.who(t), _("opened the record")


def _refused(telling: Telling, t: Transition) -> Told:
    stop = telling.stop(t)
    count = stop.violated if stop else 0
    said = ngettext(
        "refused what it was handed: %(n)d violation", "refused what it was handed: %(n)d violations", count
    )
    if t.step == INTAKE:
        said = ngettext("refused what came in: %(n)d violation", "refused what came in: %(n)d violations", count)
    if t.code == "when_failed":
        said = _("would not run: the rule that decides whether it is needed failed")
    return telling.place(t), said % {"n": count}


def _escalated(telling: Telling, t: Transition) -> Told:
    stop, result = telling.stop(t), telling.attempts.get(t.attempt)
    if result is not None and result.outcome == Outcome.LOW_CONFIDENCE:
        return telling.place(t), _("was not sure enough"), stop.reason if stop else ""
    lead, said, message = telling.failed(t)
    return lead, said, message or (stop.reason if stop else "")


def _asked(telling: Telling, t: Transition) -> Told:
    stop = telling.stop(t)
    if t.code == "review":
        return telling.place(t), _("waits for a person")
    return telling.place(t), _("asked"), stop.question if stop else ""


def _retried(telling: Telling, t: Transition) -> Told:
    if is_person(t.actor):
        return telling.who(t), _("granted another try of %(step)s") % {"step": t.step}
    lead, said, message = telling.failed(t)
    return lead, f"{said}; " + _("it is tried again"), message


def _released(telling: Telling, t: Transition) -> Told:
    if is_person(t.actor):
        return telling.who(t), _("released it")
    return telling.place(t), _("was handed back unfinished; the try is given back")


def _answered(telling: Telling, t: Transition) -> Told:
    edit = telling.edits.get((t.happened_at, t.actor))
    if edit is not None and edit.side == Side.ENVELOPE:
        return telling.who(t), _("answered"), str(json.loads(edit.output or '""'))
    return telling.who(t), _("answered for %(step)s") % {"step": t.step}


def _closed(telling: Telling, t: Transition) -> Told:
    decision = telling.decision(t)
    if decision is None or not decision.close_reason:
        return telling.who(t), _("closed the record")
    said = _("closed the record: %(reason)s") % {"reason": decision.close_reason}
    return telling.who(t), said, decision.note


def _assigned(telling: Telling, t: Transition) -> Told:
    return telling.who(t), _("assigned it to %(name)s") % {"name": telling.case.actors.name(f"reviewer:{t.code}")}


def _claimed(telling: Telling, t: Transition) -> Told:
    return telling.who(t), _("took it over") if t.code == "taken_over" else _("claimed it")


_TELLERS: dict[Event, Any] = {
    Event.OPEN: _opened,
    Event.REFUSE: _refused,
    Event.SKIP: lambda telling, t: (telling.place(t), _("was not needed")),
    Event.START: lambda telling, t: (telling.place(t), _("started (attempt %(n)d)") % {"n": t.attempt}),
    Event.ACCEPT: lambda telling, t: (telling.place(t), telling.taken(t)),
    Event.FINISH: lambda telling, t: (telling.place(t), f"{telling.taken(t)}. " + _("The record is complete")),
    Event.RETRY: _retried,
    Event.RELEASE: _released,
    Event.ESCALATE: _escalated,
    Event.ASK: _asked,
    Event.STRAND: lambda telling, t: (telling.place(t), _("is gone from the flow")),
    Event.FIX: lambda telling, t: (telling.who(t), _("fixed what stopped %(step)s") % {"step": t.step}),
    Event.APPROVE: lambda telling, t: (telling.who(t), _("approved the output of %(step)s") % {"step": t.step}),
    Event.ANSWER: _answered,
    Event.CLOSE: _closed,
    Event.REOPEN: lambda telling, t: (telling.who(t), _("reopened the record")),
    Event.UNDO: lambda telling, t: (telling.who(t), _("took the decision back")),
    Event.CLAIM: _claimed,
    Event.TRANSFER: lambda telling, t: (telling.who(t), _("transferred it to %(queue)s") % {"queue": t.code}),
    Event.ASSIGN: _assigned,
    Event.SNOOZE: lambda telling, t: (telling.who(t), _("snoozed it")),
    Event.PURGE: lambda telling, t: (telling.who(t), _("erased the bodies")),
    Event.LATE: lambda telling, t: (telling.place(t), _("delivered too late; that was kept and changed nothing")),
}
_EDITS = frozenset({Event.FIX, Event.ANSWER})
_LOOKS = {
    Event.OPEN: ("added", ""),
    Event.REFUSE: ("refused", "is-breach"),
    Event.SKIP: ("arrow", ""),
    Event.START: ("running", "is-asked"),
    Event.ACCEPT: ("completed", "is-good"),
    Event.FINISH: ("completed", "is-good"),
    Event.RETRY: ("reopened", ""),
    Event.ESCALATE: ("escalated", "is-breach"),
    Event.ASK: ("asked", "is-asked"),
    Event.STRAND: ("stranded", "is-fault"),
    Event.FIX: ("edit", "is-good"),
    Event.APPROVE: ("check", "is-good"),
    Event.ANSWER: ("check", "is-good"),
    Event.CLOSE: ("closed", ""),
    Event.REOPEN: ("reopened", ""),
    Event.UNDO: ("reopened", ""),
    Event.CLAIM: ("person", ""),
    Event.RELEASE: ("person", ""),
    Event.TRANSFER: ("arrow", ""),
    Event.ASSIGN: ("person", ""),
    Event.SNOOZE: ("clock", ""),
}


def _changes(edit: StepResult) -> list[Change]:
    """A person's edit as its patch has it: where something was there before, the patch does not say what."""
    patch = parse(edit.patch)
    steps = [step for step in patch if isinstance(step, dict)] if isinstance(patch, list) else []
    return [
        Change(str(step.get("path", "")), None, visible(cut(write(step["value"]), SHOWN)) if "value" in step else None)
        for step in steps[:50]
    ]


def duration(milliseconds: float) -> str:
    """A duration as people read it: “12 ms”, “1.8 s”, “3 min”."""
    if milliseconds < 1000:
        return _("%(n)d ms") % {"n": round(milliseconds)}
    seconds = milliseconds / 1000
    return _("%(n).1f s") % {"n": seconds} if seconds < 120 else _("%(n)d min") % {"n": round(seconds / 60)}
