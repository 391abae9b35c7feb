"""The states, the events and the tables that say which event leads where.

Sources of truth for both state machines: the pictures in the README are drawn from them, the database's constraints are
built from them, and every pair that is not in a table is refused.
"""

from __future__ import annotations

from enum import StrEnum

from handoffs.errors import TransitionNotAllowed

INTAKE = "intake"  # the place before the first step; no step may take this name


class Status(StrEnum):
    """Where a record stands."""

    READY = "ready"  # waits for a worker or an agent to take its step
    RUNNING = "running"  # one attempt works on it, under a lease
    ESCALATED = "escalated"  # waits for a person; exactly one unresolved escalation says why
    COMPLETED = "completed"  # went through its last step
    CLOSED = "closed"  # a person ended it, with a reason


class Event(StrEnum):
    """What happened to a record."""

    OPEN = "open"  # the record came in
    REFUSE = "refuse"  # a body broke what its next step receives; the step's code was not called
    SKIP = "skip"  # the step's `when` was false: the document goes on as it is
    START = "start"  # an attempt began
    ACCEPT = "accept"  # the output held its contract and its bar; the record moves to the next step
    FINISH = "finish"  # as accept, at the last step
    RETRY = "retry"  # the attempt failed and another try follows, by itself or granted by a person
    RELEASE = "release"  # an attempt handed back unfinished (its try is given back), or a reviewer's claim
    ESCALATE = "escalate"  # the attempt's end needs a person
    ASK = "ask"  # a person is asked: by an agent, or because the step is done by one
    STRAND = "strand"  # the step is gone from the code
    FIX = "fix"  # a person edited the body, and it holds its contract
    APPROVE = "approve"  # a person took the output as it is
    ANSWER = "answer"  # a person answered
    CLOSE = "close"  # a person ended the record
    REOPEN = "reopen"  # a person took it up again
    UNDO = "undo"  # a person took a verdict back
    # These leave the status as it is.
    CLAIM = "claim"
    TRANSFER = "transfer"
    ASSIGN = "assign"
    SNOOZE = "snooze"
    PURGE = "purge"
    LATE = "late"  # a result came after its attempt had ended; kept, never applied


_R, _RUN, _E, _DONE, _X = Status.READY, Status.RUNNING, Status.ESCALATED, Status.COMPLETED, Status.CLOSED

TRANSITIONS: dict[tuple[Status | None, Event], frozenset[Status]] = {
    (None, Event.OPEN): frozenset({_R}),
    (_R, Event.REFUSE): frozenset({_E}),
    (_R, Event.SKIP): frozenset({_R, _DONE}),
    (_R, Event.ASK): frozenset({_E}),
    (_R, Event.START): frozenset({_RUN}),
    (_R, Event.STRAND): frozenset({_E}),
    (_R, Event.CLOSE): frozenset({_X}),
    (_R, Event.UNDO): frozenset({_E}),
    (_RUN, Event.ACCEPT): frozenset({_R}),
    (_RUN, Event.FINISH): frozenset({_DONE}),
    (_RUN, Event.RETRY): frozenset({_R}),
    (_RUN, Event.RELEASE): frozenset({_R}),
    (_RUN, Event.ESCALATE): frozenset({_E}),
    (_RUN, Event.ASK): frozenset({_E}),
    (_RUN, Event.CLOSE): frozenset({_X}),
    (_E, Event.FIX): frozenset({_R, _DONE, _E}),
    (_E, Event.APPROVE): frozenset({_R, _DONE, _E}),
    (_E, Event.ANSWER): frozenset({_R, _DONE, _E}),
    (_E, Event.RETRY): frozenset({_R}),
    (_E, Event.CLOSE): frozenset({_X}),
    (_DONE, Event.REOPEN): frozenset({_E}),
    (_DONE, Event.UNDO): frozenset({_E}),
    (_DONE, Event.PURGE): frozenset({_DONE}),
    (_X, Event.REOPEN): frozenset({_E}),
    (_X, Event.UNDO): frozenset({_E}),
    (_X, Event.PURGE): frozenset({_X}),
}
for _event in (Event.CLAIM, Event.RELEASE, Event.TRANSFER, Event.ASSIGN, Event.SNOOZE):
    TRANSITIONS[_E, _event] = frozenset({_E})
for _status in Status:
    TRANSITIONS[_status, Event.LATE] = frozenset({_status})


