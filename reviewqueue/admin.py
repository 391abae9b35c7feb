"""The people. What they may do leaves an audit entry; nobody who looks after a queue is shut out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import UserChangeForm as DjangoUserChangeForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from handoffs.actions import audit, people
from handoffs.actions.escalations import actor_of
from handoffs.models import Queue
from reviewqueue.models import User

if TYPE_CHECKING:
    UserBase = DjangoUserAdmin[User]
    UserFormBase = DjangoUserChangeForm[User]
else:
    UserBase, UserFormBase = DjangoUserAdmin, DjangoUserChangeForm

admin.site.site_header = admin.site.site_title = "Handoffs"
admin.site.index_title = _("Administration")

ACCESS = ("username", "is_active", "is_auditor", "is_staff", "is_superuser")


class UserForm(UserFormBase):
    """A person. Who is shut out hands over: each queue to who is chosen here, else to its backup."""

    hand_over_to = forms.ModelChoiceField(
        User.objects.filter(is_active=True).order_by("username"),
        required=False,
        label=_("hand over to"),
        help_text=_(
            "Of somebody who may no longer sign in: who owns their queues from now on. Else each one's backup."
        ),
    )

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance.pk and not said.get("is_active"):
            self._require_successors(said.get("hand_over_to"))
        return said

    def _require_successors(self, to: User | None) -> None:
        if to is not None and to.pk == self.instance.pk:
            self.add_error("hand_over_to", _("Somebody else has to take over."))
        elif to is None:
            alone = Queue.objects.filter(owner=self.instance.pk).exclude(backup__is_active=True).order_by("title", "pk")
            if names := ", ".join(str(queue) for queue in alone):
                self.add_error(
                    "hand_over_to", _("First give these queues another owner: %(names)s.") % {"names": names}
                )


@admin.register(User)
class UserAdmin(UserBase):
    form = UserForm
    list_display = ("username", "display_name", "email", "is_active", "is_staff", "last_login")
    ordering = ("username",)
    fieldsets = (
        *(DjangoUserAdmin.fieldsets or ()),
        (_("Review"), {"fields": ("is_auditor", "hand_over_to")}),
        (_("Preferences"), {"fields": ("time_zone", "theme", "language", "keys")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # What a person decided stays with their name; who left is made inactive.
        return False

    def save_model(self, request: HttpRequest, obj: User, form: forms.ModelForm[User], change: bool) -> None:
        before = _access(User.objects.get(pk=obj.pk)) if change else {}
        leaves = bool(before.get("is_active")) and not obj.is_active
        obj.is_active = obj.is_active or leaves  # their queues go to others first
        super().save_model(request, obj, form, change)
        if leaves:
            people.shut_out(person=obj, by=request.user, to=form.cleaned_data["hand_over_to"])
        action = "person.change" if change else "person.create"
        who = actor_of(request.user)
        audit.note_change(actor=who, action=action, subject=obj.username, before=before, after=_access(obj))


def _access(user: User) -> dict[str, Any]:
    return {name: getattr(user, name) for name in ACCESS}
