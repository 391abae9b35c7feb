"""The same few people in every test, and short ways to say what they see."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection

from handoffs import jobs
from handoffs.actions.records import Opening, open_record
from handoffs.flows import Flow, get_flow
from handoffs.models import Escalation, Membership, Queue, Record, living_owners
from tests.sample_flows import QUEUES

PASSWORD = "correct horse battery"  # of people who exist in tests only


@dataclass
class Cast:
    alice: Any  # owns the queues
    bob: Any  # reviews in them
    charlie: Any  # an outsider
    dora: Any  # administers
    queues: dict[str, Queue]

    @classmethod
    def assemble(cls) -> Cast:
        make = get_user_model().objects.create_user
        alice = make("alice", first_name="Alice", last_name="Ek", password=PASSWORD)
        bob = make("bob", first_name="Bob", last_name="Lind", password=PASSWORD)
        charlie = make("charlie", first_name="Charlie", last_name="Out", password=PASSWORD)
        dora = get_user_model().objects.create_superuser("dora", first_name="Dora", password=PASSWORD)
        queues = {
            slug: Queue.objects.create(slug=slug, title=slug.replace("-", " ").capitalize(), owner=alice)
            for slug in QUEUES
        }
        for queue in queues.values():
            Membership.objects.create(queue=queue, user=bob)
        return cls(alice, bob, charlie, dora, queues)


def opened(body: object, *, flow: str = "orders", external_id: str | None = None) -> Record:
    """Open a record; the row."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = open_record(flow=get_flow(flow), opening=Opening(raw, external_id), actor="agent:echo")
    return Record.objects.get(pk=found.record_id)


def document(number: str = "A-1", order: str = "PO-7", total: int = 10) -> dict[str, str]:
    """The intake of the flow `orders`."""
    return {"text": f"{number},{order},{total}"}


def work(job_queue: str = "default") -> int:
    """Let a worker work off what is ready, in this process."""
    return jobs.drain(job_queue, seconds=30)


def fresh(record: Record) -> Record:
    return Record.objects.get(pk=record.pk)


def waiting(record: Record) -> Escalation:
    """The record's unresolved escalation."""
    return Escalation.objects.unresolved().select_related("queue", "record").get(record=record)


def story(record: Record) -> list[tuple[str, str]]:
    """The record's history as (event, new status)."""
    return list(record.transitions.order_by("seq").values_list("event", "new_status"))


def known(flow: Flow) -> Flow:
    return get_flow(flow.name)


def shut_out_by_force(*people: Any) -> None:
    """Make people inactive as nothing in the product can: the triggers that keep owners able to sign in are away."""
    living_owners.remove(connection)
    type(people[0]).objects.filter(pk__in=[person.pk for person in people]).update(is_active=False)
    living_owners.add(connection)
    for person in people:
        person.is_active = False
