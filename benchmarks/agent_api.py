"""Posting results: this API beside a minimal Django view, on one server and one database, in one run.

    python -m tests.servers run --durable -- python benchmarks/agent_api.py        PostgreSQL
    python benchmarks/agent_api.py                                                 SQLite, in a folder of its own

The minimal view validates the same body with pydantic and does one INSERT: no token, no history, no state, no receipt.
One server process, with the site's own settings and middleware, answers both; the threads that post are in another one.
They post in short turns, one kind after the other, so that what else the machine does falls on both. The processor
seconds are those of the server's process.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

BODY = {
    "confidence": 0.97,
    "output": {"number": "A-1", "purchase_order": "PO-7", "total": 1250, "note": "x" * 400, "lines": list(range(40))},
}
SERVED = "serve"  # the word that makes this script the server


# ---------------------------------------------------------------- the server's process


def set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    os.environ.setdefault("HANDOFFS_STATE_DIR", tempfile.mkdtemp(prefix="handoffs-bench-"))
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.makedirs(os.path.join(os.environ["HANDOFFS_STATE_DIR"], "static"), exist_ok=True)
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0, skip_checks=True)


def declare() -> Any:
    from django.contrib.auth import get_user_model

    from handoffs import Contract, Flow, Step
    from handoffs.actions.queues import create_queue
    from handoffs.flows import register

    class Given(Contract):
        text: str

    class Output(Contract):
        number: str
        purchase_order: str | None
        total: int
        note: str
        lines: list[int]

    flow = Flow(
        "bench",
        intake=Given,
        escalate_to="bench",
        steps=[Step("extract", receives=Given, returns=Output, by="agent", confidence=0.9)],
        require_drill=False,
    )
    create_queue(slug="bench", owner=get_user_model().objects.create_user("bench"))
    return register(flow), Output


def minimal_view(output: Any) -> Any:
    """Validate with pydantic, do one INSERT, answer."""
    from django.db import connection
    from django.http import HttpRequest, JsonResponse
    from django.views.decorators.csrf import csrf_exempt
    from pydantic import BaseModel, ConfigDict, ValidationError

    class Posted(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        output: output  # type: ignore[valid-type]
        confidence: float

    key = "BIGSERIAL" if connection.vendor == "postgresql" else "INTEGER"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bench_result (id {key} PRIMARY KEY, output TEXT, confidence REAL)")

    @csrf_exempt
    def view(request: HttpRequest) -> JsonResponse:
        try:
            posted = Posted.model_validate_json(request.body)
        except ValidationError as error:
            return JsonResponse({"errors": json.loads(error.json())}, status=422)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO bench_result (output, confidence) VALUES (%s, %s) RETURNING id",
                [posted.output.model_dump_json(), posted.confidence],
            )
            return JsonResponse({"id": cursor.fetchone()[0]})

    return view


def opened(flow: Any, count: int) -> list[int]:
    from handoffs.actions.records import Opening, open_records

    found = []
    for start in range(0, count, 500):
        openings = [Opening(b'{"text": "x"}') for _ in range(min(500, count - start))]
        found += [o.record_id for o in open_records(flow=flow, openings=openings, actor="bench")]
    return found


def serve() -> None:
    """Tell the port and a token; then, for each line that asks for records, open as many and tell their ids."""
    set_up()
    flow, output = declare()
    from django.urls import path

    from handoffs import serving
    from handoffs.actions.agents import create_token
    from reviewqueue import urls

    urls.urlpatterns.insert(0, path("bench/", minimal_view(output)))
    made = create_token(name="bench", scopes_text="*: work", by="system:bench", requests_per_minute=100_000_000)
    server = serving.create("127.0.0.1", 0, threads=8)
    threading.Thread(target=server.run, daemon=True).start()
    print(json.dumps({"port": serving.port_of(server), "token": made.text}), flush=True)
    for line in sys.stdin:
        print(json.dumps(opened(flow, int(line))), flush=True)


# ---------------------------------------------------------------- the process that posts


@dataclass
class Measured:
    """What one of the two was measured at: requests a second and processor ms of each turn, and each request's s."""

    rates: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def told(self, name: str) -> str:
        p99 = statistics.quantiles(self.took, n=100)[98] * 1000
        rate, processor = statistics.median(self.rates), statistics.median(self.processor)
        return f"{name:<9} {rate:8.0f} requests/s   p99 {p99:7.1f} ms   processor {processor:6.2f} ms each"


def post_all(port: int, paths: list[str], headers: dict[str, str], threads: int) -> tuple[float, list[float]]:
    """(seconds altogether, seconds of each)."""
    raw, took, lock, left = json.dumps(BODY).encode(), [], threading.Lock(), iter(paths)

    def run() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                path = next(left, None)
            if path is None:
                return connection.close()
            began = time.perf_counter()
            connection.request("POST", path, raw, {"Content-Type": "application/json", **headers})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status} {text[:500]!r}")
            took.append(time.perf_counter() - began)

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run) for _ in range(threads)]:
            done.result()
    return time.perf_counter() - began, took


def processor_seconds(pid: int) -> float:
    """Of a process until now, in user and system mode."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server: Any, requests: int, turns: int, threads: int) -> dict[str, Measured]:
    told = json.loads(server.stdout.readline())
    headers = {"handoffs": {"Authorization": f"Bearer {told['token']}"}, "minimal": {}}
    found = {"minimal": Measured(), "handoffs": Measured()}
    for turn in range(turns + 1):
        server.stdin.write(f"{requests}\n")
        server.stdin.flush()
        ids = json.loads(server.stdout.readline())
        paths = {
            "minimal": ["/bench/"] * requests,
            "handoffs": [f"/api/v1/records/{pk}/attempts/1/result" for pk in ids],
        }
        for name, measured in found.items():
            before = processor_seconds(server.pid)
            seconds, took = post_all(told["port"], paths[name], headers[name], threads)
            if turn:  # the first one warms both up
                measured.rates.append(requests / seconds)
                measured.processor.append((processor_seconds(server.pid) - before) / requests * 1000)
                measured.took += took
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=200, help="of each, in each turn")
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--threads", type=int, default=8, help="that post at once; the server has 8")
    given = parser.parse_args()
    command = [sys.executable, __file__, SERVED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            found = measure(server, given.requests, given.turns, given.threads)
        finally:
            server.terminate()
    for name, measured in found.items():
        print(measured.told(name))
    handoffs, minimal = found["handoffs"], found["minimal"]
    ratio = statistics.median(h / m for h, m in zip(handoffs.rates, minimal.rates, strict=True))
    processor = statistics.median(m / h for h, m in zip(handoffs.processor, minimal.processor, strict=True))
    print(f"ratio     {ratio:8.2f} of the requests/s, {processor:.2f} by processor (at least 0.50 is wanted)")


if __name__ == "__main__":
    serve() if sys.argv[1:] == [SERVED] else main()
