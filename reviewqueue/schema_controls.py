"""Which control shows a single value, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from handoffs.exact_json import ABSENT, Value
from reviewqueue import schema_leaves, zoned
from reviewqueue.schema_fields import Sort
from reviewqueue.schema_leaves import Blank, Typed
from reviewqueue.schema_nodes import SHOWN_VALUE, Node
from reviewqueue.visible import cut, has_hidden, visible

FEW = 5  # choices that are shown side by side


@dataclass(slots=True)
class Leaf(Node):
    """A single value, or anything that is shown as JSON."""

    typed: Typed = field(default_factory=Typed)

    template = "escalation/_field_leaf.html"

    @property
    def _read(self) -> schema_leaves.Read:
        return schema_leaves.read(self.shape, self.sent, self.typed, self._blank)

    @property
    def _blank(self) -> Blank:
        return Blank(self.in_list, self.is_new)

    @property
    def value(self) -> Value:
        return self._read.value

    @property
    def problems(self) -> list[str]:
        return self._read.problems

    @property
    def text(self) -> str:
        return schema_leaves.shown(self.shape, self.sent) if self.typed.text is None else self.typed.text

    @property
    def control(self) -> str:
        """Which control shows it: radios, select, textarea or text.

        Dates are text as well: a browser's own date field writes 11/02 for the second of November, or swallows it.
        """
        if self.shape.sort is Sort.CHOICE:
            return "radios" if len(self.choices) <= FEW else "select"
        return "textarea" if schema_leaves.is_tall(self.shape, self.text) else "text"

    @property
    def input_mode(self) -> str:
        return {Sort.INTEGER: "numeric", Sort.NUMBER: "decimal", Sort.DECIMAL: "decimal"}.get(self.shape.sort, "")

    @property
    def zone(self) -> str:
        """Where the time is read, of a date with a time; empty for any other field."""
        return zoned.zone_name() if self.shape.sort is Sort.DATETIME and zoned.is_local(self.sent) else ""

    @property
    def rows(self) -> int:
        return min(max(self.text.count("\n") + 1, 2), 12)

    @property
    def choices(self) -> list[tuple[str, str, bool]]:
        """(what the control sends, what it says, whether it is chosen)"""
        found = [(schema_leaves.token(value), _choice_label(value)) for value in self.shape.choices]
        if self.shape.nullable:
            found.append((schema_leaves.NULL, "null"))
        if not self.shape.required and not self.in_list:
            found.append((schema_leaves.LEFT_OUT, _("left out")))
        chosen = self.text or (schema_leaves.LEFT_OUT if self.is_missing else "")
        return [(token, label, token == chosen) for token, label in found]

    @property
    def is_chosen(self) -> bool:
        return any(chosen for _token, _label, chosen in self.choices)

    @property
    def controls(self) -> dict[str, str]:
        if self.control in {"radios", "select"}:
            chosen = next((token for token, _label, is_chosen in self.choices if is_chosen), None)
            empty = {} if self.control == "radios" else {self.name: ""}
            return {f"seen:{self.name}": ""} | (empty if chosen is None else {self.name: chosen})
        now = next((meaning for meaning, _label, is_now in self.meanings if is_now), None)
        return {self.name: self.text} | ({} if now is None else {f"empty:{self.name}": now})

    @property
    def meanings(self) -> list[tuple[str, str, bool]]:
        """What an empty control may stand for; nothing where there is only one meaning."""
        found = schema_leaves.meanings(self.shape, self.sent, self._blank)
        now = self.typed.empty if self.typed.empty in found else (found[0] if found else "")
        return [(each, str(schema_leaves.MEANINGS[each]), each == now) for each in found] if len(found) > 1 else []

    @property
    def value_text(self) -> str:
        """What was sent, to be read: text as it is, everything else as JSON."""
        is_plain = isinstance(self.sent, str) and self.shape.sort is not Sort.JSON
        return cut(self.sent, SHOWN_VALUE) if is_plain else self.sent_text

    @property
    def hidden_text(self) -> str:
        """What was sent, with hidden characters as marks; empty where it has none."""
        is_text = isinstance(self.sent, str) and self.shape.sort is not Sort.JSON
        return visible(cut(self.sent, SHOWN_VALUE)) if is_text and has_hidden(self.sent) else ""

    @property
    def shows_sent(self) -> bool:
        """Whether what was sent must stand beside the control, since the control shows something else."""
        if self.sent is ABSENT or self.shape.sort is Sort.JSON:
            return False
        cannot_hold = self.sent is not None and self.sent != "" and not schema_leaves.shown(self.shape, self.sent)
        return cannot_hold or self.is_changed


def _choice_label(value: Value) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)
