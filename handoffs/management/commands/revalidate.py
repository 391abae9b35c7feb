"""`manage.py revalidate`: see `handoffs.revalidation`."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.text import Text

from handoffs.actions.contracts import contracts_of, name_of
from handoffs.management.plain import PlainCommand, named_flow
from handoffs.revalidation import EXAMPLES, Revalidation, revalidate
from handoffs.terminal import plain_table


class Command(PlainCommand):
    """Holds stored bodies against the contracts of the working copy."""

    help = (
        "Holds the bodies that a flow took lately against the contracts as the code has them now: which of them would\n"
        "be refused? Nothing is changed. Run it with a changed contract, before that goes into production."
    )
    ending = "exit codes:\n  0  everything that was taken would be taken again\n  1  some of it would be refused"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("flow", metavar="FLOW")
        parser.add_argument("--contract", default="", metavar="NAME", help="only this contract, such as CheckInput")
        parser.add_argument("--last", type=int, default=1000, metavar="N", help="of so many records (1000)")
        parser.add_argument("--json", action="store_true", help="tell it as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        flow = named_flow(options["flow"])
        names = {name for found in contracts_of([flow]) for name in (found.__name__, name_of(found))}
        if options["contract"] and options["contract"] not in names:
            short = ", ".join(sorted(found.__name__ for found in contracts_of([flow])))
            raise CommandError(f"{flow.name} has no contract {options['contract']!r}. It has: {short}.")
        if options["last"] < 1:
            raise CommandError("--last is a whole number from 1.")
        found = revalidate(flow, contract=options["contract"], last=options["last"])
        if options["json"]:
            self.stdout.write(json.dumps(_as_data(flow.name, found), indent=2, ensure_ascii=False))
        else:
            self._tell(flow.name, found)
        if found.newly:
            raise SystemExit(1)

    def _tell(self, flow: str, found: Revalidation) -> None:
        if found.refused:
            table = plain_table("Place", "Contract", "Field", "Rule", "Records", "For instance", right=["Records"])
            for (place, contract, pointer, rule), group in _sorted(found):
                some = ", ".join(map(str, group.records[:EXAMPLES])) + (" …" if len(group.records) > EXAMPLES else "")
                what = Text.assemble((rule, "bold"), f" {group.sentence}")
                table.add_row(place, contract, pointer or "the whole body", what, f"{len(group.records):,}", some)
            self.console.print(table)
        said = f"{found.newly:,} of {found.bodies:,} bodies that {flow} took would be refused now."
        self.console.print(Text(said, "bold red" if found.newly else "green"))
        if found.gone:
            self.console.print(f"{found.gone:,} are of steps that the code no longer has.")


def _sorted(found: Revalidation) -> list[Any]:
    return sorted(found.refused.items(), key=lambda item: (-len(item[1].records), item[0]))


def _as_data(flow: str, found: Revalidation) -> dict[str, Any]:
    groups = [
        {
            "place": place,
            "contract": contract,
            "pointer": pointer,
            "rule": rule,
            "sentence": group.sentence,
            "records": len(group.records),
            "examples": group.records[:EXAMPLES],
        }
        for (place, contract, pointer, rule), group in _sorted(found)
    ]
    return {"flow": flow, "bodies": found.bodies, "newly_refused": found.newly, "groups": groups}
