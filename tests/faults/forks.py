"""One deed in a forked process, which a crash point may kill in the middle of it."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable

from django.db import connections

from handoffs import crashpoints


def run(deed: Callable[[], object], *, crashpoint: str = "") -> int:
    """Do it in a fork; its exit code, negative where a signal ended it."""
    connections.close_all()  # a fork must not inherit a database connection
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the test runner has threads; the fork uses none of them
        pid = os.fork()
    if pid == 0:
        _in_the_fork(deed, crashpoint)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _in_the_fork(deed: Callable[[], object], crashpoint: str) -> None:
    code = 1
    try:
        crashpoints._visits.clear()
        if crashpoint:
            os.environ["CRASHPOINT"] = crashpoint
        deed()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # nothing of the test runner may run twice


def is_killed(code: int) -> bool:
    return code == -signal.SIGKILL
