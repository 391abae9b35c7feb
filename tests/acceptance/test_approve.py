"""Approving takes an output that waited as it is."""

from __future__ import annotations

import pytest

from handoffs.actions import endings
from handoffs.flows import get_flow
from tests import sample_flows
from tests.acceptance.stopped import broken, go_on, refused, unsure, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def test_an_unsure_output_is_approved_as_it_is(bob):
    escalation = unsure()
    response = send_with(bob, form(bob.get(url(escalation)), "/approve/"), {})
    assert response.status_code == 302
    escalation.refresh_from_db()
    assert (escalation.resolution, escalation.resolved_by.username) == ("approve", "bob")
    assert go_on(escalation.record).status == "completed"


def test_it_is_not_offered_where_the_kind_does_not_allow_it(bob):
    for escalation in (refused(), broken(total="x")):
        response = bob.get(url(escalation))
        assert "Approve" not in text_of(response)
        refused_to = bob.post(url(escalation, "approve/"), {"version": escalation.version})
        assert refused_to.status_code == 409
        escalation.refresh_from_db()
        assert escalation.state == "open"


def test_an_output_that_breaks_its_contract_now_waits_and_says_so(bob):
    escalation = unsure()
    extract = get_flow("orders").step("extract")
    object.__setattr__(extract, "returns", sample_flows.Checked)  # as after a deployment
    try:
        response = bob.get(url(escalation))
        assert "Approve waits: /is_large still breaks the contract." in text_of(response)
        given = bob.post(url(escalation, "approve/"), {"version": escalation.version})
        assert given.status_code == 422
        assert "/is_large : This field is missing." in text_of(given)
    finally:
        object.__setattr__(extract, "returns", sample_flows.Draft)


def test_a_completed_record_that_was_reopened_is_approved_as_it_was(bob, cast):
    escalation = unsure()
    send_with(bob, form(bob.get(url(escalation)), "/approve/"), {})
    record = go_on(escalation.record)
    reopened = endings.reopen(record=record, by=cast.bob)
    response = bob.get(url(reopened))
    assert "Approve: The record is complete again, as it was." in text_of(response)
    assert send_with(bob, form(response, "/approve/"), {}).status_code == 302
    record.refresh_from_db()
    assert record.status == "completed"
