"""Whether a queue is watched: the last look, the oldest unread, and how what comes compares with what is decided."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Min
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs.models import Escalation, Queue
from reviewqueue.durations import in_words

DAY = timedelta(days=1)
COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class Watch:
    """How a queue is looked after; times in words, empty where there is none. `is_late`: nobody looked in time."""

    last_look: str
    oldest_unread: str
    opened: int
    decided: int
    forecast: str
    is_late: bool


def watch_of(queue: Queue, now: datetime) -> Watch:
    """Three queries, each along an index."""
    here = Escalation.objects.filter(queue=queue)
    waits = here.awake(now).aggregate(oldest=Min("opened_at"), due=Min("due_at"))
    unread = here.awake(now).filter(first_seen_at__isnull=True).aggregate(oldest=Min("opened_at"))["oldest"]
    opened = here.filter(opened_at__gte=now - DAY)[:COUNTED].count()
    decided = here.decided_since(now - DAY)[:COUNTED].count()
    last = queue.last_looked_at
    since = max(last or waits["oldest"], waits["oldest"]) if waits["oldest"] else None
    return Watch(
        last_look=in_words(now - last) if last else "",
        oldest_unread=in_words(now - unread) if unread else "",
        opened=opened,
        decided=decided,
        forecast=_forecast(waits["due"], now, opened, decided),
        is_late=since is not None and since < now - queue.watched_within,
    )


def _forecast(due: datetime | None, now: datetime, opened: int, decided: int) -> str:
    """What comes, if the next days are as the last one."""
    if due is None:
        return _("Nothing waits.")
    if due < now:
        return _("The first item has been overdue for %(time)s.") % {"time": in_words(now - due)}
    first = _("The first item is due in %(time)s.") % {"time": in_words(due - now)}
    if opened > decided:
        text = ngettext("It grows by %(n)d item a day.", "It grows by %(n)d items a day.", opened - decided)
        return f"{first} {text % {'n': opened - decided}}"
    return first
