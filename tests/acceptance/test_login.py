"""Signing in and out."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.cast import PASSWORD
from tests.pages import main_words

pytestmark = pytest.mark.django_db
LOGIN = reverse("login")
PAGES = ("inbox", "records", "queues", "flows", "profile", "password_change")


@pytest.mark.parametrize("name", PAGES)
def test_every_page_asks_who_you_are_and_leads_back_to_itself(client, cast, name):
    answer = client.get(reverse(name))
    assert (answer.status_code, answer["Location"]) == (302, f"{LOGIN}?next={reverse(name)}")


def test_the_root_is_the_inbox(client):
    assert client.get("/")["Location"] == reverse("inbox")


def test_a_person_signs_in_and_goes_where_they_wanted_to(client, cast):
    page = client.get(LOGIN, {"next": "/queues/"})
    assert 'autocomplete="username"' in page.content.decode()
    assert 'autocomplete="current-password"' in page.content.decode()
    answer = client.post(LOGIN, {"username": "bob", "password": PASSWORD, "next": "/queues/"})
    assert (answer.status_code, answer["Location"]) == (302, "/queues/")
    assert client.get(LOGIN)["Location"] == reverse("home")


@pytest.mark.parametrize("next_page", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_a_sign_in_never_leads_to_another_site(client, cast, next_page):
    answer = client.post(LOGIN, {"username": "bob", "password": PASSWORD, "next": next_page})
    assert answer["Location"] == reverse("home")


def test_a_wrong_password_is_told_and_nothing_is_given_away(client, cast):
    wrong = client.post(LOGIN, {"username": "bob", "password": "no"})
    nobody = client.post(LOGIN, {"username": "nobody", "password": "no"})
    assert "You are not signed in" in main_words(wrong)
    assert main_words(wrong) == main_words(nobody)
    assert "_auth_user_id" not in client.session


def test_who_has_left_cannot_sign_in(client, cast):
    cast.bob.is_active = False
    cast.bob.save()
    client.post(LOGIN, {"username": "bob", "password": PASSWORD})
    assert "_auth_user_id" not in client.session


def test_signing_out_takes_a_button(client, cast):
    client.force_login(cast.bob)
    assert client.get(reverse("logout")).status_code == 405
    assert "You are signed out" in main_words(client.post(reverse("logout")))
    assert client.get(reverse("inbox")).status_code == 302


def test_pages_of_a_person_are_kept_out_of_every_cache_and_run_no_foreign_code(client, cast):
    client.force_login(cast.bob)
    page = client.get(reverse("inbox"))
    assert page["Cache-Control"] == "no-store"
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert "unsafe" not in page["Content-Security-Policy"]
    assert "nonce" not in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
