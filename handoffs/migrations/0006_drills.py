from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("handoffs", "0005_figure_indexes"),
    ]

    operations = [
        migrations.CreateModel(
            name="DrillRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("flow", models.CharField(max_length=100)),
                ("step", models.CharField(blank=True, help_text="empty: the whole flow was drilled", max_length=100)),
                ("seed", models.BigIntegerField()),
                (
                    "verdict",
                    models.CharField(
                        choices=[("ready", "ready"), ("not_ready", "not_ready"), ("not_covered", "not_covered")],
                        help_text="of the whole flow",
                        max_length=12,
                    ),
                ),
                (
                    "fingerprint",
                    models.CharField(help_text="of the flow's declaration, as it was drilled", max_length=64),
                ),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("actor", models.CharField(max_length=150)),
                ("hashes", models.TextField(default="{}", help_text="contract hashes by place")),
                (
                    "schemas",
                    models.TextField(
                        default="{}", help_text="JSON Schemas by place, to see what the next drill lets through"
                    ),
                ),
                ("report", models.TextField(default="{}", help_text="the report as JSON; failing bodies with it")),
            ],
            options={
                "indexes": [models.Index(fields=["flow", "-ended_at"], name="drill_flow")],
            },
        ),
    ]
