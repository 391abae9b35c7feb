from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="LedgerEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100, unique=True)),
                ("kind", models.CharField(max_length=20)),
                ("supplier", models.CharField(max_length=300)),
                ("supplier_id", models.CharField(max_length=100)),
                ("invoice_number", models.CharField(max_length=100)),
                ("issue_date", models.DateField()),
                ("currency", models.CharField(max_length=3)),
                ("total", models.CharField(max_length=40)),
                ("tax", models.CharField(blank=True, max_length=40)),
                ("purchase_order", models.CharField(blank=True, max_length=100)),
                ("cost_centre", models.CharField(blank=True, max_length=20)),
                ("posted_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "verbose_name_plural": "ledger entries",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("supplier_id", "kind", "invoice_number"), name="one_number_per_supplier"
                    )
                ],
            },
        ),
    ]
