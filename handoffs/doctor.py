"""Is everything there that has to be? Each finding says what was looked at, whether it is well, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from handoffs import asks, checks, dispatch, embedded
from handoffs.flows import declared
from handoffs.insight.recoverability import MOST, lost_records, open_records
from handoffs.models import Heartbeat, Queue, sql
from handoffs.readiness import held_flows, why_not_all

ALIVE = timedelta(seconds=60)  # since the last heartbeat; there is one each 15 s
SHOWN = 5  # single things in one finding


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's: `todo` is empty where all is well; `details` are single things, the first few."""

    name: str
    is_well: bool
    sentence: str
    todo: str = ""
    details: tuple[str, ...] = ()


def examine() -> list[Finding]:
    """Look at everything. Without a database, what lies in it is not looked at."""
    found = [database()]
    if found[0].is_well:
        found.append(migrations())
    found.append(job_queue_server())
    found.append(flows())
    if all(finding.is_well for finding in found[:2]):
        found += [*workers(), reconciler(), queues(), owners(), readiness(), recoverability()]
    return found


def database() -> Finding:
    at = connection.settings_dict
    where = f"SQLite, {at['NAME']}" if connection.vendor == "sqlite" else f"PostgreSQL, {at['NAME']} on {at['HOST']}"
    try:
        sql.now()
    except DatabaseError as error:
        said = str(error).strip().partition("\n")[0]
        return Finding("database", False, f"{where} does not answer: {said}", "Start it, or correct DATABASE_URL.")
    return Finding("database", True, f"{where} answers.")


def pending_migrations() -> list[str]:
    """The migrations that are not applied, as `app.name`."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def migrations() -> Finding:
    pending = pending_migrations()
    if pending:
        said = f"{len(pending)} are not applied."
        return Finding("migrations", False, said, "Run manage.py migrate.", _first(pending))
    return Finding("migrations", True, "All are applied.")


def job_queue_server() -> Finding:
    name = "job queue server"
    if settings.REDIS_URL:
        if dispatch.answers(next(iter(settings.RQ_QUEUES))):
            return Finding(name, True, f"{dispatch.server_name()} answers.")
        todo = "Start it, or correct REDIS_URL. Until then, ready work waits."
        return Finding(name, False, f"{dispatch.server_name()} does not answer.", todo)
    if embedded.is_running(Path(settings.STATE_DIR)):
        return Finding(name, True, "The demo's own server answers.")
    return Finding(name, False, "REDIS_URL is not set.", "Set it to a Redis or Valkey server, or run manage.py demo.")


def _alive(kind: str, job_queue: str | None = None) -> int:
    seen = Heartbeat.objects.filter(kind=kind, seen_at__gte=sql.now() - ALIVE)
    return seen.filter(job_queue=job_queue).count() if job_queue is not None else seen.count()


def workers() -> Iterator[Finding]:
    """One finding for each job queue that a step of a worker names."""
    steps = [step for flow in declared().values() for step in flow.steps if step.by == "worker"]
    for job_queue in dict.fromkeys(step.job_queue for step in steps):
        name = f"worker of {job_queue}"
        if alive := _alive("worker", job_queue):
            yield Finding(name, True, f"{alive} alive.")
        else:
            todo = f"Start one: manage.py worker --queue {job_queue}"
            yield Finding(name, False, "None was seen in the last minute.", todo)


def reconciler() -> Finding:
    if alive := _alive("reconciler"):
        return Finding("reconciler", True, f"{alive} alive.")
    todo = "Every worker is one; without workers, run manage.py reconcile."
    return Finding("reconciler", False, "None was seen in the last minute.", todo)


def flows() -> Finding:
    names = sorted(declared())
    if names:
        return Finding("flows", True, f"{len(names)} declared: {', '.join(names)}.")
    todo = "Name an app with a module flows in HANDOFFS_APPS, or a module in HANDOFFS_FLOWS."
    return Finding("flows", False, "None is declared.", todo)


def queues() -> Finding:
    """Whether there is a queue wherever a record may stop."""
    named = checks.queues_in_use()
    there = set(Queue.objects.values_list("slug", flat=True))
    missing = [f"{slug} (needed by {', '.join(places)})" for slug, places in named.items() if slug not in there]
    if missing:
        todo = "Create them in the admin, each with an owner."
        return Finding("queues", False, f"{len(missing)} that flows name do not exist.", todo, _first(missing))
    return Finding("queues", True, f"All {len(named)} that flows name exist.")


def owners() -> Finding:
    all_queues = Queue.objects.count()
    away = Queue.objects.filter(owner__is_active=False).select_related("owner").order_by("slug")
    gone = [f"{queue.slug}: {queue.owner.get_username()}" for queue in away]
    if gone:
        said = f"{len(gone)} of {all_queues} queues belong to somebody who can't log in."
        return Finding("owners", False, said, "Give them another owner in the admin.", _first(gone))
    return Finding("owners", True, f"Every queue ({all_queues}) has an active owner.")


def readiness() -> Finding:
    """Whether each flow's last drill was green; that some are not is only wrong where their starts are held."""
    flows_here = [flow for flow in declared().values() if flow.name != asks.FLOW]
    asked = why_not_all([flow for flow in flows_here if flow.require_drill])
    reasons = [why for why in asked.values() if why]
    said = f"{len(asked) - len(reasons)} of {len(asked)} flows are ready."
    if free := [flow.name for flow in flows_here if not flow.require_drill]:
        said += f" Starts without a drill, as its code says: {', '.join(free)}."
    held = sorted(held_flows())
    if held:
        return Finding("readiness", False, said, f"Starts are held: drill {', '.join(held)}.", _first(reasons))
    return Finding("readiness", True, said, details=_first(reasons))


def recoverability() -> Finding:
    """Whether each open record is ready, running under a lease, or escalated to somebody."""
    lost, among = lost_records(), open_records()
    if not lost:
        return Finding("recoverability", True, f"{among:,} open records, each ready, running or with a person.")
    many = f"{len(lost)} or more" if len(lost) >= MOST else str(len(lost))
    details = [f"record {r.record_id} ({r.flow}, {r.step}): {r.why}" for r in lost]
    todo = "Mend what is said of each; a record's page tells its history."
    said = f"{many} of {among:,} open records are with nobody."
    return Finding("recoverability", False, said, todo, _first(details))


def _first(things: Sequence[str]) -> tuple[str, ...]:
    rest = len(things) - SHOWN
    return (*things[:SHOWN], *([f"and {rest} more"] if rest > 0 else []))
