"""`manage.py audit_verify`: see `handoffs.insight.verifying`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from handoffs.insight import verifying
from handoffs.insight.verifying import Flaw, Head
from handoffs.management.plain import PlainCommand
from handoffs.models import Record

SHOWN = 100


class Command(PlainCommand):
    """Says whether the whole history holds."""

    help = (
        "Holds every record's history against its hashes, and names each place where it does not hold.\n"
        "Keep what --export writes where nobody who can write to the database can: --against finds who rewrote all."
    )
    ending = "exit codes:\n  0  it holds\n  1  it does not, or a file can't be read"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--export", type=Path, metavar="FILE", help="write where each history ends, as NDJSON")
        parser.add_argument("--against", type=Path, metavar="FILE", help="hold the history against such a file")
        parser.add_argument("--json", action="store_true", help="tell it as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        flaws = list(verifying.broken())
        if options["against"]:
            flaws += self._against(options["against"])
        if options["export"] and not flaws:
            self._export(options["export"])
        records = Record.objects.count()
        if options["json"]:
            told = [{"record": flaw.record, "sentence": flaw.sentence} for flaw in flaws]
            self.stdout.write(json.dumps({"holds": not flaws, "records": records, "flaws": told}, indent=2))
        else:
            self._tell(flaws, records)
        if flaws:
            raise SystemExit(1)

    def _tell(self, flaws: list[Flaw], records: int) -> None:
        for flaw in flaws[:SHOWN]:
            self.stdout.write(str(flaw))
        if len(flaws) > SHOWN:
            self.stdout.write(f"and {len(flaws) - SHOWN:,} more")
        self.stdout.write(f"The history of {records:,} records {'does not hold' if flaws else 'holds'}.")

    def _export(self, path: Path) -> None:
        try:
            with path.open("x") as file:
                file.writelines(json.dumps(head) + "\n" for head in verifying.heads())
        except OSError as error:
            raise CommandError(f"{path} can't be written: {error.strerror}.") from error

    def _against(self, path: Path) -> list[Flaw]:
        try:
            return list(verifying.differing(_kept(path)))
        except (OSError, ValueError) as error:
            raise CommandError(f"{path} is not what --export wrote: {error}.") from error


def _kept(path: Path) -> Iterator[Head]:
    with path.open() as file:
        for number, line in enumerate(file, start=1):
            try:
                head = json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number} is not JSON") from error
            if not isinstance(head, dict):
                raise ValueError(f"line {number} is not an object")
            yield head
