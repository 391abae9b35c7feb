"""axe finds nothing on any page, light and dark, at 320 and 1440 pixels; nothing scrolls sideways."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from handoffs.actions import batches
from handoffs.states import BatchVerb
from reviewqueue import saved_views
from tests.cast import document, opened, work
from tests.sample_flows import Draft, Result, behaviour

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def addresses(cast):
    refused, large = opened(document(order="")), opened(document("A-2", total=5000))
    opened({"text": 5})
    work()
    behaviour["extract"] = lambda given, ctx: Result(Draft(number="A-9", purchase_order="P", total=9), confidence=0.5)
    unsure = opened(document("A-9"))
    work()
    escalations = [f"/escalations/{record.escalations.get().pk}/" for record in (refused, large, unsure)]
    previews = [_batch(cast.bob, verb, refused, large) for verb in (BatchVerb.CLOSE, BatchVerb.RETRY)]
    done = _batch(cast.bob, BatchVerb.ASSIGN, unsure)
    batches.begin(batch=done, by=cast.bob, choice={"person": "bob"})
    work()
    running = _batch(cast.bob, BatchVerb.SNOOZE, unsure)
    batches.begin(batch=running, by=cast.bob, choice={"until": "2040-01-01T00:00+00:00"})
    saved_views.save(by=cast.bob, title="Refusals", query="kind=refused", queue=None)
    return [
        "/inbox/",
        "/inbox/?kind=nope",
        "/inbox/?group=1",
        "/inbox/?kind=refused&sort=due",
        "/views/",
        "/batches/",
        *[f"/batches/{batch.pk}/" for batch in (*previews, done, running)],
        *escalations,
        f"/records/{refused.pk}/",
        "/records/",
        "/queues/",
        "/queues/order-exceptions/",
        "/flows/",
        "/flows/orders/",
        "/contracts/",
        "/dashboard/",
        "/accounts/profile/",
        "/nothing-here/",
    ]


def _batch(by, verb, *records):
    ids = [record.escalations.get().pk for record in records]
    return batches.draft(verb=verb, by=by, escalations=ids)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1440])
def test_axe_finds_nothing(visit, addresses, theme, width):
    visitor = visit(theme=theme, width=width)
    page = visitor.log_in("bob")
    found = {}
    for address in addresses:
        page.goto(address)
        results = Axe().run(page)
        if results.violations_count:
            found[address] = [(v["id"], v["nodes"][0]["html"][:200]) for v in results.response["violations"]]
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, f"{address} scrolls sideways at {width}"
    assert found == {}
