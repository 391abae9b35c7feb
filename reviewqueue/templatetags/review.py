"""What templates of the review pages need and Django does not have."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from handoffs.models import Escalation
from handoffs.states import INTAKE, Kind

register = template.Library()
LONGEST = 220


@register.simple_tag
def why(escalation: Escalation) -> SafeString:
    """One sentence: why it stopped, with the step in bold and the first violated field; “+n” stands for the others."""
    if escalation.violated and escalation.kind in {Kind.REFUSED, Kind.BROKEN_OUTPUT}:
        return _broken(escalation)
    reason = _cut(escalation.reason)
    if reason.startswith(f"{escalation.step} "):
        return format_html("<b>{}</b>{}", escalation.step, reason[len(escalation.step) :])
    return format_html("{}", reason)


def _broken(escalation: Escalation) -> SafeString:
    step = format_html("<b>{}</b>", escalation.step)
    if escalation.step == INTAKE:
        what = _("It could not be taken in:")
    elif escalation.kind == Kind.REFUSED:
        what = format_html(_("{} would not run:"), step)
    else:
        what = format_html(_("{} delivered what breaks its contract:"), step)
    where = format_html("<code>{}</code>", _cut(escalation.pointer, 80) or _("the whole body"))
    if escalation.violated > 1:
        return format_html("{} {} <b>+{}</b>", what, where, escalation.violated - 1)
    _before, _colon, sentence = escalation.reason.partition(f"{escalation.pointer}: ")
    return format_html("{} {} {}", what, where, _cut(sentence) if escalation.pointer else "")


def _cut(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
