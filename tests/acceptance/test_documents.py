"""Documents beside the form: drawn, laid out or read as text by the server; nothing of them runs in a browser."""

from __future__ import annotations

import io
import re

import pytest
from django.core.cache import cache
from PIL import Image

from handoffs.models import Escalation
from tests.acceptance.stopped import refused, unsure, url
from tests.browsing import form, text_of
from tests.papers import attached, gif_bomb, image, pdf, png_bomb

pytestmark = pytest.mark.django_db

HERE = {"HTTP_HX_REQUEST": "true", "HTTP_HX_TARGET": "document"}


@pytest.fixture
def bob(client, cast):
    cache.clear()
    client.force_login(cast.bob)
    return client


def view(client, attachment, query=""):
    response = client.get(f"/attachments/{attachment.pk}/view/{query}", **HERE)
    assert response.status_code == 200
    return response


def picture(client, attachment, page=1, query=""):
    response = client.get(f"/attachments/{attachment.pk}/pages/{page}/{query}")
    assert response.status_code == 200, response.content
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["X-Content-Type-Options"] == "nosniff"
    return Image.open(io.BytesIO(response.content))


def marks(response):
    return re.findall(r'<rect class="(seen[^"]*)"[^>]* x="([\d.]+)" y="([\d.]+)"', response.content.decode())


def test_a_pdf_is_drawn_page_by_page(bob):
    record = refused().record
    order = attached(record, pdf("first", "second", "third"), "order.pdf", "application/pdf")
    text = text_of(bob.get(url(Escalation.objects.get())))
    assert "page 1 of 3" in text
    assert "Next page >" in text
    assert "Previous page" not in text
    second = view(bob, order, "?page=2&zoom=2")
    assert "page 2 of 3 " in text_of(second)
    assert f"/attachments/{order.pk}/pages/2/?zoom=2" in second.content.decode()
    assert picture(bob, order, 2).format == "PNG"
    assert picture(bob, order, 2).width == 900
    assert 1590 < picture(bob, order, 2, "?zoom=2").width < 1610


def test_images_are_drawn_anew_and_never_sent_as_they_came(bob):
    record = refused().record
    photo = attached(record, image("JPEG", (3000, 2000)), "photo.jpg", "image/jpeg")
    drawn = picture(bob, photo)
    assert (drawn.format, drawn.size) == ("JPEG", (900, 600))
    moving = attached(record, image("GIF"), "a.gif", "image/gif")
    assert picture(bob, moving).format == "PNG"


@pytest.mark.parametrize(
    ("content", "name", "sort", "said"),
    [
        (pdf("x")[:200], "cut.pdf", "application/pdf", "damaged"),
        (b"%PDF-1.7 nothing", "empty.pdf", "application/pdf", "damaged"),
        (b"\x89PNG", "b.png", "image/png", "damaged"),
        (png_bomb(), "bomb.png", "image/png", "too large"),
        (gif_bomb(), "bomb.gif", "image/gif", "too large"),
        (b"\0\1\2", "x.bin", "application/x-thing", "of the type application/x-thing is not shown"),
    ],
    ids=["cut", "no pdf", "broken image", "png bomb", "gif bomb", "unknown"],
)
def test_what_cannot_be_shown_says_so_and_stays_a_download(bob, content, name, sort, said):
    escalation = refused()
    found = attached(escalation.record, content, name, sort)
    response = bob.get(url(escalation))
    assert response.status_code == 200
    assert said in text_of(response)
    assert bob.get(f"/attachments/{found.pk}/").content == content
    assert bob.get(f"/attachments/{found.pk}/pages/1/").status_code in {404, 422}


def test_a_pdf_with_a_password_says_so(bob):
    escalation = refused()
    locked = pdf("secret").replace(
        b"trailer << ",
        b"trailer << /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O (" + b"o" * 32 + b") /U (" + b"u" * 32 + b") >>"
        b" /ID [(a) (a)] ",
    )
    attached(escalation.record, locked, "locked.pdf", "application/pdf")
    assert "locked with a password" in text_of(bob.get(url(escalation)))


def test_a_box_marks_the_region_that_a_field_came_from(bob):
    seen = {"attachment": "order.pdf", "page": 2, "box": [0.1, 0.2, 0.3, 0.05]}
    escalation = unsure(0.5, evidence={"/total": seen, "/number": seen | {"box": [0, 0, 0.1, 0.1]}})
    order = attached(escalation.record, pdf("a", "b"), "order.pdf", "application/pdf")
    page = bob.get(url(escalation)).content.decode()
    there = f"/attachments/{order.pk}/view/?page=2&amp;at=%2Ftotal"
    assert f'href="{there}#there"' in page
    assert f'hx-get="{there}" hx-target="#document"' in page
    assert 'hx-trigger="click, focusin from:closest .fix-row"' in page
    answer = view(bob, order, "?page=2&at=/total")
    assert marks(answer) == [("seen", "0.0", "0.0"), ("seen is-on", "100.0", "283.0")]
    assert " style=" not in answer.content.decode()
    assert "Marked: where /total was seen." in text_of(answer)
    assert marks(view(bob, order, "?page=1")) == []


def test_a_quote_is_found_on_its_page_and_marked(bob):
    escalation = unsure(0.5, evidence={"/total": {"quote": "Sum: 10.00"}})
    order = attached(
        escalation.record, pdf("cover", "Items\nSum:  10.00".replace("  ", " ")), "o.pdf", "application/pdf"
    )
    answer = view(bob, order, "?at=/total")
    assert "page 2 of 2" in text_of(answer)
    ((sort, x, y),) = marks(answer)
    assert sort == "seen is-on"
    assert 90 < float(x) < 110
    assert 60 < float(y) < 150


