from __future__ import annotations

import json
import math
import sys
from decimal import Decimal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from handoffs.strict_json import MAX_BYTES, MAX_FLAWS, Body, Flaw, pointer, read, shown


def flaws(raw: bytes | str, **limits: int) -> tuple[Flaw, ...]:
    found = read(raw.encode() if isinstance(raw, str) else raw, **limits)
    assert isinstance(found, tuple), f"taken: {found}"
    assert found
    return found


def body(raw: bytes | str, **limits: int) -> Body:
    found = read(raw.encode() if isinstance(raw, str) else raw, **limits)
    assert isinstance(found, Body), f"refused: {found}"
    return found


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{}", {}),
        (" \t\r\n[1] \n", [1]),
        ("0.1", 0.1),
        ("0.10", 0.1),
        ("12345678901234.10", 12345678901234.1),
        ("1e2", 100.0),
        ("1E+2", 100.0),
        ("-0.0", -0.0),
        ("1e308", 1e308),
        ("5e-324", 5e-324),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\uD83D\\uDE00 \\u00e4"', "😀 ä"),
        (r'"\\u0000 \\ud83d"', r"\u0000 \ud83d"),
        ('{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}', {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}),
        ('"\\u2028 \u2028 \x7f"', "\u2028 \u2028 \x7f"),
        ("[" * 64 + "]" * 64, json.loads("[" * 64 + "]" * 64)),
        ("[" + "[]," * 200 + "1]", [[]] * 200 + [1]),
    ],
)
def test_takes_json_and_keeps_the_text(text: str, data: object):
    assert body(text) == Body(text, data)


@pytest.mark.parametrize(
    ("raw", "code", "where", "line", "column"),
    [
        ("", "empty", "", 1, 1),
        (" \n\t ", "empty", "", 1, 1),
        (b"\xff", "bad_encoding", "", 1, 1),
        (b'{"a":\n "\xc3\xa4\xe4"}', "bad_encoding", "", 2, 4),
        (b'"\xed\xa0\x80"', "bad_encoding", "", 1, 2),  # a surrogate as bytes
        (b"\xef\xbb\xbf{}", "bad_encoding", "", 1, 1),
        ("{}".encode("utf-16"), "bad_encoding", "", 1, 1),
        ("hello", "not_json", "", 1, 1),
        ("[1, 2", "not_json", "/1", 1, 6),
        ('{"a": [1, 01]}', "not_json", "/a/1", 1, 12),
        ('{"a": {"b" 1}}', "not_json", "/a/b", 1, 12),
        ("{a: 1}", "not_json", "", 1, 2),
        ("{'a': 1}", "not_json", "", 1, 2),
        ("[+1]", "not_json", "/0", 1, 2),
        ("[1_000]", "not_json", "/0", 1, 3),
        ("[1] [2]", "not_json", "", 1, 5),
        ('"tab\there"', "not_json", "", 1, 5),
        (r'{"a": "\x"}', "not_json", "/a", 1, 8),
        ('{"a": "open', "not_json", "/a", 1, 7),
        ("[" * 65 + "]" * 65, "too_deep", "/0" * 64, 1, 65),
        ("[" * 100_000, "too_deep", "/0" * 64, 1, 65),
        ('{"a":' * 100_000, "too_deep", "/a" * 64, 1, 5 * 64 + 1),
        ('{"a": 1, "a": 1}', "duplicate_key", "/a", 1, 10),
        ('[{"b": {"a": 1,\n"\\u0061": 2}}]', "duplicate_key", "/0/b/a", 2, 1),
        ("[NaN]", "invalid_number", "/0", 1, 2),
        ('{"a": Infinity}', "invalid_number", "/a", 1, 7),
        ("-Infinity", "invalid_number", "", 1, 1),
        ("1e400", "invalid_number", "", 1, 1),
        ("-1e400", "invalid_number", "", 1, 1),
        ("0.1000000000000000055511151231257827", "inexact_number", "", 1, 1),
        ("12345678901234567.1", "inexact_number", "", 1, 1),
        ("1e-400", "inexact_number", "", 1, 1),
        ("1e-99999999999999999999", "inexact_number", "", 1, 1),
        ("9223372036854775808", "huge_integer", "", 1, 1),
        ("-9223372036854775809", "huge_integer", "", 1, 1),
        ("[" + "9" * 10_000 + "]", "huge_integer", "/0", 1, 2),
        (r'["\u0000"]', "unstorable_character", "/0", 1, 2),
        ('["a\0"]', "unstorable_character", "/0", 1, 4),
        (r'["\ud83d"]', "unstorable_character", "/0", 1, 2),
        (r'["\ude00\ud83d"]', "unstorable_character", "/0", 1, 2),
        (r'["\\\ud83d\\ude00"]', "unstorable_character", "/0", 1, 2),
        (r'{"a\u0000/~": 1}', "unstorable_character", "/a\ufffd~1~0", 1, 2),
        (r'{"\udc00": 1}', "unstorable_character", "/\ufffd", 1, 2),
    ],
)
def test_names_the_flaw_and_its_place(raw: bytes | str, code: str, where: str, line: int, column: int):
    flaw = flaws(raw)[0]
    assert (flaw.code, flaw.pointer, flaw.line, flaw.column) == (code, where, line, column)
    assert flaw.sentence.endswith(".")


def test_lists_all_flaws_in_the_order_of_the_text():
    found = flaws('{"a": NaN,\n "b": [1e400, {"c": 1, "c": 0.12345678901234567890}],\n "d": "\\u0000"} x')
    assert [(flaw.code, flaw.pointer, flaw.line) for flaw in found] == [
        ("invalid_number", "/a", 1),
        ("invalid_number", "/b/0", 2),
        ("duplicate_key", "/b/1/c", 2),
        ("inexact_number", "/b/1/c", 2),
        ("unstorable_character", "/d", 3),
        ("not_json", "", 3),
    ]


