"""A person's own settings: time zone, language, theme, keys, password."""

from __future__ import annotations

import pytest
from django.urls import reverse

from reviewqueue.models import User
from tests.cast import PASSWORD
from tests.pages import change, main_words, refused

pytestmark = pytest.mark.django_db
PROFILE, PASSWORD_PAGE = reverse("profile"), reverse("password_change")


@pytest.fixture
def bob(client, cast):
    client.force_login(cast.bob)
    return client


def said(**values):
    return {"first_name": "Bob", "last_name": "Lind", "time_zone": "UTC", "keys": "on"} | values


def test_settings_are_saved_and_shown(bob, cast):
    answer = bob.post(PROFILE, said(time_zone="Europe/Berlin", theme="dark", last_name="Lindt"), follow=True)
    assert answer.redirect_chain == [(PROFILE, 302)]
    assert "Saved." in main_words(answer)
    person = User.objects.get(username="bob")
    assert (person.time_zone, person.theme, person.keys, person.last_name) == ("Europe/Berlin", "dark", True, "Lindt")
    assert 'data-theme="dark"' in answer.content.decode()


def test_only_what_changed_is_written(bob, cast):
    User.objects.filter(username="bob").update(is_staff=True)
    bob.post(PROFILE, said(theme="light"))
    person = User.objects.get(username="bob")
    assert (person.is_staff, person.theme) == (True, "light")


def test_keys_can_be_turned_off(bob, cast):
    values = said()
    del values["keys"]
    page = bob.post(PROFILE, values, follow=True)
    assert 'data-keys="off"' in page.content.decode()


def test_times_are_shown_where_the_person_is(bob, cast):
    change(refused(), due_at="2031-01-15T12:00:00Z")
    assert "Jan. 15, 2031, noon" in bob.get(reverse("inbox")).content.decode()
    bob.post(PROFILE, said(time_zone="Asia/Tokyo"))
    assert "Jan. 15, 2031, 9 p.m." in bob.get(reverse("inbox")).content.decode()


def test_the_language_of_the_profile_comes_before_the_browsers(bob, cast):
    bob.post(PROFILE, said(language="de"))
    assert '<html lang="de"' in bob.get(PROFILE, headers={"Accept-Language": "en"}).content.decode()


@pytest.mark.parametrize(
    "values", [{"time_zone": "Mars/Base"}, {"theme": "pink"}, {"language": "xx"}, {"time_zone": ""}]
)
def test_a_value_that_means_nothing_is_refused(bob, cast, values):
    answer = bob.post(PROFILE, said(**values))
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()
    person = User.objects.get(username="bob")
    assert (person.time_zone, person.theme, person.language) == ("UTC", "", "")


def test_nobody_becomes_an_admin_by_a_form(bob, cast):
    bob.post(PROFILE, said(is_superuser="on", is_staff="on", username="root"))
    person = User.objects.get(pk=cast.bob.pk)
    assert (person.is_superuser, person.is_staff, person.username) == (False, False, "bob")


def test_a_password_is_changed_with_the_old_one(bob, cast):
    new = "another horse battery"
    values = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert "Your old password was entered incorrectly" in main_words(bob.post(PASSWORD_PAGE, values))
    answer = bob.post(PASSWORD_PAGE, values | {"old_password": PASSWORD}, follow=True)
    assert "Your password is changed." in main_words(answer)
    assert User.objects.get(username="bob").check_password(new)


def test_a_changed_password_ends_other_sessions(bob, cast):
    from django.test import Client

    other = Client()
    other.force_login(cast.bob)
    new = "another horse battery"
    bob.post(PASSWORD_PAGE, {"old_password": PASSWORD, "new_password1": new, "new_password2": new})
    assert bob.get(PROFILE).status_code == 200
    assert other.get(PROFILE).status_code == 302
