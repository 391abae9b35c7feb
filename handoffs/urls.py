"""The addresses of the agents' API."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.csrf import csrf_exempt

from handoffs.api import v1

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/openapi.json", v1.openapi, name="api-openapi"),
    path("api/v1/", include((v1.urls(), "handoffs-api"))),
    re_path(r"^api/(?!docs/)", csrf_exempt(v1.not_found)),
]
