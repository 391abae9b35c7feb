from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from handoffs import children

SLEEPER = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
]
PARENT = """
import sys, time
from handoffs import children
child = children.start([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
"""


def is_running(pid: int) -> bool:
    """A zombie has ended: it only waits for whoever inherited it to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def is_gone(pid: int, *, within: float = 5.0) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until and is_running(pid):
        time.sleep(0.01)
    return not is_running(pid)


def start_and_await(command: list[str]) -> children.Child:
    """Starts a program and returns once it has printed its first line."""
    read, write = os.pipe()
    child = children.start(command, output=write)
    os.close(write)
    with os.fdopen(read) as lines:
        assert lines.readline() == "up\n"
    return child


def test_stop_asks_first():
    child = start_and_await(SLEEPER)
    assert child.poll() is None
    assert child.stop() == -signal.SIGTERM
    assert child.stop() == -signal.SIGTERM
    assert is_gone(child.pid)


def test_stop_kills_a_child_that_does_not_listen():
    child = start_and_await(STUBBORN)
    started = time.monotonic()
    assert child.stop(grace=0.2) == -signal.SIGKILL
    assert 0.2 <= time.monotonic() - started < 3.0


def test_leaving_the_block_stops_the_child_even_on_an_error():
    with pytest.raises(ZeroDivisionError), start_and_await(SLEEPER) as child:
        _ = 1 / 0
    assert is_gone(child.pid)


def test_exit_code_comes_back():
    with children.start([sys.executable, "-c", "raise SystemExit(7)"]) as child:
        assert child.wait(10) == 7


def test_child_is_the_program_itself_and_leads_its_own_session():
    child = start_and_await(SLEEPER)
    try:
        assert Path(f"/proc/{child.pid}/cmdline").read_bytes().split(b"\0")[1] == b"-c"
        assert os.getsid(child.pid) == child.pid
    finally:
        child.stop()


def test_missing_program_is_said_at_once():
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        children.start(["no-such-program"])


def test_file_that_is_no_program_ends_with_127(tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o700)
    with (tmp_path / "log").open("wb") as log, children.start([str(broken)], output=log) as child:
        assert child.wait(10) == children.NOT_STARTED
    assert "Exec format error" in (tmp_path / "log").read_text()


def test_child_of_a_passing_thread_is_refused():
    refused: list[BaseException] = []

    def attempt() -> None:
        try:
            children.start(SLEEPER)
        except RuntimeError as error:
            refused.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert "main thread" in str(refused[0])


def test_forked_copy_of_the_parent_leaves_the_child_alone():
    child = start_and_await(SLEEPER)
    try:
        if (copy := os.fork()) == 0:
            os._exit(child.stop())
        assert os.waitpid(copy, 0) == (copy, 0)
        assert is_running(child.pid)
    finally:
        child.stop()


def start_parent(then: str) -> tuple[subprocess.Popen[str], int]:
    """A process that has started a sleeping child; its handle, and the child's pid."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT + then], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    return parent, int(parent.stdout.readline())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_child_ends_with_a_killed_parent(how):
    parent, pid = start_parent("time.sleep(60)")
    with parent:
        assert is_running(pid)
        parent.send_signal(how)
        parent.wait(10)
    assert is_gone(pid)


def test_child_ends_with_a_parent_that_just_returns():
    parent, pid = start_parent("")
    with parent:
        assert parent.wait(10) == 0
    assert is_gone(pid)
