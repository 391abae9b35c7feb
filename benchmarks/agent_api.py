"""Posting results: this API beside a minimal Django view, on one server and one database, in one run.

    python -m tests.servers run -- python benchmarks/agent_api.py        PostgreSQL
    python benchmarks/agent_api.py                                       SQLite, in a folder of its own

The minimal view validates the same body with pydantic and does one INSERT: no token, no history, no state, no receipt.
Both are posted by the same threads over HTTP, in turns, so that what else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

BODY = {
    "confidence": 0.97,
    "output": {"number": "A-1", "purchase_order": "PO-7", "total": 1250, "note": "x" * 400, "lines": list(range(40))},
}


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


def serve(view: Any) -> tuple[Any, int]:
    from django.core.wsgi import get_wsgi_application
    from django.db import connection
    from django.urls import path
    from waitress.server import create_server

    from reviewqueue import urls

    key = "BIGSERIAL" if connection.vendor == "postgresql" else "INTEGER"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE bench_result (id {key} PRIMARY KEY, output TEXT, confidence REAL)")
    urls.urlpatterns.insert(0, path("bench/", view))
    server = create_server(get_wsgi_application(), host="127.0.0.1", port=0, threads=8, ident="bench")
    threading.Thread(target=server.run, daemon=True).start()
    return server, int(server.effective_port)


def opened(flow: Any, count: int) -> list[int]:
    from handoffs.actions.records import Opening, open_records

    found = []
    for start in range(0, count, 500):
        openings = [Opening(b'{"text": "x"}') for _ in range(min(500, count - start))]
        found += [o.record_id for o in open_records(flow=flow, openings=openings, actor="bench")]
    return found


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=500, help="of each, in each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=4)
    given = parser.parse_args()
    set_up()
    flow, output = declare()
    from handoffs.actions.agents import create_token

    made = create_token(name="bench", scopes_text="*: work", by="system:bench", requests_per_minute=100_000_000)
    _, port = serve(minimal_view(output))
    bearer = {"Authorization": f"Bearer {made.text}"}
    seconds: dict[str, list[float]] = {"minimal": [], "handoffs": []}
    each: dict[str, list[float]] = {"minimal": [], "handoffs": []}
    post_all(port, ["/bench/"] * 50, {}, given.threads)
    for _ in range(given.turns):
        ids = opened(flow, given.requests)
        jobs = {
            "minimal": (["/bench/"] * given.requests, {}),
            "handoffs": ([f"/api/v1/records/{pk}/attempts/1/result" for pk in ids], bearer),
        }
        for name, (paths, headers) in jobs.items():
            took, times = post_all(port, paths, headers, given.threads)
            seconds[name].append(given.requests / took)
            each[name] += times
    for name in seconds:
        p99 = statistics.quantiles(each[name], n=100)[98] * 1000
        print(f"{name:<9} {statistics.median(seconds[name]):8.0f} requests/s   p99 {p99:7.1f} ms")
    ratio = statistics.median(seconds["handoffs"]) / statistics.median(seconds["minimal"])
    print(f"ratio     {ratio:8.2f}            (at least 0.50 is wanted)")


if __name__ == "__main__":
    main()
