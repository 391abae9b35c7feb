from __future__ import annotations

import pytest

from handoffs.actions.records import Opening, open_record, open_records
from handoffs.errors import ExternalIdInUse, UnknownQueue
from handoffs.flows import get_flow
from handoffs.models import Queue, Record
from tests.cast import document, opened, story, waiting

pytestmark = pytest.mark.django_db


def test_a_good_intake_is_ready_at_the_first_step(cast):
    record = opened(document(), external_id="x")
    assert (record.status, record.step, record.tries_left, record.attempt) == ("ready", "extract", 3, 0)
    assert story(record) == [("open", "ready")]
    assert record.results.get().output == record.payload


def test_a_broken_intake_is_kept_and_escalated(cast):
    record = opened({"text": 5})
    assert (record.status, record.step, record.payload) == ("escalated", "intake", '{"text": 5}')
    escalation = waiting(record)
    assert (escalation.kind, escalation.side, escalation.pointer) == ("refused", "intake", "/text")
    assert escalation.queue.owner == cast.alice
    assert story(record) == [("open", "ready"), ("refuse", "escalated")]


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b"", "empty"),
        (b"not json", "not_json"),
        (b'{"text": "\\u0000"}', "unstorable_character"),
        (b'{"text": "\\ud83d"}', "unstorable_character"),
        (b'{"text": "a", "text": "b"}', "duplicate_key"),
        (b'{"text": NaN}', "invalid_number"),
        (b"\xff\xfe{}", "bad_encoding"),
        (b'{"text": "\x00"}', None),
        (b"[" * 10_000, None),
    ],
)
def test_whatever_comes_in_is_kept_byte_for_byte(cast, raw, rule):
    from handoffs.bodies import raw_bytes

    record = opened(raw)
    assert record.status == "escalated"
    assert raw_bytes(record.payload, record.encoding) == raw
    assert rule is None or record.violations.filter(rule=rule).exists()


def test_the_same_external_id_and_body_open_nothing_twice(cast):
    first = opened(document(), external_id="x")
    assert opened(document(), external_id="x").pk == first.pk
    assert Record.objects.count() == 1


def test_the_same_external_id_with_another_body_is_refused_and_nothing_is_written(cast):
    opened(document(), external_id="x")
    with pytest.raises(ExternalIdInUse):
        opened(document(total=99), external_id="x")
    assert Record.objects.count() == 1


def test_a_bad_one_never_hurts_its_neighbours(cast):
    openings = [Opening(b'{"text":"A-1,P,1"}', "a"), Opening(b"{", "b"), Opening(b'{"text":"A-2,P,1"}', "a")]
    answers = open_records(flow=get_flow("orders"), openings=openings, actor="agent:echo")
    assert [(a.status, a.created, a.conflict) for a in answers] == [
        ("ready", True, False),
        ("escalated", True, False),
        ("ready", False, True),
    ]


def test_a_flow_whose_queue_does_not_exist_takes_nothing_in(cast):
    Queue.objects.filter(slug="order-exceptions").delete()
    with pytest.raises(UnknownQueue):
        open_record(flow=get_flow("orders"), opening=Opening(b"{}"), actor="agent:echo")
    assert not Record.objects.exists()


def test_500_records_are_opened_with_as_many_statements_as_5(cast, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        open_records(
            flow=get_flow("orders"),
            openings=[Opening(f'{{"text":"A-{i},P,1"}}'.encode(), str(i)) for i in range(500)],
            actor="agent:echo",
        )
