"""Bodies as text: their digests, their bytes as sent, and whether two of them say the same."""

from __future__ import annotations

import base64
import hashlib
import json


def body_digest(text: str) -> str:
    """The digest that a form carries for the body it shows: SHA-256 of the text, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def raw_bytes(text: str, encoding: str) -> bytes:
    """The bytes as sent, of a body that is kept as text or (encoding "base64") could not be."""
    return base64.b64decode(text) if encoding == "base64" else text.encode("utf-8", "surrogatepass")


def storable(body: bytes) -> tuple[str, str]:
    """(text, encoding) that keeps bytes which the gate refused; base64 where they can't stand in a text column."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), "base64"
    return (base64.b64encode(body).decode(), "base64") if "\0" in text else (text, "")


def storable_text(value: object, longest: int) -> str:
    """Any value as text that both databases hold: no NUL, no half characters, at most `longest` characters."""
    try:
        text = str(value)
    except Exception:  # its own code
        text = type(value).__name__
    whole = text[:longest].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "␀")


def same(one: str, other: str) -> bool:
    """Whether two bodies say the same: neither the order of keys nor 1.10 against 1.1 is a difference."""
    if one == other:
        return True
    try:
        return _equal(*(json.loads(text, object_pairs_hook=_without_doubles) for text in (one, other)))
    except (ValueError, RecursionError):
        return False


def _without_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A key that stands twice says nothing that could be the same."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _equal(one: object, other: object) -> bool:
    # Python takes True for 1; JSON does not.
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other
