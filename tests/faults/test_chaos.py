"""500 records with workers killed in mid-step and the job queue server wiped: they end as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from contextlib import suppress

import pytest
import redis

from handoffs.actions.records import Opening, open_records
from handoffs.contracts import dump
from handoffs.models import Escalation, Record, Transition
from handoffs.models.history import verify
from tests import servers, workers
from tests.faults.flows import Parcel, Shipped, ToLabel, Weighed, label, parcels
from tests.soundness import assert_sound
from tests.workers import forks, listeners, start_worker

pytestmark = [pytest.mark.faults, pytest.mark.redis, pytest.mark.django_db(transaction=True)]

COUNT, DEADLY = 500, 250
PATIENCE = 600.0  # seconds, on a machine that does other things as well


class Still:
    """The context of an undisturbed run, for steps that look at nothing but their input."""

    step, attempt, key = "label", 1, "1:ship"


def is_broken(number: int) -> bool:
    return number % 20 == 7


def body(number: int) -> dict[str, object]:
    return {"number": number, "broken": is_broken(number), "deadly": number == DEADLY, "seconds": 0.02}


def undisturbed(number: int) -> tuple[str, str, str]:
    """(status, step, body) with which a record ends when nothing is killed but what kills itself."""
    sent = Parcel(**body(number))
    weighed = Weighed(**sent.model_dump(), grams=None if is_broken(number) else 100 + number)
    if is_broken(number) or number == DEADLY:
        return "escalated", "label", dump(weighed)
    labelled = label(ToLabel(**weighed.model_dump()), Still)
    return "completed", "ship", dump(Shipped(number=number, label=labelled.label, tracking=f"T-ship-{number}"))


class Killer:
    """Kills a process of the worker now and then: the one that runs a step, the one that listens, or both."""

    def __init__(self, seed: int, worker: object) -> None:
        self.random, self.worker, self.killed = random.Random(seed), worker, 0

    def strike(self) -> None:
        running, listening = forks(self.worker), listeners(self.worker)
        chosen = self.random.choice([running[:1], listening[:1], running[:1] + listening[:1]])
        for pid in chosen:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed += 1


def open_all() -> list[int]:
    openings = [Opening(json.dumps(body(n)).encode(), f"P-{n}") for n in range(COUNT)]
    return [one.record_id for one in open_records(flow=parcels, openings=openings, actor="agent:test")]


def at_rest() -> bool:
    return not Record.objects.filter(status__in=["ready", "running"]).exists()


def run_with_kills(server, killer: Killer, kills: int) -> None:
    until = time.monotonic() + PATIENCE
    pause = 0.0
    while not at_rest():
        assert time.monotonic() < until, f"{Record.objects.filter(status__in=['ready', 'running']).count()} still wait"
        if killer.killed < kills and time.monotonic() > pause:
            killer.strike()
            if killer.killed in {kills // 3, 2 * kills // 3}:
                redis.Redis.from_url(server.url).flushall()
            pause = time.monotonic() + killer.random.uniform(0.3, 1.5)
        time.sleep(0.05)


def test_500_records_end_as_in_an_undisturbed_run(parcel_queue, tmp_path):
    seed = int(os.environ.get("SEED") or time.time())
    print("seed", seed)
    ids = open_all()
    env = {"HANDOFFS_FLOWS": "tests.faults.flows", "HANDOFFS_PERIOD": "0.5", "HANDOFFS_BATCH": "20"}
    with (
        servers.redis() as server,
        start_worker(server.url, tmp_path / "worker.log", "--processes", "2", **env) as worker,
    ):
        workers.wait_for(lambda: Record.objects.filter(status="running").exists())
        killer = Killer(seed, worker)
        run_with_kills(server, killer, kills=10)
    assert_sound()
    ended = {r.pk: (r.status, r.step, r.payload) for r in Record.objects.all()}
    assert ended == {pk: undisturbed(number) for number, pk in enumerate(ids)}
    assert Escalation.objects.unresolved().count() == 26
    deadly = ids[DEADLY]
    lost = Transition.objects.filter(code="lease_lost", event__in=["retry", "escalate"])
    assert lost.filter(record=deadly, step="label").count() == 3, "the deadly record uses up its own tries, alone"
    others = lost.exclude(record=deadly)
    assert not others.filter(event="escalate").exists()
    assert others.count() <= killer.killed, "no try is lost but by a record that was claimed alone when it was struck"
    assert [fault for record in Record.objects.all() for fault in verify(record)] == []
