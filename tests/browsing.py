"""A browser without a script, for tests: it reads the forms of a page and sends them as they stand."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode


@dataclass
class Form:
    """One form: what it would send if nothing were typed, and its buttons as (name, value, label)."""

    id: str
    action: str
    data: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[Form] = []
        self.form: Form | None = None
        self.area: str | None = None
        self.select: str | None = None
        self.button: tuple[str, str] | None = None
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        a = dict(attrs)
        if tag == "form":
            self.form = Form(a.get("id", ""), a.get("action", ""))
            self.forms.append(self.form)
        elif self.form is None:
            return
        elif tag == "input" and a.get("name"):
            self._input(a)
        elif tag == "textarea":
            self.area, self.text = a.get("name"), ""
        elif tag == "select":
            self.select = a.get("name")
        elif tag == "option" and self.select:
            self._option(a)
        elif tag == "button" and a.get("type") == "submit":
            self.button, self.text = (a.get("name", ""), a.get("value", "")), ""

    def _input(self, a: dict[str, Any]) -> None:
        assert self.form
        if a.get("type") in {"radio", "checkbox"} and "checked" not in a:
            return
        self.form.data[a["name"]] = a.get("value") or ""

    def _option(self, a: dict[str, Any]) -> None:
        assert self.form
        assert self.select
        self.text = ""
        self.option = a
        if "selected" in a or self.select not in self.form.data:
            self.form.data[self.select] = a.get("value", "\0")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None
        elif self.form is None:
            return
        elif tag == "textarea" and self.area:
            self.form.data[self.area] = self.text.removeprefix("\n")
            self.area = None
        elif tag == "option" and self.select and self.form.data.get(self.select) == "\0":
            self.form.data[self.select] = self.text.strip()
        elif tag == "select":
            self.select = None
        elif tag == "button" and self.button:
            self.form.buttons.append((*self.button, " ".join(self.text.split())))
            self.button = None

    def handle_data(self, data: str) -> None:
        self.text += data


def forms(response: Any) -> list[Form]:
    reader = _Reader()
    reader.feed(response.content.decode())
    return reader.forms


def form(response: Any, action: str) -> Form:
    """The form that is sent to an address with this ending."""
    return next(f for f in forms(response) if f.action.partition("#")[0].endswith(action))


def send_with(client: Any, found: Form, typed: dict[str, str]) -> Any:
    """Send a form with something typed into it, as a browser does."""
    body = urlencode(found.data | typed)
    return client.post(found.action, body, content_type="application/x-www-form-urlencoded")


def text_of(response: Any) -> str:
    """What a person reads, without tags, in one line."""
    raw = re.sub(r"<(script|style|svg|title|head)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", raw)).split())
