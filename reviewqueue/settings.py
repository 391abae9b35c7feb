"""Settings, read from the environment only; a `.env` file beside `manage.py` is read as well.

Every variable is listed in `docs/settings.md`. A wrong value stops the start with all errors at once.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from environs import Env, validate

from handoffs import conf
from reviewqueue import policy

BASE_DIR = Path(__file__).resolve().parent.parent

env = Env(eager=False)
env.read_env(BASE_DIR / ".env", recurse=False)

STATE_DIR = Path(os.environ.get("HANDOFFS_STATE_DIR") or BASE_DIR / ".handoffs").resolve()
DEBUG = env.bool("DEBUG", False)
SECRET_KEY = env.str("SECRET_KEY", "")
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", [])
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", [])
DATABASE_URL = env.str("DATABASE_URL", "")
REDIS_URL = env.str("REDIS_URL", "")
DATABASES = {"default": env.dj_db_url("DATABASE_URL", f"sqlite:///{STATE_DIR / 'handoffs.sqlite3'}")}
HANDOFFS_APPS = env.list("HANDOFFS_APPS", ["examples.invoices"])
HANDOFFS_FLOWS: list[str] = env.list("HANDOFFS_FLOWS", [])
TIME_ZONE = env.str("TIME_ZONE", "UTC")
LANGUAGE_CODE = env.str("LANGUAGE_CODE", "en")
HTTPS = env.bool("HTTPS", False)
SITE_URL = env.str("SITE_URL", "")
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", "handoffs@localhost")
_MAIL = env.dj_email_url("EMAIL_URL", "dummy://")
LOG_LEVEL = env.str("LOG_LEVEL", "INFO")
LOG_FORMAT = env.str("LOG_FORMAT", "line", validate=validate.OneOf(policy.LOG_FORMATS))
METRICS_TOKEN = env.str("METRICS_TOKEN", "")
JOB_QUEUES = env.list("HANDOFFS_JOB_QUEUES", ["default"])
# The product's own limits and times: HANDOFFS_<NAME>, with the defaults of handoffs.conf.
for _name, _default in conf.DEFAULTS.items():
    if isinstance(_default, bool):
        # While somebody works on a flow, it is never ready: with DEBUG its starts are not held.
        _said = _default and not (DEBUG and _name == "REQUIRE_DRILL")
        globals()[f"HANDOFFS_{_name}"] = env.bool(f"HANDOFFS_{_name}", _said)
        continue
    _read = env.int if isinstance(_default, int) else env.float
    _above_0 = validate.Range(min=0, min_inclusive=False)
    globals()[f"HANDOFFS_{_name}"] = _read(f"HANDOFFS_{_name}", _default, validate=_above_0)
env.seal()

if not SECRET_KEY:
    # An embedded installation (no DATABASE_URL) makes its own key; a real one must be given it.
    if DATABASE_URL:
        raise ImproperlyConfigured("SECRET_KEY is not set. Every process of an installation needs the same one.")
    SECRET_KEY = policy.embedded_secret_key(STATE_DIR)

INSTALLED_APPS = [
    "reviewqueue.apps.ReviewQueueConfig",
    "handoffs.apps.HandoffsConfig",
    *HANDOFFS_APPS,
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",  # the history's BRIN indexes; Django 6.1 checks that it is here, on SQLite too
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_filters",
    "django_htmx",
    "axes",
]

CSP_APPS, CSP_MIDDLEWARE, CSP_SETTINGS = policy.content_security_policy()
INSTALLED_APPS += CSP_APPS
globals().update(CSP_SETTINGS)

MIDDLEWARE = [
    "reviewqueue.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    *CSP_MIDDLEWARE,
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "reviewqueue.middleware.PreferencesMiddleware",
    "axes.middleware.AxesMiddleware",  # last: it answers in the place of a view that a pause refused
]

ROOT_URLCONF = "reviewqueue.urls"
WSGI_APPLICATION = "reviewqueue.wsgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "reviewqueue.context.shell",
                "reviewqueue.undo.toast",
            ],
        },
    },
]

policy.tune_database(DATABASES["default"])
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "reviewqueue.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
# After five wrong passwords for a name, known or not, none is looked at for a while, by no process.
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AXES_FAILURE_LIMIT = 5
AXES_LOCKOUT_PARAMETERS = ["username"]
# By name alone: behind a proxy everybody has one address, and who has many could go round a count by address.
SILENCED_SYSTEM_CHECKS = ["axes.W006"]
AXES_COOLOFF_TIME = timedelta(seconds=globals()["HANDOFFS_SIGN_IN_PAUSE"])
AXES_LOCKOUT_CALLABLE = "reviewqueue.views.errors.paused"
AXES_RESET_ON_SUCCESS = AXES_DISABLE_ACCESS_LOG = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = AXES_ENABLE_ADMIN = AXES_VERBOSE = False
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]

USE_TZ = True
USE_I18N = True
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "reviewqueue" / "locale"]

STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# One job queue per worker process; every one of them is on the same server.
RQ_QUEUES = policy.job_queues(REDIS_URL, JOB_QUEUES)
RQ = {"JOB_CLASS": "handoffs.dispatch.Bell", "COMMIT_MODE": "auto"}

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
CSRF_FAILURE_VIEW = "reviewqueue.views.errors.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = HTTPS
# A load balancer and a monitor ask these by plain HTTP, from inside.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
X_FRAME_OPTIONS = "DENY"
# A little above the contract gate's 2 MB, so that the gate's own answer is the one a sender sees.
DATA_UPLOAD_MAX_MEMORY_SIZE = 4_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000

globals().update(policy.mail(_MAIL))  # without EMAIL_URL no mail leaves

LOGGING = policy.logging(LOG_LEVEL, LOG_FORMAT)
