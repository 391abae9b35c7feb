"""The same bodies get the same verdicts, and leave the same bytes, on SQLite and on PostgreSQL.

Each body is posted as a result and as an intake. What was answered and stored becomes a line; a run on PostgreSQL makes
the lines for the same bodies on SQLite too, in a process of its own, and compares.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as tuned

from handoffs.models import Escalation, Record, StepResult, Violation
from tests.acceptance.test_agent_fuzz import bodies
from tests.agents import Agent, set_stage

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = int(os.environ.get("HANDOFFS_EXAMPLES", "60"))
SEED = int(os.environ.get("HANDOFFS_SEED", "1"))
COLUMNS = ("step", "side", "attempt", "outcome", "output", "encoding", "confidence", "field_confidence", "evidence")
MORE = ("usage", "unknown_fields", "code", "message")
BROKEN = ("step", "side", "pointer", "rule", "expected", "received", "sentence")


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent(requests_per_minute=10_000_000)


def told(answer) -> list:
    """What an answer says, without what counts or tells the time."""
    said = answer.json
    violations = [[v[name] for name in ("pointer", "rule", "received", "sentence")] for v in said.get("violations", [])]
    return [answer.status, said.get("code"), said.get("outcome"), said.get("line"), said.get("column"), violations]


def stored(record: int) -> list:
    row = Record.objects.get(pk=record)
    results = list(StepResult.objects.filter(record=record).order_by("pk").values_list(*COLUMNS, *MORE))
    broken = list(Violation.objects.filter(record=record).order_by("pk").values_list(*BROKEN))
    waiting = list(Escalation.objects.filter(record=record).values_list("kind", "code", "reason"))
    return [
        row.status,
        row.attempt,
        row.tries_left,
        row.payload,
        row.encoding,
        row.external_id,
        results,
        broken,
        waiting,
    ]


def line(raw: bytes, facts: list) -> str:
    """One line: the body's digest, what was answered, and the digest of what is stored."""
    whole = json.dumps(facts, default=str).encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(raw).hexdigest()[:16]} {facts[0][0]} {facts[0][1]} {hashlib.sha256(whole).hexdigest()}"


def generated() -> list[bytes]:
    """Bodies of every kind. What is generated depends on what else a process has imported, so a run hands them on."""
    found: list[bytes] = []

    @seed(SEED)
    @tuned(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate],
           suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(bodies)
    def keep(raw):
        found.append(raw)

    keep()
    return found


def handed_on() -> list[bytes]:
    """The bodies that another run has written down, or new ones."""
    path = os.environ.get("HANDOFFS_BODIES")
    return [bytes.fromhex(text) for text in Path(path).read_text().splitlines()] if path else generated()


def verdicts(agent, given: list[bytes]) -> list[str]:
    lines: list[str] = []
    for raw in given:
        opened = agent.open("case-repairing", {"text": "x"}).json["id"]
        answer = agent.result(opened, 1, raw)
        assert answer.status < 500, (raw, answer.text)
        lines.append(line(raw, [told(answer), stored(opened)]))
        answer = agent.post("flows/tickets/records", raw)
        assert answer.status < 500, (raw, answer.text)
        kept = answer.json.get("id") or (answer.json.get("record") or {}).get("id")
        lines.append(line(raw, [told(answer), stored(kept) if kept else []]))
    return lines


def test_every_body_gets_a_verdict(agent):
    given = handed_on()
    lines = verdicts(agent, given)
    assert len(lines) == 2 * len(given) > 0
    if path := os.environ.get("HANDOFFS_VERDICTS"):
        Path(path).write_text("\n".join(lines))


@pytest.mark.postgres
def test_both_databases_judge_and_keep_alike(agent, tmp_path):
    given = generated()
    here = verdicts(agent, given)
    path, handed = tmp_path / "verdicts", tmp_path / "bodies"
    handed.write_text("\n".join(raw.hex() for raw in given))
    gone = {"DATABASE_URL", "REDIS_URL", "HANDOFFS_REQUIRE"}
    env = {name: value for name, value in os.environ.items() if name not in gone}
    env |= {"HANDOFFS_VERDICTS": str(path), "HANDOFFS_BODIES": str(handed), "HANDOFFS_STATE_DIR": str(tmp_path)}
    test = f"{__file__}::test_every_body_gets_a_verdict"
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:randomly", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    there = path.read_text().splitlines()
    differing = [pair for pair in zip(here, there, strict=False) if pair[0] != pair[1]]
    assert (len(here), differing) == (len(there), [])
