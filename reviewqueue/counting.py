"""Counts that stop early: these tables have no bound, and nobody reads “103 482”."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import IntegerField, QuerySet, Subquery

from reviewqueue.models import User

CAP = 1000


class CappedCount(Subquery):
    """How many rows a queryset has, but never more than CAP + 1; inside another query, also with an OuterRef."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS capped)"
    output_field = IntegerField()
    empty_result_set_value = 0

    def __init__(self, rows: QuerySet[Any]) -> None:
        super().__init__(rows.order_by().values("pk")[: CAP + 1])


def tally(user: User, **querysets: QuerySet[Any]) -> dict[str, int]:
    """Capped counts of many querysets, in one query."""
    counted = {name: CappedCount(rows) for name, rows in querysets.items()}
    return cast("dict[str, int]", User.objects.filter(pk=user.pk).values(**counted).get()) if counted else {}


def shown(count: int) -> str:
    """A capped count as people read it: “61”, “1000+”."""
    return f"{CAP}+" if count > CAP else str(count)
