"""Choosing many escalations: those that are ticked, or all that a view of the inbox holds."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest

from handoffs import conf
from handoffs.states import EscalationState
from reviewqueue.filters import EscalationFilter

MOST_TICKED: Final = 200


def chosen_ids(request: HttpRequest, found: EscalationFilter) -> list[int]:
    """The numbers that a form of the inbox sends, in the order of the view; one more than a batch takes at most.

    `all` means all that the view holds; `same`, all of it that stopped as one of these groups; else `ids` are meant.
    """
    rows = found.rows.exclude(state=EscalationState.RESOLVED).order_by(*found.order.fields)
    limit = int(conf.get("BULK")) + 1
    if request.POST.get("all") == "1":
        return list(rows.values_list("pk", flat=True)[:limit])
    ticked = _numbers(request.POST.getlist("ids"))
    if groups := request.POST.getlist("same"):
        marks = [mark for mark in groups if len(mark) == 32 and mark.isascii() and mark.isalnum()]
        ticked += list(rows.filter(fingerprint__in=marks[:MOST_TICKED]).values_list("pk", flat=True)[:limit])
    return ticked


def _numbers(said: list[str]) -> list[int]:
    """Numbers as a form sends them; what is none is left out, and so is what no page has ticked at once."""
    numbers = [int(text) for text in said if text.isascii() and text.isdecimal() and len(text) < 19]
    return numbers[:MOST_TICKED]
