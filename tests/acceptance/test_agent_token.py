"""Tokens: made, shown once, rotated, revoked, and what they cost and allow."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from handoffs import scopes
from handoffs.actions import agents
from handoffs.api import limits
from handoffs.errors import DeclarationError, UnfitToken
from handoffs.models import AgentToken, AuditEntry, Record, Transition, sql
from handoffs.scopes import Verb
from tests.agents import API, Agent, said, set_stage

pytestmark = pytest.mark.django_db(transaction=True)
NEW = {"name": "mailbox", "scopes": "tickets: open", "requests_per_minute": "", "expires_at_0": "", "expires_at_1": ""}


def flows_seen_with(text: str) -> int:
    return said(Client().get(f"{API}flows", headers={"Authorization": f"Bearer {text}"})).status


@pytest.fixture
def admin(cast):
    limits.forget_requests()
    browser = Client()
    browser.force_login(cast.dora)
    return browser


def text_in(page: str) -> str:
    return page.partition('<pre id="agent-token">')[2].partition("</pre>")[0]


def test_admin_shows_a_new_token_once(admin):
    answer = admin.post("/admin/handoffs/agenttoken/add/", NEW)
    text = text_in(answer.content.decode())
    assert text.startswith("hf_")
    assert "no-store" in answer.headers["Cache-Control"]
    assert not answer.cookies or text not in str(answer.cookies)
    assert flows_seen_with(text) == 200
    token = AgentToken.objects.get()
    for address in ("", f"{token.pk}/change/", "add/"):
        page = admin.get(f"/admin/handoffs/agenttoken/{address}", follow=True).content.decode()
        assert text.rpartition("_")[2] not in page
    assert token.made_by == "reviewer:dora"
    assert AuditEntry.objects.get(action="token.create").actor == "reviewer:dora"


@pytest.mark.parametrize("wrong", [{"scopes": "tickets"}, {"scopes": "tickets: fly"}, {"name": ""}, {"scopes": ""}])
def test_admin_refuses_what_is_no_token(admin, wrong):
    assert admin.post("/admin/handoffs/agenttoken/add/", NEW | wrong).status_code == 200
    assert not AgentToken.objects.exists()


def test_admin_rotates_and_revokes(admin):
    old = text_in(admin.post("/admin/handoffs/agenttoken/add/", NEW).content.decode())
    chosen = {"_selected_action": [AgentToken.objects.get().pk]}
    new = text_in(admin.post("/admin/handoffs/agenttoken/", chosen | {"action": "rotate"}).content.decode())
    assert new != old
    assert [flows_seen_with(text) for text in (old, new)] == [200, 200]
    admin.post("/admin/handoffs/agenttoken/", chosen | {"action": "revoke"})
    assert [flows_seen_with(text) for text in (old, new)] == [401, 401]
    assert AgentToken.objects.get().revoked_by == "reviewer:dora"


def test_reviewers_make_no_tokens(cast):
    browser = Client()
    browser.force_login(cast.alice)
    assert browser.get("/admin/handoffs/agenttoken/").status_code in {302, 403}


def run(*words: str) -> str:
    out = StringIO()
    call_command("agent_token", *words, stdout=out)
    return out.getvalue().strip()


def test_command_makes_lists_rotates_and_revokes(db):
    limits.forget_requests()
    text = run("create", "mailbox", "--scope", "tickets: open, read", "--scope", "asks/approvals: ask", "--days", "7")
    assert flows_seen_with(text) == 200
    listed = run("list")
    assert "tickets: open, read; asks/approvals: ask" in listed
    assert text.rpartition("_")[2] not in listed
    new = run("rotate", "mailbox", "--hours", "0")
    assert [flows_seen_with(found) for found in (text, new)] == [401, 200]
    run("revoke", "mailbox")
    assert flows_seen_with(new) == 401
    assert AuditEntry.objects.get(action="token.revoke").actor.startswith("system:console")
    for words in (("revoke", "nobody"), ("rotate", "mailbox"), ("create", "x", "--scope", "y")):
        with pytest.raises(CommandError):
            run(*words)


def test_old_secret_is_taken_while_rotating_and_no_longer(db):
    agent = Agent()
    new = agents.rotate_token(token=agent.token, by="system:tests", overlap=timedelta(days=9)).text
    until = AgentToken.objects.get().old_until
    assert until - sql.now() < timedelta(hours=24, seconds=1)
    assert [flows_seen_with(text) for text in (agent.text, new)] == [200, 200]
    AgentToken.objects.update(old_until=sql.now() - timedelta(seconds=1))
    assert [flows_seen_with(text) for text in (agent.text, new)] == [401, 200]


def test_last_use_is_written_once_a_minute(db, django_assert_num_queries):
    agent = Agent()
    agent.get("flows")
    used = AgentToken.objects.get().last_used_at
    assert (used.second, used.microsecond) == (0, 0)
    with django_assert_num_queries(1):
        agents.authenticate(agent.text)


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\nb", "taken"])
def test_token_needs_a_name_of_its_own(db, name):
    Agent("taken")
    with pytest.raises(UnfitToken):
        agents.create_token(name=name, scopes_text="*: read", by="system:tests")


def test_token_can_not_have_expired_already(db):
    with pytest.raises(UnfitToken):
        agents.create_token(name="x", scopes_text="*: read", by="system:tests", expires_at=sql.now())


def test_scopes_deny_by_default():
    granted = scopes.parse("tickets/classify: work, read\n*/post: work")
    allowed = [
        (verb, flow, step)
        for verb in (Verb.WORK, Verb.READ, Verb.OPEN)
        for flow in ("tickets", "orders")
        for step in ("classify", "post")
        if any(scope.allows(verb, flow, step) for scope in granted)
    ]
    assert allowed == [
        ("work", "tickets", "classify"),
        ("work", "tickets", "post"),
        ("work", "orders", "post"),
        ("read", "tickets", "classify"),
    ]
    assert scopes.parse(scopes.as_text(granted)) == granted


@pytest.mark.parametrize("text", ["", "\n", "tickets", "tickets:", "Tickets: read", "tickets/: fly", "a/b/c: read"])
def test_what_is_no_scope_is_refused(text):
    with pytest.raises(DeclarationError):
        scopes.parse(text)


def test_nothing_is_accepted_that_started_after_the_revocation(cast):
    set_stage(cast.alice)
    agent = Agent(requests_per_minute=1_000_000)
    stop, started_late, done = threading.Event(), [], []
    revoked = threading.Event()

    def post(number: int) -> None:
        try:
            while not stop.is_set():
                late = revoked.is_set()
                answer = agent.open("tickets", {"subject": str(number)})
                done.append(answer.status)
                if late:
                    started_late.append(answer.status)
                    return
        finally:
            connection.close()

    threads = [threading.Thread(target=post, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    while len(done) < 40:
        stop.wait(0.01)
    agents.revoke_token(token=agent.token, by="system:tests")
    revoked.set()
    for thread in threads:
        thread.join(30)
    stop.set()
    assert set(done) == {201, 401}
    assert set(started_late) == {401}
    at = AgentToken.objects.get().revoked_at
    assert Record.objects.count() == done.count(201)
    assert Transition.objects.filter(happened_at__gt=at + timedelta(seconds=5)).count() == 0


def test_requests_above_the_limit_are_told_when_to_come_again(db):
    limits.forget_requests()
    agent = Agent(requests_per_minute=60)
    answers = [agent.get("flows") for _ in range(70)]
    statuses = [answer.status for answer in answers]
    assert statuses.count(200) in {60, 61, 62}
    last = answers[-1]
    assert (last.status, last.code, last.headers["Retry-After"]) == (429, "rate_limited", "1")
    assert "60" in last.json["detail"]
    assert Agent("other").get("flows").status == 200


@pytest.mark.parametrize(
    ("media", "headers", "status", "code"),
    [
        ("application/json", {"Content-Encoding": "gzip"}, 415, "unsupported_encoding"),
        ("text/plain", {}, 415, "unsupported_media_type"),
        ("multipart/form-data; boundary=x", {}, 415, "unsupported_media_type"),
        ("application/json; charset=utf-8", {}, 201, ""),
    ],
)
def test_body_must_be_plain_json(cast, media, headers, status, code):
    set_stage(cast.alice)
    answer = Agent().post("flows/tickets/records", {"input": {"subject": "a"}}, media=media, **headers)
    assert (answer.status, answer.code) == (status, code)


def test_body_above_the_limit_names_both_numbers(cast):
    set_stage(cast.alice)
    raw = b'{"input": {"subject": "' + b"x" * 2_000_000 + b'"}}'
    answer = Agent().post("flows/tickets/records", raw)
    assert (answer.status, answer.json["sent"], answer.json["allowed"]) == (413, len(raw), 2_000_000)
    assert f"{len(raw):,}" in answer.json["detail"]
    assert Record.objects.count() == 0
