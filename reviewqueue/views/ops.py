"""What a load balancer, a supervisor and a monitor ask: is the process up, can it work, how does the work stand?"""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from handoffs import metrics


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """The process is up; nothing else is asked."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers and its migrations are applied; 503 with what is missing otherwise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        found = {"database": "ok", "migrations": "ok" if _is_migrated() else "pending"}
    except DatabaseError:
        found = {"database": "away", "migrations": "unknown"}
    ready = set(found.values()) == {"ok"}
    return JsonResponse({"ready": ready, **found}, status=200 if ready else 503)


@require_safe
@never_cache
def figures(request: HttpRequest) -> HttpResponse:
    """The figures for Prometheus: for who has METRICS_TOKEN, and for admins; there is nothing here for others."""
    if not (_has_token(request) or (request.user.is_active and request.user.is_superuser)):
        raise Http404
    try:
        return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)
    except DatabaseError:
        return HttpResponse("The database does not answer.\n", status=503, content_type="text/plain; charset=utf-8")


def _has_token(request: HttpRequest) -> bool:
    token, given = settings.METRICS_TOKEN, request.headers.get("Authorization", "")
    return bool(token) and constant_time_compare(given, f"Bearer {token}")


_MIGRATED: set[str] = set()


def _is_migrated() -> bool:
    """Whether no migration is pending. Migrations are never taken back while a process runs, so a yes is remembered."""
    if connection.alias not in _MIGRATED:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return False
        _MIGRATED.add(connection.alias)
    return True


def forget() -> None:
    """Look at the migrations anew; for tests."""
    _MIGRATED.clear()
