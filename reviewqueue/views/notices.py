"""What a person was told, the newest first."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from handoffs.actions import notices as actions
from handoffs.models import Notice
from reviewqueue.models import User
from reviewqueue.requests import now_of
from reviewqueue.telling import LIMIT, notice_rows


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def notices(request: HttpRequest) -> HttpResponse:
    """The newest notices; a POST marks one of them (`notice`), or all, as read."""
    user: User = request.user  # type: ignore[assignment]
    if request.method == "POST":
        return _mark(request, user)
    rows = Notice.objects.visible_to(user).select_related("queue").newest_first()
    shown = rows.unread() if request.GET.get("show") != "all" else rows
    context = {
        "rows": notice_rows(shown[:LIMIT], now_of(request)),
        "all": request.GET.get("show") == "all",
        "limit": LIMIT,
    }
    return render(request, "notices.html", context)


def _mark(request: HttpRequest, user: User) -> HttpResponse:
    chosen = request.POST.get("notice", "")
    if chosen.isascii() and chosen.isdigit() and len(chosen) < 19:
        actions.mark_read(notices=[int(chosen)], by=user)
    else:
        actions.mark_all_read(by=user)
        messages.success(request, _("All are marked as read."))
    return redirect("notices")
