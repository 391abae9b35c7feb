"""The rows of the lists, ready to be shown: a template makes no decisions and no queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from handoffs import titles
from handoffs.errors import UnknownFlow
from handoffs.flows import get_flow
from handoffs.models import Alert, Escalation, Record
from handoffs.states import EscalationState, Kind, Resolution
from reviewqueue import labels
from reviewqueue.addresses import Address
from reviewqueue.durations import ago, ahead, in_words
from reviewqueue.models import User

# The kinds whose output waits: there, a confidence that was not reported is worth saying.
JUDGED = frozenset({Kind.LOW_CONFIDENCE, Kind.BROKEN_OUTPUT})
HEAVY = ("payload", "answer", "salt", "head")


@dataclass(frozen=True, slots=True)
class InboxRow:
    """An escalation in a list.

    `holding` is how `whose` has it: "reviewing", "assigned" or "yours", "decided" where it is, and "" if nobody has.
    `decision` and `wakes` are empty where there is none, and where it is not snoozed.
    """

    escalation: Escalation
    label: str
    title: str
    url: str
    place: str
    waiting: str
    due: str
    is_late: bool
    whose: str
    initials: str
    holding: str
    is_sure_shown: bool
    decision: str
    wakes: str
    columns: list[tuple[str, str]]
    preview_url: str = ""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record in a list."""

    record: Record
    url: str
    opened: str
    columns: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert, and how long ago it was raised."""

    alert: Alert
    raised: str


def alert_rows(alerts: Iterable[Alert], now: datetime) -> list[AlertRow]:
    return [AlertRow(alert, ago(now - alert.opened_at)) for alert in alerts]


def listed_escalations(rows: QuerySet[Escalation]) -> QuerySet[Escalation]:
    """Escalations with what a row shows, and without the bodies."""
    heavy = ("before", "answers", "note", "queue__instructions", "queue__close_reasons")
    related = rows.select_related("record", "queue", "queue__owner", "assignee", "resolved_by")
    return related.defer(*heavy, *(f"record__{name}" for name in HEAVY))


def listed_records(rows: QuerySet[Record]) -> QuerySet[Record]:
    """Records with what a row shows, and without the bodies."""
    return rows.select_related("queue").defer(*HEAVY, "queue__instructions", "queue__close_reasons")


def inbox_row(escalation: Escalation, user: User, now: datetime, address: Address) -> InboxRow:
    """One row of the inbox, as `user` sees it at `now` in the view at `address`."""
    holding = _holding(escalation, user, now)
    person = escalation.resolved_by or (escalation.assignee if holding else None)
    owner = _("owner %(name)s") % {"name": escalation.queue.owner.display_name}
    late = not escalation.is_resolved and escalation.due_at < now
    left = escalation.due_at - now
    return InboxRow(
        escalation=escalation,
        label=escalation.label,
        title=str(escalation.record),
        url=escalation_url(escalation.pk, address),
        place=f"{escalation.queue}, {owner}",
        waiting=in_words(now - escalation.opened_at),
        due=_("overdue %(words)s") % {"words": in_words(left)} if late else _("due %(words)s") % {"words": ahead(left)},
        is_late=late,
        whose=person.display_name if person else "",
        initials=person.initials if person else "",
        holding="decided" if escalation.resolved_by else holding,
        is_sure_shown=escalation.confidence is not None or escalation.kind in JUDGED,
        decision=_decision(escalation, now),
        wakes=_wakes(escalation, now),
        columns=shown_columns(escalation.record),
        preview_url=f"{reverse('escalation-preview', args=[escalation.pk])}?{urlencode({'from': address.query})}",
    )


def record_row(record: Record, now: datetime) -> RecordRow:
    url = reverse("record", args=[record.pk])
    return RecordRow(record, url, ago(now - record.opened_at), shown_columns(record))


def escalation_url(pk: int, address: Address) -> str:
    """An escalation's page, which knows the view it was opened from."""
    path = reverse("escalation", args=[pk])
    return f"{path}?{urlencode({'from': address.query})}" if address.choices else path


def shown_columns(record: Record) -> list[tuple[str, str]]:
    """(name, value) of the flow's own columns, of those that have a value."""
    try:
        fields = get_flow(record.flow).columns
    except UnknownFlow:
        return []
    named = zip((titles.parts(field)[-1].replace("_", " ") for field in fields), record.column_values, strict=False)
    return [(name, value) for name, value in named if value != titles.ABSENT]


def _wakes(escalation: Escalation, now: datetime) -> str:
    until = escalation.snoozed_until
    return ahead(until - now) if until is not None and until > now else ""


def _decision(escalation: Escalation, now: datetime) -> str:
    if escalation.resolved_at is None:
        return ""
    what = labels.RESOLUTIONS[Resolution(escalation.resolution)]
    return f"{what} {ago(now - escalation.resolved_at)}"


def _holding(escalation: Escalation, user: User, now: datetime) -> str:
    if escalation.state != EscalationState.CLAIMED:
        return ""
    lapsed = not escalation.assigned and escalation.claimed_until is not None and escalation.claimed_until <= now
    if lapsed:
        return ""
    if escalation.assignee_id == user.pk:
        return "yours"
    return "assigned" if escalation.assigned else "reviewing"
