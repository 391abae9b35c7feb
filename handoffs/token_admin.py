"""Agents' tokens in the admin: made, rotated and revoked through actions; a secret is shown once and never again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _

from handoffs import scopes
from handoffs.actions import agents
from handoffs.actions.agents import Made
from handoffs.actions.escalations import actor_of
from handoffs.errors import DeclarationError, HandoffsError
from handoffs.models import AgentToken

if TYPE_CHECKING:
    TokenBase = admin.ModelAdmin[AgentToken]
    TokenModelForm = forms.ModelForm[AgentToken]
else:
    TokenBase = admin.ModelAdmin
    TokenModelForm = forms.ModelForm


class TokenForm(TokenModelForm):
    """What a new token may do."""

    def clean_scopes(self) -> str:
        try:
            return scopes.as_text(scopes.parse(self.cleaned_data["scopes"]))
        except DeclarationError as error:
            raise ValidationError(str(error)) from error


@admin.register(AgentToken)
class AgentTokenAdmin(TokenBase):
    """Tokens are never changed: what one may do stays what it was made for."""

    form = TokenForm
    fields = ("name", "scopes", "requests_per_minute", "expires_at")
    list_display = ("name", "shown", "scopes", "last_used_at", "expires_at", "revoked_at")
    search_fields = ("name", "public_id__exact")
    ordering = ("name", "pk")
    actions = ("rotate", "revoke")

    @admin.display(description=_("token"))
    def shown(self, token: AgentToken) -> str:
        return f"hf_{token.public_id}_…"

    def has_change_permission(self, request: HttpRequest, obj: AgentToken | None = None) -> bool:
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: AgentToken, form: ModelForm[AgentToken], change: bool) -> None:
        given = form.cleaned_data
        made = agents.create_token(
            name=given["name"],
            scopes_text=given["scopes"],
            by=actor_of(request.user),
            expires_at=given["expires_at"],
            requests_per_minute=given["requests_per_minute"],
        )
        obj.pk, obj._state.adding = made.token.pk, False
        request.made_token = made  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: AgentToken, post_url_continue: str | None = None) -> HttpResponse:
        return self._shown_once(request, request.made_token)  # type: ignore[attr-defined]

    def _shown_once(self, request: HttpRequest, made: Made) -> HttpResponse:
        """In the answer itself, not in a message or an address: nothing keeps it, and a reload can't bring it back."""
        context = {**self.admin_site.each_context(request), "opts": self.opts, "made": made, "title": made.token.name}
        response = TemplateResponse(request, "admin/agent_token_made.html", context)
        response.headers["Cache-Control"] = "no-store"
        return response

    @admin.action(description=_("Rotate: a new secret, the old one is taken for another day"), permissions=["add"])
    def rotate(self, request: HttpRequest, chosen: QuerySet[AgentToken]) -> HttpResponse | None:
        tokens = list(chosen[:2])
        if len(tokens) != 1:
            self.message_user(request, _("Rotate one token at a time: its secret is shown once."), messages.ERROR)
            return None
        try:
            return self._shown_once(request, agents.rotate_token(token=tokens[0], by=actor_of(request.user)))
        except HandoffsError as error:
            self.message_user(request, str(error), messages.ERROR)
            return None

    @admin.action(description=_("Revoke, from the next request on"), permissions=["add"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[AgentToken]) -> None:
        for token in chosen:
            agents.revoke_token(token=token, by=actor_of(request.user))
        self.message_user(request, _("Revoked."))
