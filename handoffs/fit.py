"""Does everything that one contract lets through fit another? Read from their schemas, without any document.

An error says that nothing that gets there can fit; a warning, that something may come that does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import SchemaValidator

from handoffs.decimals import DIGITS
from handoffs.shapes import INFINITE, Edge, Shape, spoken

Level = Literal["error", "warning"]

_WORDS = {
    "any": "anything",
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}
_UNITS = {"string": "characters", "array": "items", "object": "fields"}
_FORMATS = {
    "date": "a date",
    "date-time": "a date with time",
    "decimal": "a decimal number",
    "duration": "a duration",
    "time": "a time",
    "uuid": "a UUID",
}
_APART = _FORMATS.keys()  # a text in one of these forms is never in another


@dataclass(frozen=True, slots=True)
class Gap:
    """One way in which what is given may not be what is needed; `pointer` is relative to the contracts."""

    level: Level
    code: str
    pointer: str
    sentence: str


def fit(given: Shape, needed: Shape, pointer: str = "") -> list[Gap]:
    """List the gaps between two shapes, in the order of the needed fields."""
    return list(dict.fromkeys(_Reading().fit(given, needed, pointer)))


def escape(key: str) -> str:
    """Write a key as one part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _error(code: str, pointer: str, sentence: str) -> Gap:
    return Gap("error", code, pointer, sentence)


def _warning(code: str, pointer: str, sentence: str) -> Gap:
    return Gap("warning", code, pointer, sentence)


def _has_error(gaps: list[Gap]) -> bool:
    return any(gap.level == "error" for gap in gaps)


