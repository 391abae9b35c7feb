"""The outbox: written with what it tells of, sent in order to each endpoint, and never in anybody's way."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core import mail
from django.db import transaction
from standardwebhooks import Webhook

from handoffs import sender
from handoffs.actions import deliveries, endings, endpoints, escalations, outbox, queues, spreading, verdicts
from handoffs.actions.records import Asked, Opening, open_record
from handoffs.actions.verdicts import Seen
from handoffs.bodies import body_digest
from handoffs.errors import UnfitEndpoint
from handoffs.flows import get_flow
from handoffs.models import Alert, AuditEntry, Delivery, Endpoint, Escalation, Notice, OutboxRow, sql
from tests.cast import opened, waiting, work
from tests.pages import refused
from tests.receivers import receiving

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver(settings):
    settings.HANDOFFS_WEBHOOKS_INSIDE = True
    settings.HANDOFFS_UNDO = 0.001
    with receiving() as found:
        yield found


def endpoint(cast, receiver, **values):
    return endpoints.create_endpoint(**{"name": "erp", "url": receiver.url, "by": cast.dora} | values)


def later(endpoint):
    """Let the pause before the next try be over."""
    Endpoint.objects.filter(pk=endpoint.pk).update(retry_at=None)


def told(receiver):
    return [json.loads(body)["type"] for _head, body in receiver.came]


def events():
    return list(OutboxRow.objects.order_by("pk").values_list("event", flat=True))


# --- the rows --------------------------------------------------------------------------------------------------------


def test_a_stopped_record_is_in_the_outbox_with_its_escalation(cast):
    escalation = refused(external_id="A-77")
    [row] = OutboxRow.objects.all()
    assert (row.event, row.escalation_id, row.queue) == ("escalation.opened", escalation.pk, escalation.queue)
    assert row.facts["external_id"] == "A-77"
    assert row.facts["pointer"] == "/purchase_order"
    assert "A-1" not in row.data.replace("A-77", "")


def test_what_is_rolled_back_is_not_told(cast):
    with transaction.atomic():
        refused()
        assert events() == ["escalation.opened"]
        transaction.set_rollback(True)
    assert events() == []


def test_a_verdict_is_told_when_it_can_no_longer_be_undone(cast):
    escalation = refused()
    verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=Seen(escalation.version), reason="Duplicate")
    assert events() == ["escalation.opened", "escalation.resolved"]
    row = OutboxRow.objects.get(event="escalation.resolved")
    assert row.available_at - row.happened_at == timedelta(seconds=10)
    assert (row.facts["resolution"], row.facts["by"]) == ("close", "bob")
    spreading.spread()
    assert list(OutboxRow.objects.filter(spread_at=None)) == [row]
    endings.undo(escalation_id=escalation.pk, by=cast.bob)
    assert events() == ["escalation.opened"]


def test_an_alert_is_told_once_when_it_is_raised_and_once_when_it_is_over(cast):
    from handoffs.actions.alerts import close_alerts, raise_alert
    from handoffs.states import AlertKind

    how = {"queue_id": cast.queues["ledger"].pk, "sentence": "No worker.", "at": sql.now()}
    assert [raise_alert(AlertKind.UNSERVED, **how) for _ in range(3)] == [True, False, False]
    assert [close_alerts(Alert.objects.all(), sql.now()) for _ in range(2)] == [1, 0]
    assert events() == ["alert.opened", "alert.closed"]


def test_rows_of_a_record_can_be_forgotten(cast):
    escalation = refused()
    spreading.spread()
    outbox.forget([escalation.record_id])
    assert (OutboxRow.objects.count(), Notice.objects.count()) == (0, 0)


def ask(cast, text='{"answer": "yes"}'):
    asked = b'{"queue": "approvals", "question": "Refund?"}'
    made = open_record(
        flow=get_flow("asks"), opening=Opening(asked, asked=Asked("approvals", "Refund?")), actor="agent:a"
    )
    found = Escalation.objects.get(record=made.record_id)
    seen = Seen(found.version, body_digest(found.record.payload))
    return verdicts.answer(escalation_id=found.pk, by=cast.bob, seen=seen, text=text)


def test_an_answer_is_told_with_who_gave_it_and_when(cast, receiver):
    made = endpoint(cast, receiver, events="ask.answered")
    answered = ask(cast)
    sender.tell_all()
    assert told(receiver) == ["ask.answered"]
    head, body = receiver.came[0]
    data = Webhook(made.secret).verify(body, head)["data"]
    assert (data["record"], data["answer"], data["answered_by"]) == (answered.record_id, "yes", "Bob Lind")
    assert data["answered_at"] == answered.resolved_at.isoformat()


def test_an_answer_too_long_for_a_webhook_is_left_to_be_fetched(cast, monkeypatch):
    monkeypatch.setattr(outbox, "LONGEST_ANSWER", 5)
    ask(cast)
    assert OutboxRow.objects.get(event="ask.answered").facts["answer"] is None


def test_an_answer_that_is_taken_back_is_not_told(cast, settings):
    settings.HANDOFFS_UNDO = 10.0
    answered = ask(cast)
    assert events()[-2:] == ["escalation.resolved", "ask.answered"]
    endings.undo(escalation_id=answered.pk, by=cast.bob)
    assert events() == ["escalation.opened"]


# --- webhooks --------------------------------------------------------------------------------------------------------


def test_an_endpoint_gets_signed_what_it_wants_and_nothing_else(cast, receiver):
    made = endpoint(cast, receiver, events="escalation.opened", queue=cast.queues["order-exceptions"])
    escalation = refused()
    waiting(opened({"text": 5}))
    verdicts.close(escalation_id=escalation.pk, by=cast.bob, seen=Seen(escalation.version), reason="Duplicate")
    opened({"subject": 5}, flow="tickets")
    sender.tell_all()
    assert told(receiver) == ["escalation.opened", "escalation.opened"]
    head, body = receiver.came[0]
    assert Webhook(made.secret).verify(body, head)["data"]["queue"] == "order-exceptions"
    assert Delivery.objects.filter(state="delivered").count() == 2


def test_a_dead_endpoint_stops_nothing_and_gets_all_in_order_when_it_is_back(cast, receiver):
    made = endpoint(cast, receiver, events="escalation.opened")
    receiver.status = 503
    for number in range(5):
        refused(f"A-{number}")
        sender.tell_all()
    assert Escalation.objects.unresolved().count() == 5
    assert len(receiver.came) == 1  # then it waits
    for _ in range(3):
        later(made)
        sender.tell_all()
    assert len(set(receiver.ids)) == 1
    receiver.status = 200
    later(made)
    sender.tell_all()
    order = list(OutboxRow.objects.order_by("pk").values_list("uid", flat=True))
    assert receiver.ids[3:] == [order[0], *order]
    assert {body for head, body in receiver.came[:5]} == {receiver.came[0][1]}
    first = Delivery.objects.order_by("pk").first()
    assert [line["status"] for line in first.attempts] == [503, 503, 503, 503, 200]


def test_pauses_between_tries_grow(cast, receiver):
    made = endpoint(cast, receiver)
    refused()
    receiver.status = 500
    pauses = []
    for _ in range(10):
        later(made)
        before = sql.now()
        sender.tell_all()
        made.refresh_from_db()
        pauses.append((made.retry_at - before).total_seconds())
    assert pauses[0] < 7
    assert all(2 * 3600 < pause < 5 * 3600 for pause in pauses[-3:])
    assert made.failures == 10


def test_after_ten_minutes_of_failure_the_owner_is_told_and_after_three_days_it_is_paused(cast, receiver):
    made = endpoint(cast, receiver, events="escalation.opened")
    refused()
    receiver.status = 500
    sender.tell_all()
    assert Alert.objects.count() == 0
    for ago, sentence in [(timedelta(minutes=11), "have failed since"), (timedelta(days=4), "are paused: HTTP 500.")]:
        Endpoint.objects.filter(pk=made.pk).update(failing_since=sql.now() - ago, retry_at=None)
        sender.tell_all()
        [alert] = Alert.objects.standing()
        assert (alert.kind, alert.queue, alert.step) == ("endpoint", cast.queues["order-exceptions"], "erp")
        assert sentence in alert.sentence
    tried = len(receiver.came)
    receiver.status = 200
    sender.tell_all()
    assert len(receiver.came) == tried
    endpoints.resume(endpoint=made, by=cast.dora)
    sender.tell_all()
    assert len(receiver.came) == tried + 1
    assert not Alert.objects.standing().exists()


def test_an_endpoint_that_says_it_is_gone_is_paused_at_once(cast, receiver):
    made = endpoint(cast, receiver)
    refused()
    receiver.status = 410
    sender.tell_all()
    made.refresh_from_db()
    assert made.paused_why == "HTTP 410"
    assert AuditEntry.objects.filter(action="endpoint.pause", subject="erp").exists()


def test_while_a_secret_is_rotated_both_verify(cast, receiver):
    made = endpoint(cast, receiver)
    old = made.secret
    new = endpoints.rotate_secret(endpoint=made, by=cast.dora).secret
    refused()
    sender.tell_all()
    head, body = receiver.came[0]
    assert old != new
    for secret in (old, new):
        Webhook(secret).verify(body, head)
    assert new not in str(list(AuditEntry.objects.values_list("before", "after")))


def test_a_delivery_is_sent_again_by_hand_with_its_id_and_one_in_the_way_is_given_up(cast, receiver):
    made = endpoint(cast, receiver)
    refused("A-1")
    refused("A-2")
    receiver.status = 422
    sender.tell_all()
    blocked = Delivery.objects.order_by("pk").first()
    deliveries.skip(delivery=blocked, by=cast.dora)
    receiver.status = 200
    sender.tell_all()
    later(made)
    blocked.refresh_from_db()
    deliveries.resend(delivery=blocked, by=cast.dora)
    sender.tell_all()
    first, second = OutboxRow.objects.filter(event="escalation.opened").order_by("pk")
    assert receiver.ids == [first.uid, second.uid, first.uid]


def test_two_processes_do_not_send_to_one_endpoint_at_a_time(cast, receiver):
    made = endpoint(cast, receiver)
    refused()
    spreading.spread()
    taken = deliveries.take(made.pk)
    assert sender.deliver(made.pk) == 0
    assert deliveries.due_endpoints() == []
    deliveries.release(taken)
    assert sender.deliver(made.pk) == 1


@pytest.mark.parametrize(
    "values", [{"url": "http://10.0.0.1/"}, {"name": " "}, {"events": "escalation.exploded"}, {"url": "https://a:b@c/"}]
)
def test_an_unfit_endpoint_is_refused(cast, settings, values):
    with pytest.raises(UnfitEndpoint):
        endpoints.create_endpoint(**{"name": "x", "url": "https://example.org/hook", "by": cast.dora} | values)


# --- people ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def addresses(cast):
    for person in (cast.alice, cast.bob, cast.dora):
        person.email = f"{person.username}@example.org"
        person.save()


def outbox_of(person):
    return [message.subject for message in mail.outbox if message.to == [person.email]]


def again(person):
    """Let the time between two mails be over."""
    Notice.objects.filter(user=person).exclude(mail_at=None).update(mail_at=sql.now())


def test_the_owner_is_told_in_the_site_and_by_mail(cast, addresses):
    escalation = refused()
    sender.tell_all()
    [notice] = Notice.objects.all()
    assert (notice.user, notice.escalation_id, notice.mail) == (cast.alice, escalation.pk, "sent")
    assert outbox_of(cast.alice) == [
        f"[Handoffs] Order exceptions: record {escalation.record_id} stopped at check of orders."
    ]
    assert f"/escalations/{escalation.pk}/" in mail.outbox[0].body


def test_an_owner_without_an_address_is_told_in_the_site_and_the_next_one_by_mail(cast, addresses):
    """Case O03."""
    cast.alice.email = ""
    cast.alice.save()
    queues.change_queue(queue=cast.queues["order-exceptions"], backup=cast.bob)
    refused()
    sender.tell_all()
    states = dict(Notice.objects.values_list("user__username", "mail"))
    assert states == {"alice": "no_address", "bob": "sent"}
    assert len(outbox_of(cast.bob)) == 1


def test_a_flood_of_one_fault_is_one_mail_and_another_fault_is_not_held_up(cast, addresses):
    for number in range(30):
        refused(f"A-{number}")
    sender.tell_all()
    assert outbox_of(cast.alice) == ["[Handoffs] Order exceptions: 30 records stopped at check of orders."]
    refused("A-31")
    other = opened({"text": 5})
    sender.tell_all()
    assert len(outbox_of(cast.alice)) == 2
    assert mail.outbox[1].subject == f"[Handoffs] Order exceptions: record {other.pk} stopped at intake of orders."
    notice = Notice.objects.get(count=31)
    assert notice.mail_at - notice.mailed_at >= timedelta(seconds=899)
    again(cast.alice)
    sender.tell_all()
    assert len(outbox_of(cast.alice)) == 3


def test_reading_does_not_make_mails_more_frequent(cast, addresses):
    from handoffs.actions.notices import mark_all_read

    for number in range(4):
        refused(f"A-{number}")
        sender.tell_all()
        mark_all_read(by=cast.alice)
    assert len(outbox_of(cast.alice)) == 1


def test_a_mail_server_that_takes_nothing_loses_nothing(cast, addresses, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.EmailMessage.send", lambda self: (_ for _ in ()).throw(OSError("away")))
        refused()
        sender.tell_all()
    assert mail.outbox == []
    assert Notice.objects.get().mail == "due"
    again(cast.alice)
    sender.tell_all()
    assert len(mail.outbox) == 1


def test_who_is_named_or_given_an_item_is_told_if_they_may_see_it(cast, addresses):
    escalation = refused()
    comment = escalations.comment(record=escalation.record, by=cast.alice, text="@bob @charlie look")
    assert outbox.mention(comment=comment, people=[cast.bob, cast.charlie, cast.alice]) == [cast.bob]
    escalations.assign(escalation_id=escalation.pk, by=cast.alice, to=cast.bob)
    spreading.spread()
    assert set(Notice.objects.filter(user=cast.bob).values_list("event", flat=True)) == {
        "comment.mention",
        "escalation.assigned",
    }
    assert not Notice.objects.filter(user=cast.charlie).exists()


def test_the_owner_when_it_is_told_counts_not_the_owner_when_it_stopped(cast, addresses):
    refused()
    queues.change_queue(queue=cast.queues["order-exceptions"], by=cast.dora, owner=cast.bob)
    sender.tell_all()
    assert outbox_of(cast.alice) == []
    assert len(outbox_of(cast.bob)) >= 1


def test_what_was_told_long_ago_is_dropped_and_what_waits_is_kept(cast, receiver):
    endpoint(cast, receiver)
    receiver.status = 500
    refused()
    sender.tell_all()
    OutboxRow.objects.update(spread_at=sql.now() - timedelta(days=31))
    assert spreading.forget_told() == 0
    receiver.status = 200
    later(Endpoint.objects.get())
    sender.tell_all()
    spreading.forget_told()
    assert not OutboxRow.objects.filter(event="escalation.opened").exists()
    assert work() == 0
