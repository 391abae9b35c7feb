"""What every page's frame shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    return {
        "request_id": getattr(request, "request_id", ""),
        "theme": getattr(user, "theme", ""),
    }
