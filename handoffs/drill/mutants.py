"""Mutants of a valid body: each breaks the contract in one way, at one place, and is made from its JSON Schema.

The same seed gives the same mutants. `mutants` breaks what a contract says, `raw_mutants` what the gate before it says.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from handoffs.drill import breaking
from handoffs.drill.samples import enrich
from handoffs.shapes import Shape
from handoffs.strict_json import pointer

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One malformed body: `kind` is its class, `pointer` the place that is broken, `note` how, in words."""

    kind: str
    pointer: str
    note: str
    body: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    @property
    def name(self) -> str:
        """How an allowance names it: the class and the place, list items as `*`."""
        parts = ("*" if part.isdecimal() else part for part in self.pointer.split("/"))
        return f"{self.kind} {'/'.join(parts)}".strip()


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a body: what stands there, and the forms that may."""

    path: Path
    shape: Shape
    value: Any
    required: bool


def mutants(shape: Shape, valid: object, *, seed: str) -> list[Mutant]:
    """Break every place of a valid body, in every way that its schema rules out; distinct by digest, shuffled."""
    chance = random.Random(seed)  # noqa: S311 - it must give the same again
    rich = enrich(shape, valid)
    found = {m.digest: m for place in places(shape, rich) for m in _at(place, rich, chance)}
    found.pop(hashlib.sha256(encode(rich)).hexdigest(), None)
    made = list(found.values())
    chance.shuffle(made)
    return made


def encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def places(shape: Shape, value: Any, path: Path = (), *, required: bool = False) -> Iterator[Place]:
    """Every place of a body, the whole first; of a list its first item stands for the others."""
    yield Place(path, shape, value, required)
    forms = shape.forms()
    if isinstance(value, dict):
        objects = [form for form in forms if form.kind == "object"]
        form = max(objects, key=lambda form: len(form.fields.keys() & value.keys()), default=None)
        for name, field in form.fields.items() if form else ():
            if name in value:
                yield from places(field, value[name], (*path, name), required=name in form.required if form else False)
    elif isinstance(value, list) and value:
        lists = [form for form in forms if form.kind == "array"]
        if lists:
            yield from places(lists[0].item(0), value[0], (*path, 0))


def _at(place: Place, whole: Any, chance: random.Random) -> Iterator[Mutant]:
    """The mutants of one place. What already breaks nothing is left out where it can be told."""
    where = pointer(list(place.path))
    for kind, note, value in breaking.values(place.shape, place.value, chance):
        yield Mutant(kind, where, note, encode(_with(whole, place.path, value)))
    if place.required and isinstance(place.path[-1], str):
        yield Mutant("missing", where, "the field is left out", encode(_without(whole, place.path)))
        renamed = breaking.renamed(place.path[-1], chance)
        moved = _with(_without(whole, place.path), (*place.path[:-1], renamed), place.value)
        yield Mutant("renamed", where, f"the field is named {renamed}", encode(moved))
    if isinstance(place.value, dict) and (new := breaking.unknown_name(place.shape, chance)):
        added, there = _with(whole, (*place.path, new), "new"), pointer([*place.path, new])
        yield Mutant("unknown_field", there, "a field that the contract does not know", encode(added))
    if place.path and place.path[-1] == 0 and not _may_be_null(place.shape):
        items = _get(whole, place.path[:-1])
        broken = _with(whole, place.path[:-1], [*items, None])
        yield Mutant("list_item", pointer([*place.path[:-1], len(items)]), "a null among the items", encode(broken))


def _may_be_null(shape: Shape) -> bool:
    return any(form.kind in {"null", "any"} for form in shape.forms())


def _get(whole: Any, path: Path) -> Any:
    for part in path:
        whole = whole[part]
    return whole


def _with(whole: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(whole)
    _get(changed, path[:-1])[path[-1]] = value
    return changed


def _without(whole: Any, path: Path) -> Any:
    changed = copy.deepcopy(whole)
    del _get(changed, path[:-1])[path[-1]]
    return changed


def raw_mutants(valid: bytes, *, seed: str, largest: int) -> list[Mutant]:
    """Break the bytes of a valid body, in ways that no contract sees. `largest` is the limit of the gate, in bytes."""
    chance = random.Random(seed)  # noqa: S311 - it must give the same again
    text = valid.decode()
    name = next(iter(json.loads(text)), "x") if text.lstrip().startswith("{") else "x"
    key = json.dumps(name, ensure_ascii=False)
    word = f"w{chance.randrange(1000)}"

    def first(member: str) -> bytes:
        rest = text.strip()[1:].lstrip()
        return f"{{{member}{'' if rest.startswith('}') else ','}{rest}".encode()

    made = [
        ("duplicate_key", f"/{name}", "a key stands twice", first(f'{key}:"{word}"')),
        ("nul", "", "a NUL within a text", first(f'"{word}":"a\\u0000b"')),
        ("nul", "", "a NUL among the bytes", valid[:1] + b"\0" + valid[1:]),
        ("not_a_number", "", "NaN", first(f'"{word}":NaN')),
        ("not_a_number", "", "a number beyond every float", first(f'"{word}":1e{400 + chance.randrange(99)}')),
        ("not_a_number", "", "an integer beyond 64 bits", first(f'"{word}":{2**63 + chance.randrange(999)}')),
        ("deep", "", "lists in lists, without end", b"[" * 50_000),
        ("deep", "", "lists in lists, far too many", first(f'"{word}":' + "[" * 200 + "]" * 200)),
        ("huge", "", "more bytes than are taken", first(f'"{word}":"{"x" * largest}"')),
        ("bad_text", "", "bytes that are no UTF-8", first(f'"{word}":"')[:-1] + b"\xff\xfe"),
        ("bad_text", "", "half a character", first(f'"{word}":"\\ud83d"')),
        ("not_json", "", "cut off in the middle", valid[: max(1, len(valid) // 2)]),
        ("not_json", "", "a comma too many", valid.rstrip()[:-1] + b",}"),
        ("not_json", "", "within a Markdown fence", b"```json\n" + valid + b"\n```"),
        ("not_json", "", "a sentence before it", f"Here is {word}: ".encode() + valid),
        ("empty_body", "", "nothing at all", b""),
    ]
    return list({m.digest: m for m in (Mutant(*one) for one in made)}.values())
