"""Contracts: what a step needs and what it hands over, and how a body is held against them.

A contract is a pydantic model. A broken contract is data, a tuple of `Violation`s, never an exception; only a contract
that is itself declared wrongly raises.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, SchemaValidator

from handoffs import sentences, strict_types
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


def check_carried(
    receives: type[Contract], given: object, returns: type[Contract], output: object
) -> tuple[Violation, ...]:
    """Compare the facts marked `Carried()` in either contract and known to both; `given` and `output` are parsed JSON.

    Values are compared as their types read them: "1.10" and 1.1 are the same decimal, two texts for one moment the same
    moment. Facts of nested contracts and of lists of them count; a fact that was not given binds nobody.
    """
    return tuple(_losses(receives, given, returns, output, ()))


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
    """Return 64 hex digits over the JSON Schema and the source of the functions that also judge, such as validators."""
    return _sha256([schema(contract), strict_types.sources(_core_schema(contract))])


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _from_flaw(flaw: Flaw, side: Side, prefix: str) -> Violation:
    inside = f"{flaw.pointer}/".startswith(f"{prefix}/")
    where = flaw.pointer[len(prefix) :] if inside else flaw.pointer
    return Violation(side if inside else Side.ENVELOPE, where, flaw.code, "", flaw.received, flaw.sentence)


def _core_schema(contract: type[Contract]) -> Any:
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
    models = (node["cls"] for node in strict_types.nodes(_core_schema(contract)) if node["type"] == "model")
    return any(model.model_config["extra"] == "allow" for model in models)


def _judge(
    contract: type[Contract], body: str, side: Side, extra: Literal["forbid"] | None = None
) -> tuple[Contract | None, tuple[Violation, ...]]:
    try:
        return contract.model_validate_json(body, extra=extra), ()
    except ValidationError as error:
        return None, _violations(contract, side, error)
    except Exception as error:  # a contract's own validator may do anything; the body is refused, not lost
        sentence = f"The contract's own validator failed with {type(error).__name__}."
        return None, (Violation(side, "", "validator_failed", "", "", sentence),)


def _violations(contract: type[Contract], side: Side, error: ValidationError) -> tuple[Violation, ...]:
    found: dict[tuple[str, str], sentences.Finding] = {}
    places = strict_types.Places(_core_schema(contract))
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


@dataclass(frozen=True, slots=True)
class _Known:
    """A field as a step that hands facts on sees it."""

    carried: bool
    nested: type[Contract] | None  # the contract of the value, or of its items
    adapter: TypeAdapter[Any]

    def reads_alike(self, one: object, other: object) -> bool:
        try:
            return bool(self._read(one) == self._read(other))
        except Exception:  # not of this type at all, or refused by a contract's own validator
            return False

    def _read(self, value: object) -> object:
        return self.adapter.validate_json(json.dumps(value))


@cache
def _known(contract: type[Contract]) -> dict[str, _Known]:
    """Return the fields of a contract by their key in JSON."""
    _core_schema(contract)
    return {_key(name, field): _known_field(field) for name, field in contract.model_fields.items()}


def _key(name: str, field: FieldInfo) -> str:
    return field.validation_alias if isinstance(field.validation_alias, str) else name


def _known_field(field: FieldInfo) -> _Known:
    parts = list(_parts(field.annotation))
    nested = [part for part in parts if isinstance(part, type) and issubclass(part, Contract)]
    return _Known(
        carried=any(mark is Carried or isinstance(mark, Carried) for mark in (*field.metadata, *parts)),
        nested=nested[0] if len(nested) == 1 else None,
        adapter=TypeAdapter[Any](field.annotation or Any),
    )


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _losses(
    receives: type[Contract], given: Any, returns: type[Contract], output: Any, path: tuple[str | int, ...]
) -> Iterator[Violation]:
    if isinstance(given, list):
        kept = output if isinstance(output, list) else []
        for index, (before, after) in enumerate(zip_longest(given, kept[: len(given)])):
            yield from _losses(receives, before, returns, after, (*path, index))
    if not isinstance(given, dict):
        return
    facts = output if isinstance(output, dict) else {}  # all are lost where the whole is
    known = _known(receives)
    for key, after in _known(returns).items():
        if (before := known.get(key)) is None or key not in given:
            continue
        was, now = given[key], facts.get(key)
        if before.carried or after.carried:
            if was != now and not (before.reads_alike(was, now) and after.reads_alike(was, now)):
                yield _loss(was, now, (*path, key))
        elif before.nested and after.nested:
            yield from _losses(before.nested, was, after.nested, now, (*path, key))


def _loss(was: object, now: object, path: tuple[str | int, ...]) -> Violation:
    before, after = sentences.received(was), sentences.received(now)
    sentence = f"This fact must be handed on unchanged: it was {before} and became {after}."
    return Violation(Side.RETURNS, pointer(path), "carried_changed", before, after, sentence)