def test_a_quote_is_highlighted_in_text_whatever_its_line_ends(bob):
    escalation = unsure(0.5, evidence={"/total": {"quote": "ten  euros"}, "/number": {"quote": "A-1"}})
    attached(escalation.record, b"Order A-1\nover ten\neuros <b>now</b>", "note.txt", "text/plain")
    page = bob.get(url(escalation) + "?at=/total").content.decode()
    assert '<mark title="/total" class="is-on" id="there" data-there>ten\neuros</mark>' in page
    assert '<mark title="/number">A-1</mark>' in page
    assert "&lt;b&gt;now" in page


def test_a_path_marks_its_element_in_xml(bob):
    path = "/Order/Line[2]/Sum"
    escalation = unsure(0.5, evidence={"/total": {"attachment": "o.xml", "quote": path}})
    xml = b"<Order><Line><Sum>1</Sum></Line><Line><Sum c='EUR'>10</Sum></Line></Order>"
    attached(escalation.record, xml, "o.xml", "application/xml")
    page = bob.get(url(escalation) + "?at=/total").content.decode()
    assert "data-there>&lt;Sum c=&#x27;EUR&#x27;&gt;10&lt;/Sum&gt;</mark>" in page


def test_the_first_broken_or_least_sure_field_is_marked_when_the_page_opens(bob):
    evidence = {"/total": {"quote": "over 10"}, "/number": {"quote": "A-1"}}
    escalation = unsure(0.5, evidence=evidence, field_confidence={"/number": 0.9, "/total": 0.4})
    attached(escalation.record, b"Order A-1 over 10", "note.txt", "text/plain")
    assert 'title="/total" class="is-on"' in bob.get(url(escalation)).content.decode()


MAIL = b"""From: =?utf-8?q?J=C3=BCrgen?= <j@example.com>
To: orders@example.com
Subject: Order 7 <script>alert(1)</script>
Date: Mon, 30 Nov 2026 10:00:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset=utf-8

<p>Ten of <b>these</b>.</p><script>alert(2)</script><img src="https://example.com/spy.png">
--b
Content-Type: application/pdf; name="order.pdf"
Content-Disposition: attachment; filename="order.pdf"
Content-Transfer-Encoding: base64

JVBERg==
--b--
"""


def test_a_mail_is_heads_words_and_the_list_of_what_is_attached(bob):
    escalation = refused()
    attached(escalation.record, MAIL, "order.eml", "application/octet-stream")
    response = bob.get(url(escalation))
    text = text_of(response)
    assert "From Jürgen <j@example.com>" in text
    assert "Subject Order 7 <script>alert(1)</script>" in text
    assert "Ten of these." in text
    assert "alert(2)" not in text
    assert "spy.png" not in response.content.decode()
    assert "order.pdf application/pdf, 4 bytes" in text


def test_a_link_is_named_not_fetched_and_opens_safely(bob):
    escalation = refused()
    attached(escalation.record, None, "far.pdf", "application/pdf", link="https://files.example.com/far.pdf")
    page = bob.get(url(escalation)).content.decode()
    assert 'href="https://files.example.com/far.pdf" target="_blank" rel="noopener noreferrer nofollow ugc"' in page
    assert "was not fetched" in page


def test_only_http_links_are_links(bob):
    escalation = unsure(0.5, evidence={"/total": {"link": "javascript:alert(1)", "quote": "x"}})
    attached(escalation.record, None, "far.pdf", "application/pdf", link="javascript:alert(1)")
    assert "javascript:" not in bob.get(url(escalation)).content.decode()


def test_a_document_has_a_page_of_its_own_for_who_may_see_the_record(bob, cast):
    escalation = refused()
    order = attached(escalation.record, pdf("a", "b"), "order.pdf", "application/pdf")
    whole = bob.get(f"/attachments/{order.pk}/view/?page=2")
    assert b"<h1>order.pdf</h1>" in whole.content
    assert "page 2 of 2" in text_of(whole)
    assert b"<html" not in view(bob, order).content
    bob.force_login(cast.charlie)
    for address in ("", "view/", "pages/1/"):
        assert bob.get(f"/attachments/{order.pk}/{address}").status_code == 404


def test_pages_beyond_the_end_are_the_last_one_and_no_picture(bob):
    escalation = refused()
    order = attached(escalation.record, pdf("a", "b"), "order.pdf", "application/pdf")
    assert "page 2 of 2" in text_of(view(bob, order, "?page=77"))
    assert "page 1 of 2" in text_of(view(bob, order, "?page=0&zoom=9"))
    assert bob.get(f"/attachments/{order.pk}/pages/3/").status_code == 422
    assert bob.get(f"/attachments/{order.pk}/pages/9999/").status_code == 404


def test_who_draws_has_no_secret_and_its_crash_is_not_ours(bob, monkeypatch):
    from reviewqueue import pictures

    seen = {}

    def crash(*args, **kwargs):
        seen.update(kwargs)
        return pictures.subprocess.CompletedProcess(args, -11, b"", b"")

    monkeypatch.setattr(pictures.subprocess, "run", crash)
    escalation = refused()
    attached(escalation.record, pdf("a"), "order.pdf", "application/pdf")
    assert "damaged" in text_of(bob.get(url(escalation)))
    assert seen["env"] == {}


def test_fields_in_doubt_stand_before_the_others(bob):
    escalation = unsure(0.5, field_confidence={"/number": 0.9, "/total": 0.4})
    names = [name for name in form(bob.get(url(escalation)), "/fix/").data if name.startswith("/")]
    assert names == ["/total", "/number", "/purchase_order"]
