"""What a contract's types let through, made as narrow as the words say.

pydantic's strict JSON mode still takes `"1_000"`, `" 10 "` and Arabic digits as decimals, `"1767225600"` as a time, and
`true` where `Literal[1]` is written. `tighten` puts a guard before those types; `faults` finds what no guard can mend.
Both read pydantic's core schema, the plain dictionaries from which it builds its validators.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from types import CodeType
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel
from pydantic_core import PydanticCustomError, PydanticKnownError

_GUARDED: Final = "handoffs_guarded"  # in a node's metadata: the guard is there already
_PLAIN: Final = frozenset({"config", "default", "expected", "members", "metadata", "serialization"})  # hold no types
_OPEN: Final = {
    "call": "a named tuple",
    "dataclass": "a dataclass",
    "named-tuple": "a named tuple",
    "typed-dict": "a TypedDict",
}
_REGEX: Final = "patterns are text, for the default regex engine: Python's own can take hours over one value"

_LABEL: Final = re.compile("⟨([0-9]+)⟩")  # in an error's location: the nth member of a union

_CLOCK: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"


@dataclass(frozen=True, slots=True)
class _Form:
    """How a value that JSON has no type for must be written, and which values Python code may give instead."""

    text: re.Pattern[str]
    types: tuple[type, ...]
    broken: str  # the error's type for other text
    wrong_type: Any  # pydantic's error type for anything else


_FORMS: Final = {
    # An exponent is what Decimal itself writes (1E+2); three digits keep its plain form short.
    "decimal": _Form(
        re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?"),
        (Decimal, int, float),
        "invalid_decimal",
        "decimal_type",
    ),
    "date": _Form(re.compile(_DAY), (date,), "invalid_date", "date_type"),
    "datetime": _Form(re.compile(f"{_DAY}T{_CLOCK}"), (datetime,), "invalid_datetime", "datetime_type"),
    "time": _Form(re.compile(_CLOCK), (time,), "invalid_time", "time_type"),
    "timedelta": _Form(
        re.compile(r"-?P(?=[0-9T])(?:[0-9]+[YMWD])*(?:T(?:[0-9]+(?:\.[0-9]{1,6})?[HMS])+)?"),
        (timedelta,),
        "invalid_duration",
        "time_delta_type",
    ),
    "uuid": _Form(
        re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"), (UUID,), "invalid_uuid", "uuid_type"
    ),
}
_WHOLE_KEY: Final = _Form(re.compile(r"-?(?:0|[1-9][0-9]*)"), (int,), "invalid_integer", "int_type")


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a core schema, outer ones first; a guard stands for the type behind it."""
    if isinstance(schema, list | tuple):
        for item in schema:
            yield from nodes(item)
    elif isinstance(schema, dict):
        if not isinstance(schema.get("type"), str):  # a mapping of fields or choices by name
            yield from nodes(list(schema.values()))
            return
        yield schema
        if not _is_guarded(schema):
            yield from nodes([value for key, value in schema.items() if key not in _PLAIN])


def tighten(schema: Any) -> Any:
    """Return the core schema with guards, and with union members labelled so that error paths can be told from keys."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(tighten, schema))
    if not isinstance(schema, dict) or _is_guarded(schema):
        return schema
    if not isinstance(schema.get("type"), str):
        return {name: tighten(value) for name, value in schema.items()}
    node = {key: value if key in _PLAIN else tighten(value) for key, value in schema.items()}
    if node["type"] == "union":
        node["choices"] = [(_unlabelled(choice), f"⟨{n}⟩") for n, choice in enumerate(node["choices"])]
    if node["type"] == "dict" and node.get("keys_schema", {}).get("type") == "int":
        node["keys_schema"] = _guarded(node["keys_schema"], _form_guard(_WHOLE_KEY))
    guard = _guard_of(node)
    return _guarded(node, guard) if guard else node


def faults(schema: Any, contract: type[BaseModel]) -> Iterator[str]:
    """Yield a sentence for each type that would let through what a contract must not."""
    for node in nodes(schema):
        if isinstance(node.get("pattern"), re.Pattern) or node.get("regex_engine") == "python-re":
            yield _REGEX
        if node["type"] in {"int", "float", "bool"} and node.get("strict") is False:
            yield f"strictness is switched off for {node['type']}"
        if node["type"] in _OPEN:
            yield f"{_OPEN[node['type']]} is nested in it: make it a Contract"
        if node["type"] == "model":
            yield from _model_faults(node["cls"], contract)


def _model_faults(model: type[BaseModel], contract: type[BaseModel]) -> Iterator[str]:
    config, name = model.model_config, model.__name__
    if not issubclass(model, contract):
        yield f"{name} is nested in it and is no Contract"
        return
    if config.get("regex_engine") == "python-re":
        yield _REGEX
    if not (config.get("strict") and config.get("frozen")) or config.get("allow_inf_nan"):
        yield f"{name} switches strict or frozen off, or allow_inf_nan on"
    if config.get("extra") == "ignore":
        yield f'{name} drops unknown fields: say unknown="refuse" or unknown="count"'


class Places:
    """Turns pydantic's error locations, which also name the members of unions, into paths of the body."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.named = {node["ref"]: node for node in nodes(schema) if "ref" in node}

    def path(self, loc: tuple[int | str, ...]) -> list[int | str]:
        path: list[int | str] = []
        node, in_dict = self.schema, False
        for part in loc:
            if in_dict and part == "[key]":  # not a place of its own: the key before it is what breaks
                continue
            node = self._reach(node)
            in_dict = node.get("type") == "dict"
            if node.get("type") == "tagged-union":
                node = next((choice for tag, choice in node["choices"].items() if str(tag) == part), {})
            elif node.get("type") == "union" and (member := _LABEL.fullmatch(str(part))):
                node = _unlabelled(node["choices"][int(member[1])])
            else:
                path.append(part)
                node = _inside(node, part)
        return path

    def _reach(self, node: dict[str, Any]) -> dict[str, Any]:
        """Go through what does not show in a location: references and whatever wraps a type."""
        while True:
            match node.get("type"):
                case "definition-ref":
                    node = self.named[node["schema_ref"]]
                case "chain":
                    node = node["steps"][-1]
                case "json-or-python":
                    node = node["json_schema"]
                case "lax-or-strict":
                    node = node["strict_schema"]
                case _ if "schema" in node:
                    node = node["schema"]
                case _:
                    return node


