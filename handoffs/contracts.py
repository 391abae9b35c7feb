"""Contracts: what a step needs and what it hands over, and how a body is held against them.

A contract is a pydantic model. A broken contract is data, a tuple of `Violation`s, never an exception; only a contract
that is itself declared wrongly raises.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, PydanticUserError, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import CoreSchema, SchemaValidator

from handoffs import invariants, sentences, strict_types
from handoffs.decimals import WithDecimals
from handoffs.errors import DeclarationError
from handoffs.states import Side
from handoffs.strict_json import Flaw, pointer

MAX_VIOLATIONS: Final = 1000  # of one body; one after them says how many more there are

Unknown = Literal["refuse", "count"]


@dataclass(frozen=True, slots=True)
class Carried:
    """Marks a fact, `Annotated[str, Carried()]`: where a step's input and output know it, it is handed on unchanged."""

    @staticmethod  # so that `Carried` without its parentheses is the same mark
    def __get_pydantic_json_schema__(core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core_schema) | {"x-carried": True}


class Contract(BaseModel):
    """A typed body at a seam: strict and frozen.

    Unknown fields are refused; `class Event(Contract, unknown="count")` keeps and counts them instead.

    Raises:
        DeclarationError: at the class statement, if a type would let through what a contract must not.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    def __init_subclass__(cls, *, unknown: Unknown | None = None, **config: Any) -> None:
        super().__init_subclass__(**config)
        if unknown not in {None, *get_args(Unknown)}:
            raise DeclarationError(f'{cls.__name__}: unknown is "refuse" or "count", not {unknown!r}')
        if unknown is not None:
            # pydantic builds the validator from this dictionary after this hook.
            cls.model_config["extra"] = "allow" if unknown == "count" else "forbid"

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = handler(core_schema)
        if rules := invariants.described(cls):
            handler.resolve_ref_schema(found)["x-invariants"] = rules
        return found

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        if cls.__base__ is BaseModel:  # Contract itself, which has no name yet
            return
        if faults := dict.fromkeys(strict_types.faults(cls.__pydantic_core_schema__, Contract)):
            raise DeclarationError(f"{cls.__name__}: {'; '.join(faults)}")
        cls.__pydantic_core_schema__ = strict_types.tighten(cls.__pydantic_core_schema__)
        # A complete model's old validator would be taken for the new one.
        cls.__pydantic_complete__ = False
        cls.__pydantic_validator__ = SchemaValidator(cls.__pydantic_core_schema__)
        cls.__pydantic_complete__ = True


@dataclass(frozen=True, slots=True)
class Violation:
    """One way a body breaks a contract; `pointer` is relative to the contract."""

    side: Side
    pointer: str
    rule: str
    expected: str
    received: str
    sentence: str

    def fingerprint(self, *, flow: str, seam: str, producer: str) -> str:
        """Return 32 hex digits, the same for the same break at the same seam, whichever item of a list has it."""
        place = re.sub(r"/[0-9]+(?=/|$)", "/*", self.pointer)
        return _sha256([flow, seam, self.side, self.rule, place, producer])[:32]


@dataclass(frozen=True, slots=True)
class Checked:
    """A body held against a contract: `value` is None exactly when there are violations.

    `unknown` has the pointers of the fields that the contract does not know, refused or counted.
    """

    value: Contract | None
    violations: tuple[Violation, ...]
    unknown: tuple[str, ...]


def check(contract: type[Contract], body: str, *, side: Side) -> Checked:
    """Hold a body that passed the gate against a contract; never raises for a body."""
    if not _counts_unknown(contract):
        value, violations = _judge(contract, body, side)
        return Checked(value, violations, _unknown(violations) if violations else ())
    # Most bodies have no unknown field, so the first look refuses them: then there is nothing to count.
    value, violations = _judge(contract, body, side, extra="forbid")
    unknown = _unknown(violations)
    if unknown:
        value, violations = _judge(contract, body, side)
    return Checked(value, violations, unknown)


def check_between(receives: type[Contract], given: str, output: Contract | None) -> tuple[Violation, ...]:
    """Hold a valid output against those of its invariants that look at the step's input, a text, as well."""
    if output is None or not invariants.compares(type(output)):
        return ()
    value = check(receives, given, side=Side.RECEIVES).value  # an observing step may have been handed anything
    return _broken(invariants.breaches_between(value, output), Side.RETURNS) if value else ()