@pytest.mark.parametrize(
    "text", ["[1,]", '{"a": 1,}', "[1 2]", "{1: 2}", "// [1]", "[1] //", "tru", "[0x1]", "[.5]", "[1.]"]
)
def test_takes_no_dialect(text: str):
    assert [flaw.code for flaw in flaws(text)] == ["not_json"]


@pytest.mark.parametrize("broken", ["a\t", "a\\x", "a\\", '\\"', '\\"\t', "\\", ""])
@pytest.mark.parametrize("text", ['{"a": 1, "%s', '{"": 1, "%s', '{"a": 1, "b": "%s'])
def test_a_string_that_breaks_off_is_nothing_else_too(text: str, broken: str):
    assert [flaw.code for flaw in flaws(text % broken)] == ["not_json"]


def test_bounds_the_list_of_flaws():
    assert len(flaws("[" + "NaN," * 10_000 + "1]")) == MAX_FLAWS


def test_bounds_size_in_bytes_and_names_both_numbers():
    assert body('"' + "a" * (MAX_BYTES - 2) + '"')
    flaw = flaws('"' + "ä" * (MAX_BYTES // 2) + '"')[0]
    assert (flaw.code, flaw.received) == ("too_large", "2,000,002 bytes")
    assert flaw.sentence == "The body has 2,000,002 bytes; at most 2,000,000 are taken."
    assert flaws("[1, 2]", max_bytes=5)[0].code == "too_large"


def test_depth_counts_nesting_not_brackets():
    assert body('{"a": "[[[[", "b": [[]]}', max_depth=3)
    assert flaws('{"a": [[[1]]]}', max_depth=3)[0].pointer == "/a/0/0"


def test_survives_a_caller_that_is_deep_already():
    def deeper(levels: int) -> Body | tuple[Flaw, ...]:
        return read(b"[" * 60 + b"1, nope" + b"]" * 70 + b", 1") if levels == 0 else deeper(levels - 1)

    depth, frame = 0, sys._getframe()
    while frame := frame.f_back:  # type: ignore[assignment]
        depth += 1
    answers = []
    for levels in range(sys.getrecursionlimit() - depth - 150, sys.getrecursionlimit() - depth - 20, 10):
        answers.append(deeper(levels))
    assert {answer[0].code for answer in answers if isinstance(answer, tuple)} <= {"not_json", "too_deep"}
    assert answers


def test_hints_at_a_code_fence():
    assert "code fence" in flaws('Here it is:\n```json\n{"a": 1}\n```')[0].sentence
    assert "code fence" not in flaws("Here it is")[0].sentence
    assert body('{"a": "```"}')


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("short", "short"),
        ("2" + "4" * 5000, "2444… 5001 digits"),
        ("x" * 121, "x" * 120 + "… 121 characters"),
        ("a\0b", "a␀b"),
        ("a\x1b[31m\u202e\ud800", "a\\u001b[31m\\u202e\\ud800"),
    ],
)
def test_shows_values_cut_and_harmless(text: str, seen: str):
    assert shown(text) == seen


def test_pointers_escape_what_the_standard_escapes():
    assert pointer(["a/b", 0, "~", ""]) == "/a~1b/0/~0/"
    assert pointer([]) == ""


# What holds for any bytes.

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab/~\n😀", max_size=3), inner, max_size=5),
    max_leaves=20,
)
PIECES = st.lists(
    st.sampled_from(
        [*'{}[],:"-e1.٣ä \n\0\\', '"a":', "\\u0000", "\\ud83d", "\\ude00", "NaN", "null", "1e400", "9" * 20]
    )
    | st.sampled_from(["0.1", "0.12345678901234567890", "```", "tru"]),
    max_size=30,
).map("".join)


@given(st.binary() | PIECES.map(str.encode))
@example(b'{"a":"\\')
@example(b'["\\u00')
def test_any_bytes_get_an_answer(raw: bytes):
    answer = read(raw)
    if isinstance(answer, Body):
        assert answer.text.encode() == raw
        assert answer.data == json.loads(raw)
        json.dumps(answer.data, ensure_ascii=False, allow_nan=False).encode()
        return
    assert answer
    for flaw in answer:
        assert flaw.sentence != "The body could not be read here."
        words = flaw.pointer + flaw.sentence + flaw.received
        assert "\0" not in words
        words.encode()


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_what_python_writes_is_read_as_it_was(value: object, ascii_only: bool, indent: int | None):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert body(text) == Body(text, value)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_a_number_passes_if_its_shortest_text_is_the_same_number(text: str):
    assume("." in text or "e" in text.lower())
    number = float(text)
    if math.isinf(number):
        expected = "invalid_number"
    else:
        expected = None if Decimal(repr(number)) == Decimal(text) else "inexact_number"
    answer = read(text.encode())
    assert (None if isinstance(answer, Body) else answer[0].code) == expected


@given(JSON, st.data())
def test_one_flaw_put_into_json_is_found_where_it_is(value: object, data: st.DataObject):
    code, token = data.draw(
        st.sampled_from(
            [
                ("invalid_number", "NaN"),
                ("huge_integer", "9" * 30),
                ("unstorable_character", '"\\u0000"'),
                ("duplicate_key", '{"k":1,"k":2}'),
                ("inexact_number", "0.12345678901234567890"),
            ]
        )
    )
    text = f'[{json.dumps(value)}, {{"here": {token}}}]'
    [flaw] = flaws(text)
    assert (flaw.code, flaw.pointer) == (code, "/1/here/k" if code == "duplicate_key" else "/1/here")
