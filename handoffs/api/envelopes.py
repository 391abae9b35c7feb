"""What surrounds a body: read strictly, with the body inside cut out as it was sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from pydantic import Field

from handoffs import strict_json
from handoffs.actions.records import Opening
from handoffs.api.cutting import member
from handoffs.api.limits import TooLarge, max_body
from handoffs.api.problems import Problem, violations
from handoffs.bodies import storable
from handoffs.contracts import Contract, Violation, check, from_flaws
from handoffs.engine import Delivery
from handoffs.errors import ContractBroken
from handoffs.evidence import Evidence
from handoffs.states import Side
from handoffs.strict_json import Flaw

Part = Annotated[float, Field(ge=0, le=1)]
Pointed = Annotated[str, Field(max_length=500)]
Name = Annotated[str, Field(max_length=100)]
ExternalId = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Sent = TypeVar("Sent", bound=Contract)
Usage = str | int | float | bool | None


class AroundOutput(Contract):
    """What may stand around an output. The confidence is read by the engine."""

    attempt: Annotated[int, Field(ge=1)] | None = None
    step: Name | None = None
    field_confidence: dict[Pointed, Part] | None = None
    evidence: dict[Pointed, Evidence | list[Evidence]] | None = None
    usage: dict[Name, Usage] | None = None


class AroundInput(Contract):
    """What may stand around an input."""

    external_id: ExternalId | None = None


class FailureSent(Contract):
    """An attempt that failed."""

    attempt: Annotated[int, Field(ge=1)] | None = None
    step: Name | None = None
    code: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")] = "failed"
    message: Annotated[str, Field(min_length=1, max_length=2000)]
    permanent: bool = False


class QuestionSent(Contract):
    """A question that a person has to answer before the agent can go on."""

    attempt: Annotated[int, Field(ge=1)] | None = None
    step: Name | None = None
    question: Annotated[str, Field(min_length=1, max_length=4000)]
    answers: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=20)] = []


class ReleaseSent(Contract):
    """An attempt that is handed back."""

    attempt: Annotated[int, Field(ge=1)] | None = None
    step: Name | None = None
    reason: Annotated[str, Field(max_length=500)] = ""


class ClaimsSent(Contract):
    """How many records to claim."""

    limit: Annotated[int, Field(ge=1, le=100)] = 1


@dataclass(frozen=True, slots=True)
class Received:
    """A result as it came. `status` is what a refusal for its flaws is answered with; 0 where it has none."""

    delivery: Delivery
    step: str | None = None
    said: int | None = None
    status: int = 0
    code: str = ""
    more: dict[str, Any] = field(default_factory=dict)


def read_result(raw: bytes) -> Received:
    """Read a posted result. What can't be read becomes a delivery with flaws, so that it is charged to its attempt."""
    read = strict_json.read(raw, max_bytes=max_body())
    if isinstance(read, tuple):
        flaws = from_flaws(read, side=Side.RETURNS, prefix="/output")
        return Received(_kept(raw, "output", flaws), status=400, code=read[0].code, more=_place(read))
    data = read.data
    if not isinstance(data, dict):
        wrong = (_violation("", "wrong_type", "An object with the member “output” is needed."),)
        return Received(_kept(raw, "output", wrong), status=422, code="contract_broken")
    around, flawed = _around(AroundOutput, data, leave=("output", "confidence"))
    step, said = (around.step, around.attempt) if around else (None, None)
    if "output" not in data:
        flawed = (_violation("/output", "missing", "The output is missing."), *flawed)
    if flawed:
        return Received(_kept(raw, "output", flawed), step, said, 422, "contract_broken")
    delivery = Delivery(
        member(read.text, "output") or "null",
        data.get("confidence"),
        data.get("field_confidence") or {},
        data.get("evidence") or {},
        data.get("usage") or {},
    )
    return Received(delivery, step, said)


def too_large_result(found: TooLarge) -> Received:
    """A result whose body was not even read; the attempt is charged all the same, without the body."""
    sentence = f"The body has {found.sent:,} bytes; at most {found.allowed:,} are taken."
    flaw = Violation(Side.ENVELOPE, "", "too_large", f"{found.allowed:,} bytes", f"{found.sent:,} bytes", sentence)
    more = {"sent": found.sent, "allowed": found.allowed}
    return Received(Delivery("", flaws=(flaw,)), status=413, code="too_large", more=more)


def read_opening(raw: bytes) -> tuple[Opening, int, str]:
    """(the opening, status and code of its refusal if it is refused before its contract is looked at)."""
    read = strict_json.read(raw, max_bytes=max_body())
    if isinstance(read, tuple):
        flaws = from_flaws(read, side=Side.INTAKE, prefix="/input")
        return _refused(raw, flaws), 400, read[0].code
    data = read.data
    if not isinstance(data, dict):
        wrong = (_violation("", "wrong_type", "An object with the member “input” is needed."),)
        return _refused(raw, wrong), 422, "contract_broken"
    around, flawed = _around(AroundInput, data, leave=("input",))
    if "input" not in data:
        flawed = (_violation("/input", "missing", "The input is missing."), *flawed)
    if flawed or around is None:
        return _refused(raw, flawed), 422, "contract_broken"
    return Opening((member(read.text, "input") or "null").encode(), around.external_id), 0, ""


def read_as(contract: type[Sent], raw: bytes, *, empty: str = "") -> Sent:
    """Read a body that is its own contract; nothing at all counts as `empty`, where that is given.

    Raises:
        Problem: it is not JSON.
        ContractBroken: it breaks the contract.
    """
    read = strict_json.read(raw if raw.strip() or not empty else empty.encode(), max_bytes=max_body())
    if isinstance(read, tuple):
        raise unreadable(read)
    checked = check(contract, read.text, side=Side.ENVELOPE)
    if not isinstance(checked.value, contract):
        raise ContractBroken(checked.violations)
    return checked.value


def unreadable(flaws: Sequence[Flaw]) -> Problem:
    """The refusal of a body that the gate does not take."""
    found = violations(from_flaws(flaws, side=Side.ENVELOPE))
    return Problem(flaws[0].code, flaws[0].sentence, violations=found, **_place(flaws))


def _refused(raw: bytes, flaws: tuple[Violation, ...]) -> Opening:
    text = _text(raw)
    inside = member(text, "input") if text is not None else None
    return Opening(inside.encode() if inside is not None else raw, refused=flaws)


def _kept(raw: bytes, name: str, flaws: tuple[Violation, ...]) -> Delivery:
    """The part that matters, if it can be told apart, or all that was sent."""
    text = _text(raw)
    inside = member(text, name) if text is not None else None
    kept, encoding = storable(inside.encode() if inside is not None else raw)
    return Delivery(kept, flaws=flaws, encoding=encoding)


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _around(
    contract: type[Sent], data: dict[str, Any], leave: tuple[str, ...]
) -> tuple[Sent | None, tuple[Violation, ...]]:
    rest = json.dumps({key: value for key, value in data.items() if key not in leave})
    checked = check(contract, rest, side=Side.ENVELOPE)
    return (checked.value if isinstance(checked.value, contract) else None), checked.violations


def _violation(pointer: str, rule: str, sentence: str) -> Violation:
    return Violation(Side.ENVELOPE, pointer, rule, "", "", sentence)


def _place(flaws: Sequence[Flaw]) -> dict[str, Any]:
    return {"line": flaws[0].line, "column": flaws[0].column}
