"""Date and time in a form: shown where the person is, kept as the instant that was meant.

A time that a clock there never shows, or shows twice, is refused with what to write instead: nobody guesses an hour.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext as _

_TYPED: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?")


class NoSuchTime(ValueError):
    """A local time that is none, or two; the message says what to write."""


def instant(text: str) -> datetime | None:
    """Text with an offset as an instant; None for any other."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def shown(text: str) -> str:
    """An instant as the clock of the person shows it; with its offset where that alone would not tell which one."""
    found = instant(text)
    if found is None:
        return text
    try:
        here = found.astimezone(_zone())
    except OverflowError:
        return text
    precision = "microseconds" if here.microsecond else "seconds" if here.second else "minutes"
    local = here.replace(tzinfo=None, fold=0).isoformat(" ", precision)
    return here.isoformat(" ", precision) if _is_twice(here.replace(tzinfo=None)) else local


def read(text: str, sent: object) -> str:
    """What was typed, as JSON has it. What is no local time is taken as it stands: the contract judges it.

    Raises:
        NoSuchTime: see there.
    """
    if not _TYPED.fullmatch(text) or (isinstance(sent, str) and _is_naive(sent)):
        return text.replace(" ", "T", 1) if instant(text) else text
    try:
        naive = datetime.fromisoformat(text)
    except ValueError:
        return text
    first, second = (naive.replace(tzinfo=_zone(), fold=fold) for fold in (0, 1))
    words = {"time": text, "zone": zone_name(), "first": first.isoformat(" "), "second": second.isoformat(" ")}
    if first.astimezone(UTC).astimezone(_zone()).replace(tzinfo=None, fold=0) != naive:
        said = _("%(time)s never comes in %(zone)s: the clocks go forward over it. Write an offset, like %(first)s.")
        raise NoSuchTime(said % words)
    if _is_twice(naive):
        said = _("%(time)s comes twice in %(zone)s, as the clocks go back. Write which one: %(first)s or %(second)s.")
        raise NoSuchTime(said % words)
    return first.astimezone(UTC).isoformat().replace("+00:00", "Z")


def zone_name() -> str:
    return timezone.get_current_timezone_name()


def is_local(sent: object) -> bool:
    """Whether a field's time is shown, and typed, where the person is: not if it came without an offset."""
    return not (isinstance(sent, str) and _is_naive(sent))


def _zone() -> tzinfo:
    return timezone.get_current_timezone()


def _is_naive(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def _is_twice(naive: datetime) -> bool:
    first, second = (naive.replace(tzinfo=_zone(), fold=fold).utcoffset() for fold in (0, 1))
    return first is not None and second is not None and first > second
