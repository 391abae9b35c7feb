"""`python -m tests.agent_server`: the site under its real server, in a process that may be killed.

It speaks to the database of the test that starts it, knows the tests' flows, and tells its port in a line of its own.
"""

from __future__ import annotations

import http.client
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from handoffs import children
from handoffs.children import Child


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    import django

    django.setup()
    from handoffs import flows, serving
    from tests import sample_flows
    from tests.agents import CASE_FLOWS

    for flow in (sample_flows.orders, sample_flows.tickets, *CASE_FLOWS):
        flows.register(flow)
    server = serving.create("127.0.0.1", 0, threads=4)
    print(serving.port_of(server), flush=True)
    server.run()


@contextmanager
def running(tmp_path: Any, **environment: str) -> Iterator[tuple[Child, int]]:
    """(the server's process, its port), on the database of the running test."""
    from tests.workers import database_url, wait_for

    log = tmp_path / f"server-{len(list(tmp_path.iterdir()))}.log"
    env = os.environ | {"DATABASE_URL": database_url(), "SECRET_KEY": "x" * 50, "PYTHONUNBUFFERED": "1"} | environment
    with log.open("wb") as output:
        child = children.start([sys.executable, "-m", "tests.agent_server"], env=env, output=output)
    try:
        wait_for(lambda: child.poll() is not None or _port_in(log))
        assert child.poll() is None, log.read_text()
        yield child, _port_in(log)
    finally:
        child.stop(grace=0)


def _port_in(log: Path) -> int:
    """The port that the server told; 0 before that. Warnings may stand around it."""
    return next((int(line) for line in log.read_text().split("\n")[:-1] if line.isdecimal()), 0)


def post(port: int, path: str, raw: bytes, headers: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """(status, body, headers). Raises `ConnectionError` where the server died before it answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", f"/api/v1/{path}", raw, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


if __name__ == "__main__":
    main()
