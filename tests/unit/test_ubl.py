"""Reading XML from strangers: what is taken, what is refused and with which code, and what is found where."""

from __future__ import annotations

import time
from datetime import date
from decimal import Decimal

import pytest

from examples.invoices import places, safe_xml, ubl
from examples.invoices.contracts import MAX_BYTES, MAX_LINES
from examples.invoices.samples import FOLDER, too_large
from handoffs.flows import PermanentError


def sample(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def paper(*changes: tuple[str, str]) -> bytes:
    text = sample("paper.xml").decode()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def reading(raw: bytes) -> ubl.Reading:
    return ubl.read(safe_xml.parse(raw))


def code_of(raw: bytes) -> str:
    with pytest.raises(PermanentError) as caught:
        reading(raw)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 400
    return caught.value.code


# --- what is refused ---

ENTITIES = '<!ENTITY a "%s">' % ("x" * 1000) + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)
)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"%PDF-1.7", "not_xml"),
        (b'{"total": 1}', "not_xml"),
        (b"<a><b></a>", "not_xml"),
        (b"<a/><b/>", "not_xml"),
        (b"<a>&nbsp;</a>", "not_xml"),
        (b"<a>\x00</a>", "not_xml"),
        (b"\n<?xml version='1.0'?><a/>", "not_xml"),
        (b"<a>" * 300 + b"</a>" * 300, "too_deep"),
        (b'<?xml version="1.0" encoding="UTF-8"?><a>\xe9</a>', "bad_encoding"),
        (b'<?xml version="1.0" encoding="klingon"?><a/>', "bad_encoding"),
        (f"<!DOCTYPE a [{ENTITIES}]><a>&j;</a>".encode(), "dtd_not_allowed"),
        (f"<!DOCTYPE a [{ENTITIES}]><a b='&j;'/>".encode(), "dtd_not_allowed"),
        (f"<!DOCTYPE a [{ENTITIES}]><a>&j;</a>".encode("utf-16"), "dtd_not_allowed"),
        (b'<!DOCTYPE a [<!ENTITY b "&c;"><!ENTITY c "&b;">]><a>&b;</a>', "dtd_not_allowed"),
        (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "dtd_not_allowed"),
        (b'<!DOCTYPE a [<!ENTITY % b SYSTEM "file:///etc/passwd"> %b;]><a/>', "dtd_not_allowed"),
        (b'<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>', "dtd_not_allowed"),
        (b'<!DOCTYPE a [<!ATTLIST a b CDATA "c">]><a/>', "dtd_not_allowed"),
        (b"<!DOCTYPE html><html/>", "dtd_not_allowed"),
        (b"<Invoice/>", "wrong_root"),
        (b'<Invoice xmlns="urn:example"/>', "wrong_root"),
    ],
)
def test_what_is_no_document_is_refused_by_a_stable_code(raw, code):
    assert code_of(raw) == code


def test_an_order_is_named_in_the_sentence():
    with pytest.raises(PermanentError, match=r"Order-2}Order, not a UBL Invoice or CreditNote\."):
        reading(sample("order.xml"))


def test_a_bomb_costs_next_to_nothing():
    started = time.perf_counter()
    assert code_of(sample("entity-bomb.xml")) == "dtd_not_allowed"
    assert time.perf_counter() - started < 1


def test_an_external_entity_is_never_read(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("do not read me")
    raw = f'<!DOCTYPE a [<!ENTITY b SYSTEM "{secret.as_uri()}">]><a>&b;</a>'.encode()
    with pytest.raises(PermanentError) as caught:
        reading(raw)
    assert "do not read me" not in str(caught.value)


def test_one_byte_too_many_is_too_large():
    raw = too_large()
    assert len(raw) == MAX_BYTES + 1
    assert code_of(raw) == "too_large"
    assert reading(raw.replace(b"xxx", b"xx", 1)).fields["invoice_number"] == "BP-4001"


def test_too_many_lines_are_refused():
    line = sample("paper.xml").split(b"  <cac:InvoiceLine>")[1]
    many = paper().replace(b"</Invoice>", (b"  <cac:InvoiceLine>" + line) * MAX_LINES + b"</Invoice>")
    assert code_of(many) == "too_many_lines"


# --- what is taken ---


@pytest.mark.parametrize(
    ("name", "supplier"),
    [
        ("latin-1.xml", "Ateliers de la Garonne SARL"),
        ("utf-16.xml", "Żółw Drukarnia sp. z o.o."),
        ("ledger-recovers.xml", "Tamsin & Rook Ltd"),
    ],
)
def test_the_declared_encoding_is_taken(name, supplier):
    assert reading(sample(name)).fields["supplier"] == supplier


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-32", "windows-1252"])
def test_other_encodings_are_taken_too(encoding):
    declared = {"utf-8-sig": "UTF-8", "utf-16-le": "UTF-16LE", "utf-32": "UTF-32"}.get(encoding, encoding)
    text = paper(('encoding="UTF-8"', f'encoding="{declared}"'), ("Birkenhof", "Bärenhof")).decode()
    assert reading(text.encode(encoding)).fields["supplier"] == "Bärenhof Papier GmbH"


def test_an_invoice_is_read_with_its_places():
    read = reading(sample("charges-and-prepayment.xml"))
    fields = read.fields
    assert fields["kind"] == "invoice"
    assert (fields["invoice_number"], fields["issue_date"]) == ("TR/26/0077", date(2026, 11, 2))
    assert (fields["total"], fields["payable"]) == (Decimal("254.95"), Decimal("155.00"))
    assert fields["totals"]["prepaid"] == Decimal("100.00")
    assert [each["is_charge"] for each in fields["adjustments"]] == [False, True]
    assert fields["lines"][1]["base_quantity"] == Decimal(50)
    assert read.places["/total"] == "/Invoice/cac:LegalMonetaryTotal/cbc:TaxInclusiveAmount"
    assert read.places["/lines/1"] == "/Invoice/cac:InvoiceLine[2]"


def test_a_credit_note_has_its_own_words():
    fields = reading(sample("credit-note.xml")).fields
    assert fields["kind"] == "credit_note"
    assert fields["due_date"] is None
    assert fields["lines"][0]["quantity"] == Decimal(1000)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("247.52", Decimal("247.52")),
        ("+247.52", Decimal("247.52")),
        (" 247.52 ", Decimal("247.52")),
        (".5", Decimal("0.5")),
        ("247.", Decimal(247)),
        ("-0.00", Decimal("-0.00")),
        ("1.234,56", "1.234,56"),
        ("1,234.56", "1,234.56"),
        ("1 234.56", "1 234.56"),
        ("2e2", "2e2"),
        ("NaN", "NaN"),
        ("٢٤٧", "٢٤٧"),
        ("9" * 41, "9" * 41),
    ],
)
def test_only_xml_decimals_are_numbers(text, number):
    assert reading(paper((">247.52<", f">{text}<"))).fields["total"] == number


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-02", date(2026, 11, 2)),
        ("2026-11-02Z", date(2026, 11, 2)),
        ("2026-11-02+01:00", date(2026, 11, 2)),
        ("2026-02-30", "2026-02-30"),
        ("02.11.2026", "02.11.2026"),
        ("20261102", "20261102"),
    ],
)
def test_only_xml_dates_are_dates(text, day):
    assert reading(paper((">2026-11-02<", f">{text}<"))).fields["issue_date"] == day


