"""How an agent sees the seams of a flow: rates, and what waits by what stopped it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from handoffs.actions import verdicts
from handoffs.actions.verdicts import Seen
from handoffs.api import presenting
from handoffs.bodies import body_digest
from handoffs.insight import seam_figures
from handoffs.models import Escalation, sql
from tests.agents import Agent, set_stage
from tests.cast import document, opened, waiting, work

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "flows/orders/seams"


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


def some_records(orderless: int = 2) -> None:
    for n in range(3):
        opened(document(f"A-{n}"))
    for n in range(orderless):
        opened(document(f"B-{n}", order=""))
    opened(b"nonsense")
    work()


def seam(agent: Agent, consumer: str, path: str = PATH):
    [found] = [s for s in agent.get(path).json["seams"] if s["consumer"] == consumer]
    return found


def test_seams_are_told_in_the_order_of_the_steps(agent):
    told = agent.get(PATH).json
    assert (told["flow"], told["sample"]) == ("orders", seam_figures.SAMPLE)
    pairs = [(s["producer"], s["consumer"]) for s in told["seams"]]
    assert pairs[:3] == [(None, "intake"), ("intake", "extract"), ("extract", "check")]
    assert {(s["arrived"], s["rate"], s["waiting"], s["oldest"]) for s in told["seams"]} == {(0, None, 0, None)}


def test_one_break_is_told_once_however_many_records_it_stopped(agent):
    some_records()
    long_ago = sql.now() - timedelta(hours=5)
    first = Escalation.objects.filter(step="check").order_by("pk")[0]
    Escalation.objects.filter(pk=first.pk).update(opened_at=long_ago)
    check = seam(agent, "check")
    assert (check["arrived"], check["refused"], check["rate"], check["waiting"]) == (5, 2, 0.4, 2)
    assert check["oldest"] == presenting.time(long_ago)
    [found] = check["breaks"]
    assert (found["waiting"], found["since"], found["fingerprint"]) == (2, check["oldest"], first.fingerprint)
    assert found["last"] > found["since"]
    assert found["violation"] == presenting.violation(first.violations.get())
    assert found["producer"] == first.violations.get().producer


def test_breaks_of_other_seams_are_not_mixed_in(agent):
    some_records()
    [intake] = seam(agent, "intake")["breaks"]
    assert (intake["waiting"], intake["producer"]) == (1, "agent:echo")
    assert seam(agent, "post")["breaks"] == []


def test_the_page_of_a_break_lists_what_it_stopped_and_nothing_else(agent, client, cast):
    some_records()
    [found] = seam(agent, "check")["breaks"]
    client.force_login(cast.bob)
    page = client.get(found["page"])
    assert page.status_code == 200
    for escalation in Escalation.objects.all():
        assert (f"/escalations/{escalation.pk}/" in page.content.decode()) == (escalation.step == "check")


def test_what_was_decided_waits_no_more_and_still_counts_in_the_rate(agent, cast):
    record = opened(document("B-1", order=""))
    work()
    found = waiting(record)
    seen = Seen(found.version, body_digest(found.record.payload))
    verdicts.close(escalation_id=found.pk, by=cast.bob, seen=seen, reason="Duplicate")
    check = seam(agent, "check")
    assert (check["waiting"], check["oldest"], check["breaks"], check["refused"]) == (0, None, [], 1)


def test_only_the_largest_groups_are_told(agent, monkeypatch):
    some_records()
    monkeypatch.setattr(seam_figures, "MOST_BREAKS", 1)
    told = agent.get(PATH).json["seams"]
    assert [b["waiting"] for s in told for b in s["breaks"]] == [2]


def test_seams_take_as_many_queries_for_many_records_as_for_few(agent):
    some_records()
    agent.get(PATH)
    with CaptureQueriesContext(connection) as few:
        agent.get(PATH)
    some_records(orderless=20)
    with CaptureQueriesContext(connection) as many:
        agent.get(PATH)
    assert seam(agent, "check")["breaks"][0]["waiting"] == 22
    assert len(many) == len(few) <= 12


def test_unknown_flow_is_said_to_be_unknown(agent):
    assert agent.get("flows/nothing/seams").code == "unknown_flow"
