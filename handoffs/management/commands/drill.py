"""`manage.py drill`: see `handoffs.drill`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.text import Text

from handoffs.actions.drill_cases import keep_case
from handoffs.actions.drills import keep_drill
from handoffs.drill.asked import prepared
from handoffs.drill.cases import DrillReport, SeamReport, Verdict
from handoffs.drill.report import WORDS, as_data, as_junit
from handoffs.flows import Flow
from handoffs.management.plain import PlainCommand, named_flow
from handoffs.models import Record, sql
from handoffs.terminal import plain_table, progress

STYLES = {Verdict.READY: "green", Verdict.NOT_READY: "bold red", Verdict.NOT_COVERED: "yellow"}


class Command(PlainCommand):
    """Sends malformed inputs through a flow, and says whether it is ready."""

    help = (
        "Makes malformed bodies and faults for every seam of a flow from its contracts, sends them through the real\n"
        "engine, and says what was let through, what did not stop where it must, and what did not recover.\n"
        "Its records are rolled back; only what it found is kept."
    )
    ending = "exit codes:\n  0  ready\n  1  not ready, or not covered\n\nSee docs/readiness.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("flow", metavar="FLOW", nargs="?")
        parser.add_argument("--step", default="", help="only the seams before and after this step")
        parser.add_argument("--seed", type=int, help="makes the same mutants again (a new one is drawn otherwise)")
        parser.add_argument("--json", action="store_true", help="tell it as JSON")
        parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit report as well")
        parser.add_argument(
            "--from-record", type=int, metavar="ID", help="keep what this record stopped over as a case of every drill"
        )
        parser.add_argument("--keep", action="store_true", help="keep every case, not only those that failed")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["from_record"] is not None:
            self._keep_case(options["from_record"], options["flow"])
            return
        if not options["flow"]:
            raise CommandError("Name the flow that is to be drilled.")
        flow = named_flow(options["flow"])
        if options["step"]:
            flow.step(options["step"])
        started_at = sql.now()
        report = self._drill(flow, options["seed"], options["step"])
        data = as_data(report, keep=options["keep"])
        run = keep_drill(flow=flow, report=data, started_at=started_at, actor="system:drill")
        if options["junit"]:
            _write(options["junit"], as_junit(report))
        if options["json"]:
            self.stdout.write(json.dumps(data | {"run": run.pk}, indent=2, ensure_ascii=False))
        else:
            self._tell(report)
        if report.verdict is not Verdict.READY:
            raise SystemExit(1)

    def _keep_case(self, record_id: int, flow: str | None) -> None:
        record = Record.objects.filter(pk=record_id).first()
        if record is None or flow not in {None, record.flow}:
            raise CommandError(f"There is no record {record_id}" + (f" of {flow}." if flow else "."))
        case = keep_case(record_id=record_id, by="system:drill")
        places = ", ".join(f"{change['path'] or 'the whole body'} ({change['rule']})" for change in case.changes_data)
        self.stdout.write(
            f"Kept for every drill of {case.flow}, at {case.step}: {places}. Values were made unreadable."
        )

    def _drill(self, flow: Flow, seed: int | None, step: str) -> DrillReport:
        drill = prepared(flow, seed)
        with progress(self.notes) as bar:
            task = bar.add_task("Drilling", total=None)
            return drill.run(
                step=step,
                on_seam=lambda name, done, total: bar.update(task, description=name, completed=done, total=total),
            )

    def _tell(self, report: DrillReport) -> None:
        table = plain_table("Seam", "Contracts", "Cases", "Verdict", "Why", right=["Cases"])
        for seam in report.seams:
            verdict = Text(WORDS[seam.verdict], STYLES[seam.verdict])
            table.add_row(seam.name, seam.contracts, f"{len(seam.cases):,}", verdict, Text(seam.reason))
        self.console.print(table)
        for seam in report.seams:
            self._tell_failing(seam)
        engine = sum(case.engine for case in report.cases)
        said = (
            f"{len(report.cases):,} cases, {engine:,} of them through the engine; {report.distinct:,} distinct bodies"
        )
        verdict = Text(f"{report.flow} is {WORDS[report.verdict]}", STYLES[report.verdict])
        self.console.print(Text.assemble(verdict, f": {said}; seed {report.seed}, {report.seconds:.1f} s."))

    def _tell_failing(self, seam: SeamReport) -> None:
        for case in (*seam.faults, *seam.holes)[:20]:
            place = f"{seam.name}  {case.kind} {case.pointer}".rstrip()
            self.console.print(Text.assemble((f"  {place}", "bold"), f" ({case.note}): {case.code}. {case.sentence}"))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} can't be written: {error.strerror}.") from error
