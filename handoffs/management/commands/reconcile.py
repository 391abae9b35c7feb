"""`manage.py reconcile`: see `handoffs.reconcile`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from handoffs.management.plain import PlainCommand
from handoffs.reconcile import Round, reconcile
from handoffs.sender import Sender, tell_all
from handoffs.supervisor import Repairs, stop_signals

SENTENCES = {
    "expired": "leases that ran out were ended",
    "asked": "records were put before a person",
    "stranded": "records whose step is gone were escalated",
    "late": "steps have waited too long for a start",
    "rung": "bells were rung",
}


class Command(PlainCommand):
    """Repairs what crashes left behind."""

    help = (
        "Repairs what a crash, a flushed job queue server or a deploy left behind.\n"
        "Every worker does this as well; run it by itself where all steps are done by agents outside."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="do one round, say what it did, and end")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["once"]:
            self._say(reconcile())
            tell_all()
            return
        repairs, sender = Repairs(), Sender()
        with stop_signals() as stop:
            sender.start()
            while not stop.wait(repairs.pause(60.0)):
                repairs.when_due()
        sender.stop()
        repairs.end()

    def _say(self, done: Round) -> None:
        counts = asdict(done)
        said = [f"{counts[name]} {sentence}" for name, sentence in SENTENCES.items() if counts[name]]
        self.stdout.write("; ".join(said) + "." if said else "Nothing was to be repaired.")
        if done.server_away:
            self.stderr.write("The job queue server does not answer: ready work waits until it does.")
