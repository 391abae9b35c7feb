"""What the settings decide for a deployment: database tuning, job queues, the content security policy, logs."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import django
import structlog
from django.core.exceptions import ImproperlyConfigured

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA recursive_triggers=ON;"
)

# No inline script or style anywhere, so no nonce is needed.
DIRECTIVES: dict[str, list[str]] = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}


def embedded_secret_key(state_dir: Path) -> str:
    """The key of the embedded installation: made once, kept in the state folder, readable by its owner only."""
    path = state_dir / "secret_key"
    if not path.exists():
        state_dir.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path.read_text()


def tune_database(database: dict[str, Any]) -> None:
    """Set what both databases need so that moves are safe under concurrency."""
    options = database.setdefault("OPTIONS", {})
    if database["ENGINE"].endswith("sqlite3"):
        # IMMEDIATE: a transaction that reads first and writes later would otherwise fail with "database is locked".
        options |= {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": SQLITE_PRAGMAS}
        if name := database.get("NAME"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            database.setdefault("TEST", {"NAME": str(Path(name).parent / "test.sqlite3")})
    else:
        # Parameters travel beside the statement: a commit's rows are one long text, dear to quote and to read as SQL.
        options |= {"server_side_binding": True, "prepare_threshold": 5}
        database["CONN_MAX_AGE"] = 600
        database["CONN_HEALTH_CHECKS"] = True


SMTP_OPTIONS = {
    "host": "EMAIL_HOST",
    "port": "EMAIL_PORT",
    "username": "EMAIL_HOST_USER",
    "password": "EMAIL_HOST_PASSWORD",
    "use_tls": "EMAIL_USE_TLS",
    "use_ssl": "EMAIL_USE_SSL",
}
MAIL_TIMEOUT = 10  # seconds: a silent server must not hold all up


def mail(parsed: dict[str, Any]) -> dict[str, Any]:
    """The settings that an EMAIL_URL stands for, as this version of Django wants them.

    Raises:
        ImproperlyConfigured: nobody knows its scheme.
    """
    if "EMAIL_BACKEND" not in parsed:
        raise ImproperlyConfigured("EMAIL_URL begins with smtp://, submission:// (with STARTTLS) or file://.")
    timeout = parsed.get("EMAIL_TIMEOUT") or MAIL_TIMEOUT
    if django.VERSION < (6, 1):
        return parsed | {"EMAIL_TIMEOUT": timeout}
    options: dict[str, Any] = {}
    if parsed["EMAIL_BACKEND"].endswith("smtp.EmailBackend"):
        options = {name: parsed[old] for name, old in SMTP_OPTIONS.items() if old in parsed} | {"timeout": timeout}
    elif parsed["EMAIL_BACKEND"].endswith("filebased.EmailBackend"):
        options = {"file_path": parsed["EMAIL_FILE_PATH"]}
    return {"MAILERS": {"default": {"BACKEND": parsed["EMAIL_BACKEND"], "OPTIONS": options}}}


def job_queues(redis_url: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """One entry per job queue. Short time-outs: a bell that can't be rung costs latency, never a request."""
    return {
        name: {
            "URL": redis_url or "unix:///nowhere",
            "DEFAULT_TIMEOUT": 3600,
            "SERIALIZER": "rq.serializers.JSONSerializer",
            "REDIS_CLIENT_KWARGS": {"socket_connect_timeout": 0.5, "socket_timeout": 5},
        }
        for name in names
    }


def content_security_policy() -> tuple[list[str], list[str], dict[str, Any]]:
    """(apps, middleware, settings) that send DIRECTIVES: Django's own from 6.0, django-csp before."""
    if django.VERSION >= (6, 0):
        return [], ["django.middleware.csp.ContentSecurityPolicyMiddleware"], {"SECURE_CSP": DIRECTIVES}
    return ["csp"], ["csp.middleware.CSPMiddleware"], {"CONTENT_SECURITY_POLICY": {"DIRECTIVES": DIRECTIVES}}


LOG_FORMATS = ("line", "json")
_JSON = {
    "()": "structlog.stdlib.ProcessorFormatter",
    "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
    "foreign_pre_chain": [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ],
}


def logging(level: str, form: str) -> dict[str, Any]:
    """Lines on standard error, plain or as JSON. Bodies are never logged, by any of our modules.

    As JSON a line also says which request it belongs to and who asks, or which record, step and attempt.
    """
    line = {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": _JSON if form == "json" else line},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "loggers": {"axes": {"level": "WARNING"}},
        "root": {"handlers": ["stderr"], "level": level},
    }
