"""Real workers in processes of their own, beside the test's database."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from handoffs import children, supervisor
from handoffs.children import Child

PATIENCE = 90.0  # seconds; generous, for a busy machine


def database_url() -> str:
    """The database of this test, for another process."""
    at = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{at['NAME']}"
    word = ":" + quote(str(at["PASSWORD"])) if at["PASSWORD"] else ""
    return f"postgres://{at['USER']}{word}@{at['HOST']}:{at['PORT']}/{at['NAME']}"


def environment(redis_url: str, **changes: str) -> dict[str, str]:
    here = {
        "DATABASE_URL": database_url(),
        "REDIS_URL": redis_url,
        "SECRET_KEY": "only-for-tests",
        "HANDOFFS_FLOWS": "tests.worker_flows",
        "DJANGO_SETTINGS_MODULE": "reviewqueue.settings",
    }
    return supervisor.environment(**here | changes)


def start_worker(redis_url: str, log: Path, *words: str, **env: str) -> Child:
    with log.open("ab") as output:
        return children.start(supervisor.command("worker", *words), env=environment(redis_url, **env), output=output)


def listeners(worker: Child) -> list[int]:
    """The processes of a worker that listen for bells."""
    return children.children_of(worker.pid)


def forks(worker: Child) -> list[int]:
    """The processes of a worker that run the steps now."""
    return [fork for listener in listeners(worker) for fork in children.children_of(listener)]


def wait_for(condition: Callable[[], object], *, seconds: float = PATIENCE) -> None:
    """Returns when the condition holds; fails when it does not in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
