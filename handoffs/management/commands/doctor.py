"""`manage.py doctor`: see `handoffs.doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from handoffs import doctor
from handoffs.doctor import Finding
from handoffs.management.plain import PlainCommand


class Command(PlainCommand):
    """Says whether everything is there that has to be."""

    help = "Looks at everything an installation needs, and says what to do next where something is missing."
    ending = "exit codes:\n  0  all is well\n  1  something has to be done"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="tell it as JSON")
        parser.add_argument(
            "--recoverable", action="store_true", help="ask only whether every open record is somebody's"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        found = [doctor.recoverability()] if options["recoverable"] else doctor.examine()
        is_well = all(finding.is_well for finding in found)
        if options["json"]:
            told = {"is_well": is_well, "findings": [asdict(finding) for finding in found]}
            self.stdout.write(json.dumps(told, indent=2, ensure_ascii=False))
        else:
            width = max(len(finding.name) for finding in found)
            for finding in found:
                self._tell(finding, width)
        if not is_well:
            raise SystemExit(1)

    def _tell(self, finding: Finding, width: int) -> None:
        mark = Text("✓ ", "green") if finding.is_well else Text("✗ ", "bold red")
        name = (f"{finding.name:<{width}}  ", "bold")
        self.console.print(Text.assemble(mark, name, finding.sentence), soft_wrap=True)
        for detail in finding.details:
            self.console.print(Text(f"    {detail}"), soft_wrap=True)
        if finding.todo:
            self.console.print(Text(f"  → {finding.todo}", "yellow"), soft_wrap=True)
