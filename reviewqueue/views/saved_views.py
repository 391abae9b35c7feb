"""Saved views of the inbox."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from handoffs.models import Queue
from reviewqueue import saved_views
from reviewqueue.desk import desk_of
from reviewqueue.models import SavedView, User
from reviewqueue.saved_views import UnfitView, view_address
from reviewqueue.views.errors import refused


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Where one begins: the view that opens first, or the inbox."""
    user = request.user
    if isinstance(user, User) and user.home_id:
        found = SavedView.objects.visible_to(user).filter(pk=user.home_id).first()
        if found is not None:
            return redirect(str(view_address(found.query)))
    query = request.GET.urlencode()
    return redirect(reverse("inbox") + (f"?{query}" if query else ""))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def views(request: HttpRequest) -> HttpResponse:
    """GET: the views one sees. POST: keep the filters of the inbox under a name."""
    desk = desk_of(request)
    problem = ""
    if request.method == "POST":
        try:
            view = saved_views.save(
                by=desk.user,
                title=request.POST.get("title", ""),
                query=request.POST.get("query", ""),
                queue=_shared_with(desk.user, request.POST.get("queue", "")),
            )
        except UnfitView as error:
            problem = str(error)
        else:
            messages.success(request, _("Saved as “%(title)s”.") % {"title": view.title})
            return redirect(str(view_address(view.query)))
    return _shown(request, problem)


def _shown(request: HttpRequest, problem: str = "") -> HttpResponse:
    user = desk_of(request).user
    found = saved_views.views_for(user)
    rows = [(view, str(view_address(view.query)), view.may_change(user), view.pk == user.home_id) for view in found]
    context = {"views": rows, "problem": problem, "typed": request.POST}
    return render(request, "saved_views.html", context, status=422 if problem else 200)


def _shared_with(user: User, slug: str) -> Queue | None:
    """The queue whose people shall see it, of those in which one decides; None: only oneself. Raises `UnfitView`."""
    if not slug:
        return None
    found = Queue.objects.decidable_by(user).filter(slug=slug).first()
    if found is None:
        raise UnfitView(_("Choose a queue in which you decide."))
    return found


def _mine_to_change(request: HttpRequest, pk: int) -> SavedView | HttpResponse:
    user = desk_of(request).user
    view = get_object_or_404(SavedView.objects.visible_to(user).select_related("queue"), pk=pk)
    if view.may_change(user):
        return view
    return refused(request, 403, _("Only who made it, or the queue's owner, can change it."), reverse("views"))


@require_safe
@login_required
def view(request: HttpRequest, pk: int) -> HttpResponse:
    """The inbox under its filters."""
    seen = SavedView.objects.visible_to(desk_of(request).user)
    return redirect(str(view_address(get_object_or_404(seen, pk=pk).query)))


@require_POST
@login_required
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    found = _mine_to_change(request, pk)
    if isinstance(found, HttpResponse):
        return found
    try:
        saved_views.rename(found, request.POST.get("title", ""))
    except UnfitView as error:
        return _shown(request, str(error))
    messages.success(request, _("Renamed."))
    return redirect("views")


@require_POST
@login_required
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    found = _mine_to_change(request, pk)
    if isinstance(found, HttpResponse):
        return found
    found.delete()
    messages.success(request, _("Deleted."))
    return redirect("views")


@require_POST
@login_required
def open_first(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin with this view from now on; with `off`, with the inbox."""
    user = desk_of(request).user
    found = get_object_or_404(SavedView.objects.visible_to(user), pk=pk)
    chosen = None if request.POST.get("off") == "1" else found.pk
    User.objects.filter(pk=user.pk).update(home=chosen)
    messages.success(request, _("The inbox opens first.") if chosen is None else _("This view opens first."))
    return redirect("views")
