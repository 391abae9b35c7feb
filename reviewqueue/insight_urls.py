"""The addresses of the pages that look at the work as a whole: figures, contracts, exports."""

from __future__ import annotations

from django.urls import path, re_path

from reviewqueue.views import contracts, dashboard, exports

urlpatterns = [
    path("dashboard/", dashboard.dashboard, name="dashboard"),
    path("contracts/", contracts.contracts, name="contracts"),
    path("contracts/<str:name>/", contracts.contract, name="contract"),
    path("contracts/<str:name>/v/<int:number>/", contracts.contract_version, name="contract-version"),
    path("contracts/<str:name>/compare/", contracts.contract_compare, name="contract-compare"),
    re_path(r"^export/escalations\.(?P<form>csv|ndjson)$", exports.escalations, name="export-escalations"),
    re_path(r"^export/records\.(?P<form>csv|ndjson)$", exports.records, name="export-records"),
]
