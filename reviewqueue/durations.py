"""Spans of time as people say them, and as a filter takes them."""

from __future__ import annotations

import re
from datetime import timedelta

from django.utils.translation import gettext as _

LONGEST = timedelta(days=3650)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_SPAN = re.compile(r"([0-9]{1,6})([mhd])")


def in_words(span: timedelta) -> str:
    """A span in its largest unit, however it is signed: “25 min”, “3 h”, “2 d”."""
    minutes = round(abs(span).total_seconds() / 60)
    if minutes < 1:
        return _("under 1 min")
    if minutes < 60:
        return _("%(n)d min") % {"n": minutes}
    hours = minutes // 60
    if hours < 48:
        return _("%(n)d h") % {"n": hours}
    return _("%(n)d d") % {"n": hours // 24}


def ago(span: timedelta) -> str:
    """How long since: “3 h ago”."""
    return _("%(span)s ago") % {"span": in_words(span)} if span >= timedelta(minutes=1) else _("just now")


def ahead(span: timedelta) -> str:
    """How long until: “in 3 h”."""
    return _("in %(span)s") % {"span": in_words(span)}


def read_span(text: str) -> timedelta | None:
    """A span as an address writes it (`30m`, `24h`, `7d`), up to LONGEST; None if it is none."""
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    span = timedelta(**{_UNITS[found[2]]: int(found[1])})
    return span if span <= LONGEST else None
