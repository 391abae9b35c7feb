"""Error pages: plain words, a way back, and the request's id."""

from __future__ import annotations

import math
import sys

from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs.api import v1


def refused(
    request: HttpRequest, status: int, detail: str = "", back_url: str = "", back_word: str = ""
) -> HttpResponse:
    """The page of an error that a view found: 400, 403, 404, 409, 422 or 429. `detail` is one sentence."""
    context = {"detail": detail, "back_url": back_url, "back_word": back_word}
    return render(request, f"{status}.html", context, status=status)


def bad_cursor(request: HttpRequest, first_url: str) -> HttpResponse:
    """An address that names no place in its list, with the way to the first page."""
    detail = _("This address names no place in the list: it was cut, changed, or made for another order.")
    return refused(request, 400, detail, first_url, _("To the first page"))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return v1.failed(request, 400) or refused(request, 400)


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return refused(request, 403)


def page_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return refused(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Made without the database and without what every page's frame needs: that may be what broke."""
    away = isinstance(sys.exc_info()[1], OperationalError)
    status = 503 if away else 500
    if (told := v1.failed(request, status)) is not None:
        return told
    response = HttpResponse(render_to_string(f"{status}.html", {"request": request}), status=status)
    if away:
        response["Retry-After"] = "30"
    return response


def paused(request: HttpRequest, response: HttpResponse | None, credentials: dict[str, str] | None) -> HttpResponse:
    """Too many wrong passwords for a name. The same for a name that nobody has, so that it gives nobody away."""
    seconds = settings.AXES_COOLOFF_TIME.total_seconds()
    minutes = math.ceil(seconds / 60)
    detail = ngettext(
        "Too many wrong passwords for this name. Try again in %(minutes)d minute.",
        "Too many wrong passwords for this name. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}
    told = refused(request, 429, detail, reverse("login"), _("Sign in"))
    told["Retry-After"] = str(math.ceil(seconds))
    return told


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token: an old tab, or blocked cookies. What was typed can be sent again after going back."""
    return render(request, "403_csrf.html", status=403)
