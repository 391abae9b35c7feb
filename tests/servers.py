"""Private servers for tests: PostgreSQL and Redis on free loopback ports, gone when their block ends.

`python -m tests.servers run -- COMMAND...` runs a command with both, named by DATABASE_URL and REDIS_URL.
"""

from __future__ import annotations

import argparse
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import psycopg

from handoffs import children, embedded
from handoffs.children import Child

READY_WITHIN = 30.0  # seconds
PORTS = range(20_000, 32_000)  # below the range that the kernel hands to outgoing connections
STOP_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class ServerMissingError(Exception):
    """The programs of a server are not on this machine."""


class Postgres:
    """One PostgreSQL cluster in a folder; may be stopped and started again on the same port.

    Without `durable` it skips fsync: killed servers lose nothing by that, only a machine that loses power does.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder, self.port, self.durable = folder, free_port(), durable
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/handoffs"
        self._programs, self._as_user = postgres_programs(), other_user()
        self._child: Child | None = None

    def create(self) -> None:
        command = [*self._as_user, str(self._programs / "initdb"), "--pgdata", str(self.folder / "data")]
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        made = subprocess.run([*command, *options], cwd=self.folder, capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(made.stderr)
        self.start()
        with self.connect("postgres") as connection:
            connection.execute("CREATE DATABASE handoffs")

    def start(self) -> None:
        off = [] if self.durable else ["fsync=off", "full_page_writes=off"]
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", *off]
        command = [*self._as_user, str(self._programs / "postgres"), "-D", str(self.folder / "data")]
        command += [word for setting in [*settings, "max_connections=200"] for word in ("-c", setting)]
        with (self.folder / "postgres.log").open("ab") as log:
            self._child = children.start(
                command, cwd=self.folder, output=log, stop_signal=signal.SIGINT, death_signal=signal.SIGQUIT
            )
        wait_until(self._is_ready, self._child, self.folder / "postgres.log")

    def stop(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """`immediate` is what a crash leaves behind."""
        if self._child:
            self._child.stop(grace=READY_WITHIN, first=STOP_SIGNALS[how])

    def restart(self, how: Literal["fast", "immediate"] = "fast") -> None:
        self.stop(how)
        self.start()

    def connect(self, database: str = "handoffs") -> psycopg.Connection:
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=database, autocommit=True, connect_timeout=2
        )

    def _is_ready(self) -> bool:
        with suppress(psycopg.OperationalError), self.connect("postgres"):
            return True
        return False


class Redis:
    """One Redis or Valkey server without persistence; a restart is a flush."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._child: Child | None = None

    def start(self, *options: str) -> None:
        """`options` are the server's own, like `--maxmemory 2mb`, one word each."""
        fixed = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with (self.folder / "redis.log").open("ab") as log:
            self._child = children.start([str(embedded.find_program()), *fixed, *options], cwd=self.folder, output=log)
        wait_until(self._is_ready, self._child, self.folder / "redis.log")

    def stop(self) -> None:
        if self._child:
            self._child.stop()

    def kill(self) -> None:
        if self._child:
            self._child.stop(first=signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _is_ready(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        return False


@contextmanager
def postgres(*, durable: bool = False) -> Iterator[Postgres]:
    """A running cluster with an empty database. Raises `ServerMissingError`."""
    with _folder("handoffs-postgres-") as folder:
        server = Postgres(folder, durable=durable)
        try:
            server.create()
            yield server
        finally:
            server.stop()


@contextmanager
def redis() -> Iterator[Redis]:
    """A running server. Raises `handoffs.errors.QueueServerAway` when there is no program for it."""
    with _folder("handoffs-redis-") as folder:
        server = Redis(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()


def postgres_programs() -> Path:
    """The folder of `initdb` and `postgres`; of Debian's versions the newest. Raises `ServerMissingError`."""
    on_path = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda found: float(found.parent.name))
    for folder in [*([Path(on_path).resolve().parent] if on_path else []), *reversed(debian)]:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            return folder
    raise ServerMissingError("PostgreSQL's initdb and postgres are neither on PATH nor in /usr/lib/postgresql.")


def has_postgres() -> bool:
    with suppress(ServerMissingError):
        return postgres_programs().is_dir()
    return False


def other_user() -> list[str]:
    """PostgreSQL refuses to run as root: the words before a command that make it run as somebody else."""
    if os.geteuid() != 0:
        return []
    account = _other_account()
    words = f"setpriv --reuid {account.pw_uid} --regid {account.pw_gid} --clear-groups --pdeathsig QUIT"
    return words.split()  # the change of user clears what the kernel promised, so it is asked again


def _other_account() -> pwd.struct_passwd:
    with suppress(KeyError):
        return pwd.getpwnam("postgres")
    return pwd.getpwnam("nobody")


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        if os.geteuid() == 0:
            account = _other_account()
            os.chown(name, account.pw_uid, account.pw_gid)
        yield Path(name)


def free_port() -> int:
    choose = random.SystemRandom().choice  # the seeded one would give the same ports to every test worker
    for _ in range(100):
        port = choose(PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("No free port.")


def wait_until(is_ready, child: Child, log: Path) -> None:
    """Returns when the server answers. Raises `RuntimeError` with the end of its log when it does not."""
    until = time.monotonic() + READY_WITHIN
    while time.monotonic() < until and child.poll() is None:
        if is_ready():
            return
        time.sleep(0.02)
    child.stop()
    raise RuntimeError("The server did not start:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-10:]))


def run(command: Sequence[str], *, durable: bool = False) -> int:
    """Runs `command` beside both servers, with a secret key, and returns its exit code as a shell would."""
    with postgres(durable=durable) as database, redis() as queue:
        named = {"DATABASE_URL": database.url, "REDIS_URL": queue.url}
        env = {"SECRET_KEY": secrets.token_urlsafe(64)} | os.environ | named
        with children.start(command, env=env) as child:
            code = child.wait()
    return code if code >= 0 else 128 - code


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run", help="run a command beside PostgreSQL and Redis")
    running.add_argument("--durable", action="store_true", help="PostgreSQL waits for the disk, as in production")
    running.add_argument("command", nargs="+", help="the command, after --")
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    return run(chosen.command, durable=chosen.durable)


if __name__ == "__main__":
    sys.exit(main())
