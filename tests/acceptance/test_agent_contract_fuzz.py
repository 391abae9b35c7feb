"""The API against its own description, by a tester that knows nothing else, one operation and many in a row."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents import Agent, set_stage

pytestmark = pytest.mark.django_db(transaction=True)
EXAMPLES = os.environ.get("HANDOFFS_EXAMPLES", "10")
PROGRAM = Path(sys.executable).with_name("schemathesis")


@pytest.mark.skipif(not PROGRAM.exists() and shutil.which("schemathesis") is None, reason="no schemathesis")
def test_description_holds_in_every_check(cast, live_server, tmp_path, settings):
    settings.HANDOFFS_LONGEST_WAIT = 0.2
    set_stage(cast.alice)
    agent = Agent(requests_per_minute=10_000_000)
    for subject in "abc":
        agent.open("tickets", {"subject": subject})
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    (tmp_path / "lines_hook.py").write_text(HOOK)
    command = [str(PROGRAM), "--config-file", str(config), "run", f"{live_server.url}/api/v1/openapi.json"]
    command += [
        "--header",
        f"Authorization: Bearer {agent.text}",
        "--max-examples",
        EXAMPLES,
        "--seed",
        "1",
        "--no-color",
    ]
    command += ["--generation-database", "none", "--phases", "examples,coverage,fuzzing,stateful"]
    env = {**os.environ, "SCHEMATHESIS_HOOKS": "lines_hook", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path, timeout=1500)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]


HOOK = """
import json

import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return {"data": text.encode("utf-8", "ignore")}
"""

# What is well-formed can still be refused: by a contract that no description holds, by the record's status, by a flow
# that there is not.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "400", "403", "404", "409", "413", "422", "503"]

[parameters]
"flow" = "tickets"
"step" = "classify"
"""