def test_a_seller_is_known_by_the_best_of_its_ids():
    vat = "<cac:PartyTaxScheme>\n        <cbc:CompanyID>DE000111222</cbc:CompanyID>"
    other = vat.replace(
        "<cac:PartyTaxScheme>",
        "<cac:PartyIdentification><cbc:ID>4711</cbc:ID></cac:PartyIdentification>\n<cac:PartyTaxScheme>",
    )
    assert reading(paper((vat, other))).fields["supplier_id"] == "DE000111222"
    without = reading(paper((vat, other.replace("<cbc:CompanyID>DE000111222</cbc:CompanyID>", ""))))
    assert without.fields["supplier_id"] == "4711"
    assert without.confidence["/supplier_id"] == places.USABLE


def test_a_banks_name_for_a_creditor_is_no_seller_id():
    sepa = '<cac:PartyIdentification><cbc:ID schemeID="SEPA">DE98ZZZ</cbc:ID></cac:PartyIdentification>'
    raw = sample("seller-without-id.xml").replace(
        b"      <cac:PartyLegalEntity>", f"{sepa}<cac:PartyLegalEntity>".encode(), 1
    )
    assert reading(raw).fields["supplier_id"] is None


def test_a_number_that_stands_twice_is_not_sure():
    read = reading(paper(("<cbc:ID>BP-4001</cbc:ID>", "<cbc:ID>BP-4001</cbc:ID><cbc:ID>BP-9</cbc:ID>")))
    assert read.confidence["/invoice_number"] == places.TORN


def test_a_second_tax_total_in_the_currency_of_the_accounts_is_passed_over():
    second = '<cac:TaxTotal><cbc:TaxAmount currencyID="PLN">168.10</cbc:TaxAmount></cac:TaxTotal>'
    read = reading(paper(("<cac:LegalMonetaryTotal>", f"{second}<cac:LegalMonetaryTotal>")))
    assert read.fields["totals"]["tax"] == Decimal("39.52")
    assert read.confidence["/currency"] == places.SURE


def test_tax_totals_in_the_documents_currency_are_added():
    text = paper().decode()
    start, end = text.index("  <cac:TaxTotal>"), text.index("  <cac:LegalMonetaryTotal>")
    twice = text[:end] + text[start:end] + text[end:]
    assert reading(twice.encode()).fields["totals"]["tax"] == Decimal("79.04")
    garbled = twice.replace(">39.52<", ">39,52<")
    assert reading(garbled.encode()).fields["totals"]["tax"] == "39,52"


def test_a_document_without_tax_totals_has_no_tax():
    text = paper().decode()
    start, end = text.index("  <cac:TaxTotal>"), text.index("  <cac:LegalMonetaryTotal>")
    read = reading((text[:start] + text[end:]).encode())
    assert read.fields["totals"]["tax"] is None
    assert "/totals/tax" not in read.places


def test_elements_that_ubl_does_not_have_come_along_by_name():
    own = "".join(f"<cbc:Extra{number}>{'y' * 300}</cbc:Extra{number}>" for number in range(25))
    fields = reading(paper(("  <cac:OrderReference>", f"{own}<cac:OrderReference>"))).fields
    extra = [name for name in fields if name.startswith("cbc:")]
    assert len(extra) == 20
    assert fields["cbc:Extra0"] == "y" * 200
    assert reading(sample("new-field.xml")).fields["kf:LoyaltyPoints"] == "120"


def test_extensions_of_the_standard_are_not_news():
    ext = "urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2"
    raw = paper(("<cbc:CustomizationID>", f'<e:UBLExtensions xmlns:e="{ext}"/><cbc:CustomizationID>'))
    assert not [name for name in reading(raw).fields if ":" in name]
