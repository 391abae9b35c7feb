"""Two versions of a contract side by side: what changed, and whom it can break.

A change can break producers (what they have been sending would be refused now) and consumers (code made for the other
version may meet what it does not know). Both are the same reading of two schemas, once in each direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _

from handoffs.fit import Gap, escape, fit
from handoffs.shapes import Shape, spoken

DEEPEST = 8  # levels of fields that a table shows
_KINDS = {
    "string": _("text"),
    "integer": _("whole number"),
    "number": _("number"),
    "boolean": _("yes or no"),
    "object": _("object"),
    "array": _("list"),
    "any": _("anything"),
    "null": _("null"),
}
_FORMATS = {
    "date": _("date"),
    "date-time": _("date with time"),
    "time": _("time"),
    "duration": _("duration"),
    "uuid": _("UUID"),
}
_LIMITS = {
    "minLength": _("characters: at least %(limit)s"),
    "maxLength": _("characters: at most %(limit)s"),
    "minItems": _("items: at least %(limit)s"),
    "maxItems": _("items: at most %(limit)s"),
    "minimum": _("at least %(limit)s"),
    "exclusiveMinimum": _("more than %(limit)s"),
    "maximum": _("at most %(limit)s"),
    "exclusiveMaximum": _("less than %(limit)s"),
    "multipleOf": _("a multiple of %(limit)s"),
    "x-max_digits": _("digits: at most %(limit)s"),
    "x-decimal_places": _("digits after the point: at most %(limit)s"),
}
_RANGES = {
    "minLength": ("maxLength", _("%(low)s to %(high)s characters")),
    "minItems": ("maxItems", _("%(low)s to %(high)s items")),
    "minimum": ("maximum", _("%(low)s to %(high)s")),
    "x-max_digits": ("x-decimal_places", _("up to %(low)s digits, %(high)s of them after the point")),
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a schema as a row. `pointer` has "*" for the items of a list; `depth` counts from 0."""

    pointer: str
    name: str
    depth: int
    type: str
    rules: tuple[str, ...]
    is_required: bool
    is_carried: bool
    about: str

    @property
    def said(self) -> tuple[str, ...]:
        """What a change of which is a change of the field."""
        return (self.type, *self.rules, *((str(_("required")),) if self.is_required else ()))


class Change(StrEnum):
    """What became of a field."""

    ADDED = "added"  # only the newer version has it
    REMOVED = "removed"  # only the older version has it
    CHANGED = "changed"  # both have it, and say different things about it


