"""The flow's own steps, without a database: sums, confidence, and what each sample becomes up to the ledger."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from examples.invoices import arithmetic, flows, places, steps
from examples.invoices.contracts import MAX_BYTES, Checked, CheckInput, Document, Draft
from examples.invoices.samples import FOLDER, SAMPLES, Sample, files
from handoffs import engine, seams, strict_json
from handoffs.contracts import check, dump
from handoffs.flows import AttachmentRef, PermanentError, StepContext
from handoffs.states import INTAKE, Kind, Side


def context(attachments=(), step="extract") -> StepContext:
    return StepContext(
        record_id=1,
        external_id=None,
        flow="invoices",
        step=step,
        attempt=1,
        key=f"1:{step}",
        deadline=datetime(2026, 12, 1, tzinfo=UTC),
        answer=None,
        heartbeat=lambda: None,
        attachments=attachments,
    )


def taken_in(file: str, raw: bytes) -> tuple[Document, list[AttachmentRef]]:
    intake = flows.read_file(file, raw)
    document = check(Document, intake.body, side=Side.INTAKE).value
    assert isinstance(document, Document)
    refs = [AttachmentRef(name, kind, "", len(held), lambda held=held: held) for name, kind, held in intake.attachments]
    return document, refs


def extracted(raw: bytes, file: str = "a.xml"):
    document, refs = taken_in(file, raw)
    return steps.extract(document, context(refs))


def paper(*changes: tuple[str, str]) -> bytes:
    text = (FOLDER / "paper.xml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def draft(raw: bytes) -> CheckInput:
    """What check is handed, whether or not its sums hold."""
    return CheckInput.model_validate_json(dump(extracted(raw).output))


def rules(raw: bytes) -> list[str]:
    return [difference.rule for difference in arithmetic.broken_sums(draft(raw))]


# --- the samples ---


def stopping_at(*places_: str | None) -> list[Sample]:
    return [each for each in SAMPLES if each.step in places_]


def test_every_file_of_the_folder_is_a_sample_and_the_other_way_round():
    on_disk = {path.name for path in FOLDER.iterdir()}
    assert on_disk <= {each.file for each in SAMPLES}
    assert {each.file for each in SAMPLES} - on_disk == {"too-large.xml", "empty.xml"}


def test_the_files_are_given_with_their_content():
    found = dict(files())
    assert list(found) == [each.file for each in SAMPLES]
    assert len(found["too-large.xml"]) == MAX_BYTES + 1


def test_the_samples_stop_at_every_place_for_every_kind_that_needs_no_question():
    assert {each.step for each in SAMPLES} == {None, INTAKE, "extract", "check", "approve", "post"}
    kinds = {Kind.REFUSED, Kind.BROKEN_OUTPUT, Kind.LOW_CONFIDENCE, Kind.FAILED, Kind.REVIEW}
    assert {each.kind for each in SAMPLES} == {None, *kinds}


@pytest.mark.parametrize("sample", stopping_at(INTAKE), ids=lambda each: each.file)
def test_a_sample_is_refused_at_intake(sample):
    found = check(Document, flows.read_file(sample.file, sample.read()).body, side=Side.INTAKE)
    assert [violation.pointer for violation in found.violations] == [sample.at]


@pytest.mark.parametrize("sample", stopping_at("extract"), ids=lambda each: each.file)
def test_a_sample_stops_at_extract(sample):
    step = flows.invoices.step("extract")
    document, refs = taken_in(sample.file, sample.read())
    if sample.kind is Kind.FAILED:
        with pytest.raises(PermanentError) as caught:
            steps.extract(document, context(refs))
        assert caught.value.code == sample.at
        return
    result = steps.extract(document, context(refs))
    delivery = engine.Delivery(dump(result.output), result.confidence)
    judged = engine.judge(step, dump(document), delivery, tries_left=2)
    assert (judged.event, judged.kind) == ("escalate", sample.kind)
    if sample.kind is Kind.BROKEN_OUTPUT:
        assert sample.at in [violation.pointer for violation in judged.violations]
    else:
        assert result.confidence == result.field_confidence[sample.at]


@pytest.mark.parametrize("sample", stopping_at("check"), ids=lambda each: each.file)
def test_a_sample_stops_at_check(sample):
    document, refs = taken_in(sample.file, sample.read())
    body = dump(steps.extract(document, context(refs)).output)
    found = check(CheckInput, body, side=Side.RECEIVES)
    if sample.kind is Kind.REFUSED:
        assert [violation.pointer for violation in found.violations] == [sample.at]
    else:
        assert found.violations == ()


@pytest.mark.parametrize("sample", stopping_at(None, "approve", "post"), ids=lambda each: each.file)
def test_a_sample_reaches_the_ledger_or_an_approver(sample):
    document, refs = taken_in(sample.file, sample.read())
    result = steps.extract(document, context(refs))
    assert result.confidence is not None
    assert result.confidence >= 0.85
    found = check(CheckInput, dump(result.output), side=Side.RECEIVES)
    assert found.unknown == sample.unknown
    assert arithmetic.broken_sums(found.value) == []
    assert steps.needs_approval(checked(found.value)) is (sample.step == "approve")


def checked(value: CheckInput) -> Checked:
    facts = {name: getattr(value, name) for name in Checked.model_fields if name != "findings"}
    return Checked(**facts, findings=steps.findings(value))


# --- sums ---


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (
            '<cbc:LineExtensionAmount currencyID="EUR">208.00',
            '<cbc:LineExtensionAmount currencyID="EUR">208.01',
            "BR-CO-10",
        ),
        (
            '<cbc:TaxExclusiveAmount currencyID="EUR">208.00',
            '<cbc:TaxExclusiveAmount currencyID="EUR">207.00',
            "BR-CO-13",
        ),
        (">39.52</cbc:TaxAmount>\n    <cac:TaxSubtotal>", ">39.53</cbc:TaxAmount>\n    <cac:TaxSubtotal>", "BR-CO-14"),
        (
            '<cbc:TaxInclusiveAmount currencyID="EUR">247.52',
            '<cbc:TaxInclusiveAmount currencyID="EUR">274.52',
            "BR-CO-15",
        ),
        ('<cbc:PayableAmount currencyID="EUR">247.52', '<cbc:PayableAmount currencyID="EUR">247.51', "BR-CO-16"),
        ("<cbc:Percent>19</cbc:Percent>", "<cbc:Percent>20</cbc:Percent>", "BR-CO-17"),
        ('<cbc:TaxableAmount currencyID="EUR">208.00', '<cbc:TaxableAmount currencyID="EUR">208.03', "BR-S-08"),
    ],
)
def test_each_sum_is_held_against_what_the_document_states(old, new, rule):
    assert rule in rules(paper((old, new)))


@pytest.mark.parametrize(("element", "rule"), [("AllowanceTotalAmount", "BR-CO-11"), ("ChargeTotalAmount", "BR-CO-12")])
def test_allowances_and_charges_are_added_up(element, rule):
    text = (FOLDER / "charges-and-prepayment.xml").read_text()
    start = text.index(f"<cbc:{element} ")
    end = text.index("</", start)
    assert rule in rules((text[:start] + f'<cbc:{element} currencyID="GBP">1.00' + text[end:]).encode())


def test_the_sentence_names_both_numbers():
    (first, *_) = arithmetic.broken_sums(draft((FOLDER / "lines-differ.xml").read_bytes()))
    assert first.sentence == "Adding up the lines gives 208.00 EUR, but the document states 218.00 EUR (BR-CO-10)."


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("12.5", "EUR", "12.50 EUR"),
        ("12.50", "JPY", "12.5 JPY"),
        ("-12", None, "-12.00"),
        ("333.33333333333333333333333333333333", "EUR", "333.333333 EUR"),
        ("9999999999999999999999999999.000000000000000001", "KWD", "9999999999999999999999999999.000 KWD"),
    ],
)
def test_amounts_are_shown_as_people_write_them(amount, currency, shown):
    assert arithmetic.show(Decimal(amount), currency) == shown


def broken_rules(raw: bytes, **changes: object) -> list[tuple[str, str, str]]:
    body = json.loads(dump(draft(raw))) | changes
    found = check(CheckInput, json.dumps(body), side=Side.RECEIVES).violations
    return [(violation.pointer, violation.rule, violation.sentence) for violation in found]


def test_check_refuses_sums_that_differ_and_names_both_numbers():
    [(where, rule, sentence)] = broken_rules((FOLDER / "tax-differs.xml").read_bytes())
    assert (where, rule) == ("/total", "totals_add_up")
    assert "gives 1470.00 NOK, but the document states 1740.00 NOK" in sentence


def test_an_invoice_is_due_after_its_issue_and_asks_for_something():
    assert broken_rules(paper()) == []
    [(where, rule, _)] = broken_rules(paper(), due_date="2001-01-01")
    assert (where, rule) == ("/due_date", "due_after_issue")
    wrong = {rule for _, rule, _ in broken_rules(paper(), total="-1", kind="invoice")}
    assert wrong == {"totals_add_up", "positive_unless_credit_note"}
    assert "positive_unless_credit_note" not in {r for _, r, _ in broken_rules(paper(), total="-1", kind="credit_note")}


def test_numbers_that_are_left_out_are_not_judged():
    element = '    <cbc:LineExtensionAmount currencyID="EUR">208.00</cbc:LineExtensionAmount>\n'
    assert rules(paper((element, ""))) == []
    assert (
        rules(paper((element, ""), ('<cbc:TaxExclusiveAmount currencyID="EUR">208.00</cbc:TaxExclusiveAmount>', "")))
        == []
    )


def test_a_part_without_a_tax_category_keeps_the_taxable_amounts_from_being_judged():
    category = "<cbc:ID>S</cbc:ID>\n        <cbc:Percent>19</cbc:Percent>\n        <cac:TaxScheme>"
    raw = paper(
        (category, "<cac:TaxScheme>"),
        ('<cbc:TaxableAmount currencyID="EUR">208.00', '<cbc:TaxableAmount currencyID="EUR">208.03'),
    )
    assert rules(raw) == []


@pytest.mark.parametrize(
    ("tax", "broken"), [("39.52", False), ("39.53", False), ("39.51", False), ("39.54", True), ("39.50", True)]
)
def test_a_tax_may_be_off_by_the_rounding_of_its_lines(tax, broken):
    total = Decimal("208.00") + Decimal(tax)
    assert bool(rules(paper((">39.52<", f">{tax}<"), (">247.52<", f">{total}<")))) is broken


@pytest.mark.parametrize(("currency", "smallest"), [("EUR", "0.01"), ("JPY", "1"), ("KWD", "0.001"), (None, "0.01")])
def test_the_smallest_amount_depends_on_the_currency(currency, smallest):
    assert arithmetic.unit(currency) == Decimal(smallest)


def test_a_sum_is_exact_however_many_digits_it_has():
    big = "98765432101234.56"
    assert f"{Decimal(big) + Decimal('0.04'):f}" == "98765432101234.60"
    raw = paper((">170.00<", f">{big}<"))
    (first, *_) = arithmetic.broken_sums(draft(raw))
    assert first.computed == Decimal("98765432101272.56")


def test_random_good_documents_hold_and_one_cent_breaks_them():
    rng = random.Random(20261130)
    template = draft(paper())
    for _ in range(100):
        good = _made_up(rng, template)
        assert arithmetic.broken_sums(good) == []
        assert arithmetic.lines_off(good) == []
        one_off = good.model_copy(update={"payable": good.payable + Decimal("0.01")})
        assert [each.rule for each in arithmetic.broken_sums(one_off)] == ["BR-CO-16"]


def _made_up(rng: random.Random, template: CheckInput) -> CheckInput:
    cent = Decimal("0.01")
    prices = [Decimal(rng.randint(-99_999, 999_999)) * cent for _ in range(rng.randint(1, 30))]
    lines = [template.lines[0].model_copy(update={"quantity": Decimal(2), "price": p, "net": 2 * p}) for p in prices]
    net = sum((line.net for line in lines), Decimal(0))
    tax = (net * 19 / 100).quantize(cent)
    share = template.tax_shares[0].model_copy(update={"taxable": net, "tax": tax})
    totals = template.totals.model_copy(update={"lines": net, "without_tax": net, "tax": tax})
    changes = {"lines": lines, "tax_shares": [share], "totals": totals, "total": net + tax, "payable": net + tax}
    return template.model_copy(update=changes)


def test_a_line_without_quantity_or_price_is_not_off():
    value = draft((FOLDER / "line-off.xml").read_bytes())
    assert arithmetic.lines_off(value)
    bare = [value.lines[0].model_copy(update={"price": None})]
    assert arithmetic.lines_off(value.model_copy(update={"lines": bare})) == []


def test_nothing_confirms_a_total_without_lines():
    value = draft(paper())
    assert arithmetic.confirms_total(value)
    assert not arithmetic.confirms_total(value.model_copy(update={"lines": []}))
    assert not arithmetic.confirms_total(value.model_copy(update={"total": None}))


def test_tax_that_no_rate_explains_is_seen_by_a_person():
    bare = draft(paper()).model_copy(update={"tax_shares": []})
    assert arithmetic.broken_sums(bare) == []
    assert [finding.code for finding in steps.findings(bare)] == ["tax_unexplained"]


def test_many_findings_are_counted_not_listed():
    value = draft((FOLDER / "line-off.xml").read_bytes())
    many = value.model_copy(update={"lines": value.lines * 30})
    found = steps.findings(many)
    assert (len(found), found[-1].sentence) == (21, "And 10 more of these.")


# --- confidence, approval, reading files ---


def test_a_total_that_the_lines_confirm_is_surer():
    assert extracted(paper()).field_confidence["/total"] == places.SURE
    assert extracted((FOLDER / "lines-differ.xml").read_bytes()).field_confidence["/total"] == places.USABLE


def test_the_confidence_is_that_of_the_least_sure_field():
    result = extracted((FOLDER / "two-currencies.xml").read_bytes())
    assert result.confidence == result.field_confidence["/currency"] == places.TORN


def test_evidence_names_the_file_and_the_place():
    evidence = extracted(paper(), "november.xml").evidence
    seen = {"attachment": "november.xml", "quote": "/Invoice/cac:LegalMonetaryTotal/cbc:TaxInclusiveAmount"}
    assert evidence["/total"] == seen
    assert strict_json.read(json.dumps(evidence).encode())


@pytest.mark.parametrize(
    ("total", "currency", "approval"),
    [
        ("10000", "EUR", False),
        ("10000.01", "EUR", True),
        ("-10000.01", "EUR", True),
        ("1600000", "JPY", False),
        ("1600001", "JPY", True),
    ],
)
def test_an_amount_above_the_limit_of_its_currency_needs_an_approval(total, currency, approval):
    value = draft(paper()).model_copy(update={"total": Decimal(total), "currency": currency})
    assert steps.needs_approval(checked(value)) is approval


def test_the_same_bytes_are_the_same_record_under_any_name():
    first, second = flows.read_file("a.xml", b"<a/>"), flows.read_file("copy of a.XML", b"<a/>")
    assert first.external_id == second.external_id
    assert first.external_id != flows.read_file("a.xml", b"<b/>").external_id


def test_a_file_is_attached_unless_it_is_too_large():
    assert flows.read_file("in/box/a.xml", b"<a/>").attachments == [("a.xml", "application/xml", b"<a/>")]
    assert flows.read_file("a.xml", b"x" * (MAX_BYTES + 1)).attachments == []


def test_a_file_name_that_no_text_can_hold_is_written_with_question_marks():
    assert json.loads(flows.read_file("a\udcff.xml", b"<a/>").body)["file_name"] == "a?.xml"


@pytest.mark.parametrize("flaw", ["no_attachment", "other_attachment", "too_large"])
def test_extract_takes_only_the_file_that_was_announced(flaw):
    document, refs = taken_in("a.xml", paper())
    given = {
        "no_attachment": [],
        "other_attachment": [AttachmentRef("a.xml", "application/xml", "", 4, lambda: b"<a/>")],
        "too_large": [AttachmentRef("a.xml", "application/xml", "", MAX_BYTES + 1, refs[0].read)],
    }
    with pytest.raises(PermanentError) as caught:
        steps.extract(document, context(given[flaw]))
    assert caught.value.code == flaw


def test_the_more_money_waits_the_sooner():
    small = checked(draft(paper()))
    assert flows.by_amount(small) == 3
    assert flows.by_amount(small.model_copy(update={"total": Decimal("-132000.00")})) == 6
    assert flows.by_amount(taken_in("a.xml", paper())[0]) == 0


def test_the_seams_hold_and_warn_where_the_extractor_may_find_nothing():
    findings = seams.read(flows.invoices)
    assert [finding for finding in findings if finding.level == "error"] == []
    assert {finding.seam for finding in findings} == {"extract → check"}


def test_every_currency_of_the_ledger_has_a_limit_of_some_sense():
    known = set(CheckInput.model_json_schema()["properties"]["currency"]["enum"])
    assert set(steps.APPROVAL_LIMITS) | set(arithmetic.MINOR_UNITS) <= known


def test_a_draft_names_what_extract_did_not_find():
    body = json.loads(dump(extracted((FOLDER / "no-order-reference.xml").read_bytes()).output))
    assert body["purchase_order"] is None
    assert set(Draft.model_fields) == set(body)
