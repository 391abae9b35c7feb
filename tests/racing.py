"""Races between threads, each with a database connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection

from handoffs.errors import HandoffsError

PATIENCE = 60.0  # seconds; a circle of waiting transactions must not stop the suite for ever


def race(contenders: Sequence[Callable[[], Any]]) -> list[Any]:
    """Let all start at the same moment; in their order, what each gave back or how it was refused.

    Whatever one raises that is not a refusal of ours (a deadlock, "database is locked") is raised here.
    """
    line = threading.Barrier(len(contenders))
    results: list[Any] = [None] * len(contenders)
    crashes: list[BaseException] = []

    def run(place: int) -> None:
        try:
            connection.ensure_connection()
            line.wait(PATIENCE)
            results[place] = contenders[place]()
        except HandoffsError as refusal:
            results[place] = refusal
        except BaseException as error:
            crashes.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,), daemon=True) for place in range(len(contenders))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    if crashes:
        raise crashes[0]
    return results


def winners(results: Sequence[Any]) -> list[int]:
    """The places of those who were not refused."""
    return [place for place, result in enumerate(results) if not isinstance(result, HandoffsError)]


def refusals(results: Sequence[Any]) -> set[type[HandoffsError]]:
    return {type(result) for result in results if isinstance(result, HandoffsError)}