def _inside(node: dict[str, Any], part: int | str) -> dict[str, Any]:
    """Return the node of a field or item; an empty one where pydantic looks no further."""
    if "fields" in node:
        named = (given for name, given in node["fields"].items() if given.get("validation_alias", name) == part)
        field: dict[str, Any] = next(named, {"schema": {}})
        return dict(field["schema"])
    items = node.get("values_schema") or node.get("items_schema") or {}
    if isinstance(items, list):  # of a tuple; one of any length has a single item that stands for all
        items = items[min(int(part), len(items) - 1)] if items else {}
    return items if isinstance(items, dict) else {}


def sources(schema: Any) -> list[str]:
    """Return the source of each function that takes part in judging: validators, default factories, discriminators."""
    return [
        source_of(found)
        for node in nodes(schema)
        if not _is_guarded(node)
        for found in (node.get("function"), node.get("default_factory"), node.get("discriminator"), _after_init(node))
        if callable(found) and not str(getattr(found, "__module__", "")).startswith("pydantic")
    ]


def _after_init(node: dict[str, Any]) -> object:
    return getattr(node["cls"], node["post_init"], None) if node.get("post_init") else None


def _is_guarded(node: dict[str, Any]) -> bool:
    return _GUARDED in (node.get("metadata") or ())


def _unlabelled(choice: Any) -> Any:
    return choice[0] if isinstance(choice, tuple) else choice


def _guarded(node: dict[str, Any], guard: Callable[[Any], Any]) -> dict[str, Any]:
    # After a guard the type sees a Python value, which strict mode would refuse as text.
    named = {"ref": node["ref"]} if "ref" in node else {}
    return named | {
        "type": "function-before",
        "function": {"type": "no-info", "function": guard},
        "schema": {key: value for key, value in node.items() if key != "ref"} | {"strict": False},
        "metadata": {_GUARDED: True},
    }


def _guard_of(node: dict[str, Any]) -> Callable[[Any], Any] | None:
    if form := _FORMS.get(node["type"]):
        return _form_guard(form)
    if node["type"] == "literal":
        return _member_guard(node["expected"], (), "literal_error")
    if node["type"] == "enum":
        return _member_guard([member.value for member in node["members"]], (node["cls"],), "enum")
    return None


def _form_guard(form: _Form) -> Callable[[Any], Any]:
    matches, types = form.text.fullmatch, form.types
    refused = (bool, datetime) if date in types else (bool,)

    def guard(value: Any) -> Any:
        if isinstance(value, str):
            if matches(value):
                return value
            raise PydanticCustomError(form.broken, "not written as it must be")
        if isinstance(value, types) and not isinstance(value, refused):
            return value
        raise PydanticKnownError(form.wrong_type)

    return guard


def _member_guard(allowed: list[Any], types: tuple[type, ...], wrong: Any) -> Callable[[Any], Any] | None:
    """Return a guard that tells 1, 1.0 and true apart, or None where all members are text."""
    if all(isinstance(member, str) for member in allowed):
        return None
    expected = " or ".join(", ".join(map(repr, allowed)).rsplit(", ", 1))

    def guard(value: Any) -> Any:
        if isinstance(value, types) or any(type(value) is type(member) and value == member for member in allowed):
            return value
        raise PydanticKnownError(wrong, {"expected": expected})

    return guard


def source_of(function: Any) -> str:
    """Return what a function does as text: its source, else its code, with the plain values it was made with."""
    if isinstance(function, partial):
        return f"{source_of(function.func)}{function.args!r}{sorted(function.keywords.items())!r}"
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not isinstance(code := getattr(function, "__code__", None), CodeType):
        return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        # "<string>" and its like are no files, and what Python remembers under such a name may be another's source.
        text = _code(code) if code.co_filename.startswith("<") else textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        text = _code(code)
    made_with = [*inspect.getclosurevars(function).nonlocals.values(), *(function.__defaults__ or ())]
    return text + repr([value for value in made_with if isinstance(value, int | float | str | Decimal)])


def _code(code: CodeType) -> str:
    constants = [_code(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return f"{code.co_code.hex()}{constants}{code.co_names}"
