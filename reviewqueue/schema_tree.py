"""Building the tree of fields: from what was sent alone, or together with what came back from the browser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from handoffs.exact_json import ABSENT, Value
from handoffs.strict_json import pointer
from reviewqueue.schema_controls import Leaf
from reviewqueue.schema_fields import Shape, Sort
from reviewqueue.schema_leaves import Typed
from reviewqueue.schema_nodes import AS_SENT, BLANK, HERE, LEFT_OUT, NULL, Gap, Group, Node, Rows

DEEPEST = 12  # levels below which a field is shown as JSON
_JSON = Shape(Sort.JSON, {}, {}, required=False)


@dataclass(slots=True)
class Source:
    """What a tree is built from besides the body: the form's data, and how much may be shown.

    `data` is None for a fresh form; partial data says what is typed into one that is fresh otherwise. `touched` are
    pointers (and all above them) that must be shown; `leaves` and `items` bound how many fields, and how many items of
    one list, a fresh form shows.
    """

    data: Mapping[str, str] | None = None
    touched: frozenset[str] = frozenset()
    restored: frozenset[str] = frozenset()
    is_partial: bool = False
    leaves: int = 150
    items: int = 20
    left_out: int = 0
    known: frozenset[str] = frozenset()  # fields of which the browser sent something, and all above them

    def __post_init__(self) -> None:
        names = {name[len(found[0]) :] for name in self.data or () if (found := _PREFIX.match(name))}
        self.known = frozenset(above for name in names for above in with_those_above(name))

    def get(self, name: str) -> str | None:
        if self.data is None or name.removeprefix("empty:") in self.restored:
            return None
        return self.data.get(name)

    def for_item(self, name: str) -> Source:
        """Where the items of a list are read from: one that was not on the page before is shown whole."""
        whole = self.data is None or self.is_partial or name in self.known
        return self if whole else replace(self, data=None)


# "seen:" says that radios of which none is chosen were there.
_PREFIX = re.compile(r"(?:state:|order:|kind:|empty:|seen:)?(?=/|$)")


def with_those_above(pointer: str) -> Iterator[str]:
    """A pointer and those of all that hold it, short of the whole."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field stands; see `schema_nodes`."""

    name: str = ""
    pointer: str = ""
    key: str = ""
    label: str = ""
    crumbs: tuple[str, ...] = field(default=())
    in_list: bool = False
    is_new: bool = False  # within something that a person added: nothing of it was sent

    def below(self, key: str, label: str) -> Place:
        step = pointer([key])
        return Place(self.name + step, self.pointer + step, key, label, self._trail, is_new=self.is_new)

    def item(self, key: str, position: int) -> Place:
        label = f"{self.label} {position + 1}"
        is_new = self.is_new or key.startswith("n")
        return Place(f"{self.name}/{key}", f"{self.pointer}/{position}", key, label, self.crumbs, True, is_new)

    @property
    def _trail(self) -> tuple[str, ...]:
        return (*self.crumbs, self.label) if self.label else self.crumbs


def build(source: Source, shape: Shape, sent: Value, place: Place) -> Node:
    """One field, with all below it that is shown."""
    if place.pointer.count("/") >= DEEPEST and shape.sort in {Sort.OBJECT, Sort.LIST, Sort.VARIANT}:
        shape = replace(shape, sort=Sort.JSON)
    if shape.sort is Sort.OBJECT:
        return _group(source, shape, sent, place, None)
    if shape.sort is Sort.VARIANT:
        return _group(source, shape, sent, place, _tag(source, shape, sent, place))
    if shape.sort is Sort.LIST:
        return _rows(source, shape, sent, place)
    source.leaves -= 1
    typed = Typed(source.get(place.name), source.get(f"empty:{place.name}"))
    return Leaf(shape, place.name, place.pointer, sent, *_where(place), typed=typed)


def _where(place: Place) -> tuple[str, str, tuple[str, ...], bool, bool]:
    return place.key, place.label, place.crumbs, place.in_list, place.is_new


def _state(source: Source, shape: Shape, sent: Value, place: Place) -> str:
    posted = source.get(f"state:{place.name}")
    if posted in {BLANK, HERE, NULL, LEFT_OUT, AS_SENT}:
        return posted
    if sent is ABSENT:
        # What has to be there is laid out for typing.
        if not shape.required:
            return LEFT_OUT
        return HERE if place.is_new else BLANK
    if sent is None:
        return NULL if shape.nullable else AS_SENT
    return HERE if isinstance(sent, list if shape.sort is Sort.LIST else dict) else AS_SENT


