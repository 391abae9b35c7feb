"""The database itself refuses rows that must not be, and any change to history, whoever asks."""

from __future__ import annotations

import contextlib

import pytest
from django.apps import apps
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import F, ProtectedError

from handoffs.actions import audit, batches, drafts
from handoffs.models import (
    AgentToken,
    Alert,
    Attachment,
    AuditEntry,
    Batch,
    BatchItem,
    ContractVersion,
    Delivery,
    Draft,
    DrillCase,
    Endpoint,
    Escalation,
    Heartbeat,
    IdempotencyKey,
    MailChoice,
    Membership,
    Notice,
    OutboxRow,
    Queue,
    Record,
    StepResult,
    Transition,
    sql,
)
from handoffs.states import BatchVerb
from tests.cast import document, fresh, opened, waiting, work

pytestmark = pytest.mark.django_db

BAD_VALUES = [
    ("record_status", Record, {"status": "lost"}),
    ("leased_iff_running", Record, {"status": "running"}),
    ("leased_iff_running", Record, {"lease_expires_at": "2026-11-30T00:00Z"}),
    ("result_outcome", StepResult, {"outcome": "fine"}),
    ("result_confidence", StepResult, {"confidence": 1.5}),
    ("result_confidence", StepResult, {"confidence": -0.1}),
    ("escalation_state|assignee_iff_claimed", Escalation, {"state": "done"}),
    ("escalation_kind", Escalation, {"kind": "odd"}),
    ("assignee_iff_claimed", Escalation, {"state": "claimed"}),
    ("resolved_at_iff_resolved", Escalation, {"state": "resolved"}),
    ("resolved_at_iff_resolved", Escalation, {"resolved_at": "2026-11-30T00:00Z"}),
    ("alert_kind", Alert, {"kind": "odd"}),
    ("membership_role", Membership, {"role": "king"}),
    ("no_5xx_is_stored", IdempotencyKey, {"status": 503}),
    ("batch_state|begun_unless_draft", Batch, {"state": "odd"}),
    ("begun_unless_draft", Batch, {"state": "running"}),
    ("begun_unless_draft", Batch, {"begun_at": "2026-11-30T00:00Z"}),
    ("batch_item_state", BatchItem, {"state": "odd"}),
    ("outbox_event", OutboxRow, {"event": "odd"}),
    ("delivery_state", Delivery, {"state": "odd"}),
    ("notice_mail", Notice, {"mail": "odd"}),
    ("mail_when", MailChoice, {"when": "odd"}),
    ("quiet_from_and_to", MailChoice, {"quiet_from": "22:00"}),
    ("attempt", Record, {"attempt": -1}),
    ("tries_left", Record, {"tries_left": -1}),
    ("queue", Record, {"queue": None}),
    ("owner", Queue, {"owner": None}),
    ("queue", Escalation, {"queue": None}),
]

SECOND_ROWS = [
    ("one_external_id", Record, {}),
    ("one_attachment", Attachment, {}),
    ("one_result_per_attempt", StepResult, {}),
    ("one_unresolved_escalation", Escalation, {}),
    ("one_standing_alert", Alert, {}),
    ("one_membership", Membership, {}),
    ("one_seq", Transition, {}),
    ("one_contract_hash", ContractVersion, {"version": 2}),
    ("one_contract_version", ContractVersion, {"hash": "other"}),
    ("one_idempotency_key", IdempotencyKey, {}),
    ("one_draft", Draft, {}),
    ("once_in_a_batch", BatchItem, {}),
    ("one_unread_notice", Notice, {}),
    ("one_drill_case", DrillCase, {}),
    ("", Queue, {}),
    ("", Heartbeat, {}),
    ("", AgentToken, {"name": "other"}),
    ("", AgentToken, {"public_id": "other"}),
]


@pytest.fixture
def rows(cast):
    """At least one row in every table: a record that waits at its second step."""
    record = opened(document(order=""), external_id="X-1")
    work()
    now = sql.now()
    Attachment.objects.create(record=record, name="a", media_type="t", size=1, digest="d", added_at=now, added_by="x")
    Alert.objects.create(kind="unserved", queue=cast.queues["ledger"], sentence="s", opened_at=now)
    ContractVersion.objects.create(name="Draft", version=1, hash="h", schema="{}", first_seen_at=now)
    Heartbeat.objects.create(name="w", kind="worker", seen_at=now)
    token = AgentToken.objects.create(name="echo", public_id="p", digest="d", scopes="", made_at=now, made_by="x")
    IdempotencyKey.objects.create(token=token, key="k", request="r", answered_at=now)
    batches.draft(verb=BatchVerb.CLOSE, by=cast.bob, escalations=[waiting(record).pk])
    drafts.save(escalation_id=waiting(record).pk, by=cast.bob, verb="fix", side="receives", typed={})
    Escalation.objects.update(state="open", assignee=None)
    audit.note(actor="system:test", action="queue.create", subject="q")
    told = OutboxRow.objects.create(event="escalation.opened", happened_at=now, available_at=now)
    endpoint = Endpoint.objects.create(name="e", url="https://example.com/")
    Delivery.objects.create(row=told, endpoint=endpoint, made_at=now)
    Notice.objects.create(user=cast.bob, event="escalation.opened", mail="off", first_at=now, last_at=now)
    MailChoice.objects.create(user=cast.bob)
    case = {"flow": "orders", "step": "check", "side": "receives", "changes": "[]", "digest": "d", "record_id": 1}
    DrillCase.objects.create(**case, kept_at=now, kept_by="x")
    return record


