"""What the pages answer when somebody decides: on to the next item, or the same page with the reason, nothing lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from handoffs.actions.verdicts import Seen
from handoffs.contracts import Violation
from handoffs.errors import (
    ContractBroken,
    HandoffsError,
    LostRace,
    NotAllowed,
    NothingChanged,
    ReasonRequired,
    TransitionNotAllowed,
    UnknownFlow,
    UnknownStep,
)
from handoffs.models import Escalation
from handoffs.states import Resolution
from reviewqueue import undo
from reviewqueue.case import Case
from reviewqueue.conflict import conflict
from reviewqueue.decisions import DONE
from reviewqueue.editing import Editor
from reviewqueue.escalation_page import Refusal, show
from reviewqueue.place import Place
from reviewqueue.views.errors import refused

Act = Callable[[], object]


def seen_by(request: HttpRequest) -> Seen:
    """What the person saw: the form carries it. A form without it, or with nonsense, is of another version for sure."""
    version = request.POST.get("version", "")
    number = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else -1
    return Seen(number, request.POST.get("digest", ""))


def decide(request: HttpRequest, case: Case, verb: Resolution, act: Act, editor: Editor | None = None) -> HttpResponse:
    """Give a verdict, and go on to the next item of the view."""
    escalation = case.escalation
    if escalation is None:
        raise ValueError("a verdict is about an escalation")
    if _is_done_already(case, verb):
        messages.info(request, _("That is done already: you did it."))
        return redirect(Place.of(request, case.desk).url(escalation.pk))
    try:
        decided = act()
    except HandoffsError as error:
        return _answer_to(request, case, verb, error, editor)
    place = Place.of(request, case.desk)
    # A fix that changed nothing was an approval.
    given = Resolution(decided.resolution) if isinstance(decided, Escalation) and decided.resolution else verb
    undo.remember(request, escalation.pk, DONE[given](escalation.label), place.query)
    return go_on(request, case, place)


def change(request: HttpRequest, case: Case, act: Act, said: str, *, panel: str, stay: bool) -> HttpResponse:
    """Change who has it, or until when it sleeps; then stay, or go on to the next item."""
    try:
        act()
    except LostRace as error:
        return conflict(request, _pk(case), str(error))
    except NotAllowed as error:
        return refused(request, 403, str(error), Place.of(request, case.desk).url(_pk(case)))
    except (TransitionNotAllowed, UnknownFlow) as error:
        return show(
            request, case, refusal=Refusal(_("Nothing was changed"), sentence=str(error), panel=panel), status=422
        )
    messages.success(request, said)
    place = Place.of(request, case.desk)
    return redirect(place.url(_pk(case))) if stay else go_on(request, case, place)


def go_on(request: HttpRequest, case: Case, place: Place) -> HttpResponse:
    """The next item of the view from which this one was opened, or the view if it is empty; who stays, stays."""
    if case.user.stays:
        return redirect(place.url(_pk(case)))
    if case.escalation is not None and (following := place.next_after(case.escalation)) is not None:
        return redirect(place.url(following))
    messages.success(request, _("Nothing is left to take in this view."))
    return redirect(str(place.address))


def _pk(case: Case) -> int:
    if case.escalation is None:
        raise ValueError("a verdict is about an escalation")
    return case.escalation.pk


def _is_done_already(case: Case, verb: Resolution) -> bool:
    """Whether this is the same form a second time: a double click, or a page that was sent again."""
    escalation = case.escalation
    return (
        escalation is not None
        and escalation.is_resolved
        and escalation.resolved_by_id == case.user.pk
        and escalation.resolution == verb
    )


def _answer_to(
    request: HttpRequest, case: Case, verb: Resolution, error: HandoffsError, editor: Editor | None
) -> HttpResponse:
    if isinstance(error, NotAllowed):
        return refused(request, 403, str(error), Place.of(request, case.desk).url(_pk(case)))
    if isinstance(error, LostRace | TransitionNotAllowed):
        return conflict(request, _pk(case), str(error), editor)
    if isinstance(error, ContractBroken) and editor is not None:
        return show(request, case, editor=editor.with_violations(error.violations), status=422)
    return show(request, case, editor=editor, refusal=_refusal(verb, error), status=422)


def _refusal(verb: Resolution, error: HandoffsError) -> Refusal:
    if isinstance(error, ContractBroken):
        heading = _("Retry waits") if verb is Resolution.RETRY else _("Approve waits")
        return Refusal(heading, _rows(error.violations), panel=verb.value)
    if isinstance(error, NothingChanged):
        return Refusal(_("Nothing was changed"), sentence=_("A fix needs a change. What was sent is as it was."))
    if isinstance(error, ReasonRequired):
        heading = _("A reason is needed") if verb is Resolution.CLOSE else _("An answer is needed")
        href = "#close-reason" if verb is Resolution.CLOSE else "#answer"
        detail = str(error) if verb is Resolution.ANSWER else _("Choose one of the queue's reasons.")
        label = _("Reason") if verb is Resolution.CLOSE else _("Answer")
        return Refusal(heading, [(href, label, detail)], panel=verb.value)
    known = isinstance(error, UnknownStep | UnknownFlow)
    return Refusal(_("Nothing was changed"), sentence=str(error) if known else error.code, panel=verb.value)


def _rows(violations: Sequence[Violation]) -> list[tuple[str, str, str]]:
    return [("#violations", v.pointer or _("The body"), v.sentence) for v in violations]
