from __future__ import annotations

import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from handoffs.demo import interrupted_by_signals
from tests import servers
from tests.workers import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]
SLOWEST = 240.0  # seconds; a demo starts some processes, on a busy machine

pytestmark = pytest.mark.redis


def command(state_dir: Path, *words: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), "demo", "--state-dir", str(state_dir), *words]


def environment() -> dict[str, str]:
    """As in a fresh clone, with no server given."""
    given = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE"}
    return {name: value for name, value in os.environ.items() if name not in given and not name.startswith("HANDOFFS_")}


def run_once(state_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "timeout": SLOWEST, "env": environment(), "cwd": "/"}
    return subprocess.run(command(state_dir, "--once", *words), **options)


def family(state_dir: Path) -> list[int]:
    """Every process that has to do with the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            told = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
            if str(state_dir).encode() in told or str(state_dir) in os.readlink(entry / "cwd"):
                found.append(int(entry.name))
    return found


def rows(state_dir: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(state_dir / "handoffs.sqlite3")) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A demo that was run once, and its folder."""
    state_dir = tmp_path_factory.mktemp("demo") / "state"
    return state_dir, run_once(state_dir)


@contextmanager
def serving(state_dir: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A demo that serves the site, and what it said until then."""
    options = {"stdout": subprocess.PIPE, "text": True, "env": environment(), "cwd": "/"}
    with subprocess.Popen(command(state_dir, *words), **options) as demo:
        assert demo.stdout
        lines = []
        for line in demo.stdout:
            lines.append(line)
            if line.startswith("Open http"):
                break
        try:
            yield demo, lines
        finally:
            demo.kill()


def test_every_sample_ends_as_it_says(first):
    from examples.invoices.samples import SAMPLES

    state_dir, ran = first
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = rows(
        state_dir,
        "SELECT json_extract(r.payload, '$.file_name'), a.name, r.status, r.step, e.kind FROM handoffs_record r "
        "LEFT JOIN handoffs_attachment a ON a.record_id = r.id LEFT JOIN handoffs_escalation e ON e.record_id = r.id",
    )
    ends = {name or file: (status, step, kind) for file, name, status, step, kind in found}
    expected = {s.file: (s.status, s.step or "post", s.kind) for s in SAMPLES}
    assert ends == expected


def test_table_tells_status_step_reason_queue_and_owner(first):
    _, ran = first
    assert re.search(r"seller-without-id\.xml +escalated +check +check would not run: /supplier_id", ran.stdout)
    assert "Invoice exceptions, owned by Ana Ruiz: 18 records wait" in ran.stdout
    assert "paper.xml" in ran.stdout


def test_log_ins_are_printed_when_they_are_made(first):
    state_dir, ran = first
    assert "shown this once" in ran.stdout
    assert len(re.findall(r"\b\w{4}-\w{4}-\w{4}\b", ran.stdout)) == 4
    assert rows(state_dir, "SELECT username FROM reviewqueue_user WHERE is_superuser") == [("admin",)]


def test_nothing_goes_on_after_it(first):
    state_dir, _ = first
    assert family(state_dir) == []


def test_second_run_opens_nothing_and_makes_no_passwords(first):
    state_dir, _ = first
    before = rows(state_dir, "SELECT id, head FROM handoffs_record ORDER BY id")
    again = run_once(state_dir)
    assert again.returncode == 0, again.stderr
    assert "they were there already" in again.stdout
    assert "shown this once" not in again.stdout
    assert rows(state_dir, "SELECT id, head FROM handoffs_record ORDER BY id") == before


def test_site_is_served_on_the_next_free_port_until_ctrl_c(first):
    state_dir, _ = first
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", servers.free_port()))
        taken.listen()
        port = taken.getsockname()[1]
        with serving(state_dir, "--port", str(port)) as (demo, lines):
            assert f"Port {port} is in use.\n" in lines
            address = re.search(r"http://127\.0\.0\.1:\d+/", lines[-1])
            assert address
            with urllib.request.urlopen(address[0], timeout=PATIENCE) as answer:
                assert answer.status == 200
                assert answer.headers["Server"] == "handoffs"
            demo.send_signal(signal.SIGINT)
            assert demo.wait(PATIENCE) == 0
    assert family(state_dir) == []


def test_killed_demo_takes_everything_along(first):
    state_dir, _ = first
    with serving(state_dir, "--port", str(servers.free_port())) as (demo, _lines):
        wait_for(lambda: len(family(state_dir)) >= 5)  # itself twice, the server, the worker, and its listener
        demo.kill()
        demo.wait(PATIENCE)
    wait_for(lambda: family(state_dir) == [], seconds=10)


def test_interrupted_setup_leaves_nothing_behind(tmp_path):
    with subprocess.Popen(command(tmp_path / "state"), stdout=subprocess.PIPE, env=environment(), cwd="/") as demo:
        wait_for(lambda: (tmp_path / "state" / "handoffs.sqlite3").exists())
        time.sleep(random.random())
        demo.send_signal(signal.SIGTERM)
        try:
            assert demo.wait(PATIENCE) == 130
        finally:
            demo.kill()  # or it would be waited for without end
    assert family(tmp_path / "state") == []


def test_an_interrupt_that_python_could_not_raise_is_found_at_the_next_stage(monkeypatch):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: lost.append(told.exc_type))

    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    with interrupted_by_signals() as interrupts:
        interrupts.check()
        Finalized()
        assert lost == [KeyboardInterrupt]
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
