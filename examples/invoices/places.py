"""Where UBL 2.1 has what the flow needs, and how sure a value from there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMESPACES: Final = {
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
    "ext": "urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2",
}
ROOTS: Final = {
    "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice": "invoice",
    "{urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2}CreditNote": "credit_note",
}

SURE = 0.99  # it stands in the place meant for it
NEARLY = 0.95  # in the next best place
USABLE = 0.9  # in a place that does, or a number that no sum confirms
UNSURE = 0.7  # concluded from something else
TORN = 0.5  # the document says two things

_SELLER: Final = "cac:AccountingSupplierParty/cac:Party/"
_PARTY_ID: Final = "cac:PartyIdentification/cbc:ID[not(@schemeID='SEPA')]"  # SEPA's is a bank's name for a creditor
_SUMS: Final = "cac:LegalMonetaryTotal/cbc:"

# Each field's places, best first.
PLACES: Final[Mapping[str, tuple[tuple[str, float], ...]]] = {
    "supplier": (
        (_SELLER + "cac:PartyLegalEntity/cbc:RegistrationName", SURE),
        (_SELLER + "cac:PartyName/cbc:Name", USABLE),
    ),
    "supplier_id": (
        (_SELLER + "cac:PartyTaxScheme[cac:TaxScheme/cbc:ID='VAT']/cbc:CompanyID", SURE),
        (_SELLER + "cac:PartyLegalEntity/cbc:CompanyID", NEARLY),
        (_SELLER + _PARTY_ID, USABLE),
        (_SELLER + "cac:PartyTaxScheme/cbc:CompanyID", USABLE),
    ),
    "invoice_number": (("cbc:ID", SURE),),
    "issue_date": (("cbc:IssueDate", SURE),),
    "due_date": (("cbc:DueDate", SURE), ("cac:PaymentMeans/cbc:PaymentDueDate", NEARLY)),
    "purchase_order": (("cac:OrderReference/cbc:ID", SURE),),
    "buyer_reference": (("cbc:BuyerReference", SURE),),
    "currency": (("cbc:DocumentCurrencyCode", SURE), (_SUMS + "PayableAmount/@currencyID", UNSURE)),
    "total": ((_SUMS + "TaxInclusiveAmount", USABLE),),
    "payable": ((_SUMS + "PayableAmount", USABLE),),
}
TOTALS: Final = {
    "lines": _SUMS + "LineExtensionAmount",
    "allowances": _SUMS + "AllowanceTotalAmount",
    "charges": _SUMS + "ChargeTotalAmount",
    "without_tax": _SUMS + "TaxExclusiveAmount",
    "prepaid": _SUMS + "PrepaidAmount",
    "rounding": _SUMS + "PayableRoundingAmount",
}
# Places that UBL lets stand once: two different values there contradict each other.
ONCE: Final = ("cbc:", "cac:LegalMonetaryTotal/", "cac:OrderReference/")
# The currencies of the amounts that are added up, which must be the document's.
SUMMED: Final = (
    "cac:LegalMonetaryTotal/*/@currencyID",
    "cac:AllowanceCharge/cbc:Amount/@currencyID",
    "cac:InvoiceLine/cbc:LineExtensionAmount/@currencyID",
    "cac:CreditNoteLine/cbc:LineExtensionAmount/@currencyID",
)

_ROOT_ELEMENTS: Final = """
    UBLExtensions UBLVersionID CustomizationID ProfileID ProfileExecutionID ID CopyIndicator UUID IssueDate IssueTime
    DueDate InvoiceTypeCode CreditNoteTypeCode Note TaxPointDate DocumentCurrencyCode TaxCurrencyCode
    PricingCurrencyCode PaymentCurrencyCode PaymentAlternativeCurrencyCode AccountingCostCode AccountingCost
    LineCountNumeric BuyerReference InvoicePeriod DiscrepancyResponse OrderReference BillingReference
    DespatchDocumentReference ReceiptDocumentReference StatementDocumentReference OriginatorDocumentReference
    ContractDocumentReference AdditionalDocumentReference ProjectReference Signature AccountingSupplierParty
    AccountingCustomerParty PayeeParty BuyerCustomerParty SellerSupplierParty TaxRepresentativeParty Delivery
    DeliveryTerms PaymentMeans PaymentTerms PrepaidPayment AllowanceCharge TaxExchangeRate PricingExchangeRate
    PaymentExchangeRate PaymentAlternativeExchangeRate TaxTotal WithholdingTaxTotal LegalMonetaryTotal InvoiceLine
    CreditNoteLine
"""
# The root elements of both document kinds; others are a partner's own.
KNOWN: Final = frozenset(_ROOT_ELEMENTS.split())
