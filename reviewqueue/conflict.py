"""Two people, one escalation: the one who comes second sees what happened, and loses nothing of what they typed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from handoffs.bodies import body_digest
from handoffs.exact_json import Unreadable
from handoffs.models import Escalation, StepResult, Transition
from handoffs.states import Resolution
from reviewqueue import labels
from reviewqueue.actors import name_of
from reviewqueue.case import Case, escalation_case
from reviewqueue.differences import Row, compared
from reviewqueue.editing import Editor
from reviewqueue.place import Place
from reviewqueue.schema_forms import PARTIAL, SchemaForm
from reviewqueue.timeline import Happening, Telling

# Of these, what a person typed is text of their own, to be copied.
TYPED = ("text", "note", "reason", "body")
NOT_TYPED = frozenset(
    {"csrfmiddlewaretoken", "version", "digest", "op", "then", "from", "side", "as", "all", "take_over", PARTIAL}
)


@dataclass(frozen=True)
class Bodies:
    """The three bodies: the one you started from, the one that is there now, and yours; None where unknown."""

    base: str | None
    now: str
    yours: str | None

    @property
    def rows(self) -> list[Row] | None:
        if self.base is None or self.yours is None:
            return None
        return compared(self.base, self.now, self.yours)


def conflict(request: HttpRequest, pk: int, sentence: str, editor: Editor | None = None) -> HttpResponse:
    """The 409 page."""
    case = escalation_case(request, pk)
    escalation = case.escalation
    bodies = _bodies(case, editor) if editor else None
    place = Place.of(request, case.desk)
    context = {
        "case": case,
        "escalation": escalation,
        "record": case.record,
        "place": place,
        "here_url": place.url(pk),
        "now_digest": body_digest(bodies.now) if bodies else "",
        "sentence": sentence,
        "what": what_happened(case),
        "latest": _latest(case),
        "bodies": bodies,
        "rows": bodies.rows if bodies else None,
        "again": _again(editor, bodies) if editor and bodies and not case.is_resolved else None,
        "editor": editor,
        "kept": [(name, request.POST[name]) for name in TYPED if request.POST.get(name)],
        "waiting": _waiting(case),
    }
    return render(request, "escalation_conflict.html", context, status=409)


def what_happened(case: Case) -> dict[str, Any] | None:
    """Who decided what, and when; or who has it."""
    escalation = case.escalation
    if escalation is None:
        return None
    if escalation.is_resolved:
        said = labels.RESOLUTIONS[Resolution(escalation.resolution)] if escalation.resolution else ""
        return {"name": name_of(escalation.resolved_by), "said": said, "at": escalation.resolved_at}
    if escalation.assignee_id and escalation.assignee_id != case.user.pk:
        return {"name": name_of(escalation.assignee), "said": _("has it"), "at": None}
    return None


def _latest(case: Case) -> Happening | None:
    """The last thing that happened to the record."""
    last: Transition | None = case.transitions[-1] if case.transitions else None
    return Telling(case).tell(last) if last else None


def _waiting(case: Case) -> Escalation | None:
    """Where the record waits now, if it does and elsewhere than here."""
    found = [each for each in case.escalations if not each.is_resolved and each is not case.escalation]
    return next((each for each in found if each.pk != getattr(case.escalation, "pk", None)), None)


# --- the bodies ------------------------------------------------------------------------------------------------------


def _bodies(case: Case, editor: Editor) -> Bodies:
    base = _with_digest(case, editor.digest)
    yours = _yours(editor, base)
    return Bodies(base, _now(case, editor), yours)


def _yours(editor: Editor, base: str | None) -> str | None:
    """What was typed, on top of the body that it was typed into."""
    if base is None:
        return None
    mine = replace(editor, base=base)
    try:
        return None if mine.problems else mine.text
    except Unreadable:
        return None


def _with_digest(case: Case, digest: str) -> str | None:
    """The body of this record that once was shown under a digest."""
    before = [json.loads(text).get("payload") for text in _befores(case)]
    outputs = StepResult.objects.filter(record=case.record).exclude(output=None).values_list("output", flat=True)
    for text in [case.record.payload, *before, *outputs]:
        if text is not None and body_digest(text) == digest:
            return str(text)
    return None


def _befores(case: Case) -> list[str]:
    return list(case.record.escalations.exclude(resolved_at=None).values_list("before", flat=True))


def _now(case: Case, editor: Editor) -> str:
    """What stands there now: the body that was decided, else the one that waits."""
    escalation = case.escalation
    if escalation is not None and escalation.resolved_at is not None:
        made = case.record.results.filter(attempt=None, side=editor.side.value, ended_at=escalation.resolved_at)
        decided = made.order_by("-pk").values_list("output", flat=True).first()
        if decided is not None:
            return decided
    return case.body(editor.side)


def _again(editor: Editor, bodies: Bodies) -> Mapping[str, str]:
    """What a form sends to put what was typed on top of what is there now; only what was changed."""
    data = dict(editor.data or {})
    typed = {name: text for name, text in data.items() if name not in NOT_TYPED}
    if editor.form is None or bodies.base is None:
        return typed | {"as": "json"}
    form: SchemaForm | None = replace(editor, base=bodies.base, data=None, show_all=True).form
    if form is None:
        return typed
    untouched = form.controls
    changed = {
        name: text for name, text in typed.items() if name not in untouched or _lines(text) != _lines(untouched[name])
    }
    return changed | {PARTIAL: "1"}


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
