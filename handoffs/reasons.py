"""The plain sentence that says why a record stopped: the same on a page, in a mail, in the API and on the console."""

from __future__ import annotations

from collections.abc import Sequence

from handoffs.contracts import Violation
from handoffs.states import INTAKE, Kind

SHOWN = 3


def fields(violations: Sequence[Violation]) -> str:
    """The violated fields, the first few named: “/total, /due_date and 2 more”."""
    pointers = list(dict.fromkeys(v.pointer or "the whole body" for v in violations))
    if len(pointers) <= SHOWN:
        return " and ".join(filter(None, [", ".join(pointers[:-1]), pointers[-1]])) if pointers else "nothing"
    return f"{', '.join(pointers[:SHOWN])} and {len(pointers) - SHOWN} more"


def number(value: float) -> str:
    """A confidence as it was sent, with no rounding that would hide on which side of the bar it lies."""
    return format(value, ".2f") if round(value, 2) == value else repr(value)


def why_it_stopped(
    kind: Kind,
    step: str,
    *,
    code: str = "",
    sentence: str = "",
    violations: Sequence[Violation] = (),
    confidence: float | None = None,
    bar: float | None = None,
) -> str:
    """Say why a record stopped at `step`, in words a reviewer would use."""
    if kind is Kind.REFUSED and code == "when_failed":
        return f"{step} would not run: the rule that decides whether it is needed failed ({sentence})."
    if kind is Kind.REFUSED:
        what = "The record could not be taken in" if step == INTAKE else f"{step} would not run"
        return f"{what}: {_one_or_many(violations)}"
    if kind is Kind.BROKEN_OUTPUT:
        return f"{step} delivered an output that breaks its contract: {_one_or_many(violations)}"
    if kind is Kind.LOW_CONFIDENCE:
        return _unsure(step, violations, confidence, bar)
    if kind is Kind.FAILED:
        return f"{step} failed: {sentence or code or 'no reason was given'}"
    if kind is Kind.ASKED:
        return f"{step} asks: {sentence}"
    if kind is Kind.REVIEW:
        return f"{step} is done by a person."
    if kind is Kind.STRANDED:
        return f"The step {step} is gone from the flow."
    return sentence or "A reviewer took the record up again."


def _one_or_many(violations: Sequence[Violation]) -> str:
    if len(violations) == 1:
        return (
            violations[0].sentence
            if not violations[0].pointer
            else f"{violations[0].pointer}: {violations[0].sentence}"
        )
    return f"{len(violations)} fields break the contract ({fields(violations)})."


def _unsure(step: str, violations: Sequence[Violation], confidence: float | None, bar: float | None) -> str:
    if violations:
        return f"{step} reported a confidence that is none: {violations[0].sentence}"
    if confidence is None:
        return f"{step} did not report how sure it is" + (f"; {number(bar)} is needed." if bar is not None else ".")
    return f"{step} is not sure enough: {number(confidence)}, needs {number(bar or 0)}."
