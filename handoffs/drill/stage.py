"""The stage of a drill: the flow as declared, with a probe around its code, in a transaction that is rolled back.

On the stage the flow stands under its own name, but in this thread only, and its steps are served on a job queue of
the drill's own: so no real record is ever claimed, and nothing that happens here is seen outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import connection, transaction

from handoffs.errors import StaleAttempt
from handoffs.flows import Flow, PermanentError, Step, TransientError
from handoffs.registry import instead

JOB_QUEUE = "handoffs-drill"
ACTOR = "system:drill"
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


@contextmanager
def nothing_kept() -> Iterator[None]:
    """A transaction, or a savepoint within one, that is rolled back whatever happens. No bell rings."""
    with transaction.atomic():
        try:
            yield
        finally:
            transaction.set_rollback(True)


@contextmanager
def watched_writes() -> Iterator[list[str]]:
    """The statements in this block that write to the database."""
    found: list[str] = []

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().upper().startswith(WRITES):
            found.append(sql[:200])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield found


class Poisoned:
    """An input that fails when it is looked at, as a service that is away would; it counts the looks."""

    def __init__(self, error: Callable[[], Exception], touched: list[str]) -> None:
        object.__setattr__(self, "_error", error)
        object.__setattr__(self, "_touched", touched)

    def __getattribute__(self, name: str) -> Any:
        object.__getattribute__(self, "_touched").append(name)
        raise object.__getattribute__(self, "_error")()


@dataclass
class Probe:
    """Counts the calls of each step's code, and makes one fail where a drill wants that.

    `fault` is empty, or: transient, permanent (its input fails), stale (another worker has taken over).
    """

    calls: Counter[str] = field(default_factory=Counter)
    at: str = ""
    fault: str = ""
    touched: list[str] = field(default_factory=list)
    raised: int = 0

    def around(self, step: Step) -> Callable[[Any, Any], Any]:
        code = step.stand_in or step.run

        def run(given: Any, context: Any) -> Any:
            self.calls[step.name] += 1
            if step.name == self.at and self.fault:
                given, context = self._spoil(given, context)
            with transaction.atomic():  # as outside of a drill, where a step that fails takes its own writes back
                return code(given, context)  # type: ignore[misc]

        return run

    def _spoil(self, given: Any, context: Any) -> tuple[Any, Any]:
        if self.fault == "stale":
            return given, replace(context, heartbeat=self._taken_over)
        kind = PermanentError if self.fault == "permanent" else TransientError
        code = f"drill_{self.fault}"
        return Poisoned(lambda: kind("A drill plays that it failed.", code=code), self.touched), context

    def _taken_over(self) -> None:
        self.raised += 1
        raise StaleAttempt("A drill plays that another worker has taken over.")

    @contextmanager
    def failing(self, step: str, fault: str) -> Iterator[None]:
        self.at, self.fault, self.raised = step, fault, 0
        self.touched.clear()
        try:
            yield
        finally:
            self.at = self.fault = ""


def acts_outside(step: Step) -> bool:
    """Whether the step's code may not run in a drill."""
    return step.effects and step.stand_in is None


@dataclass(frozen=True, slots=True)
class Stage:
    """A flow under drill."""

    flow: Flow
    probe: Probe = field(default_factory=Probe)

    @contextmanager
    def play(self, *, outside: str = "") -> Iterator[Flow]:
        """Put the flow on the stage; where a person does the step `outside`, records stop before it."""
        steps = [self._staged(step, outside) for step in self.flow.steps]
        staged = replace(self.flow, steps=steps, require_drill=False)
        with instead(staged):
            yield staged

    def _staged(self, step: Step, outside: str) -> Step:
        if (step.by == "human" and step.name == outside) or (step.by == "worker" and acts_outside(step)):
            return replace(step, by="agent", run=None)
        return replace(step, run=self.probe.around(step), job_queue=JOB_QUEUE) if step.by == "worker" else step
