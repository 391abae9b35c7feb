from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.core import checks as django_checks
from django.core.management import call_command
from django.db import connection

from handoffs import Contract, Flow, Step, checks, flows
from handoffs.models import Queue
from tests.cast import shut_out_by_force


class Draft(Contract):
    order: str | None


class Order(Contract):
    order: str


class Receipt(Order):
    ledger_id: str


def work(*_):
    raise NotImplementedError


EXTRACT = Step("extract", receives=Draft, returns=Draft, run=work)
CHECK = Step("check", receives=Order, returns=Order, run=work, escalate_to="ledger")
POST = Step("post", receives=Receipt, returns=Receipt, run=work)


@pytest.fixture(autouse=True)
def own_registry():
    before = flows.declared()
    flows.clear()
    yield
    flows.clear()
    for flow in before.values():
        flows.register(flow)


def declare(*steps):
    return flows.register(Flow("invoices", intake=Draft, steps=steps, escalate_to="inbox"))


@pytest.fixture
def alice(db):
    return get_user_model().objects.create(username="alice")


def test_a_flow_whose_seams_hold_is_silent():
    declare(EXTRACT)
    assert checks.check_seams(None) == []


def test_a_warning_says_where_what_and_what_to_do():
    declare(EXTRACT, CHECK)
    (message,) = checks.check_seams(None)
    assert (message.level, message.id) == (django_checks.WARNING, "handoffs.W006")
    assert str(message).startswith(
        "invoices, extract → check: (handoffs.W006) /order: Not guaranteed: it may be null, and a value is needed.\n"
    )
    assert message.hint


def test_an_error_has_the_same_number_with_another_letter():
    declare(EXTRACT, CHECK, POST)
    assert [message.id for message in checks.check_seams(None)] == ["handoffs.W006", "handoffs.E001"]


def test_ids_are_not_used_twice():
    numbers = [number for number, _ in checks.FINDINGS.values()]
    assert sorted(set(numbers)) == sorted(numbers)


def test_the_check_command_runs_the_seam_checks(capsys):
    declare(EXTRACT, CHECK)
    call_command("check", tags=["handoffs"])
    assert "handoffs.W006" in capsys.readouterr().err


def test_no_database_is_read_unless_one_is_given():
    declare(EXTRACT)
    assert checks.check_queues(None) == []
    assert checks.check_queues(None, databases=[]) == []


@pytest.mark.django_db
def test_missing_queues_are_told_with_the_places_that_need_them():
    declare(EXTRACT, CHECK)
    messages = checks.check_queues(None, databases=["default"])
    assert [(message.id, message.msg, message.obj) for message in messages] == [
        ("handoffs.W020", "The queue 'inbox' does not exist.", "invoices/intake, invoices/extract"),
        ("handoffs.W020", "The queue 'ledger' does not exist.", "invoices/check"),
    ]


def test_a_queue_with_an_active_owner_is_silent(alice):
    declare(EXTRACT)
    Queue.objects.create(slug="inbox", title="Inbox", owner=alice)
    assert checks.check_queues(None, databases=["default"]) == []


def test_an_owner_who_is_gone_is_told(alice):
    declare(EXTRACT)
    Queue.objects.create(slug="inbox", title="Inbox", owner=alice)
    shut_out_by_force(get_user_model().objects.get())
    (message,) = checks.check_queues(None, databases=["default"])
    assert (message.id, message.level) == ("handoffs.W021", django_checks.WARNING)
    assert message.msg == "The owner of the queue 'inbox' is not active."


@pytest.mark.django_db
def test_a_database_without_tables_is_left_to_migrate(monkeypatch):
    declare(EXTRACT)
    monkeypatch.setattr(connection.introspection, "table_names", lambda: [])
    assert checks.check_queues(None, databases=["default"]) == []


@pytest.mark.django_db
def test_a_database_that_holds_other_things_is_left_alone(monkeypatch):
    declare(EXTRACT)
    monkeypatch.setattr(checks.router, "allow_migrate_model", lambda alias, model: False)
    assert checks.check_queues(None, databases=["default"]) == []


@pytest.mark.django_db
def test_the_check_command_reads_the_database_only_when_told(capsys):
    declare(EXTRACT)
    call_command("check")
    assert "handoffs.W020" not in capsys.readouterr().err
    call_command("check", databases=["default"])
    assert "handoffs.W020" in capsys.readouterr().err
