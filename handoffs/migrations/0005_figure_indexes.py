import django.contrib.postgres.indexes
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("handoffs", "0004_agents")]

    operations = [
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(fields=["queue", "opened_at"], name="escalation_opened"),
        ),
        migrations.AddIndex(
            model_name="stepresult",
            index=django.contrib.postgres.indexes.BrinIndex(fields=["ended_at"], name="result_ended"),
        ),
        migrations.AddIndex(
            model_name="violation",
            index=django.contrib.postgres.indexes.BrinIndex(fields=["found_at"], name="violation_found"),
        ),
    ]
