"""The papers for whoever runs it: their figures are told, their commands exist, their workers stop in good time."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from django.core.management import get_commands

from handoffs import Step
from handoffs import metrics as told

ROOT = Path(__file__).resolve().parents[2]
OPERATE = (ROOT / "docs/operate.md").read_text()
DEPLOY = ROOT / "docs/deploy"
FILES = sorted(path.name for path in DEPLOY.iterdir())
QUIET = {  # for pictures; nobody is called for these
    "handoffs_records",
    "handoffs_escalations",
    "handoffs_bell_waiting",
    "handoffs_outbox_waiting",
    "handoffs_result_longest_seconds",
}
SETTINGS = (ROOT / "docs/settings.md").read_text()


def test_every_figure_of_the_paper_is_told_and_every_one_told_is_in_it():
    code = Path(told.__file__).read_text()
    names = {f"handoffs_{name}" for name in re.findall(r'_gauge\(\s*"(\w+)"', code)}
    written = set(re.findall(r"`(handoffs_\w+)", OPERATE))
    assert written <= names
    assert names - written == QUIET


@pytest.mark.parametrize("text", [OPERATE, *((DEPLOY / name).read_text() for name in FILES)])
def test_every_command_exists(text):
    named = set(re.findall(r"manage\.py[\", ]+([a-z_]+)", text))
    assert named
    assert named <= set(get_commands())


def test_a_worker_has_the_time_to_end_the_longest_step():
    unit = (DEPLOY / "handoffs-worker@.service").read_text()
    assert "KillMode=mixed" in unit
    assert "KillSignal=SIGTERM" in unit
    given = int(re.search(r"TimeoutStopSec=(\d+)", unit)[1])
    assert given == int(re.search(r"stop_grace_period: (\d+)s", (DEPLOY / "compose.yaml").read_text())[1])
    assert given > next(field.default for field in fields(Step) if field.name == "timeout")


def test_every_variable_of_the_compose_file_is_documented():
    text = (DEPLOY / "compose.yaml").read_text()
    set_here = set(re.findall(r"^    ([A-Z_]+):", text, re.MULTILINE))
    assert {"DATABASE_URL", "REDIS_URL", "SECRET_KEY"} <= set_here
    assert all(f"`{name}`" in SETTINGS for name in set_here)
