"""Forms that are not made from a contract."""

from __future__ import annotations

import zoneinfo
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from handoffs.models import MailChoice
from reviewqueue.models import User

if TYPE_CHECKING:
    ProfileBase = forms.ModelForm[User]
    MailBase = forms.ModelForm[MailChoice]
else:
    ProfileBase = MailBase = forms.ModelForm


_ALIASES = ("Etc/", "US/", "Canada/", "Brazil/", "Chile/", "Mexico/", "posix/", "right/", "SystemV/")


def time_zones() -> list[tuple[str, str]]:
    """Every zone that people live in, as `Area/City`; without the aliases that zoneinfo also knows."""
    names = sorted(name for name in zoneinfo.available_timezones() if "/" in name and not name.startswith(_ALIASES))
    return [("UTC", "UTC"), *((name, name.replace("_", " ")) for name in names)]


class ProfileForm(ProfileBase):
    """How the pages look to one person."""

    class Meta:
        model = User
        fields = ("first_name", "last_name", "time_zone", "language", "theme", "keys", "stays")
        help_texts = {
            "keys": _("One letter does what a button does; “?” shows which."),
            "stays": _("Otherwise the next item of the view opens by itself."),
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        kept = self.instance.time_zone
        zones = time_zones()
        known = {name for name, _label in zones}
        self.fields["time_zone"] = forms.ChoiceField(
            label=_("Time zone"),
            choices=zones if kept in known else [(kept, kept), *zones],
            help_text=_("Times are shown in this zone; they are kept in UTC."),
        )
        self.fields["language"] = forms.ChoiceField(
            label=_("Language"),
            required=False,
            choices=[("", _("as the browser asks")), *settings.LANGUAGES],
        )

    def save(self, commit: bool = True) -> User:
        """Write what was changed, and only that: the row may have changed elsewhere meanwhile."""
        if commit and self.changed_data:
            self.instance.save(update_fields=self.changed_data)
        return self.instance


class ClockInput(forms.TimeInput):
    """A time of the day, by hours and minutes."""

    input_type = "time"

    def __init__(self) -> None:
        super().__init__(format="%H:%M")


class MailForm(MailBase):
    """When one person gets mail."""

    class Meta:
        model = MailChoice
        fields = ("when", "digest_at", "quiet_from", "quiet_to")
        widgets = {"digest_at": ClockInput(), "quiet_from": ClockInput(), "quiet_to": ClockInput()}

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if bool(self.cleaned_data.get("quiet_from")) != bool(self.cleaned_data.get("quiet_to")):
            self.add_error("quiet_to", _("Quiet hours have a beginning and an end."))
        return cleaned

    def save(self, commit: bool = True) -> MailChoice:
        raise TypeError("`choose_mail` keeps it")
