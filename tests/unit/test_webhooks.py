"""Webhooks: the signature that others verify, and the addresses to which none goes."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from handoffs import webhooks
from handoffs.models.outbox import new_secret
from tests.receivers import receiving

AT = datetime(2026, 12, 1, 3, 4, 5, tzinfo=UTC)
# Each leads, or could lead, to this machine or its network; {port} is one on which somebody listens.
HOSTILE = [
    "http://127.0.0.1:{port}/", "https://127.0.0.1:{port}/", "https://localhost:{port}/", "https://127.1:{port}/",
    "https://127.0.1:{port}/", "https://2130706433:{port}/", "https://0x7f000001:{port}/", "https://017700000001:{port}/",
    "https://0x7f.1:{port}/", "https://0177.0.0.1:{port}/", "https://0:{port}/", "https://0.0.0.0:{port}/",
    "https://[::1]:{port}/", "https://[::]:{port}/", "https://[::ffff:127.0.0.1]:{port}/",
    "https://[::ffff:7f00:1]:{port}/", "https://[0:0:0:0:0:ffff:127.0.0.1]:{port}/", "https://[64:ff9b::7f00:1]:{port}/",
    "https://[2002:7f00:1::]:{port}/", "https://[fe80::1]:{port}/", "https://[fc00::1]:{port}/",
    "https://[ff02::1]:{port}/", "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.1.1/",
    "https://169.254.169.254/latest/meta-data/", "https://[::ffff:169.254.169.254]/", "https://100.64.0.1/",
    "https://192.0.2.1/", "https://198.18.0.1/", "https://224.0.0.1/", "https://255.255.255.255/", "https://240.0.0.1/",
    "https://inside.test:{port}/", "https://mapped.test:{port}/", "https://metadata.test/", "https://rebinding.test:{port}/",
    "https://user:pass@127.0.0.1:{port}/", "https://example.test@127.0.0.1:{port}/", "https://127.0.0.1%2f@x:{port}/",
    "ftp://127.0.0.1:{port}/", "file:///etc/passwd", "gopher://127.0.0.1:{port}/", "https:///nowhere",
    "https://127。0。0。1:{port}/", "https://①②⑦.⓪.⓪.①:{port}/", "https://[::127.0.0.1]:{port}/", "https://\t127.0.0.1:{port}/",
    "https://127.0.0.1:99999/", "https://[::1/",
]  # fmt: skip
NAMES = {"inside.test": "127.0.0.1", "mapped.test": "::ffff:127.0.0.1", "metadata.test": "169.254.169.254"}


def signed(secrets, body, uid="evt_1", stamp=None):
    stamp = int(datetime.now(UTC).timestamp()) if stamp is None else stamp
    return webhooks.headers(secrets, uid, stamp, body)


def test_the_standard_library_verifies_what_is_sent():
    secret = new_secret()
    body = webhooks.body_of("alert.opened", "evt_1", AT, {"queue": "ledger", "name": "Ä"})
    assert Webhook(secret).verify(body, signed([secret], body)) == {
        "type": "alert.opened",
        "id": "evt_1",
        "timestamp": "2026-12-01T03:04:05Z",
        "data": {"queue": "ledger", "name": "Ä"},
    }


@pytest.mark.parametrize("harm", ["body", "id", "secret"])
def test_what_was_changed_on_the_way_is_not_verified(harm):
    secret, body = new_secret(), b'{"type":"x"}'
    head = signed([secret], body)
    if harm == "id":
        head["webhook-id"] = "evt_2"
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret() if harm == "secret" else secret).verify(body + b" " * (harm == "body"), head)


def test_while_a_secret_is_rotated_both_verify():
    old, new = new_secret(), new_secret()
    body = b"{}"
    head = signed([new, old], body)
    for secret in (old, new):
        assert Webhook(secret).verify(body, head) == {}


def test_the_same_event_is_the_same_bytes_each_time():
    told = [webhooks.body_of("alert.opened", "evt_1", AT, facts) for facts in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert told[0] == told[1]


@pytest.fixture
def resolver(monkeypatch):
    """Names of the tests; one of them answers with a public address first, and with loopback ever after."""
    real, asked = socket.getaddrinfo, []

    def resolve(host, *args, **kwargs):
        if host == "rebinding.test":
            asked.append(host)
            host = "127.0.0.1" if len(asked) > 1 else "203.0.113.7"
        elif host not in NAMES and host.rpartition(".")[2] == "test":
            raise socket.gaierror(host)
        return real(NAMES.get(host, host), *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked


@pytest.fixture
def connections(monkeypatch):
    """Where this process tried to connect to; it never gets there."""
    tried = []

    def connect(self, address):
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return tried


@pytest.mark.parametrize("url", HOSTILE)
def test_a_hostile_address_is_not_connected_to(url, resolver, connections):
    assert len(HOSTILE) >= 40
    answer = webhooks.post(url.format(port=8001), b"{}", {})
    assert answer.status == 0
    assert answer.error
    assert connections == []


def test_a_name_that_changes_its_answer_is_asked_once(resolver, connections, monkeypatch):
    real = socket.getaddrinfo

    def resolve_public_first(host, *args, **kwargs):
        if host == "rebinding.test":
            resolver.append(host)
            host = "8.8.8.8" if len(resolver) == 1 else "127.0.0.1"
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_public_first)
    assert webhooks.post("https://rebinding.test/", b"{}", {}).error == "No connection: ConnectionError."
    assert {address[0] for address in connections} == {"8.8.8.8"}
    assert resolver == ["rebinding.test"]


def test_a_redirect_is_an_answer_and_not_followed(settings):
    settings.HANDOFFS_WEBHOOKS_INSIDE = True
    with receiving() as elsewhere, receiving() as receiver:
        receiver.status, receiver.location = 302, elsewhere.url
        answer = webhooks.post(receiver.url, b"{}", {})
        assert (answer.status, answer.is_taken) == (302, False)
        assert elsewhere.came == []


def test_a_proxy_of_the_environment_is_not_used(settings, monkeypatch):
    settings.HANDOFFS_WEBHOOKS_INSIDE = True
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert webhooks.post(receiver.url, json.dumps({}).encode(), {"webhook-id": "x"}).is_taken
        assert (len(receiver.came), proxy.came) == (1, [])


def test_an_endpoint_that_does_not_answer_is_left(settings):
    settings.HANDOFFS_WEBHOOKS_INSIDE, settings.HANDOFFS_WEBHOOK_TIMEOUT = True, 0.2
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        answer = webhooks.post(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"{}", {})
    assert answer.words == "No answer in time."
