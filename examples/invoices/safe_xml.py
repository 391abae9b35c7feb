"""Bytes from outside into an XML tree, with everything off that XML can do to its reader.

No network, no entities, no document type, no tree deeper than libxml2's own limit, no file above `MAX_BYTES`. The
encoding is the one that the file declares (or its byte order mark shows), as XML wants it.
"""

from __future__ import annotations

from lxml import etree

from handoffs.flows import PermanentError

MAX_BYTES = 5_000_000
_SHOWN = 200  # characters of the parser's message

_ENCODING = (
    etree.ErrorTypes.ERR_INVALID_ENCODING,
    etree.ErrorTypes.ERR_UNKNOWN_ENCODING,
    etree.ErrorTypes.ERR_UNSUPPORTED_ENCODING,
)
# Without a document type only the depth can reach the parser's limits: the size is bounded before.
_LIMIT = etree.ErrorTypes.ERR_RESOURCE_LIMIT
_SENTENCES = {
    "bad_encoding": "is not in the encoding it declares",
    "too_deep": "is nested too deep",
    "not_xml": "is not XML",
}


def parse(raw: bytes) -> etree._Element:
    """Read the root element of one document.

    Raises:
        PermanentError: with the code `empty`, `too_large`, `not_xml`, `bad_encoding`, `too_deep` or `dtd_not_allowed`.
    """
    if not raw.strip():
        raise PermanentError("The file is empty.", code="empty")
    if len(raw) > MAX_BYTES:
        raise PermanentError(f"The file has {len(raw):,} bytes; {MAX_BYTES:,} are taken at most.", code="too_large")
    try:
        root = etree.fromstring(raw, _parser())
    except etree.XMLSyntaxError as error:
        raise _refusal(raw, error) from None
    if root.getroottree().docinfo.doctype:
        raise _document_type()
    return root


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def _refusal(raw: bytes, error: etree.XMLSyntaxError) -> PermanentError:
    # The parser stops inside an entity bomb, before there is a tree to ask. UTF-16 without zero bytes reads as ASCII.
    if b"<!DOCTYPE" in raw.replace(b"\0", b""):
        return _document_type()
    code = "bad_encoding" if error.code in _ENCODING else "too_deep" if error.code == _LIMIT else "not_xml"
    reason = " ".join(str(error.msg).split())[:_SHOWN]
    return PermanentError(f"The file {_SENTENCES[code]}: {reason}.", code=code)


def _document_type() -> PermanentError:
    # An entity of its own could unfold to gigabytes or read a file of this machine; UBL has no use for either.
    sentence = "The file declares a document type (<!DOCTYPE …>), which an e-invoice never has; it was not read."
    return PermanentError(sentence, code="dtd_not_allowed")
