"""Endpoints of webhooks: made, changed, paused and resumed, each with an audit entry. A secret is told once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from handoffs import webhooks
from handoffs.actions import alerts, audit
from handoffs.actions.escalations import Person, actor_of
from handoffs.errors import UnfitEndpoint
from handoffs.models import Alert, Endpoint, Queue, sql
from handoffs.models.outbox import new_secret
from handoffs.states import AlertKind, Told
from handoffs.webhooks import UnfitAddress

OVERLAP = timedelta(hours=24)  # in which the secret before a rotation signs as well
SETTINGS = ("name", "url", "queue", "events")


@transaction.atomic
def create_endpoint(*, name: str, url: str, by: Person, queue: Queue | None = None, events: str = "") -> Endpoint:
    """Make an endpoint; its secret is on the row that is given back.

    Raises:
        UnfitEndpoint: an address that webhooks don't go to, a taken name, or an event that nobody knows.
    """
    endpoint = Endpoint(name=name.strip(), url=url, queue=queue, events=events)
    require_fit(endpoint)
    endpoint.save(force_insert=True)
    audit.note(actor=actor_of(by), action="endpoint.create", subject=endpoint.name, after=_facts(endpoint))
    return endpoint


@transaction.atomic
def change_endpoint(*, endpoint: Endpoint, by: Person, **settings: Any) -> Endpoint:
    """Change some of its SETTINGS. Raises as `create_endpoint`."""
    row = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    before = _facts(row)
    for name, value in settings.items():
        setattr(row, name, value)
    require_fit(row)
    after = _facts(row)
    if audit.note_change(actor=actor_of(by), action="endpoint.change", subject=row.name, before=before, after=after):
        row.save(update_fields=list(settings))
        Endpoint.objects.filter(pk=row.pk).update(retry_at=None)
    return row


@transaction.atomic
def rotate_secret(*, endpoint: Endpoint, by: Person) -> Endpoint:
    """Give it a new secret, told once; for a day the old one signs as well."""
    row = Endpoint.objects.select_for_update(of=("self",)).get(pk=endpoint.pk)
    row.old_secret, row.old_until, row.secret = row.secret, sql.now() + OVERLAP, new_secret()
    row.save(update_fields=["old_secret", "old_until", "secret"])
    audit.note(actor=actor_of(by), action="endpoint.rotate", subject=row.name)
    return row


@transaction.atomic
def pause(*, endpoint: Endpoint, by: Person) -> None:
    """Send nothing until it is resumed; what is to be sent waits."""
    running = Endpoint.objects.filter(pk=endpoint.pk, paused_at__isnull=True)
    if running.update(paused_at=sql.now(), paused_why=_("by hand")):
        audit.note(actor=actor_of(by), action="endpoint.pause", subject=endpoint.name)


@transaction.atomic
def resume(*, endpoint: Endpoint, by: Person) -> None:
    """Send again, what waited first."""
    paused = Endpoint.objects.filter(pk=endpoint.pk, paused_at__isnull=False)
    fresh = {"paused_at": None, "paused_why": "", "failures": 0, "failing_since": None, "retry_at": None}
    if paused.update(**fresh):
        at = sql.now()
        alerts.close_alerts(Alert.objects.filter(kind=AlertKind.ENDPOINT, step=endpoint.name), at)
        audit.note(actor=actor_of(by), action="endpoint.resume", subject=endpoint.name)


@transaction.atomic
def remove_endpoint(*, endpoint: Endpoint, by: Person) -> None:
    """Drop an endpoint, and what waits for it."""
    at = sql.now()
    alerts.close_alerts(Alert.objects.filter(kind=AlertKind.ENDPOINT, step=endpoint.name), at)
    audit.note(actor=actor_of(by), action="endpoint.remove", subject=endpoint.name, before=_facts(endpoint))
    Endpoint.objects.filter(pk=endpoint.pk).delete()


def require_fit(endpoint: Endpoint) -> None:
    """Raises `UnfitEndpoint`."""
    if not endpoint.name or Endpoint.objects.filter(name=endpoint.name).exclude(pk=endpoint.pk).exists():
        raise UnfitEndpoint(_("It needs a name that no other endpoint has."))
    try:
        webhooks.require_fit(endpoint.url)
    except UnfitAddress as error:
        raise UnfitEndpoint(str(error)) from error
    if unknown := sorted(set(endpoint.wanted) - {told.value for told in Told}):
        known = ", ".join(told.value for told in Told)
        raise UnfitEndpoint(
            _("There is no event %(name)s; there are: %(known)s.") % {"name": unknown[0], "known": known}
        )


def _facts(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "name": endpoint.name,
        "url": endpoint.url,
        "queue": endpoint.queue.slug if endpoint.queue else None,
        "events": endpoint.wanted,
    }
