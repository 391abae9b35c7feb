"""The page that says whether a flow is ready, and the gate that holds the starts of one that is not."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from handoffs import flows, readiness
from handoffs.actions import drills
from handoffs.drill.report import as_data, as_junit
from handoffs.drill.run import Drill
from handoffs.models import Alert, DrillRun, sql
from handoffs.reconcile import reconcile
from tests.agents import Agent
from tests.cast import document, fresh, opened, work
from tests.faulty_flows import coercing, flow

PLACES = [("inbox",), ("flow", "faulty"), ("flows",)]
pytestmark = pytest.mark.django_db(transaction=True)


def drilled(made):
    began = sql.now()
    report = Drill(made, 11, per_class=1).run()
    return drills.keep_drill(flow=made, report=as_data(report), started_at=began, actor="system:drill"), report


@pytest.fixture
def page(client, cast):
    client.force_login(cast.alice)
    return lambda name: client.get(reverse("readiness", args=[name]))


@pytest.fixture
def gate(settings):
    settings.HANDOFFS_REQUIRE_DRILL = True
    readiness.forget_held()
    yield
    readiness.forget_held()


def test_a_flow_that_was_never_drilled_is_not_ready(page):
    said = page("orders").content.decode()
    assert "Not ready" in said
    assert "manage.py drill orders" in said


def test_the_page_shows_what_the_last_drill_found(page):
    flows.register(made := coercing())
    run, report = drilled(made)
    said = page("faulty").content.decode()
    assert run.verdict == "not_ready"
    assert "price → book" in said
    assert "is-hole" in said
    assert "let_through" not in said, "the meaning is shown, not the code"
    assert "Should it be?" in said
    assert "<testsuite " in as_junit(report)


def test_a_green_drill_makes_ready_until_something_changes(page):
    flows.register(made := flow())
    drilled(made)
    assert readiness.is_ready(made)
    assert "Not ready" not in page("faulty").content.decode()
    assert not readiness.is_ready(flow(book={"confidence": 0.5}))
    assert not readiness.is_ready(flow(book={"escalate_to": "approvals"}))


def test_an_outsider_does_not_see_the_page(client, cast):
    client.force_login(cast.charlie)
    assert client.get(reverse("readiness", args=["orders"])).status_code == 404


def test_a_held_record_waits_under_one_alert_and_goes_on_after_a_green_drill(cast, gate):
    flows.register(made := flow())
    record = opened({"number": "A-1", "quantity": 2}, flow="faulty")
    work()
    reconcile()
    reconcile()
    assert fresh(record).status == "ready"
    alert = Alert.objects.standing().get(kind="held")
    assert (alert.flow, alert.queue.owner) == ("faulty", cast.alice)
    run, _ = drilled(made)
    assert run.verdict == "ready"
    work()
    assert fresh(record).status == "completed"
    assert not Alert.objects.standing().filter(kind="held").exists()


def test_a_flow_may_opt_out_and_without_the_gate_nothing_waits(cast, gate, settings):
    flows.register(flow(require_drill=False))
    record = opened({"number": "A-1", "quantity": 2}, flow="faulty")
    other = opened(document())
    work()
    assert (fresh(record).status, fresh(other).status) == ("completed", "ready")
    settings.HANDOFFS_REQUIRE_DRILL = False
    work()
    assert fresh(other).status == "completed"


def test_the_command_says_it_as_json_and_with_its_exit_code(cast, capsys, tmp_path):
    flows.register(flow())
    call_command("drill", "faulty", "--seed", "3", "--json", "--step", "book", "--junit", str(tmp_path / "drill.xml"))
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["seed"], told["step"]) == ("ready", 3, "book")
    assert (tmp_path / "drill.xml").read_text().startswith("<?xml")
    assert not readiness.is_ready(flow()), "a drill of one step does not make the whole flow ready"
    assert DrillRun.objects.get().step == "book"


def test_the_command_names_the_flows_there_are(cast):
    with pytest.raises(CommandError, match="orders"):
        call_command("drill", "nobody")


def test_check_and_doctor_say_which_flows_are_held(cast, gate, settings):
    from handoffs import doctor
    from handoffs.checks import check_readiness

    flows.register(flow(require_drill=False))
    named = {found.obj for found in check_readiness(None, databases=["default"])}
    assert {"orders", "tickets"} <= named
    assert "faulty" not in named
    assert "orders" in doctor.readiness().todo
    settings.HANDOFFS_REQUIRE_DRILL = False
    assert doctor.readiness().is_well
    hints = {found.hint for found in check_readiness(None, databases=["default"])}
    assert hints == {"It starts all the same: HANDOFFS_REQUIRE_DRILL is off."}


def test_that_a_flow_is_not_ready_stands_in_inbox_map_list_and_api(client, cast, gate):
    made = flows.register(flow())
    client.force_login(cast.alice)
    agent = Agent()

    def told():
        pages = [client.get(reverse(name, args=words)).content.decode() for name, *words in PLACES]
        found = {each["name"]: each for each in agent.get("flows").json["flows"]}["faulty"]
        return ["faulty" in page and "Not ready" in page for page in pages], (found["ready"], found["held"])

    for other in ("orders", "tickets", "invoices"):
        object.__setattr__(flows.get_flow(other), "require_drill", False)
    try:
        assert told() == ([True, True, True], (False, True))
        drilled(made)
        assert told() == ([False, False, False], (True, False))
    finally:
        for other in ("orders", "tickets", "invoices"):
            object.__setattr__(flows.get_flow(other), "require_drill", True)


def test_doctor_counts_neither_the_built_in_flow_nor_those_that_opt_out(cast):
    from handoffs import asks, doctor

    flows.register(asks.asks) if "asks" not in flows.declared() else None
    flows.register(flow(require_drill=False))
    found = doctor.readiness()
    assert not any("asks" in reason for reason in found.details)
    assert "Starts without a drill, as its code says: faulty." in found.sentence
