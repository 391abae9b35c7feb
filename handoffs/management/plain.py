"""What all our commands share: plain words instead of tracebacks, exit codes, and help that keeps its lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from django.core import checks
from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter
from django.db import Error as DatabaseError
from rich.console import Console

from handoffs.errors import HandoffsError
from handoffs.flows import Flow, declared, get_flow

INTERRUPTED = 130  # what a shell returns for a program that Ctrl-C ended


class _Formatter(DjangoHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """Our own options and line breaks; those that every Django command has are left out."""

    def add_usage(self, usage: Any, actions: Any, *args: Any, **kwargs: Any) -> None:
        super().add_usage(usage, self._ours(actions), *args, **kwargs)

    def add_arguments(self, actions: Any) -> None:
        super().add_arguments(self._ours(actions))

    def _ours(self, actions: Iterable[argparse.Action]) -> list[argparse.Action]:
        return [action for action in actions if not self.show_last.intersection(action.option_strings)]


class PlainCommand(BaseCommand):
    """A command that says in one sentence what is wrong. `ending` stands below the help, as it is written."""

    ending = ""
    # The seams' warnings belong to `manage.py check`; what runs for long asks for the errors with `require_sound`.
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kwargs.setdefault("formatter_class", _Formatter)
        return super().create_parser(prog_name, subcommand, epilog=self.ending or None, **kwargs)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except HandoffsError as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            sentence = str(error).partition("\n")[0].strip().rstrip(".")
            raise CommandError(f"The database said: {sentence}. {_advice(sentence)}") from error
        except KeyboardInterrupt as error:
            raise CommandError("Stopped.", returncode=INTERRUPTED) from error

    def require_sound(self, *tags: str) -> None:
        """Refuse to go on while `manage.py check` finds an error; with `tags`, among those checks only."""
        errors = [
            found for found in checks.run_checks(tags=tags or None) if found.is_serious() and not found.is_silenced()
        ]
        if errors:
            raise CommandError("\n".join(["manage.py check finds errors:", *map(str, errors)]))

    @property
    def console(self) -> Console:
        """Standard output for people: as wide as the terminal, or wide enough for a table in a file."""
        return _console(self.stdout._out)

    @property
    def notes(self) -> Console:
        """Standard error for people: progress, and what is not the answer itself."""
        return _console(self.stderr._out)


def _console(file: Any) -> Console:
    terminal = Console(file=file, highlight=False)
    return terminal if terminal.is_terminal else Console(file=file, highlight=False, width=160)


def _advice(sentence: str) -> str:
    lacks = any(words in sentence for words in ("no such table", "no such column", "does not exist"))
    return "Are the migrations applied? (manage.py migrate)" if lacks else "Is it there? (DATABASE_URL)"


def named_flow(name: str) -> Flow:
    """The flow of that name, or a sentence that names those there are."""
    if name not in declared():
        names = ", ".join(sorted(declared())) or "none"
        raise CommandError(f"No flow is named {name!r}. Declared: {names}.")
    return get_flow(name)
