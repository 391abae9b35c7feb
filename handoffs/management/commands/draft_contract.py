"""`manage.py draft_contract`: see `handoffs.drafting`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from handoffs.drafting import draft, read_samples
from handoffs.management.plain import PlainCommand


class Command(PlainCommand):
    """Writes a first contract from samples."""

    help = (
        "Writes a first contract from sample bodies, one JSON object on each line: every sample holds it. It is a\n"
        "draft: narrow its texts and numbers, and say which fields are facts, before anything relies on it."
    )
    ending = "Needs the extra: pip install 'handoffs[draft]'. See docs/tutorial.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("samples", type=Path, metavar="SAMPLES.ndjson")
        parser.add_argument("--name", default="", help="of the class (made from the file's name otherwise)")
        parser.add_argument("--output", type=Path, metavar="FILE", help="write it there, where nothing is yet")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["samples"]
        name = options["name"] or "".join(part.title() for part in re.split(r"[^A-Za-z0-9]+", path.stem))
        if not name.isidentifier():
            raise CommandError(f"{name!r} can't be the name of a class: give one with --name.")
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error.strerror}.") from error
        code = draft(read_samples(raw), name)
        if options["output"] is None:
            self.stdout.write(code)
            return
        try:
            with options["output"].open("x", encoding="utf-8") as file:
                file.write(code)
        except OSError as error:
            raise CommandError(f"{options['output']} can't be written: {error.strerror}.") from error
        self.stdout.write(f"Written: {options['output']}, class {name}.")
