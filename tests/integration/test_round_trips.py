"""What a posted result costs, and what holds where reading and writing are apart."""

from __future__ import annotations

import pytest
from django.db import connection

from handoffs.actions.submissions import Submission, submit
from handoffs.actions.work import claim_step
from handoffs.engine import Delivery
from handoffs.flows import get_flow
from handoffs.models import Record, StepResult
from handoffs.models.history import verify
from handoffs.models.moves import read_one
from tests.agents import Agent, set_stage
from tests.cast import story

pytestmark = pytest.mark.django_db(transaction=True)
TAKEN = {"output": {"label": "x"}, "confidence": 0.95}


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


def opened(agent) -> int:
    return agent.open("tickets", {"subject": "a"}).json["id"]


@pytest.mark.postgres
def test_result_that_is_taken_costs_one_read_and_one_statement_that_writes_all(agent, django_assert_num_queries):
    records = [opened(agent) for _ in range(3)]
    agent.result(records[0], 1, TAKEN)
    with django_assert_num_queries(2):
        assert agent.result(records[1], 1, TAKEN).status == 200
    record = Record.objects.get(pk=records[1])
    assert (record.status, verify(record)) == ("completed", [])
    assert story(record) == [("open", "ready"), ("start", "running"), ("finish", "completed")]


def submitted(record: int, attempt: int, read) -> None:
    delivery = Delivery('{"label":"x"}', 0.95)
    submit(
        submission=Submission(record, attempt, delivery), may_work=lambda flow, step: True, actor="agent:a", read=read
    )


def test_result_is_judged_anew_where_the_record_moved_after_it_was_read(agent):
    record = opened(agent)
    before = read_one(record, locked=False)
    flow = get_flow("tickets")
    claim_step(flow=flow, step=flow.step("classify"), actor="agent:a", limit=1)
    submitted(record, 1, before)
    found = Record.objects.get(pk=record)
    assert story(found) == [("open", "ready"), ("start", "running"), ("finish", "completed")]
    assert (verify(found), StepResult.objects.filter(record=record, attempt=1).count()) == ([], 1)


def test_result_that_was_read_too_early_comes_late_and_takes_nothing_over(agent):
    record = opened(agent)
    before = read_one(record, locked=False)
    agent.result(record, 1, {"output": {"label": "first"}, "confidence": 0.95})
    submitted(record, 1, before)
    found = Record.objects.get(pk=record)
    assert (found.payload, found.status, verify(found)) == ('{"label": "first"}', "completed", [])
    assert story(found)[-1] == ("late", "completed")


@pytest.mark.postgres
def test_connection_that_was_cut_is_found_out_by_the_first_query_and_made_anew(agent):
    """As a server sees it: the connection is kept between two requests, and the database restarts in between."""
    settings = connection.settings_dict
    kept = settings["CONN_HEALTH_CHECKS"]
    assert agent.get("flows").status == 200
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        connection.health_check_enabled, connection.health_check_done = kept, False
        assert agent.get("flows").status == 200
    finally:
        other.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        assert cursor.fetchone()[0] != pid
