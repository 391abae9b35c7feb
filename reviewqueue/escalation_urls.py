"""The addresses of escalations and records."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from reviewqueue.views import attachments, batches, claims, escalations, readiness, record, verdicts

one_escalation: list[URLPattern | URLResolver] = [
    path("", escalations.escalation, name="escalation"),
    path("preview/", escalations.preview, name="escalation-preview"),
    path("fix/", verdicts.fix, name="escalation-fix"),
    path("approve/", verdicts.approve, name="escalation-approve"),
    path("answer/", verdicts.answer, name="escalation-answer"),
    path("retry/", verdicts.retry, name="escalation-retry"),
    path("close/", verdicts.close, name="escalation-close"),
    path("undo/", verdicts.undo, name="escalation-undo"),
    path("draft/discard/", verdicts.discard_draft, name="escalation-discard-draft"),
    path("claim/", claims.claim, name="escalation-claim"),
    path("release/", claims.release, name="escalation-release"),
    path("transfer/", claims.transfer, name="escalation-transfer"),
    path("assign/", claims.assign, name="escalation-assign"),
    path("snooze/", claims.snooze, name="escalation-snooze"),
    path("keep/", readiness.escalation_keep, name="escalation-keep"),
    path("comment/", claims.comment, name="escalation-comment"),
]

one_record: list[URLPattern | URLResolver] = [
    path("", record.record, name="record"),
    path("body/", record.record_body, name="record-body"),
    path("reopen/", record.reopen, name="record-reopen"),
    path("close/", record.close, name="record-close"),
]

one_batch: list[URLPattern | URLResolver] = [
    path("", batches.batch, name="batch"),
    path("begin/", batches.begin, name="batch-begin"),
    path("stop/", batches.stop, name="batch-stop"),
    path("again/", batches.again, name="batch-again"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("escalations/bulk/", batches.choose, name="escalation-bulk"),
    path("batches/", batches.all_batches, name="batches"),
    path("batches/<int:pk>/", include(one_batch)),
    path("batches/<int:pk>.csv", batches.batch_csv, name="batch-csv"),
    path("escalations/<int:pk>/", include(one_escalation)),
    path("records/<int:pk>/", include(one_record)),
    path("records/<int:pk>.json", record.record_json, name="record-json"),
    path("attachments/<int:pk>/", attachments.attachment, name="attachment"),
    path("attachments/<int:pk>/view/", attachments.view, name="attachment-view"),
    path("attachments/<int:pk>/pages/<int:page>/", attachments.page, name="attachment-page"),
]
