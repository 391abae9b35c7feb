"""What templates of the review pages need and Django does not have."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import get_language
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


@register.simple_tag
def piece(file: str, **given: Any) -> str:
    """A small template that says nothing but what it is given: made once for each set of values, then remembered.

    A list has the same marks and people over and over, and to make each anew is most of what its page costs.
    """
    return _made(file, get_language(), tuple(given.items()))


@lru_cache(maxsize=2000)
def _made(file: str, language: str | None, given: tuple[tuple[str, Any], ...]) -> str:
    return render_to_string(file, dict(given))


@register.simple_tag
def moment(at: datetime, words: str, classes: str = "") -> SafeString:
    """A time as people say it, with the exact one behind it; as `_time.html`, for lists."""
    exact, here = at.astimezone(UTC).isoformat(), date_format(localtime(at), "DATETIME_FORMAT")
    if classes:
        return format_html('<time class="{}" datetime="{}" title="{}">{}</time>', classes, exact, here, words)
    return format_html('<time datetime="{}" title="{}">{}</time>', exact, here, words)


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
