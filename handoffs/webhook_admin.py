"""Webhooks in the admin: endpoints, and the log of their deliveries. A secret is shown once and never again."""

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

from handoffs.actions import deliveries, endpoints
from handoffs.errors import HandoffsError
from handoffs.models import Delivery, Endpoint

if TYPE_CHECKING:
    EndpointBase = admin.ModelAdmin[Endpoint]
    DeliveryBase = admin.ModelAdmin[Delivery]
    EndpointModelForm = forms.ModelForm[Endpoint]
else:
    EndpointBase = DeliveryBase = admin.ModelAdmin
    EndpointModelForm = forms.ModelForm


class EndpointForm(EndpointModelForm):
    """An endpoint's settings, refused where webhooks could not go there."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        given = {name: self.cleaned_data.get(name) for name in ("name", "url", "events")}
        if not self.errors:
            try:
                endpoints.require_fit(Endpoint(pk=self.instance.pk, **given))
            except HandoffsError as error:
                raise ValidationError(str(error)) from error
        return cleaned


@admin.register(Endpoint)
class EndpointAdmin(EndpointBase):
    """Where webhooks go."""

    form = EndpointForm
    fields = ("name", "url", "queue", "events")
    list_display = ("name", "url", "queue", "waiting", "delivered_at", "failing_since", "failures", "paused_at")
    list_select_related = ("queue",)
    search_fields = ("name", "url")
    ordering = ("name", "pk")
    actions = ("rotate", "pause", "resume")

    @admin.display(description=_("waiting"))
    def waiting(self, endpoint: Endpoint) -> str:
        count = endpoint.deliveries.filter(state="waiting")[:1001].count()
        return str(count) if count <= 1000 else "1000+"

    def save_model(self, request: HttpRequest, obj: Endpoint, form: ModelForm[Endpoint], change: bool) -> None:
        given = {name: form.cleaned_data[name] for name in endpoints.SETTINGS}
        if change:
            endpoints.change_endpoint(endpoint=obj, by=request.user, **given)
            return
        made = endpoints.create_endpoint(by=request.user, **given)
        obj.pk, obj._state.adding = made.pk, False
        request.made_endpoint = made  # type: ignore[attr-defined]

    def delete_model(self, request: HttpRequest, obj: Endpoint) -> None:
        endpoints.remove_endpoint(endpoint=obj, by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> None:
        for endpoint in queryset:
            endpoints.remove_endpoint(endpoint=endpoint, by=request.user)

    def response_add(self, request: HttpRequest, obj: Endpoint, post_url_continue: str | None = None) -> HttpResponse:
        return self._shown_once(request, request.made_endpoint)  # type: ignore[attr-defined]

    def _shown_once(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": self.opts, "made": endpoint, "title": endpoint.name}
        response = TemplateResponse(request, "admin/webhook_secret.html", context)
        response.headers["Cache-Control"] = "no-store"
        return response

    @admin.action(description=_("New secret: for a day, the old one signs as well"), permissions=["change"])
    def rotate(self, request: HttpRequest, chosen: QuerySet[Endpoint]) -> HttpResponse | None:
        found = list(chosen[:2])
        if len(found) != 1:
            self.message_user(request, _("Choose one endpoint: its secret is shown once."), messages.ERROR)
            return None
        return self._shown_once(request, endpoints.rotate_secret(endpoint=found[0], by=request.user))

    @admin.action(description=_("Pause: what is to be sent waits"), permissions=["change"])
    def pause(self, request: HttpRequest, chosen: QuerySet[Endpoint]) -> None:
        for endpoint in chosen:
            endpoints.pause(endpoint=endpoint, by=request.user)
        self.message_user(request, _("Paused."))

    @admin.action(description=_("Resume: what waited is sent in its order"), permissions=["change"])
    def resume(self, request: HttpRequest, chosen: QuerySet[Endpoint]) -> None:
        for endpoint in chosen:
            endpoints.resume(endpoint=endpoint, by=request.user)
        self.message_user(request, _("Resumed."))


@admin.register(Delivery)
class DeliveryAdmin(DeliveryBase):
    """The log of the deliveries, each with its last tries."""

    list_display = ("id", "endpoint", "event", "state", "tries", "last", "made_at", "done_at")
    list_select_related = ("endpoint", "row")
    list_filter = ("state", "endpoint")
    search_fields = ("row__uid__exact",)
    search_help_text = _("The id of an event, whole.")
    ordering = ("-pk",)
    list_per_page = 50
    show_full_result_count = False
    actions = ("resend", "skip")
    fields = readonly_fields = ("row", "endpoint", "state", "tries", "each_try", "made_at", "done_at")

    @admin.display(description=_("event"))
    def event(self, delivery: Delivery) -> str:
        return delivery.row.event

    @admin.display(description=_("last answer"))
    def last(self, delivery: Delivery) -> str:
        return self._words(delivery.attempts[-1]) if delivery.attempts else "–"

    @admin.display(description=_("last tries"))
    def each_try(self, delivery: Delivery) -> str:
        return "\n".join(f"{line['at']}  {self._words(line)}" for line in delivery.attempts) or "–"

    def _words(self, line: dict[str, Any]) -> str:
        said = f"HTTP {line['status']}" if line["status"] else line["error"]
        return f"{said} ({line['ms']} ms)"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description=_("Send again, with the same id"), permissions=["change"])
    def resend(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> None:
        self._each(request, chosen, deliveries.resend, _("They wait to be sent again."))

    @admin.action(description=_("Give up: send what waits behind"), permissions=["change"])
    def skip(self, request: HttpRequest, chosen: QuerySet[Delivery]) -> None:
        self._each(request, chosen, deliveries.skip, _("They are given up."))

    def _each(self, request: HttpRequest, chosen: QuerySet[Delivery], action: Any, said: Any) -> None:
        for delivery in chosen.select_related("row", "endpoint").order_by("pk"):
            try:
                action(delivery=delivery, by=request.user)
            except HandoffsError as error:
                self.message_user(request, f"{delivery}: {error}", messages.ERROR)
                return
        self.message_user(request, said)