class Harm(StrEnum):
    """What a change does to one side."""

    NONE = "none"  # nothing: all that held before holds
    MAY_BREAK = "may break"  # some bodies that held do no longer
    BREAKS = "breaks"  # every body that has, or lacks, the field


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs. `before` and `after` are what the versions say of it, None where it is not there."""

    change: Change
    pointer: str
    before: Field | None
    after: Field | None
    producers: Harm
    consumers: Harm
    sentences: tuple[str, ...]

    @property
    def was(self) -> list[tuple[str, bool]]:
        """(words, whether they are gone) of the older version."""
        return _against(self.before, self.after)

    @property
    def now(self) -> list[tuple[str, bool]]:
        """(words, whether they are new) of the newer version."""
        return _against(self.after, self.before)


def fields(schema: Mapping[str, Any]) -> list[Field]:
    """List the fields of a JSON Schema, each followed by those inside it."""
    return list(_fields(Shape(schema, schema), "", 0, frozenset()))


def compare(older: Mapping[str, Any], newer: Mapping[str, Any]) -> list[Difference]:
    """List the fields that differ, in the order of the newer version, then those that are gone."""
    before = {field.pointer: field for field in fields(older)}
    after = {field.pointer: field for field in fields(newer)}
    old, new = Shape(older, older), Shape(newer, newer)
    hurt_producers, hurt_consumers = _breaks(old, new), _breaks(new, old)
    touched = [p for p in [*after, *(p for p in before if p not in after)] if _differs(before.get(p), after.get(p))]
    found = []
    for pointer in touched:
        producers = [gap for gap in hurt_producers if _is_about(gap, pointer, touched)]
        consumers = [gap for gap in hurt_consumers if _is_about(gap, pointer, touched)]
        found.append(_difference(pointer, before.get(pointer), after.get(pointer), producers, consumers))
    return found


def _breaks(given: Shape, needed: Shape) -> list[Gap]:
    """Gaps that refuse a body; a field that may be left out, and is, does not."""
    return [gap for gap in fit(given, needed) if gap.code != "never_filled"]


def _difference(
    pointer: str, before: Field | None, after: Field | None, producers: list[Gap], consumers: list[Gap]
) -> Difference:
    change = Change.ADDED if before is None else Change.REMOVED if after is None else Change.CHANGED
    sentences = tuple(dict.fromkeys(gap.sentence for gap in producers))
    return Difference(change, pointer, before, after, _harm(producers), _harm(consumers), sentences)


def _against(one: Field | None, other: Field | None) -> list[tuple[str, bool]]:
    shared = set(other.said) if other else set()
    return [(words, words not in shared) for words in (one.said if one else ())]


def _differs(before: Field | None, after: Field | None) -> bool:
    return before is None or after is None or before.said != after.said


def _harm(gaps: list[Gap]) -> Harm:
    if not gaps:
        return Harm.NONE
    return Harm.BREAKS if any(gap.level == "error" for gap in gaps) else Harm.MAY_BREAK


def _is_about(gap: Gap, pointer: str, touched: list[str]) -> bool:
    """Whether a gap is at a field, or inside it where no deeper field of the table has it."""
    if not f"{gap.pointer}/".startswith(f"{pointer}/"):
        return False
    return not any(len(other) > len(pointer) and f"{gap.pointer}/".startswith(f"{other}/") for other in touched)


def _fields(shape: Shape, above: str, depth: int, way: frozenset[str]) -> Iterator[Field]:
    for form in shape.forms():
        if form.kind != "object" or (form.name and form.name in way):
            continue
        inside = way | {form.name} if form.name else way
        for name, field in form.fields.items():
            pointer = f"{above}/{escape(name)}"
            yield _field(field, pointer, name, depth, name in form.required)
            if depth < DEEPEST:
                yield from _inner(field, pointer, depth + 1, inside)
        if form.rest is not None and depth < DEEPEST:
            yield _field(form.rest, f"{above}/*", "*", depth, False)
            yield from _inner(form.rest, f"{above}/*", depth + 1, inside)


def _inner(shape: Shape, pointer: str, depth: int, way: frozenset[str]) -> Iterator[Field]:
    yield from _fields(shape, pointer, depth, way)
    for form in shape.forms():
        if form.kind == "array":
            yield from _inner(form.item(form.places), f"{pointer}/*", depth, way)


def _field(shape: Shape, pointer: str, name: str, depth: int, is_required: bool) -> Field:
    forms = shape.forms()
    about = str(shape.schema.get("description", ""))
    carried = any(form.schema.get("x-carried") for form in [shape, *forms])
    return Field(pointer, name, depth, _type(forms), tuple(_rules(forms)), is_required, carried, about)


def _type(forms: list[Shape]) -> str:
    if _is_decimal(forms):
        names = [str(_("decimal")), *(_kind(form) for form in forms if form.kind == "null")]
    else:
        names = list(dict.fromkeys(_kind(form) for form in forms))
    return str(_(" or ")).join(names)


def _is_decimal(forms: list[Shape]) -> bool:
    said = {form.kind: form.schema.get("format") for form in forms}
    return said.get("string") == "decimal" and "number" in said


def _kind(form: Shape) -> str:
    if form.kind == "array":
        return str(_("list of %(items)s")) % {"items": _type(form.item(form.places).forms())}
    if form.kind == "object" and form.name:
        return form.name.rsplit("/", 1)[-1]
    return str(_FORMATS.get(str(form.schema.get("format", "")), _KINDS.get(form.kind, form.kind)))


def _rules(forms: list[Shape]) -> Iterator[str]:
    """Each rule once: a decimal says its digits both as a number and as a text."""
    yield from dict.fromkeys(rule for form in forms for rule in _rules_of(form))


def _rules_of(form: Shape) -> Iterator[str]:
    if form.values is not None and form.kind != "null":
        yield str(_("one of %(values)s")) % {"values": spoken(form.values)}
    limits = {word: _limit(form.schema[word]) for word in _LIMITS if word in form.schema}
    for low, (high, text) in _RANGES.items():
        if low in limits and high in limits:
            yield str(text) % {"low": limits.pop(low), "high": limits.pop(high)}
    yield from (str(_LIMITS[word]) % {"limit": limit} for word, limit in limits.items())
    if form.kind == "string" and form.schema.get("format") != "decimal" and "pattern" in form.schema:
        yield str(_("like %(pattern)s")) % {"pattern": form.schema["pattern"]}


def _limit(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
