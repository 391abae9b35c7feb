"""What a drill finds: one case per mutant or fault, a verdict per seam, and the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """What a seam, or a flow, is after a drill."""

    READY = "ready"  # everything malformed was stopped where the contracts say, and recovered
    NOT_READY = "not_ready"  # something was not, or a hole waits for an answer
    NOT_COVERED = "not_covered"  # it could not be tried


# What each fault means, in words that follow the seam's name.
CODES = {
    "let_through": "It was let through. Should it be? If so, the flow says so with allows=.",
    "laxer_than_producer": "What hands it over would refuse it, what receives it does not. Should it be let through?",
    "no_longer_refused": "The last green drill refused it, and now it is let through. Should it be?",
    "unknown_lost": "A field that the contract does not know came through, and is counted nowhere.",
    "never_broken": "Nothing that the drill tried breaks this rule. Show it how, with broken=.",
    "code_called": "The step's code was called, although its input breaks its contract.",
    "code_broke": "It was let through, and broke the step's code.",
    "try_used": "A try was used, although nothing ran.",
    "not_escalated": "The record did not stop with an escalation.",
    "wrong_queue": "The escalation lies in another queue than the flow names.",
    "queue_missing": "The queue that the flow names does not exist.",
    "owner_unreachable": "The queue's owner is not active: nobody would see it.",
    "body_changed": "The body is not kept as it was sent.",
    "not_told": "Whoever sent it was not told that it is refused.",
    "no_reason": "Nothing says why the record stopped.",
    "validator_broke": "The contract's own validator fails on it, instead of saying what is wrong.",
    "acts_before_validation": "The contract or `when` writes to the database while it judges.",
    "gate_open": "A retry was granted, although the input still breaks its contract.",
    "fix_refused": "The right body was refused as a fix.",
    "not_completed": "After the right fix the record did not complete.",
    "history_broken": "The record's history does not hold.",
    "example_stopped": "A good example did not complete.",
    "error_swallowed": "The step's code met an error, and handed something over all the same.",
    "retries_inside": "The step's code met an error and tried again by itself, where the cap can't count it.",
    "stale_ignored": "The step's code went on although another worker had taken over.",
    "never_looks": "The step's code runs in threads, where no time limit reaches it, and never calls its heartbeat: it"
    " would go on although another worker has taken over.",
    "result_applied_twice": "The same result counted twice.",
    "late_result_applied": "A result that came late was applied.",
    "lease_not_ended": "The try of a worker that died was not ended.",
    "error_lost": "A failed try left no trace.",
    "crashed": "An action failed with an error of its own.",
    "cap_ignored": "More tries ran than the cap allows.",
}
HOLES = frozenset({"let_through", "laxer_than_producer", "no_longer_refused", "unknown_lost"})


@dataclass(frozen=True, slots=True)
class Case:
    """One mutant or fault, and what became of it: `code` is empty where all was as it must be.

    `engine`: it went through the engine and its record recovered; the others were held against the contract only.
    `body` is kept where something is wrong.
    """

    kind: str
    pointer: str
    note: str
    digest: str
    code: str = ""
    sentence: str = ""
    engine: bool = False
    allowed: bool = False
    body: str = ""

    @property
    def is_hole(self) -> bool:
        return self.code in HOLES and not self.allowed

    @property
    def is_fault(self) -> bool:
        return bool(self.code) and self.code not in HOLES and not self.allowed


@dataclass(slots=True)
class SeamReport:
    """One seam: between which neighbours, its cases, and what could not be tried, by class, with the reason."""

    name: str
    step: str
    contracts: str
    cases: list[Case] = field(default_factory=list)
    not_applicable: dict[str, str] = field(default_factory=dict)
    uncovered: str = ""
    note: str = ""

    @property
    def holes(self) -> list[Case]:
        return [case for case in self.cases if case.is_hole]

    @property
    def faults(self) -> list[Case]:
        return [case for case in self.cases if case.is_fault]

    @property
    def verdict(self) -> Verdict:
        if self.holes or self.faults:
            return Verdict.NOT_READY
        return Verdict.NOT_COVERED if self.uncovered else Verdict.READY

    @property
    def reason(self) -> str:
        """The verdict in words."""
        if self.faults:
            worst, count = Counter(case.code for case in self.faults).most_common(1)[0]
            more = len(self.faults) - count
            return f"{count} × {CODES.get(worst, worst)}" + (f" And {more} more." if more else "")
        if self.holes:
            one = self.holes[0]
            return f"{len(self.holes)} let through, the first: {one.kind} {one.pointer} ({one.note}). Should they be?"
        return self.uncovered or self.note or f"{len(self.cases)} malformed bodies and faults stopped as they must."

    def classes(self) -> dict[str, list[Case]]:
        found: dict[str, list[Case]] = {}
        for case in self.cases:
            found.setdefault(case.kind, []).append(case)
        return dict(sorted(found.items()))


@dataclass(slots=True)
class DrillReport:
    """A whole drill. `seconds` is how long it took."""

    flow: str
    seed: int
    seams: Sequence[SeamReport] = ()
    seconds: float = 0.0
    step: str = ""

    @property
    def cases(self) -> list[Case]:
        return [case for seam in self.seams for case in seam.cases]

    @property
    def distinct(self) -> int:
        """How many distinct bodies were sent."""
        return len({case.digest for case in self.cases if case.digest})

    @property
    def verdict(self) -> Verdict:
        """Ready when every seam is."""
        verdicts = {seam.verdict for seam in self.seams}
        worst = (Verdict.NOT_READY, Verdict.NOT_COVERED, Verdict.READY)
        return next((verdict for verdict in worst if verdict in verdicts), Verdict.NOT_COVERED)
