"""Bells: RQ jobs that say “there is ready work on this job queue”, and carry nothing else that matters.

The row is the truth; a bell that is lost costs latency until the reconciler rings again, one too many costs nothing.
Only this module knows RQ.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

import django_rq
from django.conf import settings
from django.db import connections, transaction
from redis.exceptions import RedisError
from rq import Worker
from rq.exceptions import InvalidJobOperation
from rq.job import Job

from handoffs import children, conf
from handoffs.crashpoints import reach
from handoffs.errors import QueueServerAway

logger = logging.getLogger(__name__)

SERVE = "handoffs.jobs.serve"
DRILL = "handoffs.drill.asked.drill"
ALLOWED_FUNCTIONS = frozenset({SERVE, DRILL})
DRILL_TIMEOUT = 15 * 60  # seconds
FAILURE_TTL = 24 * 60 * 60  # seconds; RQ's default is a year


class Bell(Job):
    """A job that runs nothing but our own functions, whatever somebody wrote into Redis."""

    @property
    def func(self) -> Callable[..., Any]:
        if self.func_name not in ALLOWED_FUNCTIONS:
            raise PermissionError(f"job {self.id} asks for a function that workers here do not run")
        found: Callable[..., Any] = super().func
        return found

    def delete(self, *args: Any, **kwargs: Any) -> None:
        """A bell that is gone already, with a wiped server or done by another worker too, was no failure."""
        with suppress(InvalidJobOperation):
            super().delete(*args, **kwargs)


class Placed(Protocol):
    """Something that knows on which job queue its record is ready, if it is."""

    @property
    def ready_on(self) -> str: ...


def ring_for(placed: Iterable[Placed]) -> None:
    """After the commit, ring for every job queue on which one of these became ready."""
    for name in sorted({p.ready_on for p in placed} - {""}):
        ring_after_commit(name)


def ring_after_commit(job_queue: str) -> None:
    transaction.on_commit(lambda: ring(job_queue), robust=True)


def ring(job_queue: str) -> bool:
    """Ring unless a bell already waits; False if the job queue server is away."""
    if job_queue not in settings.RQ_QUEUES or not settings.REDIS_URL:
        return False
    reach("before_bell")
    try:
        queue = django_rq.get_queue(job_queue)
        if queue.connection.llen(queue.key) == 0:
            queue.enqueue_call(
                SERVE,
                args=(job_queue,),
                job_id=f"bell-{job_queue}-{uuid.uuid4().hex}",
                result_ttl=0,
                failure_ttl=FAILURE_TTL,
            )
        return True
    except RedisError as error:
        logger.warning("bell for %s not rung, the reconciler will: %s", job_queue, type(error).__name__)
        return False


def first_job_queue() -> str:
    """The job queue whose bells also call for what belongs to no step, such as batches of decisions."""
    return next(iter(settings.RQ_QUEUES))


def ask_for_drill(job_queue: str, flow: str, by: str) -> bool:
    """Let a worker of the job queue drill a flow, unless that waits already; False if the server is away."""
    if job_queue not in settings.RQ_QUEUES or not settings.REDIS_URL:
        return False
    try:
        queue = django_rq.get_queue(job_queue)
        if not any(job_id.startswith(f"drill-{flow}-") for job_id in queue.job_ids):
            queue.enqueue_call(
                DRILL,
                args=(flow, by),
                job_id=f"drill-{flow}-{uuid.uuid4().hex}",
                timeout=DRILL_TIMEOUT,
                result_ttl=0,
                failure_ttl=FAILURE_TTL,
            )
        return True
    except RedisError as error:
        logger.warning("no drill of %s asked for: %s", flow, type(error).__name__)
        return False


def has_bell(job_queue: str) -> bool:
    """Whether a bell waits in the job queue's list; RQ's other registries are not to be trusted.

    Raises:
        QueueServerAway: the server can't be reached.
    """
    try:
        queue = django_rq.get_queue(job_queue)
        return bool(queue.connection.llen(queue.key))
    except RedisError as error:
        raise QueueServerAway(f"The job queue server does not answer ({type(error).__name__}).") from error


def answers(job_queue: str) -> bool:
    """Whether the job queue server answers now."""
    try:
        return bool(django_rq.get_queue(job_queue).connection.ping())
    except RedisError:
        return False


def server_name() -> str:
    """The job queue server's address, without the password that may stand in it."""
    return conf.masked(settings.REDIS_URL)


# --- the listening side ----------------------------------------------------------------------------------------------

_listener = 0  # the process whose forks do what the bells ask for


def listen(job_queue: str) -> None:
    """Do what the bells of one job queue ask for, each in a fork, until asked to stop.

    Raises:
        QueueServerAway: the server went away.
    """
    global _listener
    _listener = os.getpid()
    connections.close_all()  # a fork must not inherit a database connection
    logging.getLogger("rq.worker").addFilter(_in_one_line)
    try:
        queue = django_rq.get_queue(job_queue)
        worker = Worker([queue], connection=queue.connection, job_class=Bell, serializer=queue.serializer)
        worker.work(logging_level="WARNING")
    except RedisError as error:
        raise QueueServerAway(f"The job queue server went away ({type(error).__name__}).") from error


def end_with_listener() -> None:
    """Let this process, if it is a fork of a listening one, end together with it: RQ itself leaves orphans."""
    if _listener and os.getpid() != _listener:
        children.end_with(_listener)


def _in_one_line(record: logging.LogRecord) -> bool:
    """RQ logs a traceback when the server goes away, where one line says it as well."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, RedisError):
        record.msg, record.args = "The job queue server went away (%s).", (type(error).__name__,)
        record.exc_info = record.exc_text = None
    return True
