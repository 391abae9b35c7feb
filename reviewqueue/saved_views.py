"""Saved views of the inbox: kept, renamed, deleted; each with the count of what it holds."""

from __future__ import annotations

from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _

from handoffs.models import Escalation, Queue, sql
from reviewqueue.addresses import Address
from reviewqueue.desk import Desk, deciders
from reviewqueue.filters import EscalationFilter
from reviewqueue.models import SavedView, User

MOST: Final = 30  # views that one person sees in the side
LONGEST: Final = 2000  # characters of a query


class UnfitView(Exception):
    """A view needs a name that is not taken, and filters; the message says what is missing."""


def view_address(query: str) -> Address:
    """The inbox under a saved view's filters; what an older version knew and this one does not is left out."""
    return Address.of(reverse("inbox"), QueryDict(query), EscalationFilter.keys())


def views_for(user: User) -> list[SavedView]:
    """The views that a person sees, their own first; by name."""
    seen = SavedView.objects.visible_to(user).select_related("queue")
    return list(seen.order_by("queue__title", "title", "pk")[:MOST])


def rows_of(view: SavedView, desk: Desk) -> QuerySet[Escalation] | None:
    """What a view holds; None where counting it would mean to search for words, or its filters mean nothing."""
    query = QueryDict(view_address(view.query).query)
    if "q" in query:
        return None
    people = deciders(desk.queues) if "assignee" in query else []
    found = EscalationFilter(query, user=desk.user, now=desk.now, queues=desk.queues, flows=desk.flows, people=people)
    return found.rows if found.is_clear else None


def save(*, by: User, title: str, query: str, queue: Queue | None) -> SavedView:
    """Keep filters under a name. Raises `UnfitView`."""
    named = _named(title)
    address = view_address(query)
    if not address.choices or len(address.query) > LONGEST:
        raise UnfitView(_("There is no filter to save: choose some first."))
    try:
        with transaction.atomic():
            return SavedView.objects.create(title=named, query=address.query, maker=by, queue=queue, made_at=sql.now())
    except IntegrityError as error:
        raise UnfitView(_("There is a view of that name already.")) from error


def rename(view: SavedView, title: str) -> None:
    """Raises `UnfitView`."""
    view.title = _named(title)
    try:
        with transaction.atomic():
            view.save(update_fields=["title"])
    except IntegrityError as error:
        raise UnfitView(_("There is a view of that name already.")) from error


def _named(title: str) -> str:
    named = " ".join(title.split())
    if not named or len(named) > 60 or "\0" in named:
        raise UnfitView(_("A view needs a name of at most 60 characters."))
    return named


def is_here(view: SavedView, request: HttpRequest) -> bool:
    """Whether the page shows this view: the same filters, in whatever order."""
    if request.path != reverse("inbox"):
        return False
    here = Address.of(request.path, request.GET, EscalationFilter.keys())
    return sorted(here.choices) == sorted(view_address(view.query).choices)
