"""`manage.py intake`: see `handoffs.taking_in`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.progress import Progress

from handoffs import resting, terminal
from handoffs.flows import Flow
from handoffs.insight.standing import Standing, standing_of
from handoffs.management.plain import PlainCommand, named_flow
from handoffs.states import Status
from handoffs.supervisor import stop_signals
from handoffs.taking_in import Taken, find, take_in

NOT_TAKEN_IN, WAITS_FOR_PEOPLE, STILL_MOVES = 1, 3, 4
WORK_AT_MOST = 3600.0  # seconds


@dataclass(slots=True)
class Run:
    """What became of one call."""

    flow: Flow
    files: int = 0
    taken: list[Taken] = field(default_factory=list)
    standings: dict[int, Standing] = field(default_factory=dict)
    moving: list[int] = field(default_factory=list)
    waited: bool = False

    @property
    def problems(self) -> list[Taken]:
        return [one for one in self.taken if one.problem]

    @property
    def records(self) -> list[Taken]:
        return [one for one in self.taken if not one.problem]

    @property
    def ids(self) -> list[int]:
        return list(dict.fromkeys(one.record_id for one in self.records if one.record_id))

    @property
    def opened(self) -> int:
        return sum(one.created for one in self.taken)

    def count(self, status: Status) -> int:
        return sum(one.status == status for one in self.standings.values())

    @property
    def exit_code(self) -> int:
        if self.problems:
            return NOT_TAKEN_IN
        if self.waited and self.moving:
            return STILL_MOVES
        return WAITS_FOR_PEOPLE if self.count(Status.ESCALATED) else 0


class Command(PlainCommand):
    """Opens records from files."""

    help = (
        "Opens a record of FLOW for each file. Folders are taken with all that lies below them, but for hidden files.\n"
        "The flow's reader makes a body of each file; without one, a .json file is a body, and so is each line of a\n"
        ".ndjson or .jsonl file. The same file again opens nothing."
    )
    ending = (
        "exit codes:\n"
        "  0  every file is a record, and none waits for a person\n"
        "  1  a file could not be taken in, or the command could not do its work\n"
        "  3  all were taken in; some wait for a person\n"
        "  4  all were taken in; some were still being worked on when the time was over"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("flow", metavar="FLOW", help="the name of a declared flow")
        parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file or a folder")
        parser.add_argument("--from", dest="producer", default="files", metavar="NAME", help="who sent them (files)")
        parser.add_argument("--wait", type=float, metavar="SECONDS", help="wait until workers have worked them off")
        parser.add_argument("--work", action="store_true", help="work them off here, without a worker")
        parser.add_argument("--list", action="store_true", help="one line per record instead of a summary")
        parser.add_argument("--json", action="store_true", help="tell all of it as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        run = Run(named_flow(options["flow"]))
        with terminal.progress(self.notes) as progress:
            self._take_in(run, options, progress)
            self._let_work(run, options, progress)
        run.standings = standing_of(run.ids)
        if options["json"]:
            self.stdout.write(json.dumps(as_json(run), indent=2, ensure_ascii=False))
        else:
            self._tell(run, options["list"])
        if run.exit_code:
            raise SystemExit(run.exit_code)

    def _take_in(self, run: Run, options: dict[str, Any], progress: Progress) -> None:
        found = find(options["paths"])
        run.files = len(found)
        bar = progress.add_task("Taking in", total=len(found))
        actor = f"intake:{options['producer']}"[:150]
        for batch in take_in(run.flow, found, actor=actor, on_file=lambda: progress.advance(bar)):
            run.taken += batch

    def _let_work(self, run: Run, options: dict[str, Any], progress: Progress) -> None:
        run.waited = options["work"] or options["wait"] is not None
        if not run.waited:
            return
        bar = progress.add_task("Working off" if options["work"] else "Waiting", total=len(run.ids))

        def look(left: int) -> None:
            progress.update(bar, completed=len(run.ids) - left)

        if options["work"]:
            seconds = WORK_AT_MOST if options["wait"] is None else options["wait"]
            with stop_signals() as stop:
                run.moving = resting.work_off(run.flow, run.ids, seconds=seconds, stop=stop, on_look=look)
        else:
            run.moving = resting.wait_until_rested(run.ids, seconds=options["wait"], on_look=look)

    def _tell(self, run: Run, one_by_one: bool) -> None:
        there = len(run.records) - run.opened
        said = [f"{run.opened:,} opened"] * bool(run.opened or not run.taken)
        said += [f"{there:,} already there"] * bool(there) + [f"{len(run.problems):,} not taken in"] * bool(
            run.problems
        )
        self.console.print(f"{run.files:,} {'file' if run.files == 1 else 'files'}: {', '.join(said)}.")
        if run.standings and one_by_one:
            rows = [(one.name, run.standings[one.record_id]) for one in run.records if one.record_id]
            rows = terminal.without_common_folder(rows)
            self.console.print(*terminal.record_tables(rows), sep="\n")
        elif run.standings:
            self.console.print(terminal.summary_table(run.standings.values()))
        for one in run.problems:
            self.notes.print(f"Not taken in: {one.name}: {one.problem}", style="red", markup=False, soft_wrap=True)
        if left := run.count(Status.READY) + run.count(Status.RUNNING):
            self.notes.print(f"{left:,} wait for a worker or an agent: manage.py worker, or --work here.", markup=False)


def as_json(run: Run) -> dict[str, Any]:
    """The whole run for another program."""
    return {
        "flow": run.flow.name,
        "files": run.files,
        "opened": run.opened,
        "already_there": len(run.records) - run.opened,
        "not_taken_in": len(run.problems),
        "by_status": {status.value: n for status in Status if (n := run.count(status))},
        "records": [_one_as_json(one, run.standings.get(one.record_id or 0)) for one in run.taken],
    }


def _one_as_json(one: Taken, standing: Standing | None) -> dict[str, Any]:
    told: dict[str, Any] = {"file": one.name, "record": one.record_id, "created": one.created}
    if one.problem:
        return told | {"problem": one.problem}
    if standing:
        told |= {name: getattr(standing, name) or None for name in ("title", "status", "step")}
        told |= {name: getattr(standing, name) or None for name in ("kind", "reason", "at", "queue", "owner")}
    return told
