"""Error pages: plain words, a way back, and the request's id."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without its token: an old tab, or blocked cookies. What was typed can be sent again after going back."""
    return render(request, "403_csrf.html", status=403)
