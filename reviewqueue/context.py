"""What every page's frame shows. Read only when a page with a frame is made, and only for who is signed in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from handoffs.models import Escalation, Notice
from reviewqueue.counting import shown, tally
from reviewqueue.desk import desk_of
from reviewqueue.filters import VIEWS, in_view
from reviewqueue.models import SavedView, User
from reviewqueue.requests import now_of
from reviewqueue.saved_views import is_here, rows_of, view_address, views_for

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
    """The views of the inbox, the saved ones and the notices, each with its count: two queries."""
    now = now_of(request)
    views: dict[str, Any] = {name: in_view(Escalation.objects.visible_to(user), name, user, now) for name in VIEWS}
    saved = views_for(user)
    held = {f"view_{view.pk}": rows_of(view, desk_of(request)) for view in saved}
    kept = {name: rows for name, rows in held.items() if rows is not None}
    counts = tally(user, **views, **kept, told=Notice.objects.visible_to(user).unread())
    own = [_saved(view, counts.get(f"view_{view.pk}"), is_here(view, request)) for view in saved]
    inbox = reverse("inbox")
    is_own = any(item["is_current"] for item in own)
    here = request.GET.get("view", "open") if request.path == inbox and not is_own else ""
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
    return [*own, *items, told | {"count": shown(counts["told"]), "is_hot": counts["told"] > 0}]


def _saved(view: SavedView, count: int | None, is_current: bool) -> Item:
    return {
        "label": view.title,
        "note": view.queue.title if view.queue else "",
        "url": str(view_address(view.query)),
        "count": None if count is None else shown(count),
        "is_current": is_current,
        "is_hot": False,
        "is_saved": True,
        "key": "",
    }


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
