"""The people. What they may do leaves an audit entry; nobody who looks after a queue is shut out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import UserChangeForm as DjangoUserChangeForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from handoffs.actions import audit
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

ACCESS = ("username", "is_active", "is_staff", "is_superuser")


class UserForm(UserFormBase):
    """A person, who stays able to sign in while a queue is theirs."""

    def clean_is_active(self) -> bool:
        active = bool(self.cleaned_data["is_active"])
        owned = Queue.objects.filter(owner=self.instance.pk).order_by("title", "pk") if not active else []
        if names := ", ".join(str(queue) for queue in owned):
            raise ValidationError(_("First give these queues another owner: %(names)s.") % {"names": names})
        return active


@admin.register(User)
class UserAdmin(UserBase):
    form = UserForm
    list_display = ("username", "display_name", "email", "is_active", "is_staff", "last_login")
    ordering = ("username",)
    fieldsets = (
        *(DjangoUserAdmin.fieldsets or ()),
        (_("Preferences"), {"fields": ("time_zone", "theme", "language", "keys")}),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # What a person decided stays with their name; who left is made inactive.
        return False

    def save_model(self, request: HttpRequest, obj: User, form: forms.ModelForm[User], change: bool) -> None:
        before = _access(User.objects.get(pk=obj.pk)) if change else {}
        super().save_model(request, obj, form, change)
        action = "person.change" if change else "person.create"
        who = actor_of(request.user)
        audit.note_change(actor=who, action=action, subject=obj.username, before=before, after=_access(obj))


def _access(user: User) -> dict[str, Any]:
    return {name: getattr(user, name) for name in ACCESS}
