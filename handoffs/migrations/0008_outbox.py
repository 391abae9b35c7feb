import datetime

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import handoffs.models.outbox


class Migration(migrations.Migration):
    dependencies = [
        ("handoffs", "0007_batches"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Endpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True, verbose_name="name")),
                ("url", models.CharField(max_length=500, verbose_name="address")),
                (
                    "events",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="One on each line, like “escalation.opened”. Empty: all.",
                        verbose_name="events",
                    ),
                ),
                ("secret", models.CharField(default=handoffs.models.outbox.new_secret, max_length=100)),
                (
                    "old_secret",
                    models.CharField(blank=True, help_text="signs as well, until `old_until`", max_length=100),
                ),
                ("old_until", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0, verbose_name="failures in a row")),
                ("failing_since", models.DateTimeField(null=True, verbose_name="failing since")),
                ("retry_at", models.DateTimeField(null=True)),
                ("busy_until", models.DateTimeField(help_text="a process sends to it now", null=True)),
                ("delivered_at", models.DateTimeField(null=True, verbose_name="last delivered")),
                ("paused_at", models.DateTimeField(null=True, verbose_name="paused")),
                ("paused_why", models.CharField(blank=True, max_length=200)),
                (
                    "queue",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty: what happens in every queue.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="endpoints",
                        to="handoffs.queue",
                        verbose_name="queue",
                    ),
                ),
            ],
            options={
                "verbose_name": "webhook endpoint",
                "verbose_name_plural": "webhook endpoints",
            },
        ),
        migrations.CreateModel(
            name="OutboxRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uid", models.CharField(default=handoffs.models.outbox.new_id, max_length=40, unique=True)),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("escalation.opened", "escalation.opened"),
                            ("escalation.resolved", "escalation.resolved"),
                            ("escalation.unread", "escalation.unread"),
                            ("escalation.breached", "escalation.breached"),
                            ("alert.opened", "alert.opened"),
                            ("alert.closed", "alert.closed"),
                            ("ask.answered", "ask.answered"),
                            ("escalation.assigned", "escalation.assigned"),
                            ("comment.mention", "comment.mention"),
                            ("queue.owner", "queue.owner"),
                            ("queue.handover", "queue.handover"),
                        ],
                        max_length=30,
                    ),
                ),
                (
                    "fault",
                    models.CharField(
                        blank=True, help_text="rows of the same fault are told a person as one", max_length=200
                    ),
                ),
                ("escalation_id", models.BigIntegerField(null=True)),
                ("to_owner", models.BooleanField(default=False, help_text="tell whoever answers for the queue")),
                ("people", models.TextField(default="[]", help_text="ids of others to tell")),
                ("data", models.TextField(default="{}")),
                ("happened_at", models.DateTimeField()),
                ("available_at", models.DateTimeField()),
                ("spread_at", models.DateTimeField(help_text="when deliveries and notices were made of it", null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        help_text="null: all that want this event",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="handoffs.endpoint",
                    ),
                ),
                (
                    "queue",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="handoffs.queue"
                    ),
                ),
                (
                    "record",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outbox_rows",
                        to="handoffs.record",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "waiting"), ("delivered", "delivered"), ("skipped", "skipped")],
                        default="waiting",
                        max_length=10,
                        verbose_name="state",
                    ),
                ),
                ("tries", models.PositiveIntegerField(default=0, verbose_name="tries")),
                ("log", models.TextField(default="[]", help_text="the last tries: at, status or error, milliseconds")),
                ("made_at", models.DateTimeField()),
                ("done_at", models.DateTimeField(null=True, verbose_name="delivered")),
                (
                    "endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="handoffs.endpoint",
                        verbose_name="endpoint",
                    ),
                ),
                (
                    "row",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="handoffs.outboxrow",
                        verbose_name="event",
                    ),
                ),
            ],
            options={
                "verbose_name": "delivery",
                "verbose_name_plural": "deliveries",
            },
        ),
        migrations.CreateModel(
            name="MailChoice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "when",
                    models.CharField(
                        choices=[("at_once", "at once"), ("digest", "once a day, all in one"), ("never", "never")],
                        default="at_once",
                        max_length=10,
                        verbose_name="mail",
                    ),
                ),
                (
                    "digest_at",
                    models.TimeField(
                        default=datetime.time(8, 0), help_text="In your time zone.", verbose_name="daily mail at"
                    ),
                ),
                (
                    "quiet_from",
                    models.TimeField(blank=True, help_text="No mail from then …", null=True, verbose_name="quiet from"),
                ),
                (
                    "quiet_to",
                    models.TimeField(blank=True, help_text="… until then.", null=True, verbose_name="quiet to"),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mail_choice",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("when__in", ["at_once", "digest", "never"])), name="mail_when"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("quiet_from__isnull", True), ("quiet_to__isnull", True)),
                            models.Q(("quiet_from__isnull", False), ("quiet_to__isnull", False)),
                            _connector="OR",
                        ),
                        name="quiet_from_and_to",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("escalation.opened", "escalation.opened"),
                            ("escalation.resolved", "escalation.resolved"),
                            ("escalation.unread", "escalation.unread"),
                            ("escalation.breached", "escalation.breached"),
                            ("alert.opened", "alert.opened"),
                            ("alert.closed", "alert.closed"),
                            ("ask.answered", "ask.answered"),
                            ("escalation.assigned", "escalation.assigned"),
                            ("comment.mention", "comment.mention"),
                            ("queue.owner", "queue.owner"),
                            ("queue.handover", "queue.handover"),
                        ],
                        max_length=30,
                    ),
                ),
                ("fault", models.CharField(blank=True, max_length=200)),
                ("escalation_id", models.BigIntegerField(help_text="the latest one", null=True)),
                ("data", models.TextField(default="{}")),
                ("count", models.PositiveIntegerField(default=1)),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("read_at", models.DateTimeField(null=True)),
                (
                    "mail",
                    models.CharField(
                        choices=[
                            ("due", "due"),
                            ("sent", "sent"),
                            ("no_address", "no_address"),
                            ("not_wanted", "not_wanted"),
                            ("off", "off"),
                        ],
                        max_length=10,
                    ),
                ),
                ("mail_at", models.DateTimeField(help_text="when a mail is due", null=True)),
                ("mailed_at", models.DateTimeField(help_text="when the last mail that told of it left", null=True)),
                (
                    "queue",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="handoffs.queue"
                    ),
                ),
                (
                    "record",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="handoffs.record",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notices", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["user", "-last_at", "-id"], name="notice_newest"),
                    models.Index(
                        condition=models.Q(("mail_at__isnull", False)), fields=["mail_at"], name="notice_mail_due"
                    ),
                    models.Index(fields=["escalation_id"], name="notice_escalation"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("read_at__isnull", True)),
                        fields=("user", "event", "fault"),
                        name="one_unread_notice",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mail__in", ["due", "sent", "no_address", "not_wanted", "off"])),
                        name="notice_mail",
                    ),
                ],
            },
        ),
        migrations.AddIndex(
            model_name="outboxrow",
            index=models.Index(
                condition=models.Q(("spread_at__isnull", True)), fields=["available_at", "id"], name="outbox_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="outboxrow",
            index=models.Index(fields=["spread_at"], name="outbox_spread"),
        ),
        migrations.AddConstraint(
            model_name="outboxrow",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "event__in",
                        [
                            "escalation.opened",
                            "escalation.resolved",
                            "escalation.unread",
                            "escalation.breached",
                            "alert.opened",
                            "alert.closed",
                            "ask.answered",
                            "escalation.assigned",
                            "comment.mention",
                            "queue.owner",
                            "queue.handover",
                        ],
                    )
                ),
                name="outbox_event",
            ),
        ),
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["endpoint", "id"], name="delivery_waiting"
            ),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "delivered", "skipped"])), name="delivery_state"
            ),
        ),
    ]
