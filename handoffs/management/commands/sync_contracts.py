"""`manage.py sync_contracts`: see `handoffs.actions.contracts`."""

from __future__ import annotations

from typing import Any

from handoffs.actions.contracts import change_of, contracts_of, store_versions
from handoffs.flows import declared
from handoffs.management.plain import PlainCommand


class Command(PlainCommand):
    """Stores the current version of every declared contract."""

    help = (
        "Stores the current version of every declared contract: its JSON Schema under its hash.\n"
        "Run it with every deploy, after migrate; stored versions never change."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        versions = store_versions(contracts_of(declared().values()))
        new = [version for version in versions if version.created]
        for version in new:
            change = change_of(version)
            self.stdout.write(f"{version.name}: version {version.number}" + (f", {change}" if change else ""))
        if not versions:
            self.stdout.write("No flow is declared, so there is no contract.")
        elif not new:
            self.stdout.write(f"All {len(versions)} contracts are stored in their current version.")
