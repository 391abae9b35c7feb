"""`manage.py config`: what the settings are, and where each comes from."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from rich.text import Text

from handoffs import conf, terminal
from handoffs.management.plain import PlainCommand

# Environment variable → Django setting, where their names differ.
INSTALLATION = {
    "DATABASE_URL": "DATABASE_URL",
    "REDIS_URL": "REDIS_URL",
    "SECRET_KEY": "SECRET_KEY",
    "SECRET_KEY_FALLBACKS": "SECRET_KEY_FALLBACKS",
    "ALLOWED_HOSTS": "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS": "CSRF_TRUSTED_ORIGINS",
    "HTTPS": "HTTPS",
    "DEBUG": "DEBUG",
    "HANDOFFS_STATE_DIR": "STATE_DIR",
    "TIME_ZONE": "TIME_ZONE",
    "LANGUAGE_CODE": "LANGUAGE_CODE",
    "LOG_LEVEL": "LOG_LEVEL",
    "LOG_FORMAT": "LOG_FORMAT",
    "METRICS_TOKEN": "METRICS_TOKEN",
    "HANDOFFS_APPS": "HANDOFFS_APPS",
    "HANDOFFS_FLOWS": "HANDOFFS_FLOWS",
    "HANDOFFS_JOB_QUEUES": "JOB_QUEUES",
}
SECRET = frozenset({"SECRET_KEY", "SECRET_KEY_FALLBACKS", "METRICS_TOKEN"})


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it is in effect. `given`: it stands in the environment or in `.env`."""

    name: str
    value: str
    given: bool


class Command(PlainCommand):
    """Prints the settings in effect."""

    help = "Prints the settings in effect, with secrets masked. docs/settings.md says what each means."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="tell it as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        found = in_effect()
        if options["json"]:
            self.stdout.write(json.dumps([asdict(setting) for setting in found], indent=2, ensure_ascii=False))
            return
        table = terminal.plain_table("Variable", "Value", "From")
        for setting in found:
            source = Text("environment" if setting.given else "default", "" if setting.given else "dim")
            table.add_row(setting.name, Text(setting.value), source)
        self.console.print(table)


def in_effect() -> list[Setting]:
    """Every setting of the environment, and what it came to."""
    installation = [Setting(name, _shown(name, at), name in os.environ) for name, at in INSTALLATION.items()]
    own = {f"HANDOFFS_{name}": _number(conf.get(name)) for name in conf.DEFAULTS}
    return installation + [Setting(name, value, name in os.environ) for name, value in own.items()]


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(name: str, setting: str) -> str:
    value = getattr(settings, setting, "")
    if name in SECRET:
        return "***" if value else ""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if name == "DATABASE_URL" and not value:
        return f"sqlite:///{settings.DATABASES['default']['NAME']}"
    return conf.masked(str(value))
