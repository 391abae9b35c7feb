"""The demo: everything in one folder, started together and gone together.

`beside_server` starts the job queue server and this command once more, with the server in its environment; what it
starts is the `Demo`, which sets the rest up, runs a worker, and shows what became of the samples.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Protocol

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.utils.module_loading import module_has_submodule

from handoffs import children, conf, dispatch, embedded, readiness, resting, supervisor
from handoffs.actions.contracts import contracts_of, store_versions
from handoffs.actions.drills import keep_drill
from handoffs.actions.records import open_records
from handoffs.children import Child
from handoffs.drill.cases import DrillReport
from handoffs.drill.report import as_data
from handoffs.drill.run import Drill, OnSeam
from handoffs.errors import HandoffsError
from handoffs.flows import Flow, declared
from handoffs.insight.standing import Standing, standing_of
from handoffs.models import sql
from handoffs.resting import OnLook
from handoffs.taking_in import opening_of

STOP_MARGIN = 30.0  # seconds beside the longest step
ACTOR = "intake:samples"
DRILL_SEED = 1


class DemoFailed(HandoffsError):
    """The demo could not go on."""

    code = "demo_failed"


class Sample(Protocol):
    """A document that an app brings along in its module `samples`, in a list named SAMPLES."""

    @property
    def file(self) -> str: ...
    @property
    def after(self) -> str:
        """The sample that has to be worked off before, if any."""

    def read(self) -> bytes: ...


class Interrupts:
    """Whether somebody asked to stop. What a signal raises is lost where Python can't raise, in a finalizer for one."""

    asked = False

    def check(self) -> None:
        """Raise the `KeyboardInterrupt` that may have been lost."""
        if self.asked:
            raise KeyboardInterrupt


@contextmanager
def interrupted_by_signals() -> Iterator[Interrupts]:
    """SIGTERM does what Ctrl-C does, and Ctrl-C does it even where a shell started this in the background."""
    interrupts = Interrupts()

    def interrupt(number: int, frame: object) -> None:
        interrupts.asked = True
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def beside_server(state_dir: Path, words: Sequence[str]) -> int:
    """Run this command again, beside a job queue server of its own or the one in REDIS_URL; the exit code.

    Raises:
        QueueServerAway: there is no server, and none can be started.
    """
    with embedded.queue_server(state_dir, given=os.environ.get("REDIS_URL")) as url:
        env = supervisor.environment(HANDOFFS_STATE_DIR=str(state_dir), REDIS_URL=url)
        child = children.start(supervisor.command("demo", *words), env=env)
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.ask_to_stop()  # it waits for the running step; a second Ctrl-C does not
            return child.wait()
        finally:
            child.stop(grace=0)


def set_up_site() -> dict[str, str]:
    """Bring database, static files and contract versions up to date; what was done, by part."""
    call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
    call_command("collectstatic", verbosity=0, interactive=False, skip_checks=True)
    versions = store_versions(contracts_of(declared().values()))
    stored = sum(version.created for version in versions)
    return {
        "database": _database_name(),
        "job queue": "a server of its own, on a private socket" if _is_embedded() else dispatch.server_name(),
        "static files": str(settings.STATIC_ROOT),
        "contracts": f"{len(versions)}, " + (f"{stored} in a new version" if stored else "all known"),
    }


def _database_name() -> str:
    at = settings.DATABASES["default"]
    kind = "SQLite" if "sqlite" in at["ENGINE"] else "PostgreSQL"
    where = at["NAME"] if kind == "SQLite" else f"{at['NAME']} on {at['HOST'] or 'this machine'}"
    return f"{kind}, {where}"


def _is_embedded() -> bool:
    return settings.REDIS_URL.startswith("unix://") and "handoffs-" in settings.REDIS_URL


def drill_flow(flow: Flow, on_seam: OnSeam) -> DrillReport | None:
    """Drill a flow that is not ready, so that its samples may start; None where it is ready already."""
    if readiness.is_ready(flow) or not flow.require_drill:
        return None
    began = sql.now()
    report = Drill(flow, DRILL_SEED, per_class=1).run(on_seam=on_seam)
    keep_drill(flow=flow, report=as_data(report), started_at=began, actor="system:demo")
    return report


# --- the samples -----------------------------------------------------------------------------------------------------


def samples() -> Iterator[tuple[Flow, list[Sample]]]:
    """The samples of every app that brings some, with the flow that takes them: the first one in its `flows`."""
    for config in apps.get_app_configs():
        if config.module and module_has_submodule(config.module, "samples"):
            found = getattr(import_module(f"{config.name}.samples"), "SAMPLES", ())
            flows = vars(import_module(f"{config.name}.flows")).values()
            flow = next((value for value in flows if isinstance(value, Flow)), None)
            if flow is not None and found:
                yield flow, list(found)


def waves(found: Iterable[Sample]) -> list[list[Sample]]:
    """The samples in groups, each of which has to be worked off before the next is taken in."""
    every = list(found)
    return [wave for wave in ([s for s in every if not s.after], [s for s in every if s.after]) if wave]


class Samples:
    """The samples as records: taken in and worked off, wave by wave."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.opened = 0
        self.moving: list[int] = []

    def take_in(self, on_look: OnLook, *, patience: float) -> None:
        """Open a record for each sample, and let the worker do its work, for `patience` seconds at most each time."""
        for flow, found in samples():
            for wave in waves(found):
                ids = self._open(flow, wave)
                self.moving += resting.wait_until_rested(ids, seconds=patience, on_look=on_look)

    def _open(self, flow: Flow, wave: Sequence[Sample]) -> list[int]:
        batch = conf.get("INTAKE_BATCH")
        for start in range(0, len(wave), batch):
            part = wave[start : start + batch]
            openings = [opening_of(flow, Path(sample.file), sample.read()) for sample in part]
            opened = open_records(flow=flow, openings=openings, actor=ACTOR)
            self.ids |= {sample.file: one.record_id for sample, one in zip(part, opened, strict=True)}
            self.opened += sum(one.created for one in opened)
        return [self.ids[sample.file] for sample in wave]

    def standings(self) -> list[tuple[str, Standing]]:
        """Where each stands, by file."""
        found = standing_of(self.ids.values())
        return [(file, found[record_id]) for file, record_id in self.ids.items()]


# --- the worker ------------------------------------------------------------------------------------------------------


class Worker:
    """A real worker for each job queue of the flows, in processes of their own that write to one log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        steps = [step for flow in declared().values() for step in flow.steps if step.by == "worker"]
        self.job_queues = list(dict.fromkeys(step.job_queue for step in steps))
        self._children: list[Child] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Workers that live as long as the block, and are given the time to end what they do."""
        try:
            with self.log.open("wb") as output:
                for name in self.job_queues:
                    words = supervisor.command("worker", "--queue", name)
                    self._children.append(children.start(words, env=supervisor.environment(), output=output))
            yield
        finally:
            for child in self._children:
                child.ask_to_stop()
            for child, name in zip(self._children, self.job_queues, strict=False):
                self._await_end(child, supervisor.longest_step(name) + STOP_MARGIN)

    def _await_end(self, child: Child, seconds: float) -> None:
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.stop(grace=0)

    def require_running(self) -> None:
        """Raises `DemoFailed`, with the end of the log, when a worker has ended."""
        if any(child.poll() is not None for child in self._children):
            last = self.log.read_text(errors="replace").splitlines()[-5:]
            raise DemoFailed("\n".join(["The worker ended:", *last, f"All of it is in {self.log}."]))
