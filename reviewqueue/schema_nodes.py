"""The fields of one body as a tree: what was sent, what came back from the browser, and the value that makes.

A node's `name` is the name of its control: a JSON pointer into what was sent, so that it stays when items are moved;
new items count n0, n1, … Its `pointer` is the place in the body as it is now, which is what a violation names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from handoffs.contracts import Violation
from handoffs.exact_json import ABSENT, Value, same, write
from reviewqueue.provenance import Origin
from reviewqueue.schema_fields import Shape, Sort

# What stands at the place of an object or a list.
BLANK, HERE, NULL, LEFT_OUT, AS_SENT = "blank", "here", "null", "absent", "sent"
SHOWN_VALUE = 300  # characters of a sent value beside its field


@dataclass(slots=True)
class Node:
    """One field."""

    shape: Shape
    name: str
    pointer: str
    sent: Value
    key: str = ""
    label: str = ""
    crumbs: tuple[str, ...] = ()
    in_list: bool = False
    is_new: bool = False  # within something that a person added
    is_unknown: bool = False  # the contract does not know it
    violations: list[Violation] = field(default_factory=list)
    origin: Origin | None = None  # who wrote what was sent
    is_hoisted: bool = False  # stands on top of the form, since it breaks the contract

    @property
    def value(self) -> Value:
        raise NotImplementedError

    @property
    def id(self) -> str:
        """What its control is called in the page: every character that is not plain becomes its code."""
        return "f" + "".join(c if c.isascii() and (c.isalnum() or c == "_") else _coded(c) for c in self.name)

    @property
    def children(self) -> Sequence[Node]:
        return ()

    @property
    def controls(self) -> dict[str, str]:
        """What its own controls send as they stand."""
        return {}

    @property
    def problems(self) -> list[str]:
        """Why what was typed can't be read at all."""
        return []

    @property
    def errors(self) -> list[str]:
        return self.problems or [violation.sentence for violation in self.violations]

    @property
    def is_changed(self) -> bool:
        return not same(self.sent, self.value)

    @property
    def is_missing(self) -> bool:
        return self.sent is ABSENT

    @property
    def sent_text(self) -> str:
        """What was sent, as JSON."""
        if self.sent is ABSENT:
            return ""
        text = write(self.sent)
        return text if len(text) <= SHOWN_VALUE else f"{text[:SHOWN_VALUE]}…"

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


def _coded(character: str) -> str:
    return "-" if character == "/" else f".{ord(character):x}."


@dataclass(slots=True)
class Holder(Node):
    """What an object and a list have in common: there, null, left out, or of another type."""

    state: str = HERE

    @property
    def value(self) -> Value:
        if self.state == NULL:
            return None
        if self.state == LEFT_OUT:
            return ABSENT
        if self.state == AS_SENT:
            return self.sent
        value = self.inside()
        if self.state == BLANK and not value and not self.in_list:
            return ABSENT
        return self.sent if same(self.sent, value) else value

    def inside(self) -> Value:
        raise NotImplementedError

    @property
    def is_open(self) -> bool:
        return self.state in {BLANK, HERE}

    @property
    def controls(self) -> dict[str, str]:
        return {f"state:{self.name}": self.state}

    @property
    def ways(self) -> list[tuple[str, str]]:
        """(operation, what its button says) of what else could stand here."""
        found = []
        if not self.is_open or (self.state == BLANK and self.shape.sort is Sort.LIST):
            found.append(("fill", _("Empty list") if self.shape.sort is Sort.LIST else _("Fill in")))
        if self.shape.nullable and self.state != NULL:
            found.append(("null", _("Set to null")))
        if not self.in_list and self.state not in {LEFT_OUT, BLANK} and (not self.shape.required or self.is_missing):
            found.append(("drop", _("Leave out")))
        return found


@dataclass(slots=True)
class Group(Holder):
    """An object; of a variant, the one that `tag` names."""

    fields: list[Node] = field(default_factory=list)
    tag: str | None = None  # None: no variant; "": none is chosen
    hidden: int = 0  # fields that are not shown, and stay as they are

    template = "escalation/_field_group.html"

    @property
    def children(self) -> Sequence[Node]:
        return self.fields if self.is_open else ()

    @property
    def controls(self) -> dict[str, str]:
        tag = {} if self.tag is None else {f"kind:{self.name}": self.tag}
        return {f"state:{self.name}": self.state} | tag

    def inside(self) -> Value:
        if self.tag == "":
            return self.sent
        made = {child.key: child.value for child in self.fields}
        sent = self.sent if isinstance(self.sent, dict) else {}
        base = {key: value for key, value in sent.items() if self._keeps(key)}
        if self.tag is not None:
            tagged = {self.shape.tag: self.shape.tag_value(self.tag)}
            base = tagged | base | tagged
        keys = [*base, *(key for key in made if key not in base)]
        merged = {key: made[key] if key in made else base[key] for key in keys}
        return {key: value for key, value in merged.items() if value is not ABSENT}

    def _keeps(self, key: str) -> bool:
        """Another variant's fields are not carried over to this one."""
        return not self.is_switched or key in self.shape.variants[self.tag or ""].properties or key == self.shape.tag

    @property
    def is_switched(self) -> bool:
        if not self.tag:
            return False
        return not isinstance(self.sent, dict) or not same(
            self.sent.get(self.shape.tag, ABSENT), self.shape.tag_value(self.tag)
        )

    @property
    def tags(self) -> list[tuple[str, bool]]:
        return [(tag, tag == self.tag) for tag in self.shape.variants]


@dataclass(slots=True)
class Gap:
    """Items of a list that are not shown, and stay as they are: the first and the last, as they were sent."""

    first: int
    last: int

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def token(self) -> str:
        return f"{self.first}-{self.last}"


@dataclass(slots=True)
class Rows(Holder):
    """A list."""

    entries: list[Node | Gap] = field(default_factory=list)

    template = "escalation/_field_rows.html"

    @property
    def children(self) -> Sequence[Node]:
        return [entry for entry in self.entries if isinstance(entry, Node)] if self.is_open else ()

    def inside(self) -> Value:
        made: list[Value] = []
        for entry in self.entries:
            if isinstance(entry, Gap):
                made += self.sent[entry.first : entry.last + 1]
            else:
                value = entry.value
                made.append(None if value is ABSENT else value)
        return made

    @property
    def controls(self) -> dict[str, str]:
        order = {f"order:{self.name}": self.order} if self.is_open else {}
        return {f"state:{self.name}": self.state} | order

    @property
    def order(self) -> str:
        return ",".join(entry.token if isinstance(entry, Gap) else entry.key for entry in self.entries)

    @property
    def count(self) -> int:
        return sum(entry.count if isinstance(entry, Gap) else 1 for entry in self.entries)

    @property
    def hidden(self) -> int:
        return sum(entry.count for entry in self.entries if isinstance(entry, Gap))
