"""What a person was told: the badge, the page, and when mail is wanted."""

from __future__ import annotations

import re
from datetime import time

import pytest
from django.urls import reverse

from handoffs.actions import endpoints, spreading
from handoffs.models import Delivery, Endpoint, MailChoice, Notice
from tests.pages import main_words, refused, words

pytestmark = pytest.mark.django_db
NOTICES, MAIL = reverse("notices"), reverse("mail-choice")


@pytest.fixture
def alice(client, cast):
    cast.alice.email = "alice@example.org"
    cast.alice.save()
    client.force_login(cast.alice)
    return client


def badge(page):
    found = re.search(r'<a href="/notices/"[^>]*><span>Notices</span> <span class="count[^"]*">(\d+)', page)
    return int(found[1])


def test_unread_notices_are_counted_on_every_page(alice):
    refused("A-1")
    refused("A-2")
    spreading.spread()
    assert badge(alice.get(reverse("inbox")).content.decode()) == 1
    text = main_words(alice.get(NOTICES))
    assert "Order exceptions: 2 records stopped at check of orders. 2" in text
    assert f'href="{reverse("inbox")}?queue=order-exceptions"' in alice.get(NOTICES).content.decode()


def test_a_notice_of_one_leads_to_it(alice):
    escalation = refused()
    spreading.spread()
    assert f'href="{reverse("escalation", args=[escalation.pk])}"' in alice.get(NOTICES).content.decode()


def test_what_is_read_is_gone_from_the_unread_and_stays_under_all(alice):
    record = refused().record_id
    spreading.spread()
    answer = alice.post(NOTICES, {"notice": Notice.objects.get().pk}, follow=True)
    assert "Nothing unread" in main_words(answer)
    assert badge(answer.content.decode()) == 0
    assert f"record {record} stopped at check of orders" in main_words(alice.get(NOTICES, {"show": "all"}))


def test_all_are_marked_at_once(alice):
    refused()
    spreading.spread()
    assert "All are marked as read." in words(alice.post(NOTICES, follow=True))


def test_nobody_reads_or_marks_anothers(client, cast):
    cast.alice.email = "alice@example.org"
    cast.alice.save()
    refused()
    spreading.spread()
    client.force_login(cast.dora)
    assert "Nothing unread" in main_words(client.get(NOTICES))
    client.post(NOTICES, {"notice": Notice.objects.get().pk})
    client.post(NOTICES)
    assert Notice.objects.get().read_at is None


@pytest.mark.parametrize("odd", ["x", "99999999999999999999999", "-1", "²"])
def test_odd_numbers_do_no_harm(alice, odd):
    assert alice.post(NOTICES, {"notice": odd}).status_code == 302


def test_who_has_no_address_is_told_so(client, cast):
    client.force_login(cast.bob)
    assert "You have no address yet." in main_words(client.get(MAIL))


def test_mail_is_chosen(alice, cast):
    assert "It goes to alice@example.org." in main_words(alice.get(MAIL))
    chosen = {"when": "digest", "digest_at": "07:15", "quiet_from": "22:00", "quiet_to": "06:30"}
    assert "Saved." in main_words(alice.post(MAIL, chosen, follow=True))
    kept = MailChoice.objects.get(user=cast.alice)
    assert (kept.when, kept.digest_at, kept.quiet_from) == ("digest", time(7, 15), time(22))
    assert 'value="07:15"' in alice.get(MAIL).content.decode()


def test_quiet_hours_have_two_ends(alice):
    answer = alice.post(MAIL, {"when": "at_once", "digest_at": "08:00", "quiet_from": "22:00"})
    assert answer.status_code == 422
    assert "Quiet hours have a beginning and an end." in main_words(answer)


def test_an_installation_without_mail_says_so(alice, settings):
    nowhere = "django.core.mail.backends.dummy.EmailBackend"
    if hasattr(settings, "MAILERS"):
        settings.MAILERS = {"default": {"BACKEND": nowhere}}
    else:
        settings.EMAIL_BACKEND = nowhere
    assert "This installation sends no mail." in main_words(alice.get(MAIL))


# --- webhooks in the admin -------------------------------------------------------------------------------------------

ADD = reverse("admin:handoffs_endpoint_add")
LIST = reverse("admin:handoffs_endpoint_changelist")
LOG = reverse("admin:handoffs_delivery_changelist")


@pytest.fixture
def dora(client, cast):
    client.force_login(cast.dora)
    return client


def test_an_endpoint_is_made_and_its_secret_shown_once(dora):
    made = dora.post(ADD, {"name": "erp", "url": "https://example.org/hook", "events": "", "queue": ""})
    endpoint = Endpoint.objects.get()
    assert endpoint.secret in made.content.decode()
    assert "no-store" in made.headers["Cache-Control"]
    for page in (LIST, reverse("admin:handoffs_endpoint_change", args=[endpoint.pk])):
        assert "whsec_" not in dora.get(page).content.decode()
    rotated = dora.post(LIST, {"action": "rotate", "_selected_action": [endpoint.pk]})
    endpoint.refresh_from_db()
    assert endpoint.secret in rotated.content.decode()


def test_an_unfit_address_is_refused_in_words(dora):
    answer = dora.post(ADD, {"name": "erp", "url": "http://10.0.0.1/", "events": ""})
    assert "begins with https://" in words(answer)
    assert not Endpoint.objects.exists()


def test_endpoints_are_paused_resumed_changed_and_removed(dora, cast):
    endpoint = endpoints.create_endpoint(name="erp", url="https://example.org/hook", by=cast.dora)
    change = reverse("admin:handoffs_endpoint_change", args=[endpoint.pk])
    dora.post(LIST, {"action": "pause", "_selected_action": [endpoint.pk]})
    assert Endpoint.objects.get().paused_at is not None
    dora.post(LIST, {"action": "resume", "_selected_action": [endpoint.pk]})
    assert Endpoint.objects.get().paused_at is None
    dora.post(change, {"name": "erp", "url": "https://example.org/other", "events": "alert.opened", "queue": ""})
    assert Endpoint.objects.get().wanted == ["alert.opened"]
    dora.post(LIST, {"action": "delete_selected", "_selected_action": [endpoint.pk], "post": "yes"})
    assert not Endpoint.objects.exists()


def test_the_log_shows_each_try_and_sends_again(dora, cast):
    endpoints.create_endpoint(name="erp", url="https://example.org/hook", by=cast.dora)
    refused()
    spreading.spread()
    delivery = Delivery.objects.get()
    Delivery.objects.update(log='[{"at": "2026-12-01T00:00:00", "status": 503, "error": "", "ms": 12}]')
    assert "HTTP 503 (12 ms)" in words(dora.get(LOG))
    assert "HTTP 503 (12 ms)" in words(dora.get(reverse("admin:handoffs_delivery_change", args=[delivery.pk])))
    dora.post(LOG, {"action": "resend", "_selected_action": [delivery.pk]})
    assert Delivery.objects.count() == 1  # it waits already
    dora.post(LOG, {"action": "skip", "_selected_action": [delivery.pk]})
    dora.post(LOG, {"action": "resend", "_selected_action": [delivery.pk]})
    assert list(Delivery.objects.order_by("pk").values_list("state", flat=True)) == ["skipped", "waiting"]
