"""What a person was told, ready to be shown; and whether it reached them by mail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from handoffs.models import Notice
from handoffs.states import MailState, Told
from handoffs.tellings import sentence
from reviewqueue.durations import ago

LIMIT = 100
MAIL = {
    MailState.DUE: _("a mail will leave"),
    MailState.SENT: _("by mail as well"),
    MailState.NO_ADDRESS: _("not mailed: no address"),
    MailState.NOT_WANTED: "",
    MailState.OFF: "",
}
TONES = {
    Told.ALERT_OPENED: ("is-breach", "clock"),
    Told.UNREAD: ("is-breach", "clock"),
    Told.BREACHED: ("is-breach", "clock"),
    Told.MENTIONED: ("is-asked", "comment"),
    Told.ASSIGNED: ("", "person"),
    Told.OWNER: ("", "person"),
    Told.HANDED_OVER: ("", "person"),
}


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A notice in the list; `url` is empty where it leads nowhere."""

    notice: Notice
    sentence: str
    url: str
    told: str
    mail: str
    tone: str
    icon: str

    @property
    def is_unread(self) -> bool:
        return self.notice.read_at is None


def notice_rows(notices: Iterable[Notice], now: datetime) -> list[NoticeRow]:
    return [_row(notice, now) for notice in notices]


def _row(notice: Notice, now: datetime) -> NoticeRow:
    said = sentence(notice.event, notice.facts, notice.count, str(notice.queue or ""))
    tone, icon = TONES.get(Told(notice.event), ("", "info"))
    mail = str(MAIL[MailState(notice.mail)])
    return NoticeRow(notice, said, _url(notice), ago(now - notice.last_at), mail, tone, icon)


def _url(notice: Notice) -> str:
    """Where a notice leads: to its item, or to the queue where there are several."""
    if notice.count > 1 and notice.queue:
        return f"{reverse('inbox')}?queue={notice.queue.slug}"
    if notice.escalation_id:
        return reverse("escalation", args=[notice.escalation_id])
    if notice.record_id:
        return reverse("record", args=[notice.record_id])
    return reverse("queue", args=[notice.queue.slug]) if notice.queue else ""
