"""Webhooks: signed as Standard Webhooks says, and sent nowhere but to public addresses.

A name is resolved once and that very address is connected to, so a name that changes its answer gains nothing;
redirects are not followed, proxies of the environment are not used, and nothing of an answer is read but its status.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import requests
from requests_hardened.client import HTTPSession
from requests_hardened.config import Config
from requests_hardened.ip_filter import InvalidIPAddress
from requests_hardened.ip_filter_adapter import IPFilterAdapter

from handoffs import conf

GONE = 410  # the endpoint says that it wants nothing any more


class UnfitAddress(ValueError):
    """An address to which no webhook is sent; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one try ended: `status` is 0 and `error` a few words where no answer came; `ms` are milliseconds."""

    status: int
    error: str
    ms: int

    @property
    def is_taken(self) -> bool:
        return 200 <= self.status < 300

    @property
    def words(self) -> str:
        return f"HTTP {self.status}" if self.status else self.error


def body_of(event: str, uid: str, at: datetime, data: Mapping[str, Any]) -> bytes:
    """The bytes that are signed and sent; the same for each try."""
    stamp = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    told = {"type": event, "id": uid, "timestamp": stamp, "data": data}
    return json.dumps(told, ensure_ascii=False, sort_keys=True).encode()


def signature(secret: str, uid: str, stamp: int, body: bytes) -> str:
    """One signature of Standard Webhooks: HMAC-SHA256 over id, seconds since 1970 and body."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{uid}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(secrets: Iterable[str], uid: str, stamp: int, body: bytes) -> dict[str, str]:
    """The headers of a webhook; one signature for each secret that counts now."""
    return {
        "Content-Type": "application/json",
        "User-Agent": "Handoffs",
        "webhook-id": uid,
        "webhook-timestamp": str(stamp),
        "webhook-signature": " ".join(signature(secret, uid, stamp, body) for secret in secrets),
    }


def require_fit(url: str) -> None:
    """Check what can be seen of an address without asking anybody.

    Raises:
        UnfitAddress: not http(s), with a password in it, or not encrypted where that is needed.
    """
    try:
        parts = urlsplit(url)
        named = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise UnfitAddress("This is not an address.") from error
    allowed = {"https", "http"} if conf.get("WEBHOOKS_INSIDE") else {"https"}
    if parts.scheme not in allowed or not named:
        raise UnfitAddress("A webhook goes to an address that begins with https://.")
    if parts.username is not None or parts.password is not None:
        raise UnfitAddress("An address holds no user and no password: the signature says who sends.")


def post(url: str, body: bytes, head: Mapping[str, str]) -> Answer:
    """Send once. Never raises for what the other side, or the network between, does."""
    began = monotonic()

    def answer(status: int, error: str = "") -> Answer:
        return Answer(status, error, round((monotonic() - began) * 1000))

    try:
        require_fit(url)
        with _session() as session, session.post(url, data=body, headers=dict(head), stream=True) as response:
            return answer(response.status_code)
    except UnfitAddress as error:
        return answer(0, str(error))
    except InvalidIPAddress:
        return answer(0, "The address is not a public one.")
    except requests.Timeout:
        return answer(0, "No answer in time.")
    except (requests.RequestException, UnicodeError, ValueError, socket.gaierror) as error:
        return answer(0, f"No connection: {type(error).__name__}.")


class _PublicOnly(IPFilterAdapter):
    """Connects to public addresses only, and is stricter than the filter that it extends."""

    def build_connection_pool_key_attributes(self, *args: Any, **kwargs: Any) -> Any:
        host, pool = super().build_connection_pool_key_attributes(*args, **kwargs)
        address = ipaddress.ip_address(host["host"].strip("[]"))
        is_old_form = address.version == 6 and int(address) >> 32 == 0  # ::127.0.0.1
        if is_old_form or not address.is_global:
            raise InvalidIPAddress(address)
        return host, pool


def _session() -> HTTPSession:
    wait = conf.get("WEBHOOK_TIMEOUT")
    inside = bool(conf.get("WEBHOOKS_INSIDE"))
    limits = Config(
        ip_filter_enable=not inside,
        ip_filter_allow_loopback_ips=False,
        never_redirect=True,
        default_timeout=(wait, wait),
    )
    session = HTTPSession(limits)
    if not inside:
        session.mount("https://", _PublicOnly(is_https_proto=True))
    session.trust_env = False  # a proxy would connect for us, to wherever the name leads it
    return session
