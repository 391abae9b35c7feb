"""The body that a person edits: as the fields of its contract, or whole, as JSON text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from handoffs import strict_json
from handoffs.bodies import body_digest, raw_bytes
from handoffs.contracts import Contract, Violation
from handoffs.exact_json import Unreadable, parse, write
from handoffs.states import Resolution, Side
from reviewqueue.case import Case
from reviewqueue.repairing import repaired
from reviewqueue.schema_fields import shape_of
from reviewqueue.schema_forms import SchemaForm
from reviewqueue.schema_leaves import sentence

FIELDS, JSON, DRAFT = "fields", "json", "draft"
LARGEST: Final = 300_000  # characters of a body that is edited as text; a page stays below 1 MB
_FENCE: Final = re.compile(r"```[ \t]*[A-Za-z0-9_-]*[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)


@dataclass
class Editor:
    """One body in the hands of one person.

    `data` is what came back from the browser; `violations` is how the body as it is now breaks its contract.
    """

    case: Case
    verb: Resolution
    side: Side
    data: Mapping[str, str] | None = None
    wants_json: bool = False
    show_all: bool = False
    violations: tuple[Violation, ...] = ()
    base: str | None = None  # the body that is edited, where it is not the one that is there now

    @cached_property
    def contract(self) -> type[Contract] | None:
        return self.case.contract(self.side)

    @property
    def contract_name(self) -> str:
        return self.contract.__name__ if self.contract else ""

    @cached_property
    def sent(self) -> str:
        """The body that is edited, as it is kept."""
        if self.base is not None:
            return self.base
        return self.case.record.payload if self.verb is Resolution.ANSWER else self.case.body(self.side)

    @property
    def digest(self) -> str:
        """The digest of the body that was shown."""
        return (self.data or {}).get("digest") or body_digest(self.sent)

    @property
    def version(self) -> str:
        shown = self.case.escalation.version if self.case.escalation else 0
        return (self.data or {}).get("version") or str(shown)

    @property
    def is_stale(self) -> bool:
        """Whether the body changed since it was shown."""
        return self.digest != body_digest(self.sent)

    # --- as fields ---------------------------------------------------------------------------------------------------

    @cached_property
    def form(self) -> SchemaForm | None:
        """The fields; None where the body is edited as text."""
        if self.wants_json or self.contract is None:
            return None
        taken = frozenset(self.case.step.takes) if self.case.step and self.side is Side.RECEIVES else frozenset()
        shape = shape_of(self.contract, taken)
        try:
            given = self._given if self.verb is Resolution.ANSWER else self.sent
            return SchemaForm(shape, given, data=self.data, violations=self.violations, show_all=self.show_all)
        except Unreadable:
            return None

    @cached_property
    def _given(self) -> str:
        """What an answer starts from: the document, as far as the answer's contract knows it."""
        try:
            document = parse(self.sent)
        except Unreadable:
            return ""
        shape = shape_of(self.contract) if self.contract else None
        if shape is None or not isinstance(document, dict) or shape.keeps_unknown:
            return self.sent
        known = {key: value for key, value in document.items() if key in shape.properties}
        return self.sent if known.keys() == document.keys() else write(known)

    # --- as text -----------------------------------------------------------------------------------------------------

    @property
    def is_text(self) -> bool:
        return self.form is None

    @cached_property
    def text_shown(self) -> str:
        """What stands in the field for the whole body."""
        data = self.data or {}
        if data.get("op") == "fence" and self.fenced is not None:
            return self.fenced
        if data.get("op") == "repair" and self.repaired is not None:
            return self.repaired
        if data.get("op") == "json" and "body" not in data:
            as_fields = Editor(self.case, self.verb, self.side, data)
            return as_fields.text if as_fields.form and not as_fields.problems else self._laid_out
        return data.get("body", self._laid_out)

    @cached_property
    def _laid_out(self) -> str:
        text = self._given if self.verb is Resolution.ANSWER else self.sent
        if self.case.record.encoding and text == self.case.record.payload:
            return raw_bytes(text, self.case.record.encoding).decode("utf-8", "replace").replace("\0", "␀")
        try:
            return write(parse(text), indent=2)
        except Unreadable:
            return text

    @property
    def is_too_large(self) -> bool:
        return self.is_text and len(self.text_shown) > LARGEST

    @property
    def is_readable(self) -> bool:
        """Whether what is kept is JSON at all."""
        return not self.case.record.encoding and _is_json(self.sent)

    @cached_property
    def fenced(self) -> str | None:
        """What a Markdown fence in an unreadable body holds, if it holds JSON."""
        found = _FENCE.search(self._laid_out) if not self.is_readable else None
        return found[1] if found and _is_json(found[1]) else None

    @cached_property
    def repaired(self) -> str | None:
        """A guess at what an unreadable body was meant to be. Only a suggestion: taken, it is this person's edit."""
        return None if self.is_readable or self.fenced is not None else repaired(self._laid_out)

    # --- both --------------------------------------------------------------------------------------------------------

    @cached_property
    def text(self) -> str:
        """The body as it is now. Only where there are no problems."""
        if self.form is not None:
            return self.form.text
        typed = self.text_shown.replace("\r\n", "\n")
        return self.sent if self.is_readable and typed == self._laid_out else typed

    @cached_property
    def problems(self) -> list[tuple[str, str, str]]:
        """(where to go, label, sentence) for text that is no JSON."""
        if self.form is not None:
            return [(f"#{node.id}", node.label, said) for node, said in self.form.problems]
        judged = strict_json.read(self.text_shown.encode("utf-8", "surrogatepass"))
        flaws = judged if isinstance(judged, tuple) else ()
        return [("#body", flaw.pointer or _("The body"), sentence(flaw)) for flaw in flaws]

    def judged(self) -> Editor:
        """The same, with what breaks the contract as it is now. Nothing is judged where the text is no JSON."""
        found = () if self.problems else self.case.judge(self.side, self.text)
        if self.is_rearranged and self.form is not None:
            # What was just added is not filled in yet: that is no mistake.
            new = {node.pointer for node in self.form.root.walk() if node.is_new}
            found = tuple(violation for violation in found if violation.pointer not in new)
        return replace(self, violations=found)

    def with_violations(self, violations: Sequence[Violation]) -> Editor:
        found = tuple(violations)
        return replace(self, violations=found)

    @property
    def summary(self) -> list[tuple[str, str, str]]:
        """(where to go, label, sentence) for everything that keeps the body from being taken."""
        if self.problems:
            return self.problems
        if self.form is None:
            return [("#body", v.pointer or _("The body"), v.sentence) for v in self.violations]
        nodes = [node for node in self.form.root.walk() if node.errors]
        rows = [(f"#{n.id}", " › ".join([*n.crumbs, n.label]), said) for n in nodes for said in n.errors]
        return rows + [("#fix", v.pointer or _("The body"), v.sentence) for v in self.form.general]

    @property
    def is_calm(self) -> bool:
        """A fresh answer: what is missing is to be filled in, and no mistake yet."""
        return self.verb is Resolution.ANSWER and self.data is None

    @property
    def is_rearranged(self) -> bool:
        """Whether the form comes back because one of its own buttons was pressed: nothing was refused."""
        return bool((self.data or {}).get("op"))

    @property
    def is_restored(self) -> bool:
        """Whether it shows a draft."""
        return (self.data or {}).get("op") == DRAFT

    @property
    def first_id(self) -> str:
        """The control that the key goes to first."""
        return self.form.first_id if self.form else "body"

    @property
    def label(self) -> str:
        """What its button says."""
        return _("Answer") if self.verb is Resolution.ANSWER else _("Fix")

    @property
    def heading(self) -> str:
        count = len(self.violations)
        if not self.is_readable:
            return _("What was sent can't be read")
        if self.verb is Resolution.ANSWER:
            said = ngettext("%(n)d field to fill in", "%(n)d fields to fill in", count) if count else _("Your answer")
        elif count:
            said = ngettext("%(n)d field to fix", "%(n)d fields to fix", count)
        else:
            said = _("Every field holds the contract")
        return said % {"n": count}


