"""What people are told: read in the site, and sent by mail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from handoffs import conf
from handoffs.actions import mailtimes
from handoffs.models import MailChoice, Notice, sql
from handoffs.states import MailState

TRY_AGAIN = timedelta(minutes=5)  # after a mail server that took nothing, or a process that ended while sending


@transaction.atomic
def mark_read(*, notices: Iterable[int], by: Any) -> int:
    """Mark some of a person's own notices as read; a mail that is due for them no longer is."""
    mine = Notice.objects.visible_to(by).unread().filter(pk__in=list(notices))
    mine.filter(mail=MailState.DUE).update(mail=MailState.NOT_WANTED)
    return mine.update(read_at=sql.now(), mail_at=None)


@transaction.atomic
def mark_all_read(*, by: Any) -> int:
    return mark_read(notices=Notice.objects.visible_to(by).unread().values_list("pk", flat=True), by=by)


@transaction.atomic
def looked_at(*, escalations: Iterable[int], by: Any) -> None:
    """Whoever looks at an escalation need not be told of it any more, if it is the only one of its notice."""
    alone = Notice.objects.visible_to(by).unread().filter(escalation_id__in=list(escalations), count=1)
    mark_read(notices=alone.values_list("pk", flat=True), by=by)


@transaction.atomic
def choose_mail(*, by: Any, **choice: Any) -> MailChoice:
    """Keep when a person wants mail; from the next notice on."""
    chosen, _made = MailChoice.objects.update_or_create(user=by, defaults=choice)
    return chosen


# --- mail, for `handoffs.sender` -------------------------------------------------------------------------------------


def people_with_mail_due() -> list[int]:
    """The ids of those for whom a mail is due now, who has waited longest first."""
    due = Notice.objects.filter(mail_at__lte=sql.now()).order_by("mail_at", "pk").values_list("user", flat=True)
    return list(dict.fromkeys(due[:5000]))


@transaction.atomic
def take_mail(person: int) -> list[Notice]:
    """All of a person's notices that are due, kept from other processes while the mail leaves."""
    at = sql.now()
    due = Notice.objects.filter(user=person, mail_at__lte=at).select_related("user", "queue").order_by("pk")
    taken = list(due.select_for_update(of=("self",), skip_locked=True))
    Notice.objects.filter(pk__in=[notice.pk for notice in taken]).update(mail_at=at + TRY_AGAIN)
    return taken


@transaction.atomic
def mailed(notices: Sequence[Notice], at: datetime) -> None:
    """The mail about these left; what was counted in them meanwhile gets its own, after a while."""
    later = at + timedelta(seconds=conf.get("MAIL_EVERY"))
    for notice in notices:
        here = Notice.objects.filter(pk=notice.pk)
        if not here.filter(count=notice.count).update(mail=MailState.SENT, mail_at=None, mailed_at=at):
            here.update(mail=MailState.DUE, mail_at=mailtimes.plan(notice.user, later)[1], mailed_at=at)
