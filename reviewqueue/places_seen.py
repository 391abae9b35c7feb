"""Where a value was seen, in words, with the address that shows the place in its document."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from handoffs.models import Attachment
from reviewqueue.case import Case
from reviewqueue.evidence import Seen
from reviewqueue.provenance import Shown
from reviewqueue.visible import cut, visible

LONGEST = 60  # characters of a quote beside its field


def shown_place(case: Case, seen: Seen) -> Shown:
    attachment = next((each for each in case.attachments if seen.is_in(each, case.attachments)), None)
    quote = "" if seen.quote.startswith("/") else visible(cut(seen.quote, LONGEST))  # a path is marked, not read
    if attachment is None:
        words = _("at %(host)s") % {"host": seen.host} if seen.link else ""
        page = _("page %(n)s") % {"n": seen.page or visible(seen.said)} if seen.page or seen.said else ""
        return Shown(words or page, quote, link=seen.link)
    return Shown(_words(attachment, seen, len(case.attachments)), quote, _url(attachment, seen))


def _words(attachment: Attachment, seen: Seen, count: int) -> str:
    if count == 1:
        return _("on page %(n)s") % {"n": seen.page} if seen.page else _("in the document")
    name = visible(cut(attachment.name, LONGEST))
    return _("page %(n)s of %(name)s") % {"n": seen.page, "name": name} if seen.page else name


def _url(attachment: Attachment, seen: Seen) -> str:
    page = {"page": seen.page} if seen.page else {}
    return f"{reverse('attachment-view', args=[attachment.pk])}?{urlencode(page | {'at': seen.pointer})}"
