"""Steps that wait, such as calls of a model: how near one worker process comes to what its concurrency allows.

    python -m tests.servers run -- python benchmarks/waiting.py [--records 1000] [--seconds 1.0]

Prints records per second, the share of the ideal (concurrency / seconds of one step) and the process's peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from typing import Any

CONCURRENCY = 100
FEW = 200  # records opened at once


def set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ["HANDOFFS_APPS"] = ""
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from handoffs.models import Queue

    call_command("migrate", verbosity=0, skip_checks=True)
    owner, _ = get_user_model().objects.get_or_create(username="owner")
    Queue.objects.get_or_create(slug="bench", defaults={"title": "Bench", "owner": owner})


def declare(seconds: float) -> Any:
    """A flow of one step that sleeps as long as a model takes to answer."""
    from handoffs import Contract, Flow, Step
    from handoffs.flows import StepContext, register

    class Prompt(Contract):
        number: int

    def answer(given: Prompt, context: StepContext) -> Prompt:
        time.sleep(seconds)
        return given

    step = Step("answer", receives=Prompt, returns=Prompt, run=answer, concurrency=CONCURRENCY)
    return register(Flow("bench_waiting", intake=Prompt, escalate_to="bench", steps=[step]))


def open_all(flow: Any, count: int) -> None:
    from handoffs.actions.records import Opening, open_records

    run = time.time_ns()
    for first in range(0, count, FEW):
        numbers = range(first, min(first + FEW, count))
        openings = [Opening(json.dumps({"number": i}).encode(), f"{run}-{i}") for i in numbers]
        open_records(flow=flow, openings=openings, actor="benchmark")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0)
    wanted = parser.parse_args()
    set_up()
    from handoffs import jobs

    open_all(declare(wanted.seconds), wanted.records)
    began, cpu = time.perf_counter(), time.process_time()
    ended = jobs.drain("default", seconds=3600)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    share = ended / seconds / (CONCURRENCY / wanted.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{ended} records in {seconds:.1f} s, {ended / seconds:.1f}/s: {share:.0%} of the ideal")
    print(f"{1000 * cpu / ended:.1f} ms of CPU each; {peak:.0f} MB at most")


if __name__ == "__main__":
    main()
