"""What comes in may be anything: it is kept or refused with a sentence, and its neighbours come in."""

from __future__ import annotations

import pytest

from handoffs.actions import verdicts
from handoffs.actions.records import Opening, open_records
from handoffs.actions.verdicts import Seen
from handoffs.flows import get_flow
from handoffs.models import Record
from tests.cast import fresh, waiting, work
from tests.soundness import assert_sound

pytestmark = pytest.mark.django_db
GOOD = b'{"text":"A-1,P,1"}'

ODD = {
    "nothing": Opening(b""),
    "only blanks": Opening(b"  \n "),
    "a byte order mark": Opening(b"\xef\xbb\xbf{}"),
    "no text at all": Opening(bytes(range(256))),
    "a NUL in the text": Opening(b'{"text":"a\0b"}'),
    "an escaped NUL": Opening(b'{"text":"a\\u0000b"}'),
    "half a character": Opening(b'{"text":"\\ud83d"}'),
    "too deep": Opening(b"[" * 100_000),
    "too large": Opening(b'{"text":"' + b"x" * 3_000_000 + b'"}'),
    "a number without end": Opening(b'{"text":' + b"9" * 10_000 + b"}"),
    "an external id that is too long": Opening(GOOD, "x" * 300),
    "an external id with a NUL": Opening(GOOD, "a\0b"),
    "an external id of half a character": Opening(GOOD, "a\ud800"),
    "an empty external id": Opening(GOOD, ""),
    "an attachment with a long name": Opening(GOOD, None, [("n" * 400, "text/plain", b"x")]),
    "an attachment with an odd name": Opening(GOOD, None, [("a\0b\ud800/../c", "text/plain", b"x")]),
    "an attachment with an odd type": Opening(GOOD, None, [("n", "t\0" * 300, b"x")]),
    "the same attachment twice": Opening(GOOD, None, [("a", "text/plain", b"x"), ("b", "text/plain", b"x")]),
    "an empty attachment": Opening(GOOD, None, [("", "", b"")]),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_opening_harms_no_neighbour(cast, what):
    openings = [Opening(GOOD, "N-1"), ODD[what], Opening(GOOD, "N-2")]
    found = open_records(flow=get_flow("orders"), openings=openings, actor="agent:echo")
    assert [one.created for one in found] == [True, True, True]
    work()
    records = [fresh(Record(pk=one.record_id)) for one in found]
    assert (records[0].status, records[2].status) == ("completed", "completed")
    assert records[1].status in {"completed", "escalated"}
    assert_sound()


def test_an_unfit_external_id_is_told_and_the_record_goes_on_without_it(cast):
    [found] = open_records(flow=get_flow("orders"), openings=[Opening(GOOD, "a\0b")], actor="agent:echo")
    record = Record.objects.get(pk=found.record_id)
    escalation = waiting(record)
    assert (escalation.pointer, escalation.violations.get().received, record.external_id) == (
        "/external_id",
        "a␀b",
        None,
    )
    verdicts.retry(escalation_id=escalation.pk, by=cast.bob, seen=Seen(0))
    Record.objects.update(available_at=record.opened_at)
    work()
    assert fresh(record).status == "completed"


def test_two_attachments_with_the_same_content_are_kept_once(cast):
    documents = [("a", "text/plain", b"x"), ("b", "text/plain", b"x"), ("c", "text/plain", b"y")]
    [found] = open_records(flow=get_flow("orders"), openings=[Opening(GOOD, None, documents)], actor="agent:echo")
    assert Record.objects.get(pk=found.record_id).attachments.count() == 2