def from_flaws(flaws: Sequence[Flaw], *, side: Side, prefix: str = "") -> tuple[Violation, ...]:
    """Return the flaws of what was sent as violations.

    `prefix` is the pointer of the contract's body within it, such as "/output"; flaws outside are the envelope's.
    """
    return tuple(_from_flaw(flaw, side, prefix) for flaw in flaws)


def read_confidence(raw: object) -> tuple[float | None, tuple[Violation, ...]]:
    """Read a confidence: a finite number from 0 to 1, or None where none is given. It is never scaled or clamped."""
    if raw is None:
        return None, ()
    if isinstance(raw, int | float) and not isinstance(raw, bool) and 0 <= raw <= 1:  # NaN compares with nothing
        return float(raw), ()
    sent = sentences.received(raw)
    sentence = f"Confidence is a number from 0 to 1, like 0.87; {sent} was sent."
    return None, (
        Violation(Side.ENVELOPE, "/confidence", "invalid_confidence", "a number from 0 to 1", sent, sentence),
    )


def dump(model: Contract) -> str:
    """Return the JSON text of a contract's instance, as the next contract reads it: decimals and dates as text."""
    return model.model_dump_json(by_alias=True, round_trip=True, warnings=False)


def schema(contract: type[Contract]) -> dict[str, Any]:
    """Return the contract's JSON Schema; decimals have the format "decimal", and `x-max_digits`, `x-decimal_places`."""
    return contract.model_json_schema(schema_generator=WithDecimals)


@cache
def contract_hash(contract: type[Contract]) -> str:
    """Return 64 hex digits over the JSON Schema and the source of what also judges: validators and invariants."""
    return _sha256([schema(contract), strict_types.sources(core_schema(contract)) + invariants.sources_of(contract)])


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _from_flaw(flaw: Flaw, side: Side, prefix: str) -> Violation:
    inside = f"{flaw.pointer}/".startswith(f"{prefix}/")
    where = flaw.pointer[len(prefix) :] if inside else flaw.pointer
    return Violation(side if inside else Side.ENVELOPE, where, flaw.code, "", flaw.received, flaw.sentence)


def core_schema(contract: type[Contract]) -> Any:
    """Return what pydantic judges by.

    Raises:
        DeclarationError: a type that the contract names is nowhere defined.
    """
    try:
        contract.model_rebuild()  # does nothing unless a type was not yet defined at the class statement
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise DeclarationError(f"{contract.__name__}: {error.message}") from error
    return contract.__pydantic_core_schema__


@cache
def _counts_unknown(contract: type[Contract]) -> bool:
    models = (node["cls"] for node in strict_types.nodes(core_schema(contract)) if node["type"] == "model")
    return any(model.model_config["extra"] == "allow" for model in models)


def _judge(
    contract: type[Contract], body: str, side: Side, extra: Literal["forbid"] | None = None
) -> tuple[Contract | None, tuple[Violation, ...]]:
    try:
        value = contract.model_validate_json(body, extra=extra)
        broken = _broken(invariants.breaches(value), side)
        return (None, broken) if broken else (value, ())
    except ValidationError as error:
        return None, _violations(contract, side, error)
    except Exception as error:  # a contract's own validator may do anything; the body is refused, not lost
        sentence = f"The contract's own validator failed with {type(error).__name__}."
        return None, (Violation(side, "", "validator_failed", "", "", sentence),)


def _broken(found: Sequence[invariants.Breach], side: Side) -> tuple[Violation, ...]:
    return tuple(Violation(side, b.pointer, b.rule, b.expected, "", b.sentence) for b in found)


@cache
def _places(contract: type[Contract]) -> strict_types.Places:
    return strict_types.Places(core_schema(contract))


def _violations(contract: type[Contract], side: Side, error: ValidationError) -> tuple[Violation, ...]:
    found: dict[tuple[str, str], sentences.Finding] = {}
    places = _places(contract)
    details = iter(error.errors(include_url=False))
    for detail in details:
        finding = sentences.describe(detail)
        key = (pointer(places.path(detail["loc"])), finding.rule)
        # The members of a union each complain about the same place.
        found[key] = sentences.either(found[key], finding) if key in found else finding
        if len(found) == MAX_VIOLATIONS:
            break
    violations = [
        Violation(side, where, rule, finding.expected, finding.received, finding.sentence)
        for (where, rule), finding in found.items()
    ]
    if more := sum(1 for _ in details):
        violations.append(Violation(side, "", "too_many_violations", "", "", f"{more:,} more are not listed."))
    return tuple(violations)


def _unknown(violations: Sequence[Violation]) -> tuple[str, ...]:
    return tuple(violation.pointer for violation in violations if violation.rule == "unknown_field")
