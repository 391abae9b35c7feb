"""The verdict just given, remembered in the person's session for as long as it can be taken back."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from handoffs import conf

_KEY = "undo"


def remember(request: HttpRequest, escalation_id: int, sentence: str, view: str) -> None:
    """`view`: the query of the view in which it was decided, to come back to."""
    until = time.time() + float(conf.get("UNDO"))
    request.session[_KEY] = {"id": escalation_id, "sentence": sentence, "until": until, "view": view}


def forget(request: HttpRequest) -> None:
    request.session.pop(_KEY, None)


def toast(request: HttpRequest) -> dict[str, Any]:
    """For every page: what can still be taken back, if anything."""
    if not hasattr(request, "session") or not (said := request.session.get(_KEY)):
        return {}
    left = int(said["until"] - time.time())
    if left <= 0:
        forget(request)
        return {}
    url = f"{reverse('escalation-undo', args=[said['id']])}?{urlencode({'from': said['view']})}"
    return {"undo": {"sentence": said["sentence"], "url": url, "seconds": left}}
