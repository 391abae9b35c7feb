"""Tokens of agents outside: make, list, rotate, revoke. A secret is printed once."""

from __future__ import annotations

import os
import pwd
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from handoffs.actions import agents
from handoffs.errors import HandoffsError
from handoffs.models import AgentToken, sql


class Command(BaseCommand):
    help = "Make, list, rotate or revoke the tokens with which agents outside use the API."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="make a token and print it, once")
        create.add_argument("name", help="the agent, as it stands in every history")
        create.add_argument(
            "--scope",
            action="append",
            required=True,
            help="flow/step: verbs, like 'tickets/classify: work, read'; may be given many times",
        )
        create.add_argument("--days", type=float, help="until it expires; it does not unless this is given")
        create.add_argument("--per-minute", type=int, help="requests a minute; the installation's limit by default")
        verbs.add_parser("list", help="all tokens, without their secrets")
        rotate = verbs.add_parser("rotate", help="print a new secret; the old one is taken for a while")
        rotate.add_argument("name")
        rotate.add_argument("--hours", type=float, default=24.0, help="for which the old secret is taken; at most 24")
        verbs.add_parser("revoke", help="end a token, from the next request on").add_argument("name")

    def handle(self, *args: Any, verb: str, **options: Any) -> None:
        try:
            getattr(self, f"_{verb}")(**options)
        except HandoffsError as error:
            raise CommandError(str(error)) from error

    def _create(self, *, name: str, scope: list[str], days: float | None, per_minute: int | None, **_: Any) -> None:
        expires = None if days is None else sql.now() + timedelta(days=days)
        made = agents.create_token(
            name=name,
            scopes_text="\n".join(scope),
            by=_who(),
            expires_at=expires,
            requests_per_minute=per_minute,
        )
        self.stdout.write(made.text)

    def _list(self, **_: Any) -> None:
        for token in AgentToken.objects.order_by("name", "pk"):
            state = "revoked" if token.revoked_at else f"last used {token.last_used_at or 'never'}"
            scopes = "; ".join(token.scopes.splitlines())
            self.stdout.write(f"{token.name}\thf_{token.public_id}_…\t{state}\t{scopes}")

    def _rotate(self, *, name: str, hours: float, **_: Any) -> None:
        made = agents.rotate_token(token=_named(name), by=_who(), overlap=timedelta(hours=max(0.0, hours)))
        self.stdout.write(made.text)

    def _revoke(self, *, name: str, **_: Any) -> None:
        agents.revoke_token(token=_named(name), by=_who())
        self.stdout.write(f"{name} is revoked.")


def _named(name: str) -> AgentToken:
    try:
        return AgentToken.objects.get(name=name)
    except AgentToken.DoesNotExist:
        raise CommandError(f"No token is named “{name}”.") from None


def _who() -> str:
    """Who sits at the console, as the audit names them."""
    return f"system:console ({pwd.getpwuid(os.getuid()).pw_name})"
