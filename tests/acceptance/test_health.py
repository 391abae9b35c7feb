"""What a load balancer asks, and static files as they are served in production."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.urls import reverse

from reviewqueue.views import ops

HEALTH, READY = reverse("healthz"), reverse("readyz")


@pytest.fixture(autouse=True)
def _nothing_remembered():
    ops.forget()
    yield
    ops.forget()


def test_a_process_that_is_up_says_so_without_a_database(client):
    answer = client.get(HEALTH)  # no database is allowed in this test
    assert (answer.status_code, answer.content) == (200, b"ok\n")
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_ready_when_the_database_answers_and_is_migrated(client):
    answer = client.get(READY)
    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "database": "ok", "migrations": "ok"}


@pytest.mark.django_db
def test_not_ready_while_a_migration_is_pending(client):
    MigrationRecorder.Migration.objects.filter(app="handoffs").latest("pk").delete()
    answer = client.get(READY)
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "database": "ok", "migrations": "pending"}


@pytest.mark.django_db
def test_not_ready_while_the_database_is_away(client, monkeypatch):
    def away(*args, **kwargs):
        raise OperationalError("could not connect to server at 10.0.0.5")

    monkeypatch.setattr(connection, "cursor", away)
    answer = client.get(READY)
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "database": "away", "migrations": "unknown"}


@pytest.mark.django_db
def test_probes_are_answered_without_https_where_pages_are_not(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get(HEALTH).status_code == 200
    assert Client().get(READY).status_code == 200
    assert Client().get(reverse("login"))["Location"].startswith("https://")


@pytest.mark.django_db
def test_static_files_are_served_under_hashed_names_and_kept_forever(hashed_files, settings):
    assert settings.DEBUG is False
    client = Client()
    page = client.get(reverse("login")).content.decode()
    addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(addresses) >= 8
    for address in addresses:
        assert re.search(r"\.[0-9a-f]{12}\.", address), address
        with closing(client.get(address)) as file:
            assert file.status_code == 200, address
            assert "immutable" in file["Cache-Control"], address
            assert b"".join(file.streaming_content)


@pytest.mark.django_db
def test_static_files_are_compressed_once_and_sent_so(hashed_files):
    client = Client()
    page = client.get(reverse("login")).content.decode()
    sheet = re.search(r'href="(/static/css/components[^"]+)"', page)[1]
    with closing(client.get(sheet, headers={"Accept-Encoding": "gzip"})) as file:
        assert file["Content-Encoding"] == "gzip"


@pytest.mark.django_db
def test_an_error_page_finds_its_styles_without_the_manifest(hashed_files):
    client = Client()
    for sheet in ("tokens", "base", "layout", "components"):
        with closing(client.get(f"/static/css/{sheet}.css")) as file:
            assert file.status_code == 200
