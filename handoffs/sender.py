"""Telling what the outbox holds: webhooks to endpoints, mail to people.

Any process may do it, and several at once. A dead endpoint or mail server keeps nobody waiting: endpoints are served
side by side, and nothing here runs in the transaction of a move.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection
from django.urls import NoReverseMatch, reverse
from django.utils import translation

from handoffs import conf, webhooks
from handoffs.actions import deliveries, notices, spreading
from handoffs.actions.mailtimes import zone_of
from handoffs.crashpoints import reach
from handoffs.models import Delivery, Endpoint, Notice, sql
from handoffs.tellings import sentence

logger = logging.getLogger(__name__)
SIDE_BY_SIDE = 8  # endpoints that one process sends to at once
STOP_WITHIN = 10.0  # seconds for what is on its way when a process ends
SHOWN = 50  # notices in one mail


def tell_all() -> int:
    """Do once, in this process, all that is due; how much was told."""
    told = 0
    while spread := spreading.spread():
        told += spread
    told += send_mails()
    for endpoint in deliveries.due_endpoints():
        told += deliver(endpoint)
    return told


# --- webhooks --------------------------------------------------------------------------------------------------------


def deliver(endpoint_id: int) -> int:
    """Send to an endpoint what waits for it, in order, until it refuses one; how many it took."""
    taken_by_it = 0
    while (taken := deliveries.take(endpoint_id)) is not None:
        goes_on = bool(taken.deliveries)
        for delivery in taken.deliveries:
            answer = _post(taken.endpoint, delivery)
            reach("in_outbox_send")
            goes_on = deliveries.note(taken, delivery, answer)
            taken_by_it += answer.is_taken
            if not goes_on:
                break
        deliveries.release(taken)
        if not goes_on:
            break
    return taken_by_it


def _post(endpoint: Endpoint, delivery: Delivery) -> webhooks.Answer:
    row, now = delivery.row, sql.now()
    data = row.facts | {"url": _address(row.escalation_id, row.record_id)}
    body = webhooks.body_of(row.event, row.uid, row.happened_at, data)
    head = webhooks.headers(endpoint.secrets_at(now), row.uid, int(now.timestamp()), body)
    return webhooks.post(endpoint.url, body, head)


def _address(escalation_id: int | None, record_id: int | None) -> str:
    """Where a person sees it, if the site has such a page."""
    named = [("escalation", escalation_id), ("record", record_id)]
    name, pk = next(((name, pk) for name, pk in named if pk is not None), ("notices", None))
    try:
        path = reverse(name, args=[pk] if pk is not None else [])
    except NoReverseMatch:
        path = "/"
    return settings.SITE_URL.rstrip("/") + path if getattr(settings, "SITE_URL", "") else path


# --- mail ------------------------------------------------------------------------------------------------------------


def send_mails() -> int:
    """Send each person one mail with all that is due for them; how many left."""
    return sum(_send_mail(person) for person in notices.people_with_mail_due())


def _send_mail(person: int) -> int:
    due = notices.take_mail(person)
    if not due:
        return 0
    try:
        _mail_of(due).send()
    except OSError as error:  # smtplib's errors are OSErrors
        logger.warning("A mail could not be sent, trying again: %s", type(error).__name__)
        return 0
    notices.mailed(due, sql.now())
    return 1


def _mail_of(due: Sequence[Notice]) -> EmailMessage:
    """One mail about one person's notices, in their language."""
    person: Any = due[0].user
    with translation.override(getattr(person, "language", "") or settings.LANGUAGE_CODE):
        said = [sentence(n.event, n.facts, n.count, str(n.queue or "")) for n in due]
        many = translation.gettext("%(count)s things that need you") % {"count": len(said)}
        zone = zone_of(person)
        lines = [
            f"{words}\n  {n.last_at.astimezone(zone):%Y-%m-%d %H:%M %Z}  {_address(n.escalation_id, n.record_id)}"
            for words, n in zip(said[:SHOWN], due, strict=False)
        ]
        left = len(said) - SHOWN
        if left > 0:
            lines.append(translation.gettext("… and %(count)s more.") % {"count": left})
        lines.append(translation.gettext("When you get mail is yours to choose, in your profile."))
    subject = said[0] if len(said) == 1 else many
    return EmailMessage(f"[Handoffs] {' '.join(subject.split())}", "\n\n".join(lines) + "\n", to=[person.email])


# --- the loop --------------------------------------------------------------------------------------------------------


class Sender:
    """A thread that tells what is due every PERIOD seconds, with one more thread for each endpoint it sends to."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sender", daemon=True)
        self._pool = ThreadPoolExecutor(SIDE_BY_SIDE, thread_name_prefix="webhook")
        self._busy: set[int] = set()
        self._away = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it; what is on its way may come to its end, for a while."""
        self._stop.set()
        self._thread.join(STOP_WITHIN)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        next_tidying = time.monotonic()
        while not self._stop.wait(min(1.0, conf.get("PERIOD"))):
            close_old_connections()
            try:
                self._round()
                if time.monotonic() >= next_tidying:
                    next_tidying = time.monotonic() + 3600
                    spreading.forget_told()
                self._away = False
            except DatabaseError as error:
                if not self._away:
                    said = str(error).partition("\n")[0]
                    logger.warning("The database does not answer, telling nobody until it does: %s", said)
                self._away = True
                connection.close()
        connection.close()

    def _round(self) -> None:
        while spreading.spread() and not self._stop.is_set():
            pass
        for endpoint in deliveries.due_endpoints():
            if endpoint not in self._busy and len(self._busy) < SIDE_BY_SIDE:
                self._busy.add(endpoint)
                self._pool.submit(self._deliver, endpoint)
        send_mails()

    def _deliver(self, endpoint: int) -> None:
        try:
            deliver(endpoint)
        except DatabaseError as error:
            logger.warning("A webhook's end was not kept, it is sent again: %s", str(error).partition("\n")[0])
        finally:
            connection.close()
            self._busy.discard(endpoint)
