"""The addresses of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import URLPattern, URLResolver, include, path, reverse_lazy

from reviewqueue.views import api_docs, flows, inbox, notices, ops, profile, queues, readiness, records, saved_views

account: list[URLPattern | URLResolver] = [
    path("login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", auth.LogoutView.as_view(template_name="registration/logged_out.html"), name="logout"),
    path("profile/", profile.profile, name="profile"),
    path("mail/", profile.mail, name="mail-choice"),
    path("password/", profile.NewPassword.as_view(success_url=reverse_lazy("profile")), name="password_change"),
]

one_view: list[URLPattern | URLResolver] = [
    path("", saved_views.view, name="view"),
    path("rename/", saved_views.rename, name="view-rename"),
    path("delete/", saved_views.delete, name="view-delete"),
    path("first/", saved_views.open_first, name="view-first"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/docs/", api_docs.api_docs, name="api-docs"),
    path("", include("handoffs.urls")),  # early: agents ask most
    path("", saved_views.home, name="home"),
    path("views/", saved_views.views, name="views"),
    path("views/<int:pk>/", include(one_view)),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/next/", inbox.take_next, name="inbox-next"),
    path("notices/", notices.notices, name="notices"),
    path("records/", records.records, name="records"),
    path("queues/", queues.queues, name="queues"),
    path("queues/<slug:slug>/", queues.queue, name="queue"),
    path("flows/", flows.flows, name="flows"),
    path("flows/<str:name>/", flows.flow, name="flow"),
    path("flows/<str:name>/readiness/", readiness.readiness, name="readiness"),
    path("flows/<str:name>/readiness/drill/", readiness.readiness_drill, name="readiness-drill"),
    path("flows/<str:name>/readiness/inputs/<str:digest>/", readiness.readiness_input, name="readiness-input"),
    path("flows/<str:name>/readiness/cases/<int:pk>/forget/", readiness.readiness_forget, name="readiness-forget"),
    path("", include("reviewqueue.escalation_urls")),
    path("", include("reviewqueue.insight_urls")),
    path("accounts/", include(account)),
    path("admin/", admin.site.urls),
    path("healthz", ops.healthz, name="healthz"),
    path("readyz", ops.readyz, name="readyz"),
    path("metrics", ops.figures, name="metrics"),
]

handler400 = "reviewqueue.views.errors.bad_request"
handler403 = "reviewqueue.views.errors.permission_denied"
handler404 = "reviewqueue.views.errors.page_not_found"
handler500 = "reviewqueue.views.errors.server_error"
