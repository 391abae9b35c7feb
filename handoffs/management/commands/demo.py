"""`manage.py demo`: see `handoffs.demo`."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from rich.text import Text

from handoffs import serving, terminal
from handoffs.demo import Samples, Worker, beside_server, drill_flow, interrupted_by_signals, samples, set_up_site
from handoffs.demo_people import Login, logins, set_up_people, set_up_queues
from handoffs.drill.cases import Verdict
from handoffs.drill.report import WORDS
from handoffs.flows import Flow
from handoffs.management.plain import PlainCommand

PATIENCE = 240.0  # seconds; what a killed demo left running is taken up when its lease runs out
PORTS_TRIED = 50


class Command(PlainCommand):
    """Sets everything up in one folder, and shows it."""

    help = (
        "Sets up a whole installation in one folder, takes sample documents in, lets a real worker work them off,\n"
        "shows what became of each, and serves the site on 127.0.0.1 until Ctrl-C. Run again, it goes on with what is\n"
        "there. DATABASE_URL and REDIS_URL make it use servers of yours."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="end after the table of what became of each sample")
        parser.add_argument("--port", type=int, default=8000, metavar="N", help="(8000, or the next one that is free)")
        parser.add_argument("--state-dir", type=Path, metavar="FOLDER", help="where everything is kept (.handoffs)")
        parser.add_argument("--new-passwords", action="store_true", help="give the demo's people new passwords")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = (options["state_dir"] or settings.STATE_DIR).resolve()
        with interrupted_by_signals() as self.interrupts:
            if wanted == settings.STATE_DIR and settings.REDIS_URL:
                self._show(options)
            else:
                self._again_beside_server(wanted, options)

    def _again_beside_server(self, state_dir: Path, options: dict[str, Any]) -> None:
        words = ["--port", str(options["port"])]
        words += [f"--{name.replace('_', '-')}" for name in ("once", "new_passwords") if options[name]]
        if code := beside_server(state_dir, words):
            raise SystemExit(code)

    def _show(self, options: dict[str, Any]) -> None:
        self._heading(f"Setting up in {settings.STATE_DIR}")
        with self.console.status("Database and static files …"):
            done = set_up_site()
            passwords = set_up_people(new_passwords=options["new_passwords"])
            queues = set_up_queues([flow for flow, _ in samples()])
        self.interrupts.check()
        done["queues"] = ", ".join(f"{queue} ({queue.owner.get_full_name()})" for queue in queues)
        worker = Worker(settings.STATE_DIR / "worker.log")
        self._facts(done | {"worker log": str(worker.log)})
        for flow, _ in samples():
            self._drill(flow)
            self.interrupts.check()
        with worker.running():
            rested = self._work_off_samples(worker)
            self._people(logins(passwords, queues))
            self.interrupts.check()
            if not options["once"]:
                self._serve(options["port"], worker)
        if not rested:
            raise CommandError(f"Some samples were still being worked on; the worker's log is {worker.log}.")

    # --- what it says ------------------------------------------------------------------------------------------------

    def _heading(self, text: str) -> None:
        self.console.print(Text(f"\n{text}", style="bold"))

    def _facts(self, facts: dict[str, str]) -> None:
        for name, fact in facts.items():
            self.console.print(Text.assemble((f"  {name:<14}", "dim"), fact), soft_wrap=True)

    def _drill(self, flow: Flow) -> None:
        with self.console.status(f"Drilling {flow.name}: malformed bodies, sent through the real engine …") as status:
            report = drill_flow(flow, lambda seam, done, total: status.update(f"Drilling {seam} ({done} of {total}) …"))
        if report is not None:
            well = report.verdict is Verdict.READY
            said = f"{len(report.cases):,} malformed bodies and faults"
            said += " stopped where they must" if well else f": it is {WORDS[report.verdict]}, and its samples wait"
            self._facts({"drill": f"{flow.name}, {said}; /flows/{flow.name}/readiness/ tells all"})

    def _work_off_samples(self, worker: Worker) -> bool:
        taken = Samples()
        with self.console.status("Taking the samples in …") as status:

            def look(left: int) -> None:
                worker.require_running()
                status.update(f"The worker works the samples off: {left} left …")

            taken.take_in(look, patience=PATIENCE)
        rows = taken.standings()
        if rows:
            counts = Counter(standing.status for _, standing in rows)
            said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
            again = "" if taken.opened else " (they were there already)"
            self._heading(f"What became of the {len(rows)} samples{again}: {said}")
            self.console.print(*terminal.record_tables(rows), sep="\n")
        return not taken.moving

    def _people(self, people: list[Login]) -> None:
        known = any(login.password for login in people)
        self._heading("Log in as" + (" – these passwords are shown this once" if known else ""))
        table = terminal.plain_table("User", "Password", "Who")
        for login in people:
            shown = Text(login.password, style="bold") if login.password else Text("as shown before", style="dim")
            table.add_row(login.username, shown, f"{login.name}: {login.duties}")
        self.console.print(table)
        if not all(login.password for login in people):
            self.console.print("  Forgotten? manage.py demo --new-passwords makes new ones.", style="dim")

    def _serve(self, wanted: int, worker: Worker) -> None:
        server = _listening(wanted)
        port = serving.port_of(server)
        if port != wanted:
            self.console.print(f"Port {wanted} is in use.")
        self.console.print(
            Text.assemble("\nOpen ", (f"http://127.0.0.1:{port}/", "bold"), "   Ctrl-C stops everything.")
        )
        threading.Thread(target=server.run, name="site", daemon=True).start()
        stopped = threading.Event()
        try:
            while not stopped.wait(1.0):
                worker.require_running()
        except KeyboardInterrupt:
            self.console.print("\nStopping …")


def _listening(wanted: int) -> Any:
    """A server on the wanted port, or on the next one that is free."""
    for port in range(wanted, min(wanted + PORTS_TRIED, 65536)):
        try:
            return serving.create("127.0.0.1", port)
        except serving.PortInUse:
            continue
    raise serving.PortInUse(f"No port from {wanted} on is free. Choose another one with --port.")
