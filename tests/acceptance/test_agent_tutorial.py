"""“Connect your agent in ten minutes”: every command and file of the page, as it stands there, on a real site."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from handoffs import children
from tests.workers import wait_for

pytestmark = pytest.mark.redis
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHELL = [text for language, text in BLOCKS if language == "sh"]
FILES = dict(zip(re.findall(r"\(`(\w+\.py)`\)", PAGE), [t for name, t in BLOCKS if name == "python"], strict=True))
HERE = "http://127.0.0.1:8000"
# What a reviewer does on the page of the one item that waits.
ANSWER = """
from django.contrib.auth import get_user_model
from handoffs.actions import verdicts
from handoffs.actions.verdicts import Seen
from handoffs.bodies import body_digest
from handoffs.models import Escalation
found = Escalation.objects.unresolved().order_by("-pk").select_related("record").first()
seen = Seen(found.version, body_digest(found.record.payload))
by = get_user_model().objects.get(username="admin")
verdicts.answer(escalation_id=found.pk, by=by, seen=seen, text={text!r})
"""


class Reader:
    """Somebody who follows the page: a folder for the files, a shell whose exports stay, and the demo's address."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.exports, self.url = folder, "", HERE
        gone = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY"}
        inherited = {k: v for k, v in os.environ.items() if k not in gone and not k.startswith("HANDOFFS_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        given = {"HANDOFFS_STATE_DIR": str(folder / "state"), "HANDOFFS_UNDO": "0.1", "PYTHONUNBUFFERED": "1"}
        self.env = inherited | given | {"PATH": path, "PYTHONPATH": str(ROOT)}
        for name, text in FILES.items():
            (folder / name).write_text(text)

    def typed(self, block: str) -> list[str]:
        text = block.replace(HERE, self.url)
        for name in FILES:
            text = text.replace(name, str(self.folder / name))
        return ["bash", "-euo", "pipefail", "-c", f"{self.exports}\n{text}"]

    def run(self, block: str) -> str:
        done = subprocess.run(self.typed(block), env=self.env, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def running(self, block: str, name: str):
        """A command that stays open; its log."""
        log = self.folder / name
        with log.open("wb") as output:
            child = children.start(self.typed(f"exec {block}".replace("exec HANDOFFS", "exec env HANDOFFS")),
                                   env=self.env, cwd=ROOT, output=output)  # fmt: skip
        try:
            yield log, child
        finally:
            child.stop(grace=60)

    def answer(self, text: str) -> None:
        code = ANSWER.format(text=text)
        command = [sys.executable, "manage.py", "shell", "-c", code]
        env = self.env | {"HANDOFFS_APPS": "examples.tickets"}
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    def waiting(self) -> bool:
        code = "from handoffs.models import Escalation; print(Escalation.objects.unresolved().count())"
        command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", code]
        env = self.env | {"HANDOFFS_APPS": "examples.tickets"}
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300)
        return done.stdout.strip() not in {"", "0"}


def test_page_has_the_commands_that_are_played():
    assert len(SHELL) == 7
    assert set(FILES) == {"ask.py", "agent.py"}


def test_reader_of_the_page_gets_there(tmp_path):
    demo, token, ask, ask_in_python, hand_in, agent, look = SHELL
    reader = Reader(tmp_path)
    with reader.running(demo, "demo.log") as (log, site):
        wait_for(lambda: site.poll() is not None or "Open http" in log.read_text())
        found = re.search(r"Open (http://127\.0\.0\.1:\d+)/", log.read_text())
        assert found, log.read_text()
        reader.url = found[1]
        reader.exports = token.replace(HERE, reader.url)
        exported = reader.run("printenv HANDOFFS_TOKEN")
        assert re.fullmatch(r"hf_[0-9a-f]{12}_[0-9a-f]{64}\n", exported)
        reader.exports = f"{token.partition('export HANDOFFS_TOKEN')[0]}\nexport HANDOFFS_TOKEN={exported}"
        reader.exports = reader.exports.replace(HERE, reader.url)
        asked = json.loads(reader.run(ask))
        assert (asked["status"], asked["question"]) == ("waiting", "Refund order 1042?")
        reader.answer('{"answer": "no"}')
        with reader.running(ask_in_python, "ask.log") as (said, asking):
            wait_for(reader.waiting)
            reader.answer('{"answer": "yes"}')
            wait_for(lambda: asking.poll() is not None)
            assert "Answer(answer='yes'" in said.read_text(), said.read_text()
        opened = json.loads(reader.run(hand_in))
        assert (opened["status"], json.loads(reader.run(hand_in))) == ("ready", opened)
        with reader.running(agent, "agent.log") as (said, working):
            wait_for(reader.waiting)
            reader.answer("cancellation")
            wait_for(lambda: working.poll() is not None or '"step":"reply"' in reader.run(look))
            assert working.poll() is None, said.read_text()
