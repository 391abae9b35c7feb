"""What is told, in words, in the language that is active. Only ids, names and codes come in, so only they come out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs.states import Told

Facts = Mapping[str, Any]


def sentence(event: str, facts: Facts, count: int = 1, queue: str = "") -> str:
    """One sentence about `count` things of the same fault; `facts` are those of the latest."""
    words = {**facts, "queue": queue or facts.get("queue", ""), "count": count}
    told = Told(event)
    if told is Told.OPENED:
        return _opened(words, count)
    if told in {Told.UNREAD, Told.BREACHED}:
        return _late(told, words, count)
    if told in {Told.ALERT_OPENED, Told.ALERT_CLOSED}:
        return str(facts.get("sentence", ""))
    return _to_person(told, words)


def _opened(words: Facts, count: int) -> str:
    one = _("%(queue)s: record %(record)s stopped at %(step)s of %(flow)s.")
    many = ngettext(
        "%(queue)s: %(count)d record stopped at %(step)s of %(flow)s.",
        "%(queue)s: %(count)d records stopped at %(step)s of %(flow)s.",
        count,
    )
    return (one if count == 1 else many) % words


def _late(told: Told, words: Facts, count: int) -> str:
    if told is Told.UNREAD:
        text = ngettext(
            "%(queue)s: nobody has looked at %(count)d item for %(minutes)s min.",
            "%(queue)s: nobody has looked at %(count)d items for %(minutes)s min.",
            count,
        )
    else:
        text = ngettext(
            "%(queue)s: %(count)d item is past its due time.",
            "%(queue)s: %(count)d items are past their due time.",
            count,
        )
    return text % words


def _to_person(told: Told, words: Facts) -> str:
    texts = {
        Told.RESOLVED: _("%(queue)s: %(by)s decided on record %(record)s."),
        Told.ANSWERED: _("%(queue)s: what was asked is answered."),
        Told.ASSIGNED: _("%(by)s gave you ESC-%(escalation)s in %(queue)s."),
        Told.MENTIONED: _("%(by)s names you in a comment to record %(record)s."),
        Told.OWNER: _("You answer for the queue %(queue)s from now on."),
        Told.HANDED_OVER: _("What %(name)s had is yours now: %(queues)s queues, %(items)s open items."),
    }
    return texts[told] % words
