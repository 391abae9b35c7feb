"""Where a value was seen: what an agent may say about it, per field."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from handoffs.contracts import Contract

Link = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=2000)]


class Evidence(Contract):
    """A place in an attachment (by its name or its digest) or behind a link: a page, a box on it, or a quote.

    A box is left, top, width and height as parts of the page, each 0..1.
    """

    attachment: Annotated[str, Field(max_length=255)] | None = None
    link: Link | None = None
    page: Annotated[int, Field(ge=1)] | None = None
    box: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=4, max_length=4)] | None = None
    quote: Annotated[str, Field(max_length=4000)] | None = None
