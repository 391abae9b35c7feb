"""Invariants: what a contract says beyond types, as named rules that its body must meet.

    class CheckInput(Draft):
        @invariant("The invoice is due on or after the day of issue.", at="/due_date")
        def due_after_issue(self) -> bool:
            return self.due_date is None or self.due_date >= self.issue_date

A rule with a second parameter is one of what a step returns: it gets the step's input beside the output.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from handoffs.errors import DeclarationError
from handoffs.strict_json import pointer
from handoffs.strict_types import source_of

Rule = TypeVar("Rule", bound=Callable[..., "bool | str"])
_MARK = "__handoffs_invariant__"


@dataclass(frozen=True, slots=True)
class Invariant:
    """One rule. `at` is the JSON pointer that a breach names; `broken`: values by pointer that break it, for drills.

    `holds` gets the body (and the input, where `compares`): True where it holds, else False or a sentence that says
    what is wrong.
    """

    name: str
    sentence: str
    at: str
    broken: Mapping[str, Any]
    holds: Callable[..., bool | str] = field(repr=False)
    compares: bool

    def breach(self, *bodies: Any) -> tuple[str, str] | None:
        """(rule, sentence) of the breach, None where it holds. What the rule itself raises is one too."""
        try:
            said = self.holds(*bodies)
        except Exception as error:  # a contract's own code may do anything; the body is refused, not lost
            return "invariant_failed", f"The rule {self.name} failed with {type(error).__name__}."
        if said is True:
            return None
        return self.name, said if isinstance(said, str) and said else self.sentence


def invariant(sentence: str, *, at: str = "", broken: Mapping[str, Any] | None = None) -> Callable[[Rule], Rule]:
    """Make a rule of a contract's method. `broken` shows a drill how to break it, where it finds no way itself."""

    def mark(method: Rule) -> Rule:
        setattr(method, _MARK, (sentence, at, dict(broken or {})))
        return method

    return mark


@cache
def invariants_of(contract: type) -> tuple[Invariant, ...]:
    """The rules that a contract declares or inherits, in the order of their names in the source.

    Raises:
        DeclarationError: a rule is declared in a way that can't work.
    """
    names = dict.fromkeys(name for base in reversed(contract.__mro__) for name in vars(base))
    found = [(name, getattr(contract, name, None)) for name in names if not name.startswith("__")]
    return tuple(_read(contract, name, method) for name, method in found if hasattr(method, _MARK))


def _read(contract: type, name: str, method: Any) -> Invariant:
    sentence, at, broken = getattr(method, _MARK)
    count = len(inspect.signature(method).parameters)
    where = f"{contract.__name__}.{name}"
    if count not in {1, 2}:
        raise DeclarationError(f"{where}: a rule gets the body, and the step's input if it has a second parameter.")
    for place in (at, *broken):
        if place and not place.startswith("/"):
            raise DeclarationError(f"{where}: {place!r} is no JSON pointer; they begin with a slash.")
    if not sentence:
        raise DeclarationError(f"{where}: say in a sentence what the rule asks.")
    return Invariant(name, sentence, at, broken, method, count == 2)


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that a body breaks: where, which (or "invariant_failed"), what it asks, and what is wrong in words."""

    pointer: str
    rule: str
    expected: str
    sentence: str


def breaches(body: BaseModel) -> list[Breach]:
    """The rules of a contract, and of those inside it, that a valid body breaks; those that compare are left out."""
    return [
        Breach(pointer(path) + rule.at, *said)
        for path, part in _parts(body, ())
        for rule in invariants_of(type(part))
        if not rule.compares and (said := _told(rule, part))
    ]


def breaches_between(given: BaseModel, output: BaseModel) -> list[Breach]:
    """The rules of what a step returns that its output breaks in the light of its input."""
    compared = [rule for rule in invariants_of(type(output)) if rule.compares]
    return [Breach(rule.at, *said) for rule in compared if (said := _told(rule, output, given))]


def compares(contract: type[BaseModel]) -> bool:
    """Whether any rule of a contract looks at the step's input too."""
    return any(rule.compares for rule in invariants_of(contract))


def contracts_in(contract: type[BaseModel]) -> list[type[BaseModel]]:
    """A contract and those inside it, the same order each time."""
    return sorted(_contracts_in(contract, set()), key=lambda part: (part.__qualname__, part.__module__))


@cache
def has_rules(contract: type[BaseModel]) -> bool:
    """Whether a contract, or one inside it, has rules."""
    return any(invariants_of(part) for part in contracts_in(contract))


def sources_of(contract: type[BaseModel]) -> list[str]:
    """The source of every rule of a contract and of those inside it, for its hash."""
    return [source_of(rule.holds) for part in contracts_in(contract) for rule in invariants_of(part)]


def described(contract: type[BaseModel]) -> list[dict[str, str]]:
    """The contract's own rules as they stand in its JSON Schema."""
    return [{"name": rule.name, "sentence": rule.sentence, "at": rule.at} for rule in invariants_of(contract)]


def _told(rule: Invariant, *bodies: Any) -> tuple[str, str, str] | None:
    said = rule.breach(*bodies)
    return (said[0], rule.sentence, said[1]) if said else None


def _parts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], BaseModel]]:
    """(path, contract) of everything inside that has rules, or has something inside that does."""
    if isinstance(value, BaseModel):
        if has_rules(type(value)):
            yield path, value
            for name, field in type(value).model_fields.items():
                yield from _parts(getattr(value, name), (*path, key_of(name, field)))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _parts(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _parts(inner, (*path, place))


def key_of(name: str, field: FieldInfo) -> str:
    """How a field is named in JSON."""
    return field.validation_alias if isinstance(field.validation_alias, str) else name


def _contracts_in(part: Any, seen: set[Any]) -> set[type[BaseModel]]:
    """The contracts that a type names, itself included."""
    for inner in get_args(part):
        _contracts_in(inner, seen)
    if isinstance(part, type) and issubclass(part, BaseModel) and part not in seen:
        seen.add(part)
        for field in part.model_fields.values():
            _contracts_in(field.annotation, seen)
    return seen
