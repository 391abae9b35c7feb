"""The site under waitress, which slow clients do not stop."""

from __future__ import annotations

import errno
import resource
from pathlib import Path
from typing import Any

import waitress.server
from django.conf import settings
from django.core.servers.basehttp import get_internal_wsgi_application

from handoffs import conf
from handoffs.errors import HandoffsError

CONNECTIONS = 2000  # open at once; waiting costs a connection no thread
IDLE = 30  # seconds after which a silent connection is closed
FILES_EACH = 3  # file descriptors that one connection may need
PROXY_HEADERS = {"x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"}


class PortInUse(HandoffsError):
    """Another program listens on that port."""

    code = "port_in_use"


class NotCollected(HandoffsError):
    """The static files are not collected yet: run manage.py collectstatic."""

    code = "not_collected"


def create(host: str, port: int, *, threads: int = 8, proxy: str = "") -> Any:
    """A waitress server that already listens; `run()` serves. `proxy` is the address whose forwarded headers count.

    Raises:
        PortInUse: somebody listens there.
        OSError: the address is not one of this machine, or the port is reserved.
    """
    _allow_open_files(CONNECTIONS * FILES_EACH)
    trusted = {"trusted_proxy": proxy, "trusted_proxy_headers": PROXY_HEADERS} if proxy else {}
    try:
        return waitress.server.create_server(  # type: ignore[no-untyped-call]
            get_internal_wsgi_application(),
            host=host,
            port=port,
            threads=threads,
            connection_limit=CONNECTIONS,
            channel_timeout=IDLE,
            asyncore_use_poll=True,  # select() ends at 1024 files
            ident="handoffs",
            # Above all limits of our own, so that a sender gets our answer and not the server's.
            max_request_body_size=2
            * max(conf.get("MAX_BODY") + conf.get("MAX_ATTACHMENT"), conf.get("MAX_BATCH_BODY")),
            **trusted,
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(f"Port {port} of {host} is in use. Choose another one with --port.") from error
        raise


def port_of(server: Any) -> int:
    """The port on which a server listens, when it could choose, or listens on several addresses."""
    return int(getattr(server, "effective_port", 0) or server.effective_listen[0][1])


def require_static_files() -> None:
    """Raises `NotCollected` where pages would fail for lack of them."""
    backend = settings.STORAGES["staticfiles"]["BACKEND"]
    if "Manifest" in backend and not (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        raise NotCollected


def _allow_open_files(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        upper = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, upper), hard))
