"""Error pages: plain words, a way back, the request's id, and nothing of what went wrong inside."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404
from django.test import Client
from django.urls import path, reverse

from reviewqueue import urls
from tests.pages import words

pytestmark = pytest.mark.django_db
handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500


def raising(error):
    def view(request):
        raise error

    return view


urlpatterns = [
    *urls.urlpatterns,
    path("raise/400", raising(SuspiciousOperation("secret"))),
    path("raise/403", raising(PermissionDenied("secret"))),
    path("raise/404", raising(Http404("secret"))),
    path("raise/500", raising(ValueError("secret"))),
    path("raise/503", raising(OperationalError("secret"))),
]

HEADINGS = {
    400: "This request could not be read",
    403: "You may not do that here",
    404: "There is nothing at this address",
    500: "Something broke on our side",
    503: "Not available just now",
}


@pytest.mark.urls(__name__)
@pytest.mark.parametrize("status", HEADINGS)
def test_each_error_has_a_page_with_a_way_back_and_the_request_id(cast, status):
    client = Client(raise_request_exception=False)
    client.force_login(cast.bob)
    page = client.get(f"/raise/{status}", headers={"X-Request-ID": "given-17"})
    assert page.status_code == status
    assert HEADINGS[status] in words(page)
    assert "To the inbox" in words(page)
    assert "given-17" in words(page)
    assert page["X-Request-ID"] == "given-17"
    assert "secret" not in page.content.decode()
    assert "Traceback" not in page.content.decode()


@pytest.mark.urls(__name__)
def test_who_is_not_signed_in_gets_them_too(db):
    client = Client(raise_request_exception=False)
    assert client.get("/raise/500").status_code == 500
    assert client.get("/nowhere/").status_code == 404


@pytest.mark.urls(__name__)
def test_a_database_that_is_away_says_when_to_come_again(cast):
    assert Client(raise_request_exception=False).get("/raise/503")["Retry-After"] == "30"


def test_a_form_without_its_token_is_refused_on_a_page(cast):
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.bob)
    page = client.post(reverse("inbox-next"))
    assert page.status_code == 403
    assert "Nothing was changed" in words(page)


@pytest.mark.parametrize("given", ["a b", "x" * 65, "<script>", ""])
def test_a_request_id_that_is_none_is_replaced(client, given):
    made = client.get(reverse("healthz"), headers={"X-Request-ID": given})["X-Request-ID"]
    assert len(made) == 32
    assert made.isalnum()
