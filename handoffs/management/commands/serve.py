"""`manage.py serve`: see `handoffs.serving`."""

from __future__ import annotations

import signal
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from handoffs import serving
from handoffs.management.plain import PlainCommand


class Command(PlainCommand):
    """Serves the site."""

    help = (
        "Serves the site, with its static files, for use in production.\n"
        "Put a proxy in front of it for HTTPS and name its address with --proxy."
    )
    ending = "Before the first start, and with every deploy: manage.py migrate, collectstatic and sync_contracts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (127.0.0.1)")
        parser.add_argument("--port", type=int, default=8000, metavar="N", help="(8000)")
        parser.add_argument("--threads", type=int, default=8, metavar="N", help="requests answered at once (8)")
        parser.add_argument("--proxy", default="", metavar="ADDRESS", help="trust this proxy's X-Forwarded- headers")

    def handle(self, *args: Any, **options: Any) -> None:
        self.require_sound()
        serving.require_static_files()
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
        try:
            server = serving.create(
                options["host"], options["port"], threads=options["threads"], proxy=options["proxy"]
            )
        except (OSError, ValueError) as error:
            said = getattr(error, "strerror", None) or error
            raise CommandError(f"Can't listen on {options['host']}, port {options['port']}: {said}.") from error
        self.stdout.write(f"Serving on http://{options['host']}:{serving.port_of(server)}/ · Ctrl-C stops")
        self.stdout.flush()
        server.run()
