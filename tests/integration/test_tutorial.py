"""The tutorial works: its files are written and its commands run, in the order in which they stand there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from handoffs.drafting import draft, read_samples
from handoffs.errors import DeclarationError

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SLOWEST = 300.0  # seconds of one command, on a busy machine


def run(line: str, folder: Path, env: dict[str, str]) -> str:
    words = shlex.split(line)
    assert words[0] == "manage.py", line
    command = [sys.executable, str(ROOT / "manage.py"), *words[1:]]
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=SLOWEST)
    assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"
    return ran.stdout


def test_the_tutorial_works_as_it_stands_there(tmp_path):
    pytest.importorskip("datamodel_code_generator")
    dropped = {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"}
    env = {name: value for name, value in os.environ.items() if name not in dropped and not name.startswith("HANDOFFS")}
    env |= {"HANDOFFS_STATE_DIR": str(tmp_path / "state"), "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    said: dict[str, list[str]] = {}
    for language, file, text in BLOCK.findall((ROOT / "docs/tutorial.md").read_text()):
        if file:
            with (tmp_path / file).open("a") as written:
                written.write(text)
            continue
        assert language == "sh"
        for line in text.splitlines():
            if line.startswith("export "):
                env |= dict(word.split("=", 1) for word in shlex.split(line)[1:])
            elif not line.startswith("pip "):
                said.setdefault(line.split()[1], []).append(run(line, tmp_path, env))
    assert "class Order(Contract)" in (tmp_path / "drafted.py").read_text()
    assert ["ordering is ready" in one for one in said["drill"]] == [True, True]
    assert "0 of 0 bodies" in said["revalidate"][0]
    assert (tmp_path / "drill.xml").exists()


def test_a_draft_takes_every_sample_and_is_as_strict_as_any_contract():
    pytest.importorskip("datamodel_code_generator")
    code = draft(read_samples(b'{"a":1,"day":"2026-11-02"}\n{"a":2,"day":"2026-11-03","b":null}\n'), "Sample")
    assert "from handoffs import Contract" in code
    assert "class Sample(Contract)" in code
    assert "day: date" in code


@pytest.mark.parametrize("raw", [b"", b"[1]\n", b'{"a":1}\n{"a":NaN}\n'])
def test_what_is_no_sample_is_said_with_its_line(raw):
    with pytest.raises(DeclarationError, match=r"Line|no sample"):
        read_samples(raw)


def test_the_command_overwrites_nothing(tmp_path):
    pytest.importorskip("datamodel_code_generator")
    samples, there = tmp_path / "a-b.ndjson", tmp_path / "there.py"
    samples.write_text('{"a": 1}')
    there.write_text("mine")
    with pytest.raises(CommandError, match="can't be written"):
        call_command("draft_contract", str(samples), "--output", str(there))
    with pytest.raises(CommandError, match="can't be read"):
        call_command("draft_contract", str(tmp_path / "nothing.ndjson"))
    assert there.read_text() == "mine"
