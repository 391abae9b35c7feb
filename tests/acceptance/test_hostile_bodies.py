"""Whatever an agent sends is shown as text: nothing runs, nothing hides, every page opens."""

from __future__ import annotations

import json
import re

import pytest

from handoffs import Result
from handoffs.actions import escalations
from handoffs.models import Escalation
from tests import sample_flows
from tests.acceptance.stopped import asked, failed, unreadable, url
from tests.browsing import form, send_with, text_of
from tests.cast import document, opened, waiting, work

pytestmark = pytest.mark.django_db

TEXTS = [
    "<script>alert(document.domain)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "</textarea><script>alert(1)</script>",
    "</pre></code><iframe src=javascript:alert(1)>",
    "' onfocus=alert(1) autofocus='",
    "{{ 7*7 }} {% csrf_token %} ${7*7}",
    "javascript:alert(1)",
    "\u202egnp.exe\u202c",
    "zero\u200bwidth\ufeff\u2060",
    "\u0000nul",
    "half \ud83d pair",
    "&lt;b&gt; &amp;",
    "a\r\nb\u2028c\u0085d",
    "👩\u200d💻 Ünïcode عربى",
    "x" * 50_000,
]
KEYS = ["<b>k</b>", "a/b~c", "", " ", "\u202ek", "__proto__", "0", "x" * 5_000, "empty:/text", "state:", '"', "'"]
TAGS = re.compile(rb"<(script|iframe|svg/|img|b>k|svg onload)", re.IGNORECASE)


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def pages(client, escalation):
    record = f"/records/{escalation.record_id}/"
    queries = ["", "?show=fields", "?show=json", "?show=raw", "fix/", "fix/?as=json", "fix/?all=1"]
    for address in [
        *(url(escalation) + q for q in queries),
        *(record + f"?tab={t}" for t in ("values", "json", "history")),
    ]:
        response = client.get(address)
        assert response.status_code == 200, address
        yield response


def assert_harmless(response):
    own = {b"<script src", b"<svg width", b"<svg class"}
    for found in TAGS.finditer(response.content):
        piece = response.content[found.start() : found.start() + 11]
        assert any(piece.startswith(known) for known in own), response.content[found.start() - 80 : found.start() + 120]
    assert b"\x00" not in response.content
    assert b"\xe2\x80\xae" not in re.sub(
        rb'value="[^"]*"|<textarea.*?</textarea>', b"", response.content, flags=re.DOTALL
    )
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]


def test_hostile_values_are_text_everywhere(bob):
    fields = {f"field {place}": [text, {text[:50]: text}] for place, text in enumerate(TEXTS)}
    escalation = waiting(opened(json.dumps({"text": TEXTS, **fields}).encode()))
    for response in pages(bob, escalation):
        assert_harmless(response)


def test_odd_keys_have_controls_and_come_back_as_they_were(bob):
    body = {"text": 5} | {key: {"a": 1.0, key: place} for place, key in enumerate(KEYS)}
    escalation = waiting(opened(body))
    for response in pages(bob, escalation):
        assert_harmless(response)
    found = form(bob.get(url(escalation)), "/fix/")
    response = send_with(bob, found, {"/text": "A,PO,1", "op": "json"})
    assert json.loads(form(response, "/fix/").data["body"]) == body | {"text": "A,PO,1"}


@pytest.mark.parametrize("part", [TEXTS[:7], TEXTS[7:]], ids=["markup", "characters"])
def test_what_an_agent_says_is_text(bob, cast, part):
    said = " ".join(part).replace("\0", "").replace("\ud83d", "")[:5000]
    for escalation in (asked(said, said[:100], "other"), failed(said)):
        escalations.comment(record=escalation.record, by=cast.bob, text=said)
        for response in pages(bob, escalation):
            assert_harmless(response)
        typed = bob.post(url(escalation, "close/"), {"version": escalation.version, "note": said})
        assert typed.status_code == 422
        assert_harmless(typed)
        assert_harmless(bob.post(url(escalation, "close/"), {"version": "77", "note": said}))


def test_titles_evidence_and_usage_are_text(bob):
    bad = "<script>alert(1)</script>\u202e"
    draft = sample_flows.Draft(number=bad, purchase_order=bad, total=1)
    sample_flows.behaviour["extract"] = lambda given, context: Result(
        draft,
        confidence=0.1,
        evidence={"/number": {"quote": bad, "page": bad}},
        usage={bad: bad},
        field_confidence={bad: 0.1},
    )
    opened(document())
    work()
    for response in pages(bob, Escalation.objects.get()):
        assert_harmless(response)


@pytest.mark.parametrize(
    "raw",
    [
        b"<script>alert(1)</script>",
        b"\xff\xfe<script>alert(1)</script>",
        b"</textarea><script>alert(1)</script>",
        b'{"a": ' * 300 + b"1" + b"}" * 300,
        b"[" * 100_000,
        b'{"text": NaN}',
        b'{"text": 1e999}',
        b'{"n": ' + b"9" * 6000 + b"}",
        b"\x00\x01\x02",
        b"```json\n</textarea><script>\n```",
    ],
    ids=range(10),
)
def test_bodies_that_are_no_json_are_text(bob, raw):
    escalation = unreadable(raw)
    for response in pages(bob, escalation):
        assert_harmless(response)
    assert bob.get(f"/records/{escalation.record_id}/body/").content == raw


def test_hidden_characters_are_told(bob):
    escalation = waiting(opened({"text": ["a\u202eb"], "x": "y\u200bz"}))
    text = text_of(bob.get(url(escalation, "?show=json")))
    assert "a⟨U+202E⟩b" in text
    assert "y⟨U+200B⟩z" in text
