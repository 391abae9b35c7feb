"""The place of an escalation in the view of the inbox from which it was opened: what comes before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

from django.http import HttpRequest, QueryDict
from django.urls import reverse

from handoffs.actions import escalations
from handoffs.models import Escalation
from handoffs.models.escalations import EscalationQuerySet
from reviewqueue.addresses import Address
from reviewqueue.counting import CAP, shown, tally
from reviewqueue.desk import Desk, deciders
from reviewqueue.filters import TITLES, EscalationFilter
from reviewqueue.paging import Order
from reviewqueue.rows import escalation_url

# From these, the next item is the next in order: there is nothing to be taken.
NOT_TAKEN_FROM = frozenset({"mine", "snoozed", "decided"})


@dataclass(frozen=True)
class Place:
    """A view, and where in it an escalation stands."""

    desk: Desk
    address: Address
    found: EscalationFilter

    @classmethod
    def of(cls, request: HttpRequest, desk: Desk) -> Place:
        """The view that the request names by `from`; all open ones where it names none."""
        said = request.POST.get("from", request.GET.get("from"))
        query = QueryDict(said or "")
        address = Address.of(reverse("inbox"), query, EscalationFilter.base_filters)
        people = deciders(desk.queues) if address.chosen("assignee") else []
        found = EscalationFilter(
            QueryDict(address.query), user=desk.user, now=desk.now, queues=desk.queues, flows=desk.flows, people=people
        )
        return cls(desk, address, found)

    @property
    def label(self) -> str:
        return str(TITLES[self.found.view_name])

    @property
    def query(self) -> str:
        return self.address.query

    def back_url(self, escalation_id: int) -> str:
        """The list, at the row from which one came."""
        return f"{self.address}#ESC-{escalation_id}"

    def url(self, escalation_id: int) -> str:
        return escalation_url(escalation_id, self.address)

    def around(self, escalation: Escalation) -> Around:
        return Around(self, escalation)

    def next_after(self, escalation: Escalation) -> int | None:
        """The item to go on with after a verdict, claimed where the view is one to take from; None if none is left."""
        rows = self.found.rows
        if self.found.view_name not in NOT_TAKEN_FROM:
            return escalations.take_next(view=cast(EscalationQuerySet, rows), by=self.desk.user)
        order = self.found.order.fields
        return rows.exclude(pk=escalation.pk).order_by(*order).values_list("pk", flat=True).first()


@dataclass(frozen=True)
class Around:
    """An escalation's neighbours in a view."""

    place: Place
    escalation: Escalation

    @cached_property
    def next_url(self) -> str | None:
        return self._neighbour(self.place.found.order)

    @cached_property
    def previous_url(self) -> str | None:
        return self._neighbour(_turned(self.place.found.order))

    def _neighbour(self, order: Order) -> str | None:
        here = [getattr(self.escalation, field.lstrip("-")) for field in order.fields]
        if any(value is None for value in here):
            return None
        for condition in order.after(here):
            rows = self.place.found.rows.filter(condition).order_by(*order.fields)
            if (pk := rows.values_list("pk", flat=True).first()) is not None:
                return self.place.url(pk)
        return None

    @cached_property
    def position(self) -> tuple[str, str] | None:
        """(which one this is, of how many) as people read it; None where it is not in the view, or far down."""
        order, rows = _turned(self.place.found.order), self.place.found.rows
        here = [getattr(self.escalation, field.lstrip("-")) for field in order.fields]
        if any(value is None for value in here):
            return None
        before = {f"before_{n}": rows.filter(condition) for n, condition in enumerate(order.after(here))}
        counts = tally(self.place.desk.user, all=rows, here=rows.filter(pk=self.escalation.pk), **before)
        ahead = sum(count for name, count in counts.items() if name.startswith("before"))
        if not counts["here"] or ahead > CAP:
            return None
        return str(ahead + 1), shown(counts["all"])


def _turned(order: Order) -> Order:
    """The same order, backwards."""
    fields = tuple(field[1:] if field.startswith("-") else f"-{field}" for field in order.fields)
    return Order(order.name, fields)
