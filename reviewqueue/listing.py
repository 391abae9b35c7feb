"""A list under its filters: the page, what is chosen and how to take it back, and the ways on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from reviewqueue.addresses import Address
from reviewqueue.filters import ListFilter
from reviewqueue.paging import Page, page

M = TypeVar("M", bound=Model)
PLACE = "after"
# Chosen elsewhere than among the filters: in the side, in the head of a column.
NOT_CHIPS = frozenset({"view", "sort", "group"})
# Chosen by a link to the list only: on as a chip, but in no menu.
LINKED = frozenset({"same", "since", "until", "resolution"})


@dataclass(frozen=True, slots=True)
class Chip:
    """One choice that is on, and the address without it."""

    label: str
    value: str
    url: str


@dataclass(frozen=True, slots=True)
class Listing(Generic[M]):
    """One page of a list."""

    found: ListFilter[M]
    address: Address
    page: Page[M]

    @property
    def chips(self) -> list[Chip]:
        said = [choice for choice in self.address.choices if choice[0] not in NOT_CHIPS]
        return [Chip(*self._named(key, value), str(self.address.without_choice(key, value))) for key, value in said]

    @property
    def is_narrowed(self) -> bool:
        return any(key not in NOT_CHIPS for key, _value in self.address.choices)

    @property
    def note(self) -> str:
        """How far a search looks; empty where there is none, or it is by number."""
        searched = self.found.searched
        if searched is None:
            return ""
        return _("Words are looked for in the first %(rows)s of a view; numbers and whole ids in all of it.") % {
            "rows": number_format(searched, force_grouping=True)
        }

    @property
    def cleared_url(self) -> str:
        """The same view without its filters; without anything where the view itself means nothing."""
        kept = Address(self.address.path, tuple(c for c in self.address.choices if c[0] in NOT_CHIPS))
        return str(kept.without(*self.found.form.errors))

    @property
    def first_url(self) -> str | None:
        return None if self.page.is_first else str(self.address)

    @property
    def next_url(self) -> str | None:
        return str(self.address.set(PLACE, self.page.next)) if self.page.next else None

    @property
    def menus(self) -> list[Any]:
        """The form fields that open as menus."""
        return [field for field in self.found.form if field.name not in {*NOT_CHIPS, *LINKED, "q"}]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What a form of the filters has to send along."""
        return [choice for choice in self.address.choices if choice[0] in {*NOT_CHIPS, *LINKED}]

    def _named(self, key: str, value: str) -> tuple[str, str]:
        field = self.found.form.fields[key]
        names = dict(getattr(field.widget, "choices", ()))
        return str(field.label), str(names.get(value, _("same reason, same field") if key == "same" else value))


def tidied(request: HttpRequest, known: Any) -> Address | None:
    """The address without the empty values that a form sends; None where there are none."""
    if all(value.strip() for values in request.GET.lists() if values[0] in known for value in values[1]):
        return None
    return Address.of(request.path, request.GET, known)


def listing(request: HttpRequest, found: ListFilter[M], rows: QuerySet[M]) -> Listing[M]:
    """The page of `rows` (those of `found`, with what a row shows) that the request asks for.

    Raises:
        BadCursor: the request names no place in this list.
    """
    address = Address.of(request.path, request.GET, found.keys())
    return Listing(found, address, page(rows, found.order, request.GET.get(PLACE, "")))
