"""Agents' tokens: made, rotated and revoked, each with an audit entry; the secret is told once and never kept."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from handoffs import conf, scopes
from handoffs.actions import audit
from handoffs.errors import NotAllowed, TransitionNotAllowed, UnfitToken
from handoffs.models import AgentToken, Record, sql
from handoffs.models.agents import compare_with_nobody, digest_of
from handoffs.models.connections import first_row
from handoffs.models.moves import COLUMNS as RECORD_COLUMNS
from handoffs.models.moves import ReadRow, RecordRow, as_row

LONGEST_OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Made:
    """A token, and its text, which nobody can be shown again."""

    token: AgentToken
    text: str


@transaction.atomic
def create_token(
    *, name: str, scopes_text: str, by: str, expires_at: datetime | None = None, requests_per_minute: int | None = None
) -> Made:
    """Make a token for the agent `name`; `by` is who does, as the history names them.

    Raises:
        DeclarationError: a scope can't be read.
        UnfitToken: the name is taken or empty, or the expiry has passed.
    """
    at = sql.now()
    name, granted = name.strip(), scopes.as_text(scopes.parse(scopes_text))
    if not name or not name.isprintable() or len(name) > 100:
        raise UnfitToken(_("An agent needs a name of at most 100 characters."))
    if expires_at is not None and expires_at <= at:
        raise UnfitToken(_("That time has passed."))
    public_id, secret = secrets.token_hex(6), secrets.token_hex(32)
    token = AgentToken(
        name=name,
        public_id=public_id,
        digest=digest_of(secret),
        scopes=granted,
        requests_per_minute=requests_per_minute,
        made_at=at,
        made_by=by,
        expires_at=expires_at,
    )
    try:
        with transaction.atomic():
            token.save(force_insert=True)
    except IntegrityError:
        raise UnfitToken(_("There is a token of that name.")) from None
    audit.note(actor=by, action="token.create", subject=name, after={"token": public_id, "scopes": granted})
    return Made(token, _text(token, secret))


def _text(token: AgentToken, secret: str) -> str:
    return f"hf_{token.public_id}_{secret}"


@transaction.atomic
def rotate_token(*, token: AgentToken, by: str, overlap: timedelta = LONGEST_OVERLAP) -> Made:
    """Give a token a new secret; the old one is taken for the `overlap`, at most a day.

    Raises:
        TransitionNotAllowed: the token is revoked.
    """
    at = sql.now()
    row = AgentToken.objects.select_for_update().get(pk=token.pk)
    if row.revoked_at is not None:
        raise TransitionNotAllowed(_("A revoked token stays revoked; make a new one."))
    secret = secrets.token_hex(32)
    row.old_digest, row.old_until = row.digest, at + min(overlap, LONGEST_OVERLAP)
    row.digest = digest_of(secret)
    row.save(update_fields=["digest", "old_digest", "old_until"])
    audit.note(actor=by, action="token.rotate", subject=row.name, after={"old_until": row.old_until.isoformat()})
    return Made(row, _text(row, secret))


@transaction.atomic
def revoke_token(*, token: AgentToken, by: str) -> None:
    """End a token, from the next request on; a second time changes nothing."""
    if AgentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=sql.now(), revoked_by=by):
        audit.note(actor=by, action="token.revoke", subject=token.name, after={"token": token.public_id})


def authenticate(text: str) -> AgentToken:
    """The token that this text stands for, if it may be used now.

    Raises:
        NotAllowed: it may not, or there is none; the difference is not told.
    """
    return authenticate_beside(text, None)[0]


def authenticate_beside(text: str, record_id: int | None) -> tuple[AgentToken, ReadRow | None]:
    """As `authenticate`, with a record's row, if there is one, read in the same round trip."""
    prefix, _, rest = text.partition("_")
    public_id, _, secret = rest.partition("_")
    found = _find(public_id, record_id) if prefix == "hf" else None
    if found is None:
        compare_with_nobody(secret)
        raise NotAllowed
    token, now, row = found
    if not token.takes(secret, now):
        raise NotAllowed
    _note_use(token, now)
    return token, (now, row) if row else None


def _find(public_id: str, record_id: int | None) -> tuple[AgentToken, datetime, RecordRow | None] | None:
    """A token with the database's time, in one plain query: every request of every agent asks it."""
    if not public_id.isalnum() or not public_id.isascii():
        return None
    table = AgentToken._meta.db_table
    if record_id is None:
        row = first_row(f"SELECT {_TOKEN}, {sql.clock()} FROM {table} AS t WHERE public_id = %s", [public_id])  # noqa: S608
    else:
        beside = f"{_TOKEN}, {sql.clock()}, {_RECORD} FROM {table} AS t LEFT JOIN {Record._meta.db_table} AS r"
        row = first_row(f"SELECT {beside} ON r.id = %s WHERE public_id = %s", [record_id, public_id])
    if row is None:
        return None
    count = len(_COLUMNS)
    [values] = sql.read_rows(AgentToken, _COLUMNS, [row[:count]])
    token = AgentToken.from_db(connection.alias, _COLUMNS, values)
    return token, sql.read_time(row[count]), as_row(row[count + 1 :])


_COLUMNS = tuple(str(field.column) for field in AgentToken._meta.concrete_fields)
_TOKEN = ", ".join(f"t.{name}" for name in _COLUMNS)
_RECORD = ", ".join(f"r.{name}" for name in RECORD_COLUMNS)


def _note_use(token: AgentToken, now: datetime) -> None:
    """To the minute, so that a busy agent costs one write a minute and not one a request."""
    minute = now.replace(second=0, microsecond=0)
    if token.last_used_at is None or token.last_used_at < minute:
        earlier = Q(last_used_at=None) | Q(last_used_at__lt=minute)
        AgentToken.objects.filter(earlier, pk=token.pk).update(last_used_at=minute)


def limit_of(token: AgentToken) -> int:
    """How many requests a minute the token may make."""
    return token.requests_per_minute or int(conf.get("REQUESTS_PER_MINUTE"))
