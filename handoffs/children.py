"""Child programs that do not outlive their parent.

On Linux the kernel itself sends a child its death signal, so it ends even when the parent was killed with SIGKILL.
Elsewhere only a parent that ends in an orderly way takes its children along. This file is also the small program that
stands between the two: it asks for the signal, then becomes the program that was wanted.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

GRACE = 5.0  # seconds between the request to stop and SIGKILL
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
NOT_STARTED = 127  # what a shell returns for a program that it could not start


class Child:
    """A running program. Leaving its `with` block stops it, and so does the end of this process."""

    def __init__(self, process: subprocess.Popen[bytes], *, stop_signal: signal.Signals) -> None:
        self._process = process
        self._stop_signal = stop_signal
        self._parent = os.getpid()
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code if it has ended (negative: the signal that ended it), else None."""
        code = self._process.poll()
        if code is not None:
            atexit.unregister(self.stop)
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, `timeout` seconds at most. Raises `subprocess.TimeoutExpired`."""
        code = self._process.wait(timeout)
        atexit.unregister(self.stop)
        return code

    def ask_to_stop(self) -> None:
        """Asks it to stop, and does not wait."""
        if os.getpid() == self._parent and self.poll() is None:
            self._process.send_signal(self._stop_signal)

    def stop(self, *, grace: float = GRACE, first: signal.Signals | None = None) -> int:
        """Asks it to stop, kills it after `grace` seconds, and returns its exit code."""
        if os.getpid() != self._parent:
            return 0  # a fork of the parent carries this object along, but the child is not its own
        if (code := self.poll()) is not None:
            return code
        self._process.send_signal(first or self._stop_signal)
        try:
            return self.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: IO[bytes] | int | None = None,
    keep_open: Sequence[int] = (),
    stop_signal: signal.Signals = signal.SIGTERM,
    death_signal: signal.Signals = signal.SIGKILL,
) -> Child:
    """Starts `command` in a session of its own (so Ctrl-C reaches the parent alone), with no standard input.

    `output` takes both its output streams; `keep_open` are file descriptors that it inherits. `death_signal` is what
    it gets when this process is gone. Raises `FileNotFoundError` when there is no such program, and `RuntimeError`
    outside the main thread: the kernel watches the thread that starts the child, not the whole process.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("A child ends with the thread that started it: start it from the main thread.")
    program = shutil.which(command[0], path=(os.environ if env is None else env).get("PATH"))
    if program is None:
        raise FileNotFoundError(f"There is no program {command[0]!r}.")
    become = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(death_signal)), program, *command[1:]]
    process = subprocess.Popen(  # noqa: S603 - no shell; the callers' own programs
        become,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        pass_fds=keep_open,
        start_new_session=True,
    )
    return Child(process, stop_signal=stop_signal)


def end_with(parent: int, death_signal: int = signal.SIGKILL) -> None:
    """Ties the life of this process to that of its parent, which a fork has to ask for anew.

    A parent that is gone already ends it at once, without any clean-up. Raises `OSError` where the kernel refuses.
    """
    if sys.platform == "linux" and ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(death_signal)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if os.getppid() != parent:  # it ended before the kernel was asked, and nothing would ever end this one
        os._exit(NOT_STARTED)


def children_of(parent: int) -> list[int]:
    """The process ids of the direct children of any process; those that have ended but were not looked at, too."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True).stdout  # noqa: S607
        pairs = (line.split() for line in listed.splitlines())
        return [int(pid) for pid, ppid in pairs if int(ppid) == parent]
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended between the two looks
            if int(stat.read_text(errors="replace").rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _become(parent: int, death_signal: int, command: list[str]) -> None:
    """Turns this process into `command`, tied to the life of `parent`."""
    try:
        end_with(parent, death_signal)
    except OSError as error:
        sys.exit(f"prctl: {error.strerror}")
    try:
        os.execv(command[0], command)  # noqa: S606 - the point of this file
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - there is no logging here
        sys.exit(NOT_STARTED)


if __name__ == "__main__":
    _become(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
