from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import DatabaseError, transaction

from handoffs import Contract, Flow, Step, flows
from handoffs.actions.contracts import contracts_of, name_of, store_versions
from handoffs.contracts import contract_hash, schema
from handoffs.models import ContractVersion
from tests import sample_flows

pytestmark = pytest.mark.django_db


def versions(contract: type[Contract]) -> list[tuple[int, str]]:
    stored = ContractVersion.objects.filter(name=name_of(contract))
    return list(stored.order_by("version").values_list("version", "hash"))


def changed(fields: type[Contract]) -> type[Contract]:
    """Another contract in the place of Ticket, as a deploy brings it."""
    fields.__module__, fields.__qualname__ = sample_flows.Ticket.__module__, sample_flows.Ticket.__qualname__
    return fields


def synced() -> str:
    said = StringIO()
    call_command("sync_contracts", stdout=said)
    return said.getvalue()


def test_every_contract_of_every_flow_is_stored_once():
    assert "tests.sample_flows.Document: version 1" in synced()
    stored = set(ContractVersion.objects.values_list("name", flat=True))
    declared = [
        c for flow in flows.declared().values() for s in flow.steps for c in (flow.intake, s.receives, s.returns)
    ]
    assert stored == {name_of(contract) for contract in declared}
    row = ContractVersion.objects.get(name=name_of(sample_flows.Checked))
    assert (row.version, row.hash) == (1, contract_hash(sample_flows.Checked))
    assert json.loads(row.schema) == schema(sample_flows.Checked)


def test_second_run_stores_nothing_and_says_so():
    synced()
    before = ContractVersion.objects.count()
    assert "are stored in their current version" in synced()
    assert ContractVersion.objects.count() == before


def test_changed_contract_gets_the_next_number_and_the_old_one_stays():
    class Ticket(Contract):
        subject: str
        urgent: bool = False

    store_versions([sample_flows.Ticket])
    [stored] = store_versions([changed(Ticket)])
    assert (stored.number, stored.created) == (2, True)
    expected = [(1, contract_hash(sample_flows.Ticket)), (2, contract_hash(Ticket))]
    assert versions(sample_flows.Ticket) == expected


def test_contract_that_went_back_keeps_its_first_number():
    class Ticket(Contract):
        subject: str
        urgent: bool = False

    store_versions([sample_flows.Ticket])
    store_versions([changed(Ticket)])
    [again] = store_versions([sample_flows.Ticket])
    assert (again.number, again.created) == (1, False)


def test_stored_version_can_not_be_changed():
    store_versions([sample_flows.Ticket])
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        ContractVersion.objects.update(schema="{}")


def test_contract_that_several_steps_share_is_listed_once():
    steps = [Step(name, receives=sample_flows.Ticket, returns=sample_flows.Ticket, by="agent") for name in ("a", "b")]
    flow = Flow("shared", intake=sample_flows.Ticket, escalate_to="anywhere", steps=steps)
    assert contracts_of([flow]) == [sample_flows.Ticket]
