"""Whoever changes the history behind the triggers is found: by the chains, or by the heads that were kept elsewhere."""

from __future__ import annotations

import json
import random
from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection

from handoffs.actions.queues import change_queue
from handoffs.insight import verifying
from handoffs.models import AuditEntry, Record, Transition
from handoffs.models.chain import Line, link
from tests.cast import document, opened, work

pytestmark = pytest.mark.django_db(transaction=True)
triggers = import_module("handoffs.migrations.0002_append_only")


@pytest.fixture
def unguarded(cast):
    """A history of twelve records, and no triggers: what who owns the database can do."""
    for number in range(12):
        opened(document(f"A-{number}", order="" if number % 3 == 0 else "PO"))
    work()
    change_queue(queue=cast.queues["ledger"], by=cast.dora, title="Books")
    change_queue(queue=cast.queues["ledger"], by=cast.dora, title="Ledger")
    with connection.schema_editor() as editor:
        triggers.remove(apps, editor)
    yield
    with connection.schema_editor() as editor:
        triggers.add(apps, editor)


def told(capsys, *words: str) -> tuple[int, dict]:
    try:
        call_command("audit_verify", "--json", *words)
    except SystemExit as ended:
        return int(ended.code), json.loads(capsys.readouterr().out)
    return 0, json.loads(capsys.readouterr().out)


def test_an_untouched_history_holds_and_grows(unguarded, capsys, tmp_path):
    kept = tmp_path / "heads.ndjson"
    assert told(capsys, "--export", str(kept)) == (0, {"holds": True, "records": 12, "flaws": []})
    assert len(kept.read_text().splitlines()) == 13
    opened(document("B-1"))
    work()
    assert told(capsys, "--against", str(kept))[0] == 0


def test_every_random_edit_or_removal_is_found_and_named(unguarded):
    chance = random.Random(11)
    rows = list(Transition.objects.order_by("pk"))
    names = [name for name in Line.__slots__ if name not in {"happened_at", "record_id"}]
    for _ in range(60):
        row = chance.choice(rows)
        spoiled = Transition.objects.filter(pk=row.pk)
        if chance.random() < 0.3:
            spoiled.delete()
        else:
            name = chance.choice(names)
            was = getattr(row, name)
            spoiled.update(**{name: was + 1000 if isinstance(was, int) else f"{was[:8]}x"})
        assert row.record_id in {flaw.record for flaw in verifying.broken()}
        spoiled.delete()
        Transition.objects.bulk_create([row])
    assert list(verifying.broken()) == []


def rewritten(record: Record) -> None:
    """Another actor in the first row, and the whole chain and the record's row made to fit."""
    head = ""
    for row in record.transitions.order_by("seq"):
        row.actor = "agent:somebody-else"
        line = Line(*(getattr(row, name) for name in Line.__slots__))
        head = link(head, line.covered)
        Transition.objects.filter(pk=row.pk).update(actor=row.actor, hash=head)
    Record.objects.filter(pk=record.pk).update(head=head)


def test_a_chain_that_was_rewritten_whole_is_found_by_what_was_kept_elsewhere(unguarded, capsys, tmp_path):
    kept = tmp_path / "heads.ndjson"
    told(capsys, "--export", str(kept))
    record = Record.objects.order_by("pk")[4]
    rewritten(record)
    assert told(capsys)[0] == 0, "the chain alone can't know"
    code, found = told(capsys, "--against", str(kept))
    assert (code, [flaw["record"] for flaw in found["flaws"]]) == (1, [record.pk])


def test_records_and_audit_entries_that_are_gone_or_changed_are_found(unguarded, capsys, tmp_path):
    kept = tmp_path / "heads.ndjson"
    told(capsys, "--export", str(kept))
    entry = AuditEntry.objects.order_by("pk").first()
    AuditEntry.objects.filter(pk=entry.pk).update(actor="reviewer:nobody")
    assert told(capsys, "--against", str(kept))[1]["flaws"][0]["record"] is None
    AuditEntry.objects.filter(pk=entry.pk).update(actor=entry.actor)
    AuditEntry.objects.order_by("-pk")[:1].get().delete()
    assert told(capsys, "--against", str(kept))[0] == 1


def test_a_file_that_is_none_is_told(unguarded, capsys, tmp_path):
    other = tmp_path / "other"
    for text in ("not json", "[]", '{"record": 1}', '{"seq": 1}'):
        other.write_text(text)
        with pytest.raises(CommandError, match="is not what --export wrote"):
            call_command("audit_verify", "--against", str(other))
    with pytest.raises(CommandError, match="can't be written"):
        call_command("audit_verify", "--export", str(other))


def test_the_number_of_queries_grows_with_hundreds_of_records_not_with_each(unguarded, django_assert_num_queries):
    with django_assert_num_queries(2):
        list(verifying.broken())
