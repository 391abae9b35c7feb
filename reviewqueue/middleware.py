"""What every request gets: an id, and the person's time zone and language."""

from __future__ import annotations

import re
import uuid
import zoneinfo
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from handoffs.actions.escalations import actor_of

GetResponse = Callable[[HttpRequest], HttpResponse]
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIdMiddleware:
    """Takes over a well-formed `X-Request-ID`, makes one otherwise, and sends it back."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        request.request_id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=request.request_id)  # type: ignore[attr-defined]
        response = self.get_response(request)
        response["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
        return response


class PreferencesMiddleware:
    """Activates the person's time zone and language; keeps review pages out of every cache."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            structlog.contextvars.bind_contextvars(actor=actor_of(request.user))
            timezone.activate(zoneinfo.ZoneInfo(request.user.time_zone))
            if request.user.language:
                translation.activate(request.user.language)
                request.LANGUAGE_CODE = request.user.language
        try:
            response = self.get_response(request)
        finally:
            timezone.deactivate()
        if request.user.is_authenticated:
            response.setdefault("Cache-Control", "no-store")
        return response