def require(old: Status | None, event: Event, new: Status) -> None:
    """Check one move against the table.

    Raises:
        TransitionNotAllowed: the pair is not in the table, or leads elsewhere.
    """
    if new not in TRANSITIONS.get((old, event), frozenset()):
        raise TransitionNotAllowed(f"a record that is {old or 'not there'} cannot {event} to {new}")


class EscalationState(StrEnum):
    """Where an escalation stands."""

    OPEN = "open"  # waits in its queue; nobody has it
    CLAIMED = "claimed"  # one reviewer has it
    RESOLVED = "resolved"  # decided


class EscalationEvent(StrEnum):
    """What happens to an escalation."""

    CLAIM = "claim"  # a reviewer takes it, or takes it over
    ASSIGN = "assign"  # somebody gives it to a reviewer
    RELEASE = "release"  # handed back to the queue
    TRANSFER = "transfer"  # to another queue; the assignee is cleared
    SNOOZE = "snooze"  # hidden until a time
    RESOLVE = "resolve"  # decided: fix, approve, answer, retry or close
    UNDO = "undo"  # who decided takes the verdict back, and has it again


ESCALATION_TRANSITIONS: dict[tuple[EscalationState, EscalationEvent], EscalationState] = {
    (EscalationState.OPEN, EscalationEvent.CLAIM): EscalationState.CLAIMED,
    (EscalationState.CLAIMED, EscalationEvent.CLAIM): EscalationState.CLAIMED,
    (EscalationState.OPEN, EscalationEvent.ASSIGN): EscalationState.CLAIMED,
    (EscalationState.CLAIMED, EscalationEvent.ASSIGN): EscalationState.CLAIMED,
    (EscalationState.CLAIMED, EscalationEvent.RELEASE): EscalationState.OPEN,
    (EscalationState.OPEN, EscalationEvent.TRANSFER): EscalationState.OPEN,
    (EscalationState.CLAIMED, EscalationEvent.TRANSFER): EscalationState.OPEN,
    (EscalationState.OPEN, EscalationEvent.SNOOZE): EscalationState.OPEN,
    (EscalationState.CLAIMED, EscalationEvent.SNOOZE): EscalationState.OPEN,
    (EscalationState.OPEN, EscalationEvent.RESOLVE): EscalationState.RESOLVED,
    (EscalationState.CLAIMED, EscalationEvent.RESOLVE): EscalationState.RESOLVED,
    (EscalationState.RESOLVED, EscalationEvent.UNDO): EscalationState.CLAIMED,
}


class Kind(StrEnum):
    """Why a record stopped."""

    REFUSED = "refused"  # the input broke what the step receives
    BROKEN_OUTPUT = "broken_output"  # the output broke what the step returns
    LOW_CONFIDENCE = "low_confidence"  # the output holds, its confidence is below the bar or missing
    FAILED = "failed"  # the step's code failed, or its lease was lost
    ASKED = "asked"  # an agent asked
    REVIEW = "review"  # the step is done by a person
    STRANDED = "stranded"  # the step is gone
    REOPENED = "reopened"  # a person took up a record that had ended


class Resolution(StrEnum):
    """The decision on an escalation."""

    FIX = "fix"
    APPROVE = "approve"
    ANSWER = "answer"
    RETRY = "retry"
    CLOSE = "close"


ALLOWED: dict[Kind, frozenset[Resolution]] = {
    Kind.REFUSED: frozenset({Resolution.FIX, Resolution.RETRY, Resolution.CLOSE}),
    Kind.BROKEN_OUTPUT: frozenset({Resolution.FIX, Resolution.RETRY, Resolution.CLOSE}),
    Kind.LOW_CONFIDENCE: frozenset({Resolution.FIX, Resolution.APPROVE, Resolution.RETRY, Resolution.CLOSE}),
    Kind.FAILED: frozenset({Resolution.FIX, Resolution.RETRY, Resolution.CLOSE}),
    Kind.ASKED: frozenset({Resolution.ANSWER, Resolution.FIX, Resolution.RETRY, Resolution.CLOSE}),
    Kind.REVIEW: frozenset({Resolution.ANSWER, Resolution.FIX, Resolution.RETRY, Resolution.CLOSE}),
    Kind.STRANDED: frozenset({Resolution.RETRY, Resolution.CLOSE}),
    Kind.REOPENED: frozenset({Resolution.APPROVE, Resolution.FIX, Resolution.RETRY, Resolution.CLOSE}),
}


