"""Requests that may be repeated: a key's row is written in the same commit as what the request did."""

from __future__ import annotations

from datetime import timedelta

from django.db import OperationalError, connection

from handoffs import conf
from handoffs.errors import KeyRunning
from handoffs.models import AgentToken, IdempotencyKey, sql


def take_key(*, token: AgentToken, key: str, request: str) -> tuple[IdempotencyKey, bool]:
    """(row, whether it is new), within the caller's transaction. Waits a while for a first request to be answered.

    Raises:
        KeyRunning: the first request with this key is still being answered.
    """
    values = [[token.pk, key, request, 0, "{}", "", sql.now(), 0]]
    columns = ["token_id", "key", "request", "status", "headers", "body", "answered_at", "replayed"]
    try:
        _wait_at_most(conf.get("LOCK_WAIT"))
        made = sql.insert_returning(IdempotencyKey, columns, values, "key", "token_id, key")
        _wait_at_most(0)
    except OperationalError as error:
        if not is_lock_timeout(error):
            raise
        raise KeyRunning from error
    row = IdempotencyKey.objects.get(token=token, key=key)
    return row, bool(made)


def _wait_at_most(seconds: float) -> None:
    """For a lock, in this transaction; 0 is without end. SQLite has one lock, and its own timeout."""
    if sql.is_postgres():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{int(seconds * 1000)}ms"])


def is_lock_timeout(error: OperationalError) -> bool:
    """Whether somebody else held a lock for too long; everything else means that the database is away."""
    return getattr(error.__cause__, "sqlstate", "") == "55P03" or "locked" in str(error)


def store_answer(*, row: IdempotencyKey, status: int, headers: str, body: str) -> None:
    """Keep what the request was answered."""
    IdempotencyKey.objects.filter(pk=row.pk).update(status=status, headers=headers, body=body)


def count_replay(row: IdempotencyKey) -> None:
    IdempotencyKey.objects.filter(pk=row.pk).update(replayed=row.replayed + 1)


def forget_old_keys() -> int:
    """Drop the answers that need not be kept any longer; how many."""
    old = sql.now() - timedelta(days=conf.get("KEY_DAYS"))
    return IdempotencyKey.objects.filter(answered_at__lt=old).delete()[0]
