"""Signing in and out."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

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


def tries(client, name: str, *passwords: str):
    return [client.post(LOGIN, {"username": name, "password": password}) for password in passwords][-1]


def without_ids(answer) -> str:
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", answer.content.decode())
    return text.replace(answer["X-Request-ID"], "")


def test_the_sixth_try_is_refused_even_with_the_right_password(client, cast, settings):
    assert tries(client, "bob", *["no"] * 4).status_code == 200
    refused = tries(client, "bob", "no", PASSWORD)
    assert (refused.status_code, refused["Retry-After"]) == (429, "300")
    assert "Try again in 5 minutes" in refused.content.decode()
    assert "_auth_user_id" not in client.session
    assert tries(client, "alice", PASSWORD).status_code == 302, "nobody else has to wait"


def test_a_name_that_nobody_has_is_paused_with_the_same_bytes(client, cast):
    known, unknown = tries(client, "bob", *["no"] * 6), tries(client, "nobody", *["no"] * 6)
    assert (known.status_code, unknown.status_code) == (429, 429)
    assert without_ids(known) == without_ids(unknown)
    assert {*known.headers} == {*unknown.headers}


def test_the_pause_ends_after_its_time_and_trying_does_not_make_it_longer(client, cast, settings):
    tries(client, "bob", *["no"] * 5)
    with time_machine.travel(timezone.now() + timedelta(seconds=290)):
        assert tries(client, "bob", PASSWORD).status_code == 429
    with time_machine.travel(timezone.now() + timedelta(seconds=310)):
        assert tries(client, "bob", PASSWORD).status_code == 302


def test_signing_in_forgets_the_wrong_tries(client, cast):
    for _day in range(3):
        assert tries(client, "bob", *["no"] * 4, PASSWORD).status_code == 302
        client.post(reverse("logout"))


def test_the_pause_holds_for_the_administration_too(client, cast):
    tries(client, "dora", *["no"] * 5)
    answer = client.post(reverse("admin:login"), {"username": "dora", "password": PASSWORD})
    assert answer.status_code == 429


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