class Side(StrEnum):
    """Which body a contract was held against."""

    INTAKE = "intake"  # what came in
    RECEIVES = "receives"  # what a step was handed
    RETURNS = "returns"  # what a step delivered
    ENVELOPE = "envelope"  # what surrounds an output: confidence, evidence, usage
    DELIVERY = "delivery"  # what the system of record holds


class Outcome(StrEnum):
    """How one attempt, or one person's edit, was judged."""

    ACCEPTED = "accepted"  # held its contract and its bar
    BROKEN_OUTPUT = "broken_output"
    LOW_CONFIDENCE = "low_confidence"
    FAILED = "failed"
    LEASE_LOST = "lease_lost"  # went silent until its lease ran out
    RELEASED = "released"  # handed back unfinished
    ASKED = "asked"
    CLOSED = "closed"  # a person closed the record while it ran
    LATE = "late"  # came after its attempt had ended; kept, not applied
    FIXED = "fixed"  # a person's edit
    APPROVED = "approved"  # a person took an agent's output as it was
    ANSWERED = "answered"  # a person's answer


class BatchVerb(StrEnum):
    """What can be done to many escalations at once."""

    FIX = "fix"  # the same change to each body
    RETRY = "retry"
    APPROVE = "approve"
    CLOSE = "close"
    TRANSFER = "transfer"
    ASSIGN = "assign"
    SNOOZE = "snooze"


class BatchState(StrEnum):
    """Where a batch stands."""

    DRAFT = "draft"  # its preview is shown; nothing happens before somebody confirms it
    RUNNING = "running"  # workers carry it out
    ENDED = "ended"  # every item was tried
    STOPPED = "stopped"  # a person stopped it


class ItemState(StrEnum):
    """What became of one item of a batch."""

    WAITING = "waiting"  # its turn comes
    DONE = "done"
    FAILED = "failed"  # the verdict could not be given: the gate refused, a reason is not the queue's
    SKIPPED = "skipped"  # left alone: somebody has it, decided it or changed it, or it does not allow the verdict
    STOPPED = "stopped"  # the batch was stopped before its turn


class Role(StrEnum):
    """What a member of a queue may do there."""

    VIEWER = "viewer"  # sees
    REVIEWER = "reviewer"  # sees and decides
    OWNER = "owner"  # sees, decides and manages the queue


class AlertKind(StrEnum):
    """What needs a queue's owner while no single record waits for a decision."""

    UNSERVED = "unserved"  # ready work that nobody takes
    HELD = "held"
    DRIFT = "drift"
    REGRESSED = "regressed"
    SHIM_EXPIRED = "shim_expired"
    UNWATCHED = "unwatched"
    UNREACHABLE = "unreachable"
    ENDPOINT = "endpoint"
    CALIBRATION = "calibration"
    UNTRUE = "untrue"


class Told(StrEnum):
    """What the outbox tells: people in the site and by mail, programs by webhook."""

    OPENED = "escalation.opened"  # a record stopped
    RESOLVED = "escalation.resolved"  # somebody decided, and the time to undo is over
    UNREAD = "escalation.unread"  # nobody has looked at it in time: the backup is told
    BREACHED = "escalation.breached"  # its due time has passed
    ALERT_OPENED = "alert.opened"
    ALERT_CLOSED = "alert.closed"
    ANSWERED = "ask.answered"  # what an agent asked of a person
    ASSIGNED = "escalation.assigned"  # somebody gave it to a reviewer
    MENTIONED = "comment.mention"  # somebody is named in a comment
    OWNER = "queue.owner"  # somebody answers for a queue from now on
    HANDED_OVER = "queue.handover"  # what somebody who leaves had is somebody else's now


class DeliveryState(StrEnum):
    """Where a webhook's delivery stands."""

    WAITING = "waiting"  # to be sent, for the first time or again
    DELIVERED = "delivered"  # the endpoint took it
    SKIPPED = "skipped"  # an admin gave it up


class MailState(StrEnum):
    """Whether a person was told by mail as well."""

    DUE = "due"  # a mail will leave
    SENT = "sent"
    NO_ADDRESS = "no_address"  # the person has no address
    NOT_WANTED = "not_wanted"  # the person wants none
    OFF = "off"  # this installation sends no mail


class MailWhen(StrEnum):
    """When a person wants mail."""

    AT_ONCE = "at_once"
    DIGEST = "digest"  # once a day
    NEVER = "never"
