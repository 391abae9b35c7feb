"""The same decision for all that stopped the same way: a batch, begun from one of them."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from handoffs import conf
from handoffs.actions import batches
from handoffs.exact_json import Unreadable
from handoffs.models import Escalation
from handoffs.patching import patch_of
from handoffs.states import BatchVerb
from reviewqueue.case import Case
from reviewqueue.editing import Editor
from reviewqueue.escalation_page import Refusal, show
from reviewqueue.place import Place


def same_to_all(request: HttpRequest, editor: Editor) -> HttpResponse:
    """Show what the typed change would do to all that stopped the same way. Nothing is decided yet."""
    case = editor.case
    try:
        patch = patch_of(editor.sent, editor.text)
    except Unreadable:
        return _not_now(request, editor, _("What was sent is no JSON, so there is no change that others could share."))
    if patch == "[]":
        return _not_now(request, editor, _("Type the change first, then it can be done to the others."))
    draft = batches.draft(
        verb=BatchVerb.FIX,
        by=case.user,
        escalations=alike(case),
        query=Place.of(request, case.desk).query,
        choice={"side": editor.side.value, "patch": patch},
    )
    return redirect("batch", draft.pk)


def alike(case: Case) -> list[int]:
    """This escalation, then those that stopped the same way; one more than a batch takes at most."""
    if case.escalation is None:
        return []
    same = Escalation.objects.visible_to(case.user).unresolved().filter(fingerprint=case.escalation.fingerprint)
    others = same.exclude(pk=case.escalation.pk).order_by("pk").values_list("pk", flat=True)
    return [case.escalation.pk, *(others[: int(conf.get("BULK"))] if case.escalation.fingerprint else [])]


def _not_now(request: HttpRequest, editor: Editor, sentence: str) -> HttpResponse:
    return show(
        request, editor.case, editor=editor, refusal=Refusal(_("Nothing was changed"), sentence=sentence), status=422
    )
