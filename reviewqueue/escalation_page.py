"""The escalation page: everything that is needed to decide, on one screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from handoffs.actions import watching
from handoffs.actions.escalations import looked_at, people_of
from handoffs.models import Queue
from handoffs.states import Kind, Resolution, Side
from reviewqueue import labels
from reviewqueue.actors import is_person
from reviewqueue.case import SIMILAR, Case
from reviewqueue.comparing import compare
from reviewqueue.decisions import Decisions
from reviewqueue.durations import in_words
from reviewqueue.editing import Editor, editor_of, restored_editor
from reviewqueue.panels import deliveries, shown_body, strip, sureness
from reviewqueue.place import Place
from reviewqueue.places_seen import shown_place
from reviewqueue.rows import shown_columns
from reviewqueue.schema_controls import Leaf
from reviewqueue.sheets import Look
from reviewqueue.timeline import WHO, timeline

PLACES = 3  # places that are named beside one value
NO_EDITOR = frozenset({Kind.ASKED, Kind.STRANDED})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a decision was not taken. `panel`: the form it was given with, which opens again with what was typed."""

    heading: str
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    sentence: str = ""
    panel: str = ""


def show(
    request: HttpRequest,
    case: Case,
    *,
    editor: Editor | None = None,
    refusal: Refusal | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page, perhaps with a body in the making, or with why a decision was not taken."""
    decisions = Decisions(case)
    editor = _editor(case, decisions, request.GET) if editor is None else _origins(case, editor)
    context = _head(request, case, decisions) | _body(request, case, decisions, editor) | _around(request, case)
    effect = decisions.effect_of(editor.verb, editor.side) if editor else ""
    context |= {
        "effect": effect,
        "editor": editor,
        "refusal": refusal,
        "typed": request.POST,
        "panel": refusal.panel if refusal else "",
    }
    return render(request, "escalation.html", context, status=status)


def note_look(case: Case, now: datetime) -> None:
    """A look by somebody who may decide counts, and keeps that person's claim alive."""
    if case.escalation is not None and case.may_decide and not case.is_resolved:
        looked_at(escalations=[case.escalation.pk], by=case.user)
        watching.looked_at(queues=[case.escalation.queue], by=case.user, at=now)


def _editor(case: Case, decisions: Decisions, query: Mapping[str, str]) -> Editor | None:
    """The editor that the page opens with; on its own page (`side` is named there) any that the kind allows."""
    if decisions.barred:
        return None
    asked = next((side for side in decisions.fix_sides if side.value == query.get("side")), None)
    if query.get("as") is None and (restored := restored_editor(case, asked)) is not None:
        return _origins(case, restored)
    if asked is not None and decisions.allows(Resolution.FIX):
        return _origins(case, editor_of(case, Resolution.FIX, asked, query))
    if decisions.kind is Kind.REVIEW:
        return _origins(case, editor_of(case, Resolution.ANSWER, Side.RETURNS, query))
    if decisions.kind in NO_EDITOR or not decisions.allows(Resolution.FIX):
        return None
    return _origins(case, editor_of(case, Resolution.FIX, decisions.fix_side, query))


def _origins(case: Case, editor: Editor) -> Editor:
    """Say beside each field who wrote its value."""
    if editor.form is not None:
        tell_origins(case, editor.form.leaves)
        sure = sureness(case)
        bar = sure.bar if sure and sure.bar is not None else 0
        editor.form.doubtful = [pointer for pointer, value in sure.fields if value < bar] if sure else []
    return editor


def tell_origins(case: Case, leaves: list[Leaf]) -> None:
    for leaf in leaves:
        origin = case.provenance.of(leaf.name, leaf.sent)
        if origin is not None:
            by = case.actors.name(origin.result.actor) if is_person(origin.result.actor) else ""
            origin = replace(origin, by=by, places=tuple(shown_place(case, seen) for seen in origin.seen[:PLACES]))
        leaf.origin = origin


def _head(request: HttpRequest, case: Case, decisions: Decisions) -> dict[str, Any]:
    escalation, place, now = case.escalation, Place.of(request, case.desk), case.desk.now
    if escalation is None:
        raise ValueError("the page is about an escalation")
    around = place.around(escalation)
    return {
        "case": case,
        "escalation": escalation,
        "record": case.record,
        "decisions": decisions,
        "place": place,
        "back_url": place.back_url(escalation.pk),
        "next_url": around.next_url,
        "previous_url": around.previous_url,
        "position": around.position,
        "is_late": escalation.due_at < now and not case.is_resolved,
        "due": in_words(escalation.due_at - now),
        "resolution": labels.RESOLUTIONS[Resolution(escalation.resolution)] if escalation.resolution else "",
    }


def _body(request: HttpRequest, case: Case, decisions: Decisions, editor: Editor | None) -> dict[str, Any]:
    side = editor.side if editor and editor.verb is Resolution.FIX else decisions.fix_side
    view = request.GET.get("show") or ("json" if editor else "fields")
    shown = shown_body(case, side, view)
    if shown.form is not None:
        tell_origins(case, shown.form.leaves)
    return {
        "shown": shown,
        "comparison": compare(case, request.GET.get("against", "")) if shown.view == "changes" else None,
        "comparison_query": _query(request, "show"),
        "violations": case.violations,
        "sureness": sureness(case),
        "deliveries": deliveries(case),
        "steps": strip(case),
        "document": case.document(_look(request, case, editor)),
    }


def _look(request: HttpRequest, case: Case, editor: Editor | None) -> Look:
    """What is asked for; else the place of the first field that somebody has to look at."""
    look = Look.of(request.GET)
    if look.at or look.doc:
        return look
    broken = [leaf.pointer for leaf in editor.form.leaves if leaf.errors] if editor and editor.form else []
    sure = sureness(case)
    doubtful = [pointer for pointer, _value in sure.fields] if sure else []
    seen = {one.pointer for one in case.seen}
    return replace(look, at=next((pointer for pointer in [*broken, *doubtful] if pointer in seen), ""))


def _query(request: HttpRequest, *names: str) -> str:
    """The view one came from, and what else of the address a link keeps; ends in an ampersand where there is any."""
    kept = {name: value for name in ("from", *names) if (value := request.GET.get(name))}
    return f"{urlencode(kept)}&" if kept else ""


def _around(request: HttpRequest, case: Case) -> dict[str, Any]:
    who = request.GET.get("who", "all")
    context: dict[str, Any] = {
        "timeline_query": _query(request),
        "producer": case.actors.name(case.record.producer),
        "columns": shown_columns(case.record),
        "timeline": timeline(case, who),
        "who": who if who in WHO else "all",
        "similar": case.similar[:SIMILAR],
        "similar_more": len(case.similar) > SIMILAR,
    }
    if case.escalation is not None and case.may_decide and not case.is_resolved:
        context |= {
            "queues": Queue.objects.exclude(pk=case.escalation.queue_id).order_by("title", "pk"),
            "people": people_of(case.escalation.queue),
            "snoozes": snoozes(case.desk.now),
        }
    return context


def snoozes(now: datetime) -> list[tuple[str, str]]:
    """(time, words) until when an item is commonly snoozed, where the person is."""
    here = timezone.localtime(now)
    morning = here.replace(hour=8, minute=0, second=0, microsecond=0)
    monday = morning + timedelta(days=7 - here.weekday())
    found = [
        (here + timedelta(hours=1), _("for 1 h")),
        (here + timedelta(hours=4), _("for 4 h")),
        (morning + timedelta(days=1), _("until tomorrow, 8:00")),
        (monday, _("until Monday, 8:00")),
    ]
    return [(at.isoformat(timespec="seconds"), words) for at, words in found]
