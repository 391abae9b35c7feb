"""What one person has before them: the queues they may see, the flows that stop there, the people who decide there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest

from handoffs.flows import Flow, declared
from handoffs.models import Escalation, Heartbeat, Membership, Queue
from handoffs.models.queues import QueueQuerySet
from handoffs.states import INTAKE, Role
from reviewqueue.models import User
from reviewqueue.requests import now_of

SILENT_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Desk:
    """The queues a person may see, with owner and backup; `may_decide` and `oldest` (a time) stand on each."""

    user: User
    now: datetime
    queues: list[Queue]

    @property
    def flows(self) -> list[Flow]:
        """The flows of which at least one queue is to be seen."""
        slugs = {queue.slug for queue in self.queues}
        return [flow for flow in declared().values() if slugs & queues_of(flow)]

    @property
    def decides(self) -> bool:
        return any(queue.may_decide for queue in self.queues)  # type: ignore[attr-defined]


def desk_of(request: HttpRequest) -> Desk:
    """The desk of the person who asks. One query, and one for the time; read once per request."""
    if not hasattr(request, "desk"):
        user: User = request.user  # type: ignore[assignment]
        request.desk = Desk(user, now_of(request), list(seen_queues(user)))  # type: ignore[attr-defined]
    desk: Desk = request.desk  # type: ignore[attr-defined]
    return desk


def seen_queues(user: User) -> QueueQuerySet:
    """The queues a person may see, by title, as `Desk` describes them."""
    deciding = Queue.objects.decidable_by(user).filter(pk=OuterRef("pk"))
    oldest = Escalation.objects.unresolved().filter(queue=OuterRef("pk")).order_by("opened_at").values("opened_at")
    seen = Queue.objects.visible_to(user).select_related("owner", "backup")
    return seen.annotate(may_decide=Exists(deciding), oldest=Subquery(oldest[:1])).order_by("title", "pk")


def queues_of(flow: Flow) -> set[str]:
    """The names of the queues that catch what stops in a flow."""
    return {flow.queue_of(place) for place in (INTAKE, *(step.name for step in flow.steps))}


def deciders(queues: Iterable[Queue]) -> list[User]:
    """The people who may decide in one of some queues, admins only if they look after one; by name."""
    ids = [queue.pk for queue in queues]
    led = Queue.objects.filter(Q(owner=OuterRef("pk")) | Q(backup=OuterRef("pk")), pk__in=ids)
    joined = Membership.objects.filter(user=OuterRef("pk"), queue__in=ids, role__in=[Role.REVIEWER, Role.OWNER])
    people = User.objects.filter(Exists(led) | Exists(joined), is_active=True)
    return list(people.order_by("first_name", "last_name", "username", "pk"))


def beating(now: datetime) -> QuerySet[Heartbeat]:
    """The workers that were seen lately."""
    return Heartbeat.objects.filter(kind="worker", seen_at__gte=now - SILENT_AFTER)


def whom_to_ask() -> list[User]:
    """Who can let a person into a queue: owners, or admins where there is no queue yet; at most five."""
    owning = Queue.objects.filter(owner=OuterRef("pk"))
    people = User.objects.filter(is_active=True).order_by("first_name", "last_name", "username", "pk")
    return list(people.filter(Exists(owning))[:5]) or list(people.filter(is_superuser=True)[:5])
