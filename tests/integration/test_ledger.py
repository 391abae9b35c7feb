"""The ledger of the invoices example: once per record, one number per supplier, exact, and busy where it says so."""

from __future__ import annotations

import json
from decimal import Decimal
from unittest.mock import patch

import pytest
from django.db import IntegrityError, OperationalError, transaction

from examples.invoices import ledger, steps
from examples.invoices.contracts import Approval, CheckInput, Posted, ToPost
from examples.invoices.models import LedgerEntry
from examples.invoices.samples import FOLDER
from handoffs.carried import check_carried
from handoffs.contracts import check, dump
from handoffs.flows import PermanentError, StepContext, TransientError
from handoffs.states import Side
from tests.unit.test_invoices_steps import context, extracted

pytestmark = pytest.mark.django_db


def entry(key: str = "1:post", **changes: str) -> LedgerEntry:
    facts = {
        "kind": "invoice",
        "supplier": "Birkenhof Papier GmbH",
        "supplier_id": "DE000111222",
        "invoice_number": "BP-4001",
        "issue_date": "2026-11-02",
        "currency": "EUR",
        "total": "247.52",
    }
    return LedgerEntry(key=key, **(facts | changes))


def at(step: str, *, record_id: int = 1, attempt: int = 3) -> StepContext:
    made = context(step=step)
    values = {name: getattr(made, name) for name in StepContext.__slots__}
    return StepContext(**values | {"record_id": record_id, "attempt": attempt, "key": f"{record_id}:{step}"})


def to_check(file: str = "paper.xml") -> CheckInput:
    body = dump(extracted((FOLDER / file).read_bytes()).output)
    value = check(CheckInput, body, side=Side.RECEIVES).value
    assert isinstance(value, CheckInput)
    return value


def to_post(file: str = "paper.xml") -> ToPost:
    checked = steps.check(to_check(file), at("check")).output
    draft = dump(extracted((FOLDER / file).read_bytes()).output)
    body = f'{dump(checked)[:-1]},"draft":{draft}}}'
    value = check(ToPost, body, side=Side.RECEIVES).value
    assert isinstance(value, ToPost)
    return value


def test_posting_twice_is_posting_once():
    first = steps.post(to_post(), at("post"))
    second = steps.post(to_post(), at("post", attempt=4))
    assert first == second
    assert LedgerEntry.objects.count() == 1


def test_an_entry_holds_what_the_document_says():
    steps.post(to_post(), at("post"))
    row = LedgerEntry.objects.get()
    assert (row.total, row.tax, row.currency, row.purchase_order) == ("247.52", "39.52", "EUR", "PO-2026-118")
    assert str(row) == "Birkenhof Papier GmbH BP-4001: 247.52 EUR"


def test_an_approval_brings_its_cost_centre_along():
    approval = Approval(**steps.check(to_check(), at("check")).output.model_dump(), cost_centre="4711")
    body = dump(approval)[:-1] + f',"draft":{dump(extracted((FOLDER / "paper.xml").read_bytes()).output)}}}'
    posted = steps.post(check(ToPost, body, side=Side.RECEIVES).value, at("post"))
    assert not check_carried(ToPost, json.loads(body), Posted, json.loads(dump(posted)))
    assert LedgerEntry.objects.get().cost_centre == "4711"


def test_an_amount_of_many_digits_stays_exact():
    big = "12345678901234567890.12"
    ledger.post(entry(total=big), attempt=1)
    assert Decimal(LedgerEntry.objects.get().total) == Decimal(big)


def test_a_number_that_the_supplier_has_used_is_refused_by_check():
    ledger.post(entry(), attempt=1)
    with pytest.raises(
        PermanentError, match=r"sent number BP-4001 before: 247\.52 EUR, posted on .* \(1:post\)"
    ) as caught:
        steps.check(to_check("duplicate-number.xml"), at("check", record_id=2))
    assert caught.value.code == "duplicate_number"


def test_a_records_own_entry_is_no_duplicate():
    ledger.post(entry(), attempt=1)
    assert steps.check(to_check(), at("check", record_id=1)).confidence


@pytest.mark.parametrize("other", [{"supplier_id": "AT1"}, {"kind": "credit_note"}, {"invoice_number": "BP-4001 "}])
def test_another_supplier_kind_or_number_is_no_duplicate(other):
    ledger.post(entry(), attempt=1)
    ledger.post(entry("2:post", **other), attempt=1)
    assert LedgerEntry.objects.count() == 2


def test_a_number_that_was_posted_meanwhile_is_refused_by_post():
    ledger.post(entry(), attempt=1)
    with pytest.raises(PermanentError) as caught:
        ledger.post(entry("2:post"), attempt=1)
    assert caught.value.code == "duplicate_number"
    assert LedgerEntry.objects.count() == 1


def test_the_database_refuses_a_number_twice_too():
    entry().save()
    with pytest.raises(IntegrityError), transaction.atomic():
        entry("2:post").save()


def test_a_record_can_not_be_posted_with_another_amount():
    ledger.post(entry(), attempt=1)
    with pytest.raises(PermanentError, match=r"247\.52 EUR”; it can't be posted again as “.*247\.53 EUR”") as caught:
        ledger.post(entry(total="247.53"), attempt=2)
    assert caught.value.code == "posted_otherwise"


def test_the_same_amount_written_otherwise_is_the_same():
    first = ledger.post(entry(), attempt=1)
    assert ledger.post(entry(total="247.520"), attempt=2) == first


@pytest.mark.parametrize("until", [5, 6])
def test_the_ledger_plays_busy_for_its_samples_only(until):
    busy = entry(supplier_id=f"SAMPLE-BUSY-UNTIL-{until}")
    with pytest.raises(TransientError, match="plays busy for this sample") as caught:
        ledger.post(busy, attempt=until - 1)
    assert caught.value.code == "ledger_busy"
    assert ledger.post(busy, attempt=until).key == "1:post"
    assert ledger.post(entry("2:post", supplier_id="SAMPLE-BUSY-UNTIL-9 Ltd"), attempt=1)


def test_a_ledger_that_can_not_be_written_is_tried_again():
    with (
        patch.object(LedgerEntry, "save", side_effect=OperationalError("database is locked")),
        pytest.raises(TransientError) as caught,
    ):
        ledger.post(entry(), attempt=1)
    assert caught.value.code == "ledger_busy"


def test_a_ledger_that_can_not_be_read_is_tried_again():
    with (
        patch("django.db.models.query.QuerySet.first", side_effect=OperationalError("gone")),
        pytest.raises(TransientError) as caught,
    ):
        steps.check(to_check(), at("check"))
    assert caught.value.code == "ledger_busy"
