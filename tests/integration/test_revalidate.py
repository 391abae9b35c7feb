"""What if: stored bodies against the contracts of the working copy; and what a change of a contract is called."""

from __future__ import annotations

import json
from typing import Annotated

import pytest
from django.core.management import CommandError, call_command
from pydantic import Field

from handoffs import Contract, flows, invariant
from handoffs.actions.contracts import change_of, store_versions
from handoffs.contracts import schema
from handoffs.insight.compatibility import Compatibility, classify
from handoffs.revalidation import revalidate
from tests.cast import opened, work
from tests.faulty_flows import Priced, flow

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stored(cast):
    """Three records that went through, and one that was refused."""
    flows.register(flow())
    found = [opened({"number": f"A-{n}", "quantity": n}, flow="faulty") for n in (1, 5, 9)]
    opened({"number": "A-0", "quantity": 0}, flow="faulty")
    work()
    return found


class Smaller(Priced):
    quantity: Annotated[int, Field(ge=1, le=4)]


def test_what_was_taken_is_taken_again_while_nothing_changes(stored):
    found = revalidate(flow())
    assert (found.newly, found.refused) == (0, {})
    assert found.held == {"intake": 3, "price receives": 3, "price returns": 3, "book receives": 3, "book returns": 3}


def test_a_narrower_contract_would_refuse_what_it_took_grouped_by_place_and_rule(stored):
    found = revalidate(flow(receives=Smaller))
    [(group, refusals)] = found.refused.items()
    assert group[:3] == ("book receives", "Smaller", "/quantity")
    assert sorted(refusals.records) == [stored[1].pk, stored[2].pk]
    assert found.newly == 2
    assert revalidate(flow(receives=Smaller), last=1).bodies == 0, "the last record was refused as it came in"
    assert revalidate(flow(receives=Smaller), contract="Order").newly == 0


def test_the_command_groups_and_ends_with_one_where_something_breaks(stored, capsys):
    call_command("revalidate", "faulty")
    assert "0 of 15 bodies" in capsys.readouterr().out
    flows.clear()
    flows.register(flow(receives=Smaller))
    with pytest.raises(SystemExit):
        call_command("revalidate", "faulty", "--json", "--contract", "Smaller")
    told = json.loads(capsys.readouterr().out)
    assert (told["bodies"], told["newly_refused"], told["groups"][0]["records"]) == (3, 2, 2)
    with pytest.raises(CommandError, match="It has: Booked"):
        call_command("revalidate", "faulty", "--contract", "Nothing")


def bill(holds=None, **types):
    rules = {"holds": holds} if holds else {}
    return type("Bill", (Contract,), {"__annotations__": types, "__module__": __name__, **rules})


@invariant("It holds.")
def holds(self) -> bool:
    return True


@pytest.mark.parametrize(
    ("older", "newer", "called"),
    [
        (bill(a=int), bill(a=int), Compatibility.SAME),
        (bill(a=Annotated[int, Field(ge=0)]), bill(a=int), Compatibility.FOR_PRODUCERS),
        (bill(a=int), bill(a=Annotated[int, Field(ge=0)]), Compatibility.FOR_CONSUMERS),
        (bill(a=int), bill(a=str), Compatibility.NEITHER),
        (bill(a=int), bill(a=int, holds=holds), Compatibility.FOR_CONSUMERS),
        (bill(a=int, holds=holds), bill(a=int), Compatibility.FOR_PRODUCERS),
    ],
)
def test_a_change_is_called_by_whom_it_can_break(older, newer, called):
    assert classify(schema(older), schema(newer)) is called


def test_a_change_is_classed_when_it_is_synced():
    [first] = store_versions([bill(a=int)])
    [second] = store_versions([bill(a=str)])
    assert (change_of(first), change_of(second)) == (None, Compatibility.NEITHER)
