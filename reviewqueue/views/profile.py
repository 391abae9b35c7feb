"""A person's own settings."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from handoffs.actions.mailtimes import choice_of, is_on
from handoffs.actions.notices import choose_mail
from reviewqueue.desk import desk_of
from reviewqueue.forms import MailForm, ProfileForm
from reviewqueue.models import User


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def profile(request: HttpRequest) -> HttpResponse:
    """Time zone, language, theme and keys."""
    desk = desk_of(request)
    form = ProfileForm(request.POST or None, instance=User.objects.get(pk=desk.user.pk))
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("profile")
    return render(request, "profile.html", {"form": form, "queues": desk.queues}, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def mail(request: HttpRequest) -> HttpResponse:
    """When the person is told by mail."""
    user: User = request.user  # type: ignore[assignment]
    form = MailForm(request.POST or None, instance=choice_of(user))
    if request.method == "POST" and form.is_valid():
        choose_mail(by=user, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return redirect("mail-choice")
    context = {"form": form, "is_on": is_on(), "zone": user.time_zone}
    return render(request, "mail_choice.html", context, status=422 if form.errors else 200)


class NewPassword(PasswordChangeView):
    """Another password; the other sessions of the person end."""

    template_name = "registration/new_password.html"

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        messages.success(self.request, _("Your password is changed. You are signed out everywhere else."))
        return super().form_valid(form)
