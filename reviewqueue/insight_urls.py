"""The addresses of the pages that look at the work as a whole: figures, contracts, exports."""

from __future__ import annotations

from django.urls import path

from reviewqueue.views import dashboard

urlpatterns = [
    path("dashboard/", dashboard.dashboard, name="dashboard"),
]
