"""From a real refusal to a case that every later drill tries; and asking for a drill on the page."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from handoffs import flows
from handoffs.actions import drills
from handoffs.actions.drill_cases import changes_of, keep_case
from handoffs.drill import asked
from handoffs.drill.report import as_data
from handoffs.drill.run import Drill
from handoffs.errors import UnfitCase
from handoffs.models import AuditEntry, DrillCase, DrillRun, Heartbeat, sql
from handoffs.states import Side
from tests.cast import fresh, opened, waiting, work
from tests.faulty_flows import Order, Priced, coercing, flow

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = {"number": "Kim-Secret-1987-and-more-than-20", "quantity": 2}


@pytest.fixture
def faulty(cast):
    return flows.register(flow())


def kept_cases(report):
    return [case for seam in report.seams for case in seam.cases if case.kind == "kept case"]


def test_a_refused_record_is_kept_without_what_it_said_and_every_later_drill_tries_it(faulty):
    record = opened(SECRET, flow="faulty")
    case = keep_case(record_id=record.pk, by="user:alice")
    assert (case.step, case.side, case.rules) == ("intake", "intake", "too_long")
    assert "Kim" not in case.changes
    assert "1987" not in case.changes
    assert keep_case(record_id=record.pk, by="user:bob").pk == case.pk
    assert AuditEntry.objects.filter(action="drill_case.keep").count() == 1
    [found] = kept_cases(Drill(faulty, 1, per_class=1).run())
    assert (found.pointer, found.code, found.engine) == ("/number", "", True)
    assert f"record {record.pk}" in found.note


def test_what_a_kept_case_breaks_is_a_hole_once_it_is_let_through(faulty):
    case = {"path": "/quantity", "rule": "wrong_type", "op": "replace", "value": "9"}
    facts = {"flow": "faulty", "step": "book", "side": "receives", "changes": json.dumps([case]), "rules": "wrong_type"}
    DrillCase.objects.create(**facts, digest="x", record_id=7, kept_at=sql.now(), kept_by="user:alice")
    [found] = kept_cases(Drill(coercing(), 1, per_class=1).run())
    assert (found.pointer, found.code, found.is_hole) == ("/quantity", "no_longer_refused", True)
    [found] = kept_cases(Drill(faulty, 1, per_class=1).run())
    assert (found.code, found.engine) == ("", True)


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ({"number": "A-1"}, [("/quantity", "remove", None)]),
        ({"number": "A-1", "quantity": 1, "Kim": "x"}, [("/Kim", "add", "x")]),
        ({"number": "A-1", "quantity": "three of 5"}, [("/quantity", "replace", "xxxxx xx 9")]),
        ([1, "Kim"], [("", "replace", [1, "Xxx"])]),
    ],
)
def test_only_the_broken_places_are_kept(body, changes):
    found = changes_of(Order, json.dumps(body), Side.INTAKE)
    assert [(change["path"], change["op"], change.get("value")) for change in found] == changes


def test_what_breaks_nothing_can_not_be_kept():
    with pytest.raises(UnfitCase):
        changes_of(Priced, '{"number":"A-1","quantity":1,"price":"1"}', Side.RECEIVES)


def test_a_body_that_can_not_be_read_is_left_to_the_drill(faulty):
    record = opened(b'{"number":NaN}', flow="faulty")
    with pytest.raises(UnfitCase, match="can't be read"):
        keep_case(record_id=record.pk, by="user:alice")


def test_the_command_keeps_a_case(faulty, capsys):
    record = opened(SECRET, flow="faulty")
    call_command("drill", "--from-record", str(record.pk))
    assert "/number (too_long)" in capsys.readouterr().out
    assert DrillCase.objects.get().record_id == record.pk
    with pytest.raises(CommandError, match="no record"):
        call_command("drill", "orders", "--from-record", str(record.pk))
    with pytest.raises(CommandError, match="Name the flow"):
        call_command("drill")


def test_one_click_keeps_it_and_another_forgets_it(faulty, client, cast):
    record = opened(SECRET, flow="faulty")
    escalation = waiting(record)
    url = reverse("escalation-keep", args=[escalation.pk])
    client.force_login(cast.bob)
    for page in ("escalation", "record"):
        pk = escalation.pk if page == "escalation" else record.pk
        assert url in client.get(reverse(page, args=[pk])).content.decode()
    said = client.post(url, follow=True).content.decode()
    assert "every later drill of faulty tries it" in said
    page = client.get(reverse("readiness", args=["faulty"])).content.decode()
    assert f"from record {record.pk}" in page
    client.post(reverse("readiness-forget", args=["faulty", DrillCase.objects.get().pk]))
    assert not DrillCase.objects.exists()
    client.force_login(cast.charlie)
    assert client.post(url).status_code == 404


def test_a_record_that_waits_over_no_body_offers_nothing_to_keep(client, cast):
    record = opened({"text": "A-1,PO-7,5000"})
    work()
    client.force_login(cast.alice)
    said = client.get(reverse("escalation", args=[waiting(record).pk])).content.decode()
    assert "Keep for the drill" not in said
    answer = client.post(reverse("escalation-keep", args=[waiting(record).pk]), follow=True)
    assert "does not wait over a body" in answer.content.decode()
    assert fresh(record).status == "escalated"


# --- asking for a drill ----------------------------------------------------------------------------------------------


def test_without_a_worker_the_page_says_what_to_do(faulty, client, cast):
    client.force_login(cast.bob)
    answer = client.post(reverse("readiness-drill", args=["faulty"]), follow=True)
    assert "manage.py drill faulty" in answer.content.decode()
    client.force_login(cast.charlie)
    assert client.post(reverse("readiness-drill", args=["faulty"])).status_code == 404


def test_with_a_worker_the_drill_is_asked_for(faulty, client, cast, monkeypatch):
    asked_for = []
    monkeypatch.setattr(drills.dispatch, "ask_for_drill", lambda *words: asked_for.append(words) or True)
    Heartbeat.objects.create(name="w", kind="worker", job_queue="default", seen_at=sql.now())
    client.force_login(cast.bob)
    answer = client.post(reverse("readiness-drill", args=["faulty"]), follow=True)
    assert "A worker drills the flow now" in answer.content.decode()
    assert asked_for == [("default", "faulty", "reviewer:bob")]
    assert AuditEntry.objects.filter(action="drill.ask", actor="reviewer:bob").exists()


def test_the_job_drills_and_keeps_what_it_found(faulty, monkeypatch):
    monkeypatch.setattr(asked.connection, "close", lambda: None)
    monkeypatch.setattr(asked, "close_old_connections", lambda: None)
    asked.drill("faulty", "user:bob")
    run = DrillRun.objects.get()
    assert (run.verdict, run.actor, run.step) == ("ready", "user:bob", "")


def test_a_failing_case_links_to_its_input(client, cast):
    made = flows.register(coercing())
    began = sql.now()
    report = Drill(made, 11, per_class=1).run()
    drills.keep_drill(flow=made, report=as_data(report), started_at=began, actor="system:drill")
    hole = next(case for case in report.cases if case.is_hole)
    url = reverse("readiness-input", args=["faulty", hole.digest])
    client.force_login(cast.alice)
    assert url in client.get(reverse("readiness", args=["faulty"])).content.decode()
    assert json.loads(client.get(url).content) == json.loads(hole.body)
    assert client.get(reverse("readiness-input", args=["faulty", "0" * 64])).status_code == 404
