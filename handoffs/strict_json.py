"""The one gate for JSON from outside: bytes in, the parsed body or every flaw out.

Python's parser, pydantic's, SQLite and PostgreSQL disagree about the edges of JSON: the same key twice, NaN, numbers
that a float cannot hold, NUL, half a surrogate pair, deep nesting. What passes here means the same to all of them.

The good path is one run of the standard library's parser with hooks. Only a body that it stops at is walked again,
token by token and without recursion, to say where each flaw is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from math import isinf
from typing import Final, NoReturn

MAX_BYTES: Final = 2_000_000
MAX_DEPTH: Final = 64
MAX_FLAWS: Final = 100  # of one body; a body of nothing but NaN must not become a list of 500,000
MAX_SHOWN: Final = 120  # characters of a value that are shown

_LARGEST: Final = 2**63 - 1  # the databases' largest whole number
_BLANKS: Final = " \t\r\n"

# Group 1 takes part only for an escape that no text column can hold: NUL, or a surrogate without its partner.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u0000|u[dD][89a-fA-F])|.)", re.DOTALL
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_WHOLE = re.compile(r"-?[0-9]+")
_TOKEN = re.compile(
    r"""(?P<string> "(?:[^"\\]|\\.)*+(?:"|\Z) )
      | (?P<open> [\[{] )
      | (?P<close> [\]}] )
      | (?P<comma> , )
      | (?P<literal> [^\s,:\[\]{}"]++ )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Flaw:
    """One reason why bytes are not taken as JSON.

    `pointer` is a JSON pointer ("" is the whole body), `line` and `column` count from 1 in characters, and `received`
    is cut and free of control characters, so it can be stored and shown anywhere.
    """

    code: str
    pointer: str
    sentence: str
    line: int
    column: int
    received: str


@dataclass(frozen=True, slots=True)
class Body:
    """A body that passed: `text` exactly as it was sent, `data` as parsed."""

    text: str
    data: object


def read(raw: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Body | tuple[Flaw, ...]:
    """Judge bytes as JSON; never raises.

    Returns:
        The body, or a non-empty tuple of flaws in the order of the text, at most `MAX_FLAWS`.
    """
    if len(raw) > max_bytes:
        sentence = f"The body has {len(raw):,} bytes; at most {max_bytes:,} are taken."
        return (Flaw("too_large", "", sentence, 1, 1, f"{len(raw):,} bytes"),)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        return (_bad_encoding(raw, error),)
    if text.startswith("\ufeff"):
        return (Flaw("bad_encoding", "", "The body begins with a byte order mark; send it without one.", 1, 1, "BOM"),)
    try:
        data = _PARSER.decode(text)
    except (ValueError, RecursionError):
        return _flaws(text, max_depth)
    if ("\\u" in text and any(_ESCAPE.findall(text))) or _deeper_than(max_depth, text, data):
        return _flaws(text, max_depth)
    return Body(text, data)


def shown(text: str, limit: int = MAX_SHOWN) -> str:
    """Return text that is safe to store and show: cut to `limit` characters, with unprintable ones made visible."""
    if len(text) > 24 and _WHOLE.fullmatch(text):
        return f"{text[:4]}… {len(text.lstrip('-'))} digits"
    cut = text if len(text) <= limit else f"{text[:limit]}… {len(text):,} characters"
    return _UNPRINTABLE.sub(lambda found: "␀" if found[0] == "\0" else f"\\u{ord(found[0]):04x}", cut)


def pointer(path: Iterable[str | int]) -> str:
    """Return the JSON pointer of a path; characters that no database column holds are replaced."""
    keys = (_UNSTORABLE.sub("\ufffd", str(part)) for part in path)
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


# The judges of the parser: each says no by an error, and the walk then says why.


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _whole(digits: str) -> int:
    # Long ones are not even converted: that takes quadratic time.
    if len(digits) < 19 or (len(digits) <= 20 and -_LARGEST - 1 <= int(digits) <= _LARGEST):
        return int(digits)
    raise ValueError


def _fraction(digits: str) -> float:
    number = float(digits)
    # A float holds every decimal of up to 15 digits.
    if (len(digits) > 16 or "e" in digits or "E" in digits) and not _is_exact(digits, number):
        raise ValueError
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_PARSER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_whole, parse_float=_fraction, parse_constant=_no_constant
)
_LENIENT = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def _is_exact(digits: str, number: float) -> bool:
    """Tell whether the shortest text of the float stands for the same decimal value; 0.10 and 1e2 do."""
    try:
        return Decimal(digits) == Decimal(repr(number))
    except InvalidOperation:  # an exponent beyond what Decimal holds
        return False


def _deeper_than(limit: int, text: str, data: object) -> bool:
    if text.count("[") + text.count("{") <= limit:
        return False
    depth, level = 0, [data]
    while level := [value for value in level if isinstance(value, dict | list)]:
        depth += 1
        if depth > limit:
            return True
        level = [item for value in level for item in (value.values() if isinstance(value, dict) else value)]
    return False


# The walk, for bodies that are refused.


def _flaws(text: str, max_depth: int) -> tuple[Flaw, ...]:
    walk = _Walk(text, max_depth)
    # Nothing is found only where the parser ran out of stack within the depth: its caller was deep already.
    return tuple(islice(walk.flaws(), MAX_FLAWS)) or (walk.flaw("too_deep", 0, "The body could not be read here."),)


class _Walk:
    """Goes over well-formed text, or its well-formed beginning, and knows where it is."""

    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth
        self.path: list[str | int | None] = []  # per open container: the key or index; None before an object's key
        self.keys: list[set[str] | None] = []  # per open container: the keys so far; None for a list

    def flaw(self, code: str, at: int, sentence: str, received: str = "") -> Flaw:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        here = pointer(part for part in self.path if part is not None)
        return Flaw(code, here, sentence, line, column, shown(received))

    def flaws(self) -> Iterator[Flaw]:
        try:
            _LENIENT.decode(self.text)
        except json.JSONDecodeError as error:
            yield from self._values(error.pos)
            yield self._not_json(error)
        except RecursionError:
            yield from self._values(len(self.text))
        else:
            yield from self._values(len(self.text))

    def _values(self, end: int) -> Iterator[Flaw]:
        for token in _TOKEN.finditer(self.text, 0, end):
            match token.lastgroup:
                case "string":
                    yield from self._string(token[0], token.start())
                case "literal":
                    yield from self._literal(token[0], token.start())
                case "open" if len(self.path) >= self.max_depth:
                    yield self.flaw("too_deep", token.start(), f"Only {self.max_depth} levels of nesting are taken.")
                    return
                case "open":
                    self.path.append(None if token[0] == "{" else 0)
                    self.keys.append(set() if token[0] == "{" else None)
                case "close" if self.path:
                    self.path.pop()
                    self.keys.pop()
                case "comma" if self.path:
                    index = self.path[-1]
                    self.path[-1] = index + 1 if isinstance(index, int) else None

    def _string(self, token: str, at: int) -> Iterator[Flaw]:
        try:
            text = json.loads(token) if "\\" in token or token[1:][-1:] != '"' else token[1:-1]
        except ValueError:  # cut off where the text stops being JSON
            return
        keys = self.keys[-1] if self.keys and self.path[-1] is None else None
        if keys is not None:
            self.path[-1] = text
            if text in keys:
                yield self.flaw("duplicate_key", at, "This key is sent twice.", text)
            keys.add(text)
        if "\\" in token and (bad := _UNSTORABLE.search(text)):
            what = "The character NUL" if bad[0] == "\0" else "Half of a surrogate pair"
            yield self.flaw("unstorable_character", at, f"{what} cannot be stored; leave it out.", text)

    def _literal(self, token: str, at: int) -> Iterator[Flaw]:
        if token in {"true", "false", "null"}:
            return
        if token in {"NaN", "Infinity", "-Infinity"}:
            yield self.flaw("invalid_number", at, f"{token} is not a number in JSON.", token)
        elif not _WHOLE.fullmatch(token):
            yield from self._decimal(token, at)
        elif len(token) > 20 or not -_LARGEST - 1 <= int(token) <= _LARGEST:
            yield self.flaw("huge_integer", at, "A whole number this large must be sent as a string.", token)

    def _decimal(self, token: str, at: int) -> Iterator[Flaw]:
        try:
            number = float(token)
        except ValueError:  # only where the text is not JSON, and the parser says so
            return
        if isinf(number):
            yield self.flaw("invalid_number", at, "This number is larger than a number can be.", token)
        elif not _is_exact(token, number):
            sentence = f"This number would become {number!r}; send it as a string."
            yield self.flaw("inexact_number", at, sentence, token)

    def _not_json(self, error: json.JSONDecodeError) -> Flaw:
        if not self.text.strip(_BLANKS):
            return self.flaw("empty", 0, "The body is empty.")
        rest = self.text[error.pos : error.pos + MAX_SHOWN]
        if rest.startswith("\0"):
            return self.flaw(
                "unstorable_character", error.pos, "The character NUL cannot be stored; leave it out.", rest
            )
        sentence = f"This is not JSON: {error.msg[:1].lower()}{error.msg[1:]}."
        if "```" in self.text:
            sentence += " A Markdown code fence was found: send only what is inside it."
        return self.flaw("not_json", error.pos, sentence, rest)


def _bad_encoding(raw: bytes, error: UnicodeDecodeError) -> Flaw:
    before = raw[: error.start].decode()
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    sentence = f"Byte {error.start + 1:,} is not UTF-8."
    return Flaw("bad_encoding", "", sentence, line, column, f"0x{raw[error.start]:02x}")
