"""How a document is named in a list: a title from a template, and columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

ABSENT = "–"
SHOWN_LENGTH = 120
TITLE_LENGTH = 200
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def is_template(template: str) -> bool:
    """Tell whether every brace is part of a placeholder."""
    return not set("{}") & set(_PLACEHOLDER.sub("", template))


def placeholders(template: str) -> list[str]:
    """List the fields a template shows, as written."""
    return _PLACEHOLDER.findall(template)


def parts(shown_field: str) -> list[str]:
    """Split a name, a dotted name or a JSON pointer into its parts."""
    if shown_field.startswith("/"):
        return [part.replace("~1", "/").replace("~0", "~") for part in shown_field[1:].split("/")]
    return shown_field.split(".")


def fill(template: str, data: object) -> str:
    """Fill a title from a document as parsed; a missing field shows as a dash. Empty if none of them is there."""
    values = {name: show(data, name) for name in placeholders(template)}
    if values and set(values.values()) == {ABSENT}:
        return ""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)[:TITLE_LENGTH]


def fill_columns(columns: Sequence[str], data: object) -> list[str]:
    """Read the columns from a document as parsed, in their order."""
    return [show(data, column) for column in columns]


def show(data: object, shown_field: str) -> str:
    """Read one field as one short line of text; a dash when it is missing, null, an object or a list."""
    for part in parts(shown_field):
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and part.isascii() and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
        else:
            return ABSENT
    if isinstance(data, bool):
        return "yes" if data else "no"
    if not isinstance(data, str | int | float):
        return ABSENT
    text = " ".join(str(data).split()) or ABSENT
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 1] + "…"
