"""The verdicts: each view loads what the person may see, gives one verdict, and goes on or shows the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from handoffs.actions import drafts, endings, escalations, verdicts
from handoffs.errors import LostRace, NotAllowed, TransitionNotAllowed, UndoExpired
from handoffs.states import Kind, Resolution, Side
from reviewqueue import undo as last_verdict
from reviewqueue.case import Case, escalation_case
from reviewqueue.conflict import conflict
from reviewqueue.deciding import decide, seen_by
from reviewqueue.decisions import Decisions
from reviewqueue.editing import Editor, posted_editor
from reviewqueue.escalation_page import Refusal, note_look, show
from reviewqueue.grouping import same_to_all
from reviewqueue.place import Place
from reviewqueue.requests import now_of
from reviewqueue.views.errors import refused

NOT_TYPED = frozenset({"csrfmiddlewaretoken", "version", "from", "then", "op", "take_over"})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def fix(request: HttpRequest, pk: int) -> HttpResponse:
    """GET: the form with all its fields. POST: the edited body takes the place of the one that stopped."""
    case = escalation_case(request, pk)
    if request.method != "POST":
        note_look(case, now_of(request))
        return show(request, case)
    decisions = Decisions(case)
    side = next((s for s in decisions.fix_sides if s.value == request.POST.get("side")), decisions.fix_side)
    editor = posted_editor(case, Resolution.FIX, side, request.POST)
    return _edited(
        request,
        editor,
        lambda: verdicts.fix(escalation_id=pk, by=case.user, seen=seen_by(request), body=editor.text, side=side),
    )


@require_POST
@login_required
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    """An answer to what an agent asked; at a step that a person does, its output."""
    case = escalation_case(request, pk)
    if Decisions(case).kind is not Kind.REVIEW:
        return decide(request, case, Resolution.ANSWER, _answering(request, case, request.POST.get("text", "")))
    editor = posted_editor(case, Resolution.ANSWER, Side.RETURNS, request.POST)
    return _edited(request, editor, lambda: _answering(request, case, editor.text)())


def _answering(request: HttpRequest, case: Case, text: str) -> Callable[[], object]:
    pk = case.escalation.pk if case.escalation else 0
    return lambda: verdicts.answer(escalation_id=pk, by=case.user, seen=seen_by(request), text=text)


@require_POST
@login_required
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """The waiting output is taken as it is."""
    case = escalation_case(request, pk)
    return decide(
        request,
        case,
        Resolution.APPROVE,
        lambda: verdicts.approve(escalation_id=pk, by=case.user, seen=seen_by(request)),
    )


@require_POST
@login_required
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """More tries, here or from a step before."""
    case = escalation_case(request, pk)
    said = request.POST.get("tries", "")
    tries = int(said) if said.isascii() and said.isdecimal() and len(said) < 4 else 1
    step = request.POST.get("step") or None
    return decide(
        request,
        case,
        Resolution.RETRY,
        lambda: verdicts.retry(escalation_id=pk, by=case.user, seen=seen_by(request), tries=tries, step=step),
    )


@require_POST
@login_required
def close(request: HttpRequest, pk: int) -> HttpResponse:
    """The record ends, with a reason of its queue's list."""
    case = escalation_case(request, pk)
    reason, note = request.POST.get("reason", ""), request.POST.get("note", "")
    return decide(
        request,
        case,
        Resolution.CLOSE,
        lambda: verdicts.close(escalation_id=pk, by=case.user, seen=seen_by(request), reason=reason, note=note),
    )


@require_POST
@login_required
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """One's own verdict is taken back, as long as nothing followed."""
    case = escalation_case(request, pk)
    url = Place.of(request, case.desk).url(pk)
    last_verdict.forget(request)
    try:
        endings.undo(escalation_id=pk, by=case.user)
    except NotAllowed as error:
        return refused(request, 403, str(error), url)
    except (UndoExpired, LostRace, TransitionNotAllowed) as error:
        return refused(request, 409, str(error), url)
    messages.success(request, _("Taken back. It is yours again, as it was before."))
    return redirect(url)


def _edited(request: HttpRequest, editor: Editor, act: Callable[[], object]) -> HttpResponse:
    """Save an edited body, or show it again: rearranged, checked, or with what keeps it from being taken."""
    case = editor.case
    if request.POST.get("op") == "again" and request.POST.get("take_over"):
        return _taken_over(request, editor)
    if request.POST.get("then") == "draft":
        return _kept(request, editor)
    if editor.is_stale:
        return conflict(request, case.escalation.pk if case.escalation else 0, _("It was changed meanwhile."), editor)
    if request.POST.get("op"):
        return show(request, case, editor=editor.judged())
    if editor.problems:
        return show(request, case, editor=editor, status=422)
    if request.POST.get("then") == "same":
        return same_to_all(request, editor)
    if request.POST.get("then") == "check":
        checked = editor.judged()
        good = Refusal(_("Every field holds the contract"), panel="checked")
        return show(request, case, editor=checked, refusal=None if checked.violations else good)
    return decide(request, case, editor.verb, act, editor)


def _kept(request: HttpRequest, editor: Editor) -> HttpResponse:
    """Keep what was typed as a draft, whatever it holds."""
    case = editor.case
    pk = case.escalation.pk if case.escalation else 0
    try:
        drafts.save(escalation_id=pk, by=case.user, verb=editor.verb, side=editor.side, typed=typed_in(request))
    except NotAllowed as error:
        return refused(request, 403, str(error), Place.of(request, case.desk).url(pk))
    except (LostRace, TransitionNotAllowed) as error:
        return conflict(request, pk, str(error), editor)
    messages.success(request, _("Draft saved. It is here when you come back."))
    return redirect(Place.of(request, case.desk).url(pk))


@require_POST
@login_required
def discard_draft(request: HttpRequest, pk: int) -> HttpResponse:
    """Throw one's own draft away."""
    case = escalation_case(request, pk)
    drafts.discard(escalation_id=pk, by=case.user)
    messages.success(request, _("The draft is gone."))
    return redirect(Place.of(request, case.desk).url(pk))


def typed_in(request: HttpRequest) -> dict[str, str]:
    """The fields of a form, without its buttons and what belongs to the one request."""
    return {name: request.POST[name] for name in request.POST if name not in NOT_TYPED}


def _taken_over(request: HttpRequest, editor: Editor) -> HttpResponse:
    """Take it over from who has it, and go on with what was typed."""
    pk = editor.case.escalation.pk if editor.case.escalation else 0
    try:
        escalations.claim(escalation_id=pk, by=editor.case.user, take_over=True)
    except (LostRace, NotAllowed, TransitionNotAllowed) as error:
        return conflict(request, pk, str(error), editor)
    data = {name: text for name, text in (editor.data or {}).items() if name != "version"}
    case = escalation_case(request, pk)
    return show(request, case, editor=replace(editor, case=case, data=data).judged())
