"""The admin: queues are changed through actions, with a trace; what happened can only be read."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from handoffs.models import AuditEntry, Membership, Queue
from reviewqueue.models import User
from tests.cast import document, opened, work
from tests.pages import refused

pytestmark = pytest.mark.django_db
ADD = reverse("admin:handoffs_queue_add")
READ_ONLY = (
    "record",
    "stepresult",
    "violation",
    "escalation",
    "transition",
    "auditentry",
    "contractversion",
    "alert",
    "heartbeat",
)


@pytest.fixture
def dora(client, cast):
    client.force_login(cast.dora)
    return client


def change_page(queue):
    return reverse("admin:handoffs_queue_change", args=[queue.pk])


def form(who, members=(), initial=0, **values):
    """What the form of a queue sends. `members`: dicts of the inline's fields."""
    said = {
        "title": "Ledger",
        "owner": who.pk,
        "backup": "",
        "unread_within": "01:00:00",
        "watched_within": "1 00:00:00",
        "due_within": "1 00:00:00",
        "instructions": "",
        "close_reasons": "Duplicate\nNot ours\nSent by mistake\nCannot be repaired",
        "memberships-TOTAL_FORMS": len(members),
        "memberships-INITIAL_FORMS": initial,
    }
    for place, member in enumerate(members):
        said |= {f"memberships-{place}-{name}": value for name, value in member.items()}
    return said | values


def entries(action):
    found = AuditEntry.objects.filter(action=action).order_by("pk")
    return [(e.actor, e.subject, json.loads(e.before), json.loads(e.after)) for e in found]


def test_who_is_not_an_admin_does_not_come_in(client, cast):
    client.force_login(cast.bob)
    assert client.get(reverse("admin:index")).status_code == 302


def test_a_queue_is_made_with_its_members(dora, cast):
    member = {"user": cast.bob.pk, "role": "reviewer", "id": "", "queue": ""}
    answer = dora.post(ADD, form(cast.alice, [member], title="Returns", slug="returns"))
    assert answer.status_code == 302, answer.context["errors"]
    made = Queue.objects.get(slug="returns")
    assert (made.owner, made.memberships.get().user) == (cast.alice, cast.bob)
    [(actor, subject, before, after)] = entries("queue.create")
    assert (actor, subject, before, after["owner"]) == ("reviewer:dora", "returns", {}, "alice")
    assert entries("queue.member") == [("reviewer:dora", "returns", {"bob": None}, {"bob": "reviewer"})]


def test_a_change_leaves_what_was_and_what_is(dora, cast):
    queue = cast.queues["ledger"]
    kept = Membership.objects.get(queue=queue)
    members = [{"user": cast.bob.pk, "role": "viewer", "id": kept.pk, "queue": queue.pk}]
    answer = dora.post(change_page(queue), form(cast.bob, members, initial=1, slug="renamed"))
    assert answer.status_code == 302, answer.context["errors"]
    queue.refresh_from_db()
    assert (queue.owner, queue.slug) == (cast.bob, "ledger")
    assert entries("queue.change") == [("reviewer:dora", "ledger", {"owner": "alice"}, {"owner": "bob"})]
    assert entries("queue.member") == [("reviewer:dora", "ledger", {"bob": "reviewer"}, {"bob": "viewer"})]


def test_a_member_is_removed_or_replaced_with_a_trace(dora, cast):
    queue = cast.queues["ledger"]
    kept = Membership.objects.get(queue=queue)
    replaced = {"user": cast.charlie.pk, "role": "reviewer", "id": kept.pk, "queue": queue.pk}
    dora.post(change_page(queue), form(cast.alice, [replaced], initial=1))
    assert [m.user for m in queue.memberships.all()] == [cast.charlie]
    kept = Membership.objects.get(queue=queue)
    removed = {"user": cast.charlie.pk, "role": "reviewer", "id": kept.pk, "queue": queue.pk, "DELETE": "on"}
    dora.post(change_page(queue), form(cast.alice, [removed], initial=1))
    assert not queue.memberships.exists()
    assert [(before, after) for _actor, _subject, before, after in entries("queue.member")] == [
        ({"bob": "reviewer"}, {"bob": None}),
        ({"charlie": None}, {"charlie": "reviewer"}),
        ({"charlie": "reviewer"}, {"charlie": None}),
    ]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"owner": ""}, "This field is required"),
        ({"close_reasons": " "}, "This field is required"),
    ],
)
def test_a_queue_that_nobody_could_look_after_is_refused(dora, cast, values, sentence):
    answer = dora.post(change_page(cast.queues["ledger"]), form(cast.alice, **values))
    assert sentence in answer.content.decode()
    assert AuditEntry.objects.count() == 0


@pytest.mark.parametrize("name", ["owner", "backup"])
def test_an_owner_is_somebody_who_can_sign_in(dora, cast, name):
    User.objects.filter(pk=cast.charlie.pk).update(is_active=False)
    answer = dora.post(change_page(cast.queues["ledger"]), form(cast.alice, **{name: cast.charlie.pk}))
    assert "This must be somebody who can sign in." in answer.content.decode()
    assert Queue.objects.get(slug="ledger").owner == cast.alice


def test_a_queue_is_never_deleted(dora, cast):
    queue = cast.queues["ledger"]
    assert dora.get(reverse("admin:handoffs_queue_delete", args=[queue.pk])).status_code == 403


def test_an_owner_cannot_be_shut_out_before_the_queue_has_another(dora, cast):
    url = reverse("admin:reviewqueue_user_change", args=[cast.alice.pk])
    page = dora.get(url)
    said = {k: v for k, v in page.context["adminform"].form.initial.items() if v not in (None, False, [])}
    said = {k: v for k, v in said.items() if k not in {"last_login", "date_joined", "password"}}
    said |= {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "keys": "on"}
    said.pop("is_active")
    answer = dora.post(url, said)
    assert "First give these queues another owner" in answer.content.decode()
    assert "Order exceptions" in answer.content.decode()
    assert User.objects.get(pk=cast.alice.pk).is_active
    said |= {"is_active": "on", "is_staff": "on"}
    assert dora.post(url, said).status_code == 302
    assert entries("person.change") == [("reviewer:dora", "alice", {"is_staff": False}, {"is_staff": True})]


@pytest.mark.parametrize("model", READ_ONLY)
def test_what_happened_can_only_be_read(dora, cast, model):
    refused()
    opened(document())
    work()
    assert dora.get(reverse(f"admin:handoffs_{model}_changelist")).status_code == 200
    assert dora.get(reverse(f"admin:handoffs_{model}_add")).status_code == 403
    from django.apps import apps

    row = apps.get_model("handoffs", model).objects.first()
    if row is not None:
        assert dora.get(reverse(f"admin:handoffs_{model}_change", args=[row.pk])).status_code == 200
        assert dora.post(reverse(f"admin:handoffs_{model}_change", args=[row.pk]), {}).status_code == 403
        assert dora.post(reverse(f"admin:handoffs_{model}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    actions = dora.get(reverse(f"admin:handoffs_{model}_changelist")).content.decode()
    assert "delete_selected" not in actions


@pytest.mark.parametrize("term", ["7", "ext-7", "nothing", "%", "'", "99999999999999999999999"])
def test_records_are_searched_by_number_or_external_id(dora, cast, term):
    record = refused(external_id="ext-7").record
    page = dora.get(reverse("admin:handoffs_record_changelist"), {"q": term})
    assert page.status_code == 200
    if term == "ext-7":
        assert str(record) in page.content.decode()
