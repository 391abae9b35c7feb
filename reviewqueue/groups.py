"""The inbox by what stopped the records: one row for each fingerprint, so that one broken seam is one row, not 312."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Min

from handoffs.models import Escalation
from reviewqueue.addresses import Address
from reviewqueue.durations import in_words
from reviewqueue.filters import EscalationFilter
from reviewqueue.rows import listed_escalations

MOST: Final = 50


@dataclass(frozen=True, slots=True)
class GroupRow:
    """All of a view that stopped the same way; `escalation` is the first of them."""

    escalation: Escalation
    count: int
    since: datetime
    waiting: str
    url: str


def groups(found: EscalationFilter, address: Address, now: datetime) -> list[GroupRow]:
    """The largest groups of a view. Takes two queries."""
    marked = found.rows.exclude(fingerprint="").order_by().values("fingerprint")
    counted = list(
        marked.annotate(n=Count("pk"), since=Min("opened_at"), first=Min("pk")).order_by("-n", "fingerprint")[:MOST]
    )
    firsts = listed_escalations(Escalation.objects.filter(pk__in=[row["first"] for row in counted])).in_bulk()
    open_group = address.without("group")
    return [
        GroupRow(
            firsts[row["first"]],
            row["n"],
            row["since"],
            in_words(now - row["since"]),
            str(open_group.set("same", row["fingerprint"])),
        )
        for row in counted
        if row["first"] in firsts
    ]
