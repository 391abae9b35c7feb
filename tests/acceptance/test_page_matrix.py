"""Every page × method × everybody: who gets in, who is told no, and for whom there is nothing there at all.

The addresses come from the site's own table: one without a row here fails. What is not yours is a 404 with the bytes of
one that does not exist, but for the request's id and the form's token.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from handoffs.actions import agents, batches, contracts
from handoffs.actions.attachments import File, attach
from handoffs.flows import get_flow
from handoffs.models import Membership, Queue, sql
from handoffs.states import BatchVerb
from reviewqueue.models import SavedView, User
from tests import sample_flows
from tests.cast import PASSWORD
from tests.pages import refused

pytestmark = pytest.mark.django_db
NOWHERE = {"pk": 999_999, "slug": "no-such-queue", "name": "no-such-name", "digest": "0" * 64}
ELSEWHERE = ("admin", "api")  # Django's own, and the API, which has a matrix of its own

# Who gets in: anybody at all, whoever is signed in, who sees the queue, who decides in it, an admin.
OPEN, SIGNED, SEES, DECIDES, ADMIN = "open", "signed in", "sees", "decides", "admin"


@dataclass(frozen=True)
class Row:
    """Who gets in by which method (None: nobody, 405), which things the address names, and what a form sends."""

    get: str | None = SEES
    post: str | None = None
    kwargs: tuple[str, ...] = ()
    sent: tuple[tuple[str, Any], ...] = ()


def form(kind: str, *kwargs: str, **sent: Any) -> Row:
    return Row(get=None, post=kind, kwargs=kwargs, sent=tuple(sent.items()))


ESC, REC, BATCH = "escalation", "record", "batch"
ROWS: dict[str, Row] = {
    "home": Row(OPEN),
    "healthz": Row(OPEN),
    "readyz": Row(OPEN),
    "metrics": Row(ADMIN),
    "login": Row(OPEN, OPEN),
    "logout": Row(None, OPEN),
    "profile": Row(SIGNED, SIGNED),
    "mail-choice": Row(SIGNED, SIGNED),
    "password_change": Row(SIGNED, SIGNED),
    "api-docs": Row(OPEN),
    "inbox": Row(SIGNED),
    "inbox-next": form(SIGNED),
    "notices": Row(SIGNED, SIGNED),
    "records": Row(SIGNED),
    "queues": Row(SIGNED),
    "queue": Row(SEES, kwargs=("queue",)),
    "flows": Row(SIGNED),
    "flow": Row(SEES, kwargs=("flow",)),
    "readiness": Row(SEES, kwargs=("flow",)),
    "readiness-drill": form(DECIDES, "flow"),
    "readiness-input": Row(SEES, kwargs=("flow", "digest")),
    "readiness-forget": form(DECIDES, "flow", "kept"),
    "dashboard": Row(SIGNED),
    "contracts": Row(SIGNED),
    "contract": Row(SEES, SEES, kwargs=("contract",)),
    "contract-version": Row(SEES, kwargs=("contract", "number")),
    "contract-compare": Row(SEES, kwargs=("contract",)),
    "export-escalations": Row(SIGNED, kwargs=("form",)),
    "export-records": Row(SIGNED, kwargs=("form",)),
    "views": Row(SIGNED, SIGNED),
    "view": Row(SEES, kwargs=("view",)),
    "view-rename": form("leads", "view", title="Another"),
    "view-delete": form("leads", "view"),
    "view-first": form(SEES, "view"),
    "batches": Row(SIGNED),
    "escalation-bulk": form(SIGNED, verb="retry", ids="1"),
    "batch": Row("looks", kwargs=(BATCH,)),
    "batch-begin": form("made", BATCH),
    "batch-stop": form("own", BATCH),
    "batch-again": form("looks", BATCH),
    "batch-csv": Row("looks", kwargs=(BATCH,)),
    "escalation": Row(SEES, kwargs=(ESC,)),
    "escalation-preview": Row(SEES, kwargs=(ESC,)),
    "escalation-fix": Row(SEES, DECIDES, kwargs=(ESC,), sent=(("body", "{}"),)),
    "escalation-approve": form(DECIDES, ESC),
    "escalation-answer": form(DECIDES, ESC, answer="x"),
    "escalation-retry": form(DECIDES, ESC),
    "escalation-close": form(DECIDES, ESC, reason="Duplicate"),
    "escalation-undo": form(DECIDES, ESC),
    "escalation-discard-draft": form(SEES, ESC),
    "escalation-claim": form(DECIDES, ESC),
    "escalation-release": form("answers", ESC),
    "escalation-transfer": form(DECIDES, ESC, queue="ledger"),
    "escalation-assign": form(DECIDES, ESC, person="bob"),
    "escalation-snooze": form(DECIDES, ESC, until="2099-01-01 00:00"),
    "escalation-keep": form(DECIDES, ESC),
    "escalation-comment": form("says", ESC, text="Hello"),
    "record": Row(SEES, kwargs=(REC,)),
    "record-body": Row(SEES, kwargs=(REC,)),
    "record-json": Row(SEES, kwargs=(REC,)),
    "record-reopen": form(DECIDES, REC),
    "record-close": form(DECIDES, REC, reason="Duplicate"),
    "attachment": Row(SEES, kwargs=("attachment",)),
    "attachment-view": Row(SEES, kwargs=("attachment",)),
    "attachment-page": Row(SEES, kwargs=("attachment", "page")),
}
INSIDERS = {
    SEES: {"viewer", "auditor", "bob", "alice", "dora"},
    DECIDES: {"bob", "alice", "dora"},
    ADMIN: {"dora"},
    "leads": {"bob", "alice", "dora"},  # who made the view, who owns its queue, admins
    "own": {"bob", "dora"},  # who made the batch, and admins
    "looks": {"auditor", "bob", "dora"},  # as the last, and auditors
    "says": {"viewer", "bob", "alice", "dora"},
    "made": {"bob"},
    "answers": {"alice", "dora"},  # what nobody has is released by who owns the queue
}
OUTSIDERS = {"other"}


def pages(resolver: Any, prefix: tuple[str, ...] = ()) -> list[str]:
    found: list[str] = []
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            if str(entry.pattern).strip("/").partition("/")[0] not in ELSEWHERE:
                found += pages(entry)
        elif isinstance(entry, URLPattern) and entry.name and not is_api(entry):
            found.append(entry.name)
    return found


def is_api(entry: URLPattern) -> bool:
    return (getattr(entry.callback, "__module__", "") or "").startswith(("handoffs.api", "ninja"))


def test_every_page_has_a_row():
    assert set(pages(get_resolver())) == ROWS.keys()


@dataclass
class Stage:
    people: dict[str, Client]
    things: dict[str, dict[str, Any]]

    def address(self, name: str, missing: str = "") -> str:
        """With `missing`, one thing of the address is replaced by one that is not there."""
        kwargs: dict[str, Any] = {}
        for thing in ROWS[name].kwargs:
            kwargs |= self.things[thing]
            if thing == missing:
                kwargs |= {key: NOWHERE[key] for key in self.things[thing]}
        return reverse(name, kwargs=kwargs or None)


@pytest.fixture
def stage(cast):
    make = User.objects.create_user
    queue = cast.queues["order-exceptions"]
    viewer, other = make("viewer", password=PASSWORD), make("other", password=PASSWORD)
    Membership.objects.create(queue=queue, user=viewer, role="viewer")
    own = Queue.objects.create(slug="elsewhere", title="Elsewhere", owner=other)
    Membership.objects.create(queue=own, user=other, role="reviewer")
    contracts.store_versions(contracts.contracts_of([get_flow("orders")]))
    stopped = refused()
    batch = batches.draft(verb=BatchVerb.RETRY, by=cast.bob, escalations=[stopped.pk], query="")
    view = SavedView.objects.create(title="Shared", query="", maker=cast.bob, queue=queue, made_at=sql.now())
    file, _is_new = attach(record=stopped.record, what=File("a.txt", "text/plain", b"hello"), actor="agent:echo")
    things = {
        "queue": {"slug": queue.slug}, "flow": {"name": "orders"}, "digest": {"digest": "0" * 64}, "kept": {"pk": 1},
        "contract": {"name": contracts.name_of(sample_flows.Draft)},
        "number": {"number": 1}, "form": {"form": "csv"}, "view": {"pk": view.pk},
        BATCH: {"pk": batch.pk}, ESC: {"pk": stopped.pk}, REC: {"pk": stopped.record_id},
        "attachment": {"pk": file.pk}, "page": {"page": 1},
    }  # fmt: skip
    people = {"anonymous": Client(), "agent": Client(HTTP_AUTHORIZATION=f"Bearer {token(cast)}")}
    auditor = make("auditor", password=PASSWORD, is_auditor=True)
    for person in (viewer, auditor, cast.bob, other, cast.alice, cast.dora):
        people[person.username] = Client()
        people[person.username].force_login(person)
    return Stage(people, things)


def token(cast) -> str:
    made = agents.create_token(name="robot", scopes_text="*: open, read, work", by="reviewer:dora")
    return made.text


def asked(client: Client, method: str, address: str, sent: Any) -> Any:
    """The answer; whatever it did is taken back."""
    with transaction.atomic():
        answer = client.get(address) if method == "get" else client.post(address, dict(sent))
        if getattr(answer, "streaming", False):
            b"".join(answer.streaming_content)
        transaction.set_rollback(True)
    return answer


def bare(answer: Any) -> bytes:
    """A page without what may differ: the request's id, the form's token, the address itself."""
    body = answer.content.replace(answer["X-Request-ID"].encode(), b"")
    return re.sub(rb'name="csrfmiddlewaretoken" value="[^"]*"', b"", body)


CASES = [(name, method) for name in ROWS for method in ("get", "post")]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_who_gets_in(stage, name, method):
    row = ROWS[name]
    kind, address = getattr(row, method), stage.address(name)
    for who, client in stage.people.items():
        answer = asked(client, method, address, row.sent)
        said = (who, name, method, answer.status_code)
        assert answer.status_code < 500, said
        if kind is None:
            assert answer.status_code == 405, said
        elif kind == OPEN:
            assert answer.status_code in {200, 302, 503}, said
        elif kind == ADMIN:
            assert answer.status_code == (200 if who in INSIDERS[ADMIN] else 404), said
        elif who in {"anonymous", "agent"}:
            assert (answer.status_code, answer["Location"].split("?")[0]) == (302, reverse("login")), said
        elif kind == SIGNED:
            assert answer.status_code in {200, 302, 400, 422}, said
        elif who in OUTSIDERS:
            assert answer.status_code == 404, said
        elif who in INSIDERS[kind]:
            assert answer.status_code not in {403, 405}, said
        else:
            assert answer.status_code in {403, 404}, said


HIDDEN = [(name, method) for name, row in ROWS.items() for method in ("get", "post")
          if row.kwargs and getattr(row, method) not in {None, SIGNED}]  # fmt: skip


@pytest.mark.parametrize(("name", "method"), HIDDEN)
def test_what_is_not_yours_looks_like_what_is_not_there(stage, name, method):
    row = ROWS[name]
    client = stage.people["other"]
    there = asked(client, method, stage.address(name), row.sent)
    missing = asked(client, method, stage.address(name, missing=row.kwargs[0]), row.sent)
    assert (there.status_code, missing.status_code) == (404, 404)
    assert bare(there) == bare(missing)
    assert {*there.headers} == {*missing.headers}