def _is_json(text: str) -> bool:
    try:
        parse(text)
    except Unreadable:
        return False
    return True


def editor_of(case: Case, verb: Resolution, side: Side, query: Mapping[str, str]) -> Editor:
    """A fresh editor, as an address asks for it, with what breaks the contract now."""
    wants_json, show_all = query.get("as") == JSON, query.get("all") == "1"
    fresh = Editor(case, verb, side, wants_json=wants_json, show_all=show_all)
    if fresh.contract is None:
        return fresh
    body = fresh.form.text if fresh.form and verb is Resolution.ANSWER else fresh.sent
    return fresh.with_violations(case.judge(side, body))


def restored_editor(case: Case, asked: Side | None) -> Editor | None:
    """The editor with one's own draft; None where there is none, or another body is asked for."""
    draft = case.draft
    if draft is None or (asked is not None and asked != draft.side):
        return None
    # As after any of the form's own buttons: nothing was refused. The version is the one of now, the digest is kept.
    said = {name: text for name, text in draft.typed.items() if name != "version"} | {"op": DRAFT}
    return posted_editor(case, Resolution(draft.verb), Side(draft.side), said).judged()


def posted_editor(case: Case, verb: Resolution, side: Side, data: Mapping[str, str]) -> Editor:
    """An editor with what came back from the browser."""
    said = {name: data[name] for name in data}  # of what was sent twice, the last
    wants_json = said.get("as") == JSON or said.get("op") == "json"
    return Editor(case, verb, side, said, wants_json, said.get("all") == "1")
