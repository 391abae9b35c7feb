"""When a person gets mail: at once or once a day, and never in their quiet hours."""

from __future__ import annotations

import zoneinfo
from datetime import datetime
from typing import Any

from django.conf import settings

from handoffs.localtimes import next_local, out_of_quiet
from handoffs.models import MailChoice
from handoffs.states import MailState, MailWhen

NO_MAIL = "django.core.mail.backends.dummy.EmailBackend"


def is_on() -> bool:
    """Whether this installation sends mail at all."""
    mailers = getattr(settings, "MAILERS", None)  # what Django has instead since 6.1
    return (mailers["default"]["BACKEND"] if mailers else settings.EMAIL_BACKEND) != NO_MAIL


def choice_of(person: Any) -> MailChoice:
    """What a person chose, or what stands for those who never did; unsaved then."""
    try:
        chosen: MailChoice = person.mail_choice
    except MailChoice.DoesNotExist:
        return MailChoice(user=person)
    return chosen


def zone_of(person: Any) -> zoneinfo.ZoneInfo:
    return zoneinfo.ZoneInfo(getattr(person, "time_zone", "") or settings.TIME_ZONE)


def plan(person: Any, at: datetime) -> tuple[MailState, datetime | None]:
    """Whether a mail is due for something that can be told from `at` on, and when."""
    if not is_on():
        return MailState.OFF, None
    if not person.email:
        return MailState.NO_ADDRESS, None
    chosen = choice_of(person)
    if chosen.when == MailWhen.NEVER:
        return MailState.NOT_WANTED, None
    zone = zone_of(person)
    if chosen.when == MailWhen.DIGEST:
        return MailState.DUE, next_local(at, chosen.digest_at, zone)
    return MailState.DUE, out_of_quiet(at, chosen.quiet_from, chosen.quiet_to, zone)
