from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import servers
from tests.integration.test_children import is_gone
from tests.integration.test_embedded import ask

RUN = [sys.executable, "-m", "tests.servers", "run", "--"]
ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.redis,
    pytest.mark.skipif(not servers.has_postgres(), reason="PostgreSQL's programs are not installed"),
]


def test_commits_survive_a_crash_of_postgres():
    with servers.postgres() as server:
        with server.connect() as connection:
            connection.execute("CREATE TABLE kept (number int)")
            connection.execute("INSERT INTO kept VALUES (7)")
        server.restart("immediate")
        with server.connect() as connection:
            assert connection.execute("SELECT number FROM kept").fetchall() == [(7,)]
    with pytest.raises(psycopg.OperationalError):
        server.connect()


def test_restart_of_redis_is_a_flush():
    with servers.redis() as server:
        ask(server.url, "SET", "bell", "1")
        server.restart()
        assert ask(server.url, "GET", "bell") is None


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that PostgreSQL's user may enter (pytest's own is closed to others)."""
    with tempfile.TemporaryDirectory(prefix="handoffs-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_runner_passes_the_exit_code_on():
    assert subprocess.run([*RUN, "sh", "-c", "kill -9 $$"], cwd=ROOT).returncode == 137


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killed_runner_leaves_no_process(how, open_folder):
    command = [*RUN, "sh", "-c", "echo $$ $DATABASE_URL; exec sleep 60"]
    env = os.environ | {"TMPDIR": str(open_folder)}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout
        command_pid = int(runner.stdout.readline().split()[0])
        (pid_file,) = open_folder.glob("*/data/postmaster.pid")
        server_pid = int(pid_file.read_text().splitlines()[0])
        runner.send_signal(how)
        runner.wait(30)
    assert is_gone(command_pid)
    assert is_gone(server_pid)
    if how == signal.SIGTERM:
        assert not list(open_folder.iterdir())
