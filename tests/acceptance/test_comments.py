"""Comments stay with the record; whoever is named in one is told, if they may see the queue."""

from __future__ import annotations

import pytest

from handoffs.actions.mentions import named_in, spans
from handoffs.actions.spreading import spread
from handoffs.models import Comment, Membership, Notice
from handoffs.states import Role
from tests.acceptance.stopped import refused, url
from tests.browsing import form, send_with, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def write(client, escalation, text):
    return send_with(client, form(client.get(url(escalation)), "/comment/"), {"text": text})


def notices(person):
    spread(limit=100)
    return [notice.event for notice in Notice.objects.filter(user=person)]


def test_who_is_named_is_told_and_the_writer_is_told_who_that_is(bob, cast):
    escalation = refused()
    Notice.objects.all().delete()
    response = write(bob, escalation, "Can you look, @alice? It is <b>odd</b>.")
    assert response.headers["Location"].endswith("#timeline")
    page = bob.get(response.headers["Location"])
    assert "Commented. Alice Ek is told." in text_of(page)
    assert '<b class="named" title="Alice Ek">@alice</b>? It is &lt;b&gt;odd' in page.content.decode()
    assert "comment.mention" in notices(cast.alice)
    bob.force_login(cast.alice)
    told = text_of(bob.get("/notices/"))
    assert "bob names you in a comment" in told


def test_who_may_not_see_the_queue_is_not_told(bob, cast):
    escalation = refused()
    page = bob.get(write(bob, escalation, "@charlie and @nobody, please").headers["Location"])
    assert "Nobody of this queue is called @charlie, @nobody, so nobody was told." in text_of(page)
    assert 'class="named"' not in page.content.decode()
    assert notices(cast.charlie) == []


def test_viewers_and_admins_can_be_named_and_oneself_is_not_told(bob, cast):
    escalation = refused()
    Membership.objects.create(queue=escalation.queue, user=cast.charlie, role=Role.VIEWER)
    text = text_of(bob.get(url(escalation)))
    for said in ("@alice Alice Ek", "@charlie Charlie Out", "@dora Dora"):
        assert said in text
    assert "@bob" not in text
    write(bob, escalation, "@Charlie @dora. @bob @charlie")
    assert {named.username for named in named_in("@Charlie @dora. @bob", escalation.queue).people} == {
        "bob",
        "charlie",
        "dora",
    }
    assert notices(cast.charlie) == ["comment.mention"]
    assert "comment.mention" in notices(cast.dora)
    assert notices(cast.bob) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@a.b-c@d. hm", ["a.b-c@d"]),
        ("mail me@example.com", []),
        ("(@alice), @bob!", ["alice", "bob"]),
        ("@ @. @@x", ["@x"]),
        ("@a " * 80, ["a"] * 50),
    ],
)
def test_what_looks_like_a_name(text, names):
    assert [name for _start, _end, name in spans(text)] == names


def test_a_record_that_does_not_wait_takes_comments_too(bob, cast):
    escalation = refused()
    here = f"/records/{escalation.record_id}/"
    page = bob.get(here + "?tab=history")
    response = send_with(bob, form(page, "/comment/"), {"text": "Seen."})
    assert response.headers["Location"] == f"{here}?tab=history#timeline"
    assert Comment.objects.get().text == "Seen."
    empty = send_with(bob, form(page, "/comment/"), {"text": "  "})
    assert empty.status_code == 422
    assert "Write something." in text_of(empty)
    bob.force_login(cast.charlie)
    assert bob.post(here + "comment/", {"text": "x"}).status_code == 404
    assert bob.get(here + "comment/").status_code == 405


def test_a_comment_too_long_comes_back_whole(bob):
    escalation = refused()
    response = write(bob, escalation, "x" * 10_001)
    assert response.status_code == 422
    assert "x" * 10_001 in response.content.decode()