def _tag(source: Source, shape: Shape, sent: Value, place: Place) -> str:
    chosen = source.get(f"kind:{place.name}")
    if chosen is None and isinstance(sent, dict):
        chosen = str(sent.get(shape.tag, ""))
    return chosen if chosen in shape.variants else ""


def _group(source: Source, shape: Shape, sent: Value, place: Place, tag: str | None) -> Group:
    state = _state(source, shape, sent, place)
    group = Group(shape, place.name, place.pointer, sent, *_where(place), state=state, tag=tag)
    if not group.is_open or tag == "":
        return group
    inner = shape if tag is None else shape.variants[tag]
    if state == HERE and not isinstance(sent, dict):
        place = replace(place, is_new=True)
    for child, below, value, is_unknown in _fields(shape, inner, sent, place, group):
        if not _is_shown(source, below, value):
            group.hidden += 1
            continue
        node = build(source, child, value, below)
        node.is_unknown = is_unknown
        group.fields.append(node)
    source.left_out += group.hidden
    return group


def _fields(
    shape: Shape, inner: Shape, sent: Value, place: Place, group: Group
) -> Iterator[tuple[Shape, Place, Value, bool]]:
    there = sent if isinstance(sent, dict) else {}
    for key, child in inner.properties.items():
        yield child, place.below(key, child.label), there.get(key, ABSENT), False
    known = {*inner.properties, *inner.hidden, *shape.hidden, shape.tag}
    for key, value in there.items():
        if key not in known and not group.is_switched:
            yield _JSON, place.below(key, key), value, True


def _is_shown(source: Source, place: Place, sent: Value) -> bool:
    if place.pointer in source.touched:
        return True
    if source.data is not None and not source.is_partial:
        return place.name in source.known or sent is ABSENT
    return source.leaves > 0


def _rows(source: Source, shape: Shape, sent: Value, place: Place) -> Rows:
    state = _state(source, shape, sent, place)
    rows = Rows(shape, place.name, place.pointer, sent, *_where(place), state=state)
    if not rows.is_open:
        return rows
    there = sent if isinstance(sent, list) else []
    position = 0
    for entry in _entries(source, len(there), place):
        if isinstance(entry, str):
            value = ABSENT if entry.startswith("n") else there[int(entry)]
            rows.entries.append(_item(source, shape, value, place.item(entry, position)))
            position += 1
            continue
        for part in _opened(source, entry, place, position):
            if isinstance(part, str):
                rows.entries.append(_item(source, shape, there[int(part)], place.item(part, position)))
            else:
                rows.entries.append(part)
            position += part.count if isinstance(part, Gap) else 1
    source.left_out += rows.hidden
    return rows


def _item(source: Source, shape: Shape, sent: Value, place: Place) -> Node:
    return build(source.for_item(place.name), shape.item, sent, place)


def _entries(source: Source, count: int, place: Place) -> Iterable[str | Gap]:
    posted = source.get(f"order:{place.name}")
    if posted is not None:
        return read_order(posted, count)
    shown = min(count, source.items if source.leaves > 0 else 0)
    return [*map(str, range(shown)), *([Gap(shown, count - 1)] if shown < count else [])]


def read_order(text: str, count: int) -> list[str | Gap]:
    """The items of a list in their order, as a form keeps it: "1,0,n0,2-11999". What can't be meant is dropped."""
    entries: list[str | Gap] = []
    seen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if part.startswith("n") and part[1:].isdecimal() and part.isascii() and part not in entries:
            entries.append(part)
        elif part.isascii() and first.isdecimal() and (last.isdecimal() or not dash) and len(part) < 20:
            numbers = range(int(first), int(last or first) + 1)
            if numbers and numbers[-1] < count and seen.isdisjoint(numbers):
                seen.update(numbers)
                entries.append(Gap(numbers[0], numbers[-1]) if dash else str(numbers[0]))
    return entries


def _opened(source: Source, gap: Gap, place: Place, position: int) -> Iterator[str | Gap]:
    """A gap without the items in it that must be shown."""
    start = gap.first
    for number in range(gap.first, gap.last + 1):
        if f"{place.pointer}/{position + number - gap.first}" in source.touched:
            if start < number:
                yield Gap(start, number - 1)
            yield str(number)
            start = number + 1
    if start <= gap.last:
        yield Gap(start, gap.last)