@pytest.mark.parametrize(("name", "model", "values"), BAD_VALUES, ids=lambda v: str(getattr(v, "__name__", v)))
def test_a_row_with_a_value_that_must_not_be_is_refused(rows, name, model, values):
    with pytest.raises(IntegrityError, match=name), transaction.atomic():
        model.objects.update(**values)


@pytest.mark.parametrize(("name", "model", "values"), SECOND_ROWS, ids=lambda v: str(getattr(v, "__name__", v)))
def test_a_second_row_where_one_is_allowed_is_refused(rows, name, model, values):
    row = model.objects.order_by("-pk")[0]
    row.pk = None
    for field, value in values.items():
        setattr(row, field, value)
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        row.save(force_insert=True)
    assert name in str(refused.value) or connection.vendor == "sqlite"  # which names the columns instead


def test_no_constraint_is_left_out_here():
    declared = {c.name for model in apps.get_app_config("handoffs").get_models() for c in model._meta.constraints}
    tried = {name for names, *_ in BAD_VALUES + SECOND_ROWS for name in names.split("|")}
    assert declared <= tried


def test_a_late_result_may_stand_beside_the_one_in_time(rows):
    result = rows.results.exclude(attempt=None).first()
    for _ in range(2):
        result.pk, result.outcome = None, "late"
        result.save(force_insert=True)


def test_a_resolved_escalation_may_be_followed_by_another(rows):
    escalation = waiting(rows)
    Escalation.objects.filter(pk=escalation.pk).update(state="resolved", resolved_at=sql.now())
    escalation.pk = None
    escalation.save(force_insert=True)


def test_an_escalation_cannot_outlive_its_record_or_its_queue(rows):
    for victim in (fresh(rows), Queue.objects.get(slug="order-exceptions")):
        with pytest.raises(IntegrityError), transaction.atomic():
            delete_now(victim)


def delete_now(row):
    run(f"DELETE FROM {row._meta.db_table} WHERE id = {row.pk}")
    connection.check_constraints()


# --- history only grows ----------------------------------------------------------------------------------------------

HISTORY = [Transition, AuditEntry, ContractVersion]
everywhere = pytest.mark.parametrize("model", HISTORY, ids=lambda model: model.__name__)


@contextlib.contextmanager
def refused(model):
    """The block is refused as a change of history, and nothing was changed by it."""
    connection.check_constraints()  # PostgreSQL truncates no table whose rows are still to be checked
    before = list(model.objects.order_by("pk").values())
    assert before
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        yield
    assert list(model.objects.order_by("pk").values()) == before


def run(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)


@everywhere
def test_history_is_neither_changed_nor_deleted(rows, model):
    table = model._meta.db_table
    row = model.objects.order_by("pk")[0]
    with refused(model):
        model.objects.update(id=F("id") + 100)
    with refused(model):
        row.save(force_update=True)
    with refused(model):
        run(f"UPDATE {table} SET id = id WHERE id = {row.pk}")
    with refused(model):
        run(f"DELETE FROM {table}")


@everywhere
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="SQLite's own way around a delete trigger")
def test_history_is_not_replaced_on_sqlite(rows, model):
    table, row = model._meta.db_table, model.objects.order_by("pk")[0]
    columns = ", ".join(field.column for field in model._meta.concrete_fields)
    with refused(model):
        run(f"INSERT OR REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE id = {row.pk}")
    with refused(model):
        run(f"UPDATE OR REPLACE {table} SET id = id")


@everywhere
@pytest.mark.postgres
def test_history_is_not_truncated_on_postgresql(rows, model):
    for how in ("", " CASCADE", " RESTART IDENTITY CASCADE"):
        with refused(model):
            run(f"TRUNCATE {model._meta.db_table}{how}")


@everywhere
@pytest.mark.postgres
def test_a_replica_s_session_does_not_pass_the_triggers_by(rows, model):
    for statement in ("UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}"):
        with refused(model):
            run("SET LOCAL session_replication_role = replica")
            run(statement.format(model._meta.db_table))


@everywhere
@pytest.mark.postgres
def test_an_upsert_does_not_change_history_on_postgresql(rows, model):
    table, row = model._meta.db_table, model.objects.order_by("pk")[0]
    columns = ", ".join(field.column for field in model._meta.concrete_fields)
    copy = f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE id = {row.pk}"
    with refused(model):
        run(f"{copy} ON CONFLICT (id) DO UPDATE SET id = excluded.id")


def test_a_record_with_history_cannot_be_deleted(rows):
    with pytest.raises(ProtectedError):
        rows.delete()
