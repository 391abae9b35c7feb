"""Flows as they are declared: steps, their contracts, their retry policy and the queue that catches what is refused.

Everything is checked where it is declared, so that a mistake stops the start and not a record. Declarations are never
changed after they are made, and are told apart by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, get_args

from handoffs import titles
from handoffs.contracts import Contract
from handoffs.declaring import is_count, is_number, require, require_contract, require_name
from handoffs.errors import UnknownStep
from handoffs.registry import clear, declared, get_flow, register
from handoffs.states import INTAKE
from handoffs.stepcontext import (
    AttachmentRef,
    Intake,
    NeedsHuman,
    PermanentError,
    Result,
    StepContext,
    TransientError,
)

__all__ = [
    "AttachmentRef",
    "Flow",
    "Intake",
    "NeedsHuman",
    "PermanentError",
    "Result",
    "Retry",
    "Step",
    "StepContext",
    "TransientError",
    "clear",
    "declared",
    "get_flow",
    "register",
]

Backoff = Literal["none", "fixed", "exponential"]
Doer = Literal["worker", "agent", "human"]
OnBrokenOutput = Literal["retry", "escalate"]

_START_WITHIN = {"worker": 600.0, "agent": 3600.0, "human": 600.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a step is tried (`cap`, the first try included) and how long to wait between; times in seconds."""

    cap: int
    backoff: Backoff = "exponential"
    first: float = 1.0
    ceiling: float = 300.0

    def __post_init__(self) -> None:
        require(is_count(self.cap), f"A retry cap is a whole number from 1, not {self.cap!r}.")
        known = self.backoff in get_args(Backoff)
        require(known, f"A backoff is none, fixed or exponential, not {self.backoff!r}.")
        require(is_number(self.first) and self.first >= 0, f"The first wait is in seconds, not {self.first!r}.")
        longer = is_number(self.ceiling) and self.ceiling >= self.first
        require(longer, f"The longest wait ({self.ceiling!r}) can't be shorter than the first ({self.first!r}).")

    def delay(self, tries_used: int) -> float:
        """Give the seconds to wait before the next try, after `tries_used` (at least 1) tries."""
        if self.backoff == "none":
            return 0.0
        if self.backoff == "fixed":
            return self.first
        doublings = min(max(tries_used, 1) - 1, 60)  # keeps the power within a float
        return min(self.first * 2.0**doublings, self.ceiling)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One unit of work: what it needs, what it hands over, who does it, and what happens when that fails.

    Times are in seconds, `confidence` (the bar) is 0..1. `takes` maps a key of the input to the earlier step whose
    output stands there. `when` gets the validated input; false hands the document on as it is.

    A drill runs `stand_in` in the place of the step's code, or of the person or agent that does it. Code that acts
    outside of the database says `effects=True`: without a stand-in a drill does not run it, and covers less.

    Raises:
        DeclarationError: the step cannot work as declared.
    """

    name: str
    _: KW_ONLY
    receives: type[Contract]
    returns: type[Contract]
    run: Callable[[Any, StepContext], Contract | Result] | None = None
    by: Doer = "worker"
    retry: Retry = Retry(cap=3)
    confidence: float | None = None
    escalate_to: str | None = None
    when: Callable[[Any], bool] | None = None
    takes: Mapping[str, str] = field(default_factory=dict)
    on_broken_output: OnBrokenOutput = "retry"
    enforce: bool = True
    timeout: float = 60.0
    lease: float | None = None
    start_within: float | None = None
    job_queue: str = "default"
    concurrency: int = 1
    renamed_from: tuple[str, ...] = ()
    stand_in: Callable[[Any, StepContext], Contract | Result] | None = None
    effects: bool = False

    def __post_init__(self) -> None:
        require(not isinstance(self.renamed_from, str), f"Step {self.name!r}: renamed_from is a tuple of names.")
        for name in (self.name, *self.renamed_from):
            require_name(name, "a step's name")
            require(name != INTAKE, f"No step may be named {INTAKE!r}: that is the place before the first step.")
        self._require_contracts_and_code()
        self._require_policy()
        self._require_times()

    def _require_contracts_and_code(self) -> None:
        require_contract(self.receives, f"Step {self.name!r}: receives")
        require_contract(self.returns, f"Step {self.name!r}: returns")
        require(self.by in get_args(Doer), f"Step {self.name!r}: by is worker, agent or human, not {self.by!r}.")
        if self.by == "worker":
            require(callable(self.run), f"Step {self.name!r} is done by a worker and needs code: give it run=.")
        else:
            doer = "a person" if self.by == "human" else "an agent outside"
            require(self.run is None, f"Step {self.name!r} is done by {doer}, so its run= would never be called.")
        require(self.when is None or callable(self.when), f"Step {self.name!r}: when must be a function.")
        require(self.stand_in is None or callable(self.stand_in), f"Step {self.name!r}: stand_in must be a function.")

    def _require_policy(self) -> None:
        require(isinstance(self.retry, Retry), f"Step {self.name!r} has no cap: give it retry=Retry(cap=…).")
        bar = self.confidence
        fits = bar is None or (is_number(bar) and 0 <= bar <= 1)
        require(fits, f"Step {self.name!r}: the confidence bar is between 0 and 1, not {bar!r}.")
        if self.escalate_to is not None:
            require_name(self.escalate_to, "a queue's name")
        require(
            self.on_broken_output in get_args(OnBrokenOutput),
            f"Step {self.name!r}: on_broken_output is retry or escalate, not {self.on_broken_output!r}.",
        )
        require(is_count(self.concurrency), f"Step {self.name!r}: concurrency is a whole number from 1.")
        require(bool(self.job_queue), f"Step {self.name!r} names no job queue.")

    def _require_times(self) -> None:
        for name in ("timeout", "lease_seconds", "start_within_seconds"):
            seconds = getattr(self, name)
            fits = is_number(seconds) and seconds > 0
            require(fits, f"Step {self.name!r}: {name} is a number of seconds above 0, not {seconds!r}.")
        # A lease that ends first would hand the work to a second worker while the first still does it.
        longer = self.lease_seconds > self.timeout
        require(longer, f"Step {self.name!r}: the lease must be longer than the timeout ({self.timeout} s).")

    @property
    def lease_seconds(self) -> float:
        """The lease as declared, or one and a half timeouts and 30 seconds."""
        return self.timeout * 1.5 + 30 if self.lease is None else self.lease

    @property
    def start_within_seconds(self) -> float:
        """How old the oldest ready record may become before its queue's owner is told."""
        return _START_WITHIN[self.by] if self.start_within is None else self.start_within


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """A named list of steps with an intake contract and a default queue.

    `title` is a template like "{supplier} {invoice.number}"; `columns` are names, dotted names or JSON pointers.
    `priority` gets the validated intake, higher is sooner. `reader` makes an `Intake` of a file's name and bytes.

    For drills: `examples` are good intakes, or a function that makes them; `allows` says what a drill may see let
    through, by step: `{"check": ["null /due_date"]}`. With `require_drill=False` the flow starts although no drill
    says that it is ready.

    Raises:
        DeclarationError: the flow cannot work as declared.
    """

    name: str
    _: KW_ONLY
    intake: type[Contract]
    steps: Sequence[Step]
    escalate_to: str
    title: str = ""
    columns: Sequence[str] = ()
    priority: Callable[[Any], int] | None = None
    reader: Callable[[Any, bytes], Intake] | None = None
    examples: Sequence[Intake] | Callable[[], Iterable[Intake]] = ()
    allows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    require_drill: bool = True

    def __post_init__(self) -> None:
        require_name(self.name, "a flow's name")
        require_contract(self.intake, f"Flow {self.name!r}: intake")
        require_name(self.escalate_to, "the queue that every flow needs (escalate_to)")
        all_steps = bool(self.steps) and all(isinstance(step, Step) for step in self.steps)
        require(all_steps, f"Flow {self.name!r} needs a list of steps, with at least one.")
        names = [name for step in self.steps for name in (step.name, *step.renamed_from)]
        for name in names:
            require(names.count(name) == 1, f"Flow {self.name!r}: the step name {name!r} is used twice.")
        for place, step in enumerate(self.steps):
            self._require_takes(step, {earlier.name for earlier in self.steps[:place]})
        for name in self.allows:
            require(name in {INTAKE, *names}, f"Flow {self.name!r} allows something at {name!r}, which is no step.")
        require(titles.is_template(self.title), f"Flow {self.name!r}: the title has a brace too many.")

    def _require_takes(self, step: Step, earlier: set[str]) -> None:
        for key, taken in step.takes.items():
            where = f"Flow {self.name!r}, step {step.name!r}, takes {key!r}"
            require(bool(key) and isinstance(key, str), f"{where}: the key must be a name.")
            require(taken in earlier, f"{where}: {taken!r} is not a step before it.")

    def step(self, name: str) -> Step:
        """Find a step by its name, or by a name it had.

        Raises:
            UnknownStep: no step has or had that name.
        """
        for step in self.steps:
            if name == step.name or name in step.renamed_from:
                return step
        raise UnknownStep(f"Flow {self.name!r} has no step {name!r}.")

    def index(self, name: str) -> int:
        """Give the place of a step, the first being 0. Raises UnknownStep."""
        return self.steps.index(self.step(name))

    def following(self, name: str) -> Step | None:
        """Give the step after this one (after "intake": the first), None after the last. Raises UnknownStep."""
        place = 0 if name == INTAKE else self.index(name) + 1
        return self.steps[place] if place < len(self.steps) else None

    def before(self, name: str) -> Step | None:
        """Give the step before this one, None before the first. Raises UnknownStep."""
        place = self.index(name)
        return self.steps[place - 1] if place else None

    def queue_of(self, step_name: str) -> str:
        """Name the queue that catches what stops at this step, or at "intake". Raises UnknownStep."""
        return self.escalate_to if step_name == INTAKE else self.step(step_name).escalate_to or self.escalate_to

    @property
    def last(self) -> Step:
        """The step that completes a record."""
        return self.steps[-1]

    @property
    def shown_fields(self) -> tuple[str, ...]:
        """The fields that title and columns show, as declared."""
        return (*titles.placeholders(self.title), *self.columns)

    def describe(self, data: object) -> tuple[str, list[str]]:
        """Fill the title and the columns from a document as parsed; what is missing shows as a dash."""
        return titles.fill(self.title, data), titles.fill_columns(self.columns, data)
