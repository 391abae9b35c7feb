"""What every page's frame shows. Read only when a page with a frame is made, and only for who is signed in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from handoffs.models import Escalation, Notice
from reviewqueue.counting import shown, tally
from reviewqueue.filters import VIEWS, in_view
from reviewqueue.models import User
from reviewqueue.requests import now_of

HOT = frozenset({"overdue"})
Item = dict[str, Any]


def shell(request: HttpRequest) -> dict[str, Any]:
    context: dict[str, Any] = {"request_id": getattr(request, "request_id", "")}
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        context["nav_views"] = SimpleLazyObject(lambda: views_of(request, user))
        context["nav_pages"] = SimpleLazyObject(lambda: pages_for(request, user))
    return context


def views_of(request: HttpRequest, user: User) -> list[Item]:
    """The views of the inbox and the notices, each with its count: one query."""
    now = now_of(request)
    views = {name: in_view(Escalation.objects.visible_to(user), name, user, now) for name in VIEWS}
    counts = tally(user, **views, told=Notice.objects.visible_to(user).unread())
    inbox = reverse("inbox")
    here = request.GET.get("view", "open") if request.path == inbox else ""
    items: list[Item] = [
        {
            "label": label,
            "url": inbox if name == "open" else f"{inbox}?view={name}",
            "count": shown(counts[name]),
            "is_current": name == here,
            "is_hot": name in HOT and counts[name] > 0,
            "key": "g i" if name == "open" else "",
        }
        for name, label in VIEWS.items()
    ]
    told = _page(request, "notices", _("Notices"), "g n")
    return [*items, told | {"count": shown(counts["told"]), "is_hot": counts["told"] > 0}]


def pages_for(request: HttpRequest, user: User) -> list[Item]:
    """The other pages that this person may open."""
    pages = [
        ("flows", _("Flows"), "g f"),
        ("records", _("Records"), "g r"),
        ("batches", _("Batches"), ""),
        ("contracts", _("Contracts"), "g c"),
        ("queues", _("Queues"), "g q"),
        ("dashboard", _("Dashboard"), "g b"),
    ]
    if user.is_staff:
        pages.append(("admin:index", _("Administration"), ""))
    return [_page(request, name, label, key) for name, label, key in pages]


def _page(request: HttpRequest, name: str, label: str, key: str) -> Item:
    url = reverse(name)
    return {
        "label": label,
        "url": url,
        "count": None,
        "is_current": request.path.startswith(url),
        "is_hot": False,
        "key": key,
    }
