"""`manage.py worker`: see `handoffs.supervisor`."""

from __future__ import annotations

import argparse
import logging
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from handoffs import dispatch
from handoffs.management.plain import PlainCommand
from handoffs.supervisor import Supervisor

logger = logging.getLogger(__name__)


class Command(PlainCommand):
    """Runs a worker."""

    help = (
        "Works off ready records: runs the code of the steps, and repairs what crashes left behind.\n"
        "Runs until Ctrl-C or SIGTERM, then lets the running steps end and hands back the rest."
    )
    ending = (
        "One worker serves one job queue; start as many as you need, on as many machines.\n"
        "The job queue server may go away and come back, and so may the database: nothing is lost."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--queue",
            action="append",
            metavar="NAME",
            help="the job queue to serve (default)",
        )
        parser.add_argument("--processes", type=int, default=1, metavar="N", help="records worked on at once (1)")
        parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        job_queue = _one_of_ours(options["queue"] or ["default"])
        if options["child"]:
            dispatch.listen(job_queue)
            return
        self.require_sound("handoffs")
        if options["processes"] < 1:
            raise CommandError("--processes is a number from 1.")
        logger.info("Serving the job queue %s of %s. Ctrl-C stops.", job_queue, dispatch.server_name())
        Supervisor(job_queue, options["processes"]).run()
        logger.info("Stopped.")


def _one_of_ours(names: list[str]) -> str:
    if not settings.REDIS_URL:
        raise CommandError(
            "REDIS_URL is not set. It names the job queue server, like redis://127.0.0.1:6379/0. "
            "(manage.py demo starts a server and a worker of its own.)"
        )
    if len(names) > 1:
        raise CommandError("One worker serves one job queue: with more, RQ may lose a bell. Start a worker for each.")
    if names[0] not in settings.RQ_QUEUES:
        known = ", ".join(settings.RQ_QUEUES)
        raise CommandError(f"There is no job queue {names[0]!r}. HANDOFFS_JOB_QUEUES names: {known}.")
    return names[0]