class _Reading:
    """One walk through two schemas; remembers the way down, since a contract may contain itself."""

    def __init__(self) -> None:
        self._way: set[tuple[str | None, ...]] = set()

    def fit(self, given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
        needs = needed.forms()
        found = [(form, self._closest(form, needs, pointer)) for form in given.forms()]
        values = [gaps for form, gaps in found if form.kind != "null"]
        may_fit = any(not _has_error(gaps) for gaps in values)
        for form, gaps in found:
            if form.kind == "null" and values and _has_error(gaps):
                yield _warning("not_guaranteed", pointer, "Not guaranteed: it may be null, and a value is needed.")
            elif may_fit and _has_error(gaps):
                yield from (_soften(gap) for gap in gaps)
            else:
                yield from gaps

    def _closest(self, given: Shape, needs: list[Shape], pointer: str) -> list[Gap]:
        every = [self._fit_form(given, need, pointer) for need in needs]
        return min(every, key=lambda gaps: _distance(gaps, pointer))

    def _fit_form(self, given: Shape, needed: Shape, pointer: str) -> list[Gap]:
        step = (given.name, given.kind, needed.name, needed.kind)
        if (given.name and needed.name and step in self._way) or needed.kind == "any":
            return []
        if given.kind != needed.kind and (given.kind, needed.kind) != ("integer", "number"):
            return [_other_type(given, needed, pointer)]
        self._way.add(step)
        try:
            return [*self._inside(given, needed, pointer), *_fit_values(given, needed, pointer)]
        finally:
            self._way.discard(step)

    def _inside(self, given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
        if given.kind == "object":
            yield from self._fit_fields(given, needed, pointer)
            yield from self._fit_free_keys(given, needed, pointer)
        elif given.kind == "array":
            for place in range(max(given.places, needed.places)):
                yield from self.fit(given.item(place), needed.item(place), f"{pointer}/{place}")
            places = max(given.places, needed.places)
            if given.item(places).schema or not given.places:
                yield from self.fit(given.item(places), needed.item(places), f"{pointer}/*")

    def _fit_fields(self, given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
        for name, need in needed.fields.items():
            here = f"{pointer}/{escape(name)}"
            if not (field := given.fields.get(name) or given.rest):
                yield _never_written(given, here, is_required=name in needed.required)
                continue
            yield from self.fit(field, need, here)
            if name in needed.required - given.required:
                yield _warning("not_guaranteed", here, "Not guaranteed: it may be left out, and it is required.")

    def _fit_free_keys(self, given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
        for name, field in given.fields.items():
            here = f"{pointer}/{escape(name)}"
            if name in needed.fields:
                continue
            if needed.rest:
                yield from self.fit(field, needed.rest, here)
            elif not needed.is_open:
                yield _unknown_field(here, is_certain=name in given.required)
        if given.is_open and needed.rest:
            yield from self.fit(given.rest or Shape({}, given.root), needed.rest, f"{pointer}/*")
        elif given.is_open and not needed.is_open:
            yield _warning("unknown_may_come", pointer, "Fields that nobody declared may come, and would be refused.")


def _distance(gaps: list[Gap], pointer: str) -> tuple[bool, int, int]:
    other = any(gap.code == "incompatible_type" and gap.pointer == pointer for gap in gaps)
    return other, sum(gap.level == "error" for gap in gaps), len(gaps)


def _soften(gap: Gap) -> Gap:
    sentence = gap.sentence[0].lower() + gap.sentence[1:]
    return _warning("type_not_guaranteed", gap.pointer, f"Not in each of its forms: {sentence}")


def _never_written(given: Shape, pointer: str, *, is_required: bool) -> Gap:
    if not given.fields and given.is_open:
        return _warning("not_guaranteed", pointer, "Not guaranteed: any fields may come, and nobody declares this one.")
    if is_required:
        return _error("never_written", pointer, "It is required, and nothing before writes it.")
    return _warning("never_filled", pointer, "It can be read, and nothing before writes it.")


def _unknown_field(pointer: str, *, is_certain: bool) -> Gap:
    if is_certain:
        return _error("unknown_field", pointer, "It is always handed over, and refused as unknown.")
    return _warning("unknown_field", pointer, "It may be handed over, and is refused as unknown.")


def _other_type(given: Shape, needed: Shape, pointer: str) -> Gap:
    may, need = _WORDS[given.kind], _WORDS[needed.kind]
    if given.kind == "any" or (given.kind, needed.kind) == ("number", "integer"):
        return _warning("type_not_guaranteed", pointer, f"Not guaranteed: {may} may come, and {need} is needed.")
    return _error("incompatible_type", pointer, f"It comes as {may}, and {need} is needed.")


def _fit_values(given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
    if needed.values is None:
        yield from _fit_format(given, needed, pointer)
        yield from _fit_digits(given, needed, pointer)
    if given.values is not None:
        outside = [value for value in given.values if not _holds(value, needed)]
        if outside and len(outside) == len(given.values):
            yield _error("incompatible_values", pointer, f"None of its values is taken: {spoken(outside)}.")
        elif outside:
            yield _warning("values_not_guaranteed", pointer, f"Not guaranteed: {spoken(outside)} would be refused.")
    elif needed.values is not None:
        sentence = f"Not guaranteed: anything but {spoken(needed.values)} would be refused."
        yield _warning("values_not_guaranteed", pointer, sentence)
    else:
        yield from _fit_edges(given, needed, pointer)
        yield from _fit_pattern(given, needed, pointer)


def _holds(value: Any, needed: Shape) -> bool:
    if needed.values is not None:
        return any(type(value) is type(allowed) and value == allowed for allowed in needed.values)
    low, high = needed.edges()
    size = len(value) if isinstance(value, str | list | dict) else value
    if max(low, high) > (-INFINITE, False) and ((size, False) < low or (-size, False) < high):
        return False
    if (step := needed.schema.get("multipleOf")) and value % step:
        return False
    pattern = needed.schema.get("pattern")
    # The contract's own engine judges: it reads other patterns than Python's.
    return pattern is None or SchemaValidator({"type": "str", "pattern": pattern}).isinstance_python(value)


def _fit_edges(given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
    (low, high), (need_low, need_high) = given.edges(), needed.edges()
    for word, edge, need, opposite in (("at least", low, need_low, high), ("at most", high, need_high, low)):
        if edge >= need:
            continue
        unit = _UNITS.get(needed.kind)
        unit = unit[:-1] if unit and abs(need[0]) == 1 else unit
        limit = f"have {_limit(word, need)} {unit}" if unit else f"be {_limit(word, need)}"
        if _is_beyond(opposite, need):
            yield _error("incompatible_values", pointer, f"It has to {limit}, and never does.")
        else:
            yield _warning("limits_not_guaranteed", pointer, f"Not guaranteed: it has to {limit}.")
    if (step := needed.schema.get("multipleOf")) and given.schema.get("multipleOf", 0.5 * step) % step:
        yield _warning("limits_not_guaranteed", pointer, f"Not guaranteed: it has to be a multiple of {step}.")


def _limit(word: str, edge: Edge) -> str:
    number, is_out = edge[0] if word == "at least" else -edge[0], edge[1]
    beyond = "more than" if word == "at least" else "less than"
    return f"{beyond if is_out else word} {int(number) if number == int(number) else number}"


def _is_beyond(end: Edge, start: Edge) -> bool:
    """Tell whether a range that ends here (negated) ends before another one starts."""
    return end[0] + start[0] > 0 or (end[0] + start[0] == 0 and (end[1] or start[1]))


def _fit_format(given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
    comes, need = given.schema.get("format"), needed.schema.get("format")
    if need and comes != need:
        spoken_need = _FORMATS.get(need, f"text in the form {need}")
        if {comes, need} <= _APART:
            yield _error("incompatible_type", pointer, f"It comes as {_FORMATS[str(comes)]}, not {spoken_need}.")
        else:
            yield _warning("type_not_guaranteed", pointer, f"Not guaranteed: {spoken_need} is needed.")


def _fit_pattern(given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
    pattern = needed.schema.get("pattern")
    if pattern and given.schema.get("pattern") != pattern:
        yield _warning("limits_not_guaranteed", pointer, f"Not guaranteed: text that matches {pattern} is needed.")


def _fit_digits(given: Shape, needed: Shape, pointer: str) -> Iterator[Gap]:
    for word in DIGITS:
        need = needed.schema.get(f"x-{word}", INFINITE)
        comes = 0 if word == "decimal_places" and given.kind == "integer" else given.schema.get(f"x-{word}", INFINITE)
        if comes > need:
            limit = word.removeprefix("max_").replace("_", " ")
            yield _warning("limits_not_guaranteed", pointer, f"Not guaranteed: it has to have at most {need} {limit}.")
