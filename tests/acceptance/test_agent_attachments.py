"""Files by form and by body: kept as they came, and never served as something that a browser runs."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test.client import BOUNDARY, encode_multipart

from handoffs.models import Attachment
from tests.agents import Agent, set_stage

pytestmark = pytest.mark.django_db(transaction=True)
MULTIPART_CONTENT = f"multipart/form-data; boundary={BOUNDARY}"  # the client would encode its own constant again
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) + b"\r\n--no boundary\r\n"
ACTIVE = {
    "page.html": ("text/html", b"<script>alert(1)</script>"),
    "picture.svg": ("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    "page.xhtml": ("application/xhtml+xml", b'<html xmlns="http://www.w3.org/1999/xhtml"/>'),
    "data.xml": ("text/xml", b'<?xml-stylesheet href="evil.xsl"?><a/>'),
    "order.pdf": ("application/pdf", b"%PDF-1.7 /JavaScript"),
    "code.js": ("text/javascript", b"alert(1)"),
    "mail.mht": ("multipart/related", b"MIME-Version: 1.0"),
    "flash.swf": ("application/x-shockwave-flash", b"FWS"),
}


@pytest.fixture
def agent(cast):
    set_stage(cast.alice)
    return Agent()


@pytest.fixture
def path(agent):
    return f"records/{agent.open('tickets', {'subject': 'a'}).json['id']}/attachments"


def form(**parts) -> bytes:
    return encode_multipart(BOUNDARY, parts)


def file(name: str, content: bytes, media_type: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, media_type)


def test_form_holds_a_file_with_its_name_and_type(agent, path):
    raw = form(file=file("card.png", PNG, "image/png"), comment="ignored")
    made, again = (agent.post(path, raw, media=MULTIPART_CONTENT, key="k1") for _ in range(2))
    assert (made.status, made.json["name"], made.json["media_type"]) == (201, "card.png", "image/png")
    assert (again.text, again.headers["Idempotent-Replayed"]) == (made.text, "true")
    assert bytes(Attachment.objects.get().content) == PNG
    got = agent.client.get(f"/api/v1/{path}/{made.json['id']}", headers={"Authorization": f"Bearer {agent.text}"})
    assert got.content == PNG


def test_name_in_the_address_wins_and_folders_are_cut(agent, path):
    named = agent.post(f"{path}?name=other.txt", form(file=file("a.txt", b"x", "text/plain")), media=MULTIPART_CONTENT)
    assert named.json["name"] == "other.txt"
    raw = form(file=file("b.txt", b"y", "text/plain")).replace(b"b.txt", b"../../etc/passwd")
    assert agent.post(path, raw, media=MULTIPART_CONTENT).json["name"] == "passwd"


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (b"nonsense", 400, "invalid_form"),
        (form(comment="no file"), 400, "invalid_form"),
        (form(a=file("a", b"x", "text/plain"), b=file("b", b"y", "text/plain")), 400, "invalid_form"),
        (form(file=file("a", b"", "text/plain")), 422, "unfit_attachment"),
        (form(file=file("a", b"x" * 101, "text/plain")), 413, "too_large"),
        (form(file=file("a", b"x" * 20_000, "text/plain")), 413, "too_large"),
    ],
)
def test_form_that_is_unfit_is_refused(agent, path, settings, raw, status, code):
    settings.HANDOFFS_MAX_ATTACHMENT = 100
    answer = agent.post(path, raw, media=MULTIPART_CONTENT)
    assert (answer.status, answer.code, Attachment.objects.count()) == (status, code, 0), answer.text


@pytest.mark.parametrize("media", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; b=é"])
def test_form_without_a_boundary_is_refused(agent, path, media):
    answer = agent.post(path, form(file=file("a", b"x", "text/plain")), media=media)
    assert (answer.status, answer.code) == (400, "invalid_form")


def test_file_needs_a_name(agent, path):
    answer = agent.post(path, b"x", media="text/plain")
    assert (answer.status, answer.code) == (422, "invalid_parameter")


@pytest.mark.parametrize(
    ("media", "content", "status"),
    [
        ("image/png", PNG, 201),
        ("image/jpeg", b"\xff\xd8\xff\xe0 jpeg", 201),
        ("image/gif", b"GIF89a", 201),
        ("image/webp", b"RIFF\x00\x00\x00\x00WEBP", 201),
        ("application/pdf", b"\n%PDF-1.7", 201),
        ("image/png", b"<script>alert(1)</script>", 422),
        ("image/jpeg", PNG, 422),
        ("application/pdf", b"<html>", 422),
    ],
)
def test_file_is_what_its_type_says_where_browsers_draw_it(agent, path, media, content, status):
    assert agent.post(f"{path}?name=f", content, media=media).status == status


@pytest.mark.parametrize("name", ACTIVE)
def test_what_a_browser_may_run_goes_out_as_bytes(agent, path, cast, name):
    media, content = ACTIVE[name]
    made = agent.post(f"{path}?name={name}", content, media=media).json
    assert made["media_type"] == media
    got = agent.get(f"{path}/{made['id']}")
    assert got.headers["Content-Type"] == "application/octet-stream"
    assert got.headers["Content-Disposition"].startswith("attachment;")
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in got.headers["Content-Security-Policy"]
    agent.client.force_login(cast.bob)
    for query in ("", "?show"):
        page = agent.client.get(f"/attachments/{made['id']}/{query}")
        is_active = page.headers["Content-Type"].partition(";")[0] in {media, "text/html", "application/xhtml+xml"}
        assert page.status_code != 200 or not is_active, (query, page.headers)
        assert page.headers["X-Content-Type-Options"] == "nosniff"
