"""The German texts: none is missing, none is a guess, and each keeps the places of what is put in.

After changing a text: `python manage.py makemessages -l de --no-location --no-wrap --no-obsolete --ignore "tests/*"`,
translate what is empty or fuzzy, then `python manage.py compilemessages -l de`; both need gettext, this test does not.
A text inside an f-string is not found by gettext; say it outside.
"""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from django.utils import translation
from django.utils.translation.template import templatize

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "reviewqueue" / "locale" / "de" / "LC_MESSAGES"
# The place of each argument: (context, message, plural), None where there is none.
PLACES = {"gettext": (None, 0, None), "pgettext": (0, 1, None), "ngettext": (None, 0, 1), "npgettext": (0, 1, 2)}
CALL = re.compile(r"\b(n?p?gettext)\(((?:u?'(?:\\.|[^'\\])*'|u?\"(?:\\.|[^\"\\])*\"|[^()'\"])*)\)")
SPOT = re.compile(r"%(?:\([a-z_0-9]+\))?(?:\.[0-9]+)?[sdf%]|\{[a-z_]*\}|</?[a-z]+>|https?://\S+")
Key = tuple[str, str, str]


@dataclass
class Entry:
    """One message of the catalogue; `texts` has one, or one for each plural form."""

    key: Key
    texts: list[str]
    flags: str


@cache
def catalogue() -> dict[Key, Entry]:
    found = {}
    for block in (FOLDER / "django.po").read_text(encoding="utf-8").split("\n\n"):
        parts: dict[str, str] = {}
        flags = name = ""
        for line in block.splitlines():
            if line.startswith("#"):
                flags += line
                continue
            if not line.startswith('"'):
                name, line = line.split(" ", 1)
            parts[name] = parts.get(name, "") + ast.literal_eval(line)
        key = (parts.get("msgctxt", ""), parts["msgid"], parts.get("msgid_plural", ""))
        found[key] = Entry(key, [text for name, text in parts.items() if name.startswith("msgstr")], flags)
    return {key: entry for key, entry in found.items() if key[1]}


def said_in_code(source: str) -> Iterator[Key]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        name = "gettext" if called == "_" else called.removesuffix("_lazy").removesuffix("_noop")
        texts = [arg.value if isinstance(arg, ast.Constant) else None for arg in node.args]
        if name in PLACES and texts and isinstance(texts[0], str):
            yield key_of(name, texts)


def said_in_template(source: str) -> Iterator[Key]:
    for name, given in CALL.findall(templatize(source)):
        arguments = ast.parse(f"f({given})", mode="eval").body.args  # type: ignore[attr-defined]
        yield key_of(name, [arg.value if isinstance(arg, ast.Constant) else None for arg in arguments])


def key_of(name: str, texts: list[object]) -> Key:
    context, message, plural = (str(texts[place]) if place is not None else "" for place in PLACES[name])
    return context, message, plural


@cache
def said() -> dict[Key, str]:
    """Every text that pages, forms and actions say, and a file that says it."""
    found = {}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        found |= dict.fromkeys(said_in_template(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT)))
    for package in ("handoffs", "reviewqueue", "examples"):
        for path in sorted((ROOT / package).rglob("*.py")):
            found |= dict.fromkeys(said_in_code(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT)))
    return found


def test_the_ways_to_say_a_text_are_all_found():
    code = '_("a" "b"); pgettext_lazy("place", "c"); ngettext("d", "e", n); format(_(name)); gettext_noop("f")'
    assert set(said_in_code(code)) == {("", "ab", ""), ("place", "c", ""), ("", "d", "e"), ("", "f", "")}
    page = '{% translate "a" context "b" %}{% blocktranslate count n=1 %}c{% plural %}d{{ n }}{% endblocktranslate %}'
    assert set(said_in_template(page)) == {("b", "a", ""), ("", "c", "d%(n)s")}


def test_every_text_is_in_german():
    missing = {key: place for key, place in said().items() if key not in catalogue()}
    assert not missing, f"{len(missing)} texts are missing from the German catalogue: {missing}"
    empty = [key for key, entry in catalogue().items() if key in said() and not all(entry.texts)]
    assert not empty


def test_no_translation_is_a_guess():
    assert not [key for key, entry in catalogue().items() if "fuzzy" in entry.flags]


def test_each_translation_keeps_the_places_of_what_is_put_in():
    wrong = []
    for (_context, message, plural), entry in catalogue().items():
        for text, source in zip(entry.texts, [message, plural or message], strict=False):
            if sorted(SPOT.findall(text)) != sorted(SPOT.findall(source)):
                wrong.append((source, text))
            if (text[:1].isspace(), text[-1:].isspace()) != (source[:1].isspace(), source[-1:].isspace()):
                wrong.append((source, text))
    assert not wrong


def test_the_compiled_catalogue_is_made_from_this_one():
    with (FOLDER / "django.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for (context, message, plural), entry in catalogue().items():
        if plural:
            forms = [compiled.npgettext(context, message, plural, n) for n in (1, 2)] if context else [
                compiled.ngettext(message, plural, n) for n in (1, 2)
            ]  # fmt: skip
        else:
            forms = [compiled.pgettext(context, message) if context else compiled.gettext(message)]
        assert forms == entry.texts, message


@pytest.mark.django_db
def test_a_person_who_chose_german_reads_german(client, cast):
    cast.bob.language = "de"
    cast.bob.save(update_fields=["language"])
    client.force_login(cast.bob)
    page = client.get("/dashboard/").content.decode()
    assert '<html lang="de"' in page
    assert "Zeit bis zur Entscheidung" in page
    assert "Warteschlangen" in page
    with translation.override("de"):
        assert translation.ngettext("%(n)s change", "%(n)s changes", 2) % {"n": 2} == "2 Änderungen"
