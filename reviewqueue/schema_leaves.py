"""Single values of a form: how one is shown in its control, and what is made of what comes back.

Untouched means unchanged: a control that comes back as it was shown gives the very value that was sent, whatever the
browser did to line ends. Only what a person typed is turned into a value, and never into one they did not type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from handoffs import strict_json
from handoffs.exact_json import ABSENT, Number, Value, parse, write
from reviewqueue import zoned
from reviewqueue.schema_fields import LONG, Shape, Sort, is_of

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# No control can hold these; each is shown as its picture, and the picture is read back.
_PICTURES: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
_LONE: Final = re.compile("[\ud800-\udfff]")
_TYPED_SORTS: Final = frozenset({Sort.INTEGER, Sort.NUMBER, Sort.DECIMAL, Sort.DATE, Sort.DATETIME, Sort.TIME})

# What an empty control stands for.
AS_SENT, NULL, LEFT_OUT, EMPTY_TEXT = "sent", "null", "absent", "text"
MEANINGS: Final = {
    AS_SENT: gettext_lazy("as it was sent"),
    NULL: "null",
    LEFT_OUT: gettext_lazy("left out"),
    EMPTY_TEXT: gettext_lazy("empty text"),
}


@dataclass(frozen=True, slots=True)
class Blank:
    """Where a field stands that was not sent: an item of a list can't be left out, and what is new begins with null."""

    in_list: bool = False
    is_new: bool = False


@dataclass(slots=True)
class Typed:
    """What came back for one field: its text, and what an empty one stands for. None: there was no control."""

    text: str | None = None
    empty: str | None = None


@dataclass(slots=True)
class Read:
    """A value as read, or the sentences that say why the text is none."""

    value: Value
    problems: list[str] = field(default_factory=list)


def shown(shape: Shape, sent: Value) -> str:
    """The text in a field's control. Empty for what the control can't hold; that stands beside it as JSON."""
    if sent is ABSENT:
        return ""
    if shape.sort is Sort.JSON:
        return write(sent, indent=2)
    if sent is None or not is_of(shape, sent):
        return token(sent) if shape.sort is Sort.CHOICE and sent is None and shape.nullable else ""
    if shape.sort is Sort.CHOICE:
        return token(sent)
    if shape.sort is Sort.DATETIME:
        return _holdable(zoned.shown(sent))
    return _holdable(str(sent))


def token(value: Value) -> str:
    """A choice as its control sends it back."""
    return write(value)


def meanings(shape: Shape, sent: Value, blank: Blank = Blank()) -> list[str]:
    """What an empty control may stand for, the one that holds now first."""
    if shape.sort in {Sort.CHOICE, Sort.JSON}:
        return []
    found = [] if shown(shape, sent) else [_meaning(shape, sent, blank)]
    if shape.nullable:
        found.append(NULL)
    if _is_text(shape):
        found.append(EMPTY_TEXT)
    if not blank.in_list and (not shape.required or not found):
        found.append(LEFT_OUT)
    return list(dict.fromkeys(found)) or [NULL]


def _meaning(shape: Shape, sent: Value, blank: Blank) -> str:
    """What an empty control stands for as long as nobody says otherwise."""
    if sent is ABSENT:
        if blank.in_list:
            return EMPTY_TEXT if _is_text(shape) else NULL
        return NULL if blank.is_new and shape.required and shape.nullable else LEFT_OUT
    if sent is None:
        return NULL
    return EMPTY_TEXT if sent == "" and _is_text(shape) else AS_SENT


def read(shape: Shape, sent: Value, typed: Typed, blank: Blank = Blank()) -> Read:
    """The value that a field has now."""
    text = typed.text
    if text is None:
        is_untouched = shape.sort in {Sort.CHOICE, Sort.JSON} and not blank.in_list
        return Read(sent if sent is not ABSENT or is_untouched else _emptied(shape, sent, None, blank))
    if shape.sort is Sort.CHOICE:
        return Read(_chosen(shape, sent, text))
    if _lines(text) == _lines(shown(shape, sent)) and text:
        return Read(sent)
    if shape.sort is Sort.JSON:
        return _read_json(text) if text.strip() else Read(ABSENT)
    if not text:
        return Read(_emptied(shape, sent, typed.empty, blank))
    try:
        return Read(_value_of(shape, sent, text))
    except zoned.NoSuchTime as problem:
        return Read(ABSENT, [str(problem)])


def _chosen(shape: Shape, sent: Value, text: str) -> Value:
    if text == NULL and shape.nullable:
        return None
    if text == LEFT_OUT:
        return ABSENT
    return next((choice for choice in shape.choices if token(choice) == text), sent)


def _emptied(shape: Shape, sent: Value, empty: str | None, blank: Blank) -> Value:
    allowed = meanings(shape, sent, blank) or [NULL]
    values = {AS_SENT: sent, NULL: None, EMPTY_TEXT: "", LEFT_OUT: ABSENT}
    return values[empty if empty in allowed else allowed[0]]


def _value_of(shape: Shape, sent: Value, text: str) -> Value:
    text = _lines(text)
    if shape.sort in _TYPED_SORTS:
        text = text.strip()
    if shape.sort in {Sort.INTEGER, Sort.NUMBER}:
        return Number(text) if _NUMBER.fullmatch(text) else text
    if shape.sort is Sort.DECIMAL:
        return Number(text) if isinstance(sent, Number) and _is_exact(text) else text
    if shape.sort is Sort.DATETIME:
        return zoned.read(text, sent)
    return _unpictured(text, sent) if isinstance(sent, str) else text


def _is_exact(text: str) -> bool:
    """Whether a JSON number keeps this decimal; the gate refuses others, and takes them as text."""
    try:
        return bool(_NUMBER.fullmatch(text)) and Decimal(text) == Decimal(repr(float(text)))
    except InvalidOperation:  # an exponent beyond what Decimal holds
        return False


def _read_json(text: str) -> Read:
    judged = strict_json.read(text.encode("utf-8", "surrogatepass"))
    if isinstance(judged, tuple):
        return Read(ABSENT, [sentence(flaw) for flaw in judged])
    return Read(parse(text))


def sentence(flaw: strict_json.Flaw) -> str:
    """Why typed text is no JSON, and where."""
    place = {"line": flaw.line, "column": flaw.column, "sentence": flaw.sentence}
    return _("Line %(line)d, column %(column)d: %(sentence)s") % place


def is_tall(shape: Shape, text: str) -> bool:
    """Whether a control needs several lines; one line would drop the line ends."""
    return shape.sort in {Sort.LONG, Sort.JSON} or len(text) > LONG or "\n" in text or "\r" in text


def _is_text(shape: Shape) -> bool:
    return shape.sort in {Sort.TEXT, Sort.LONG}


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _holdable(text: str) -> str:
    return _LONE.sub("\ufffd", text.translate(_PICTURES))


def _unpictured(text: str, sent: str) -> str:
    """Read pictures back as what was sent, where it was: leaving one in must not store a picture instead."""
    back = {picture: code for code, picture in _PICTURES.items() if chr(code) in sent and chr(picture) not in sent}
    return text.translate(back)
