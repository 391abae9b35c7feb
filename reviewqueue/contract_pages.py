"""What the contract pages show: the contracts of the flows that a person sees, their versions, and how they fare."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from handoffs import strict_json
from handoffs.actions.contracts import contracts_of, name_of
from handoffs.contracts import Contract, Violation, check, contract_hash, from_flaws, schema
from handoffs.insight import contract_use
from handoffs.insight.compatibility import Compatibility, classify
from handoffs.insight.contract_use import Place, Tally
from handoffs.insight.versions import Field, fields
from handoffs.models import ContractVersion
from handoffs.models.queues import sees_all
from handoffs.states import Side
from reviewqueue.charts import ABSENT, written
from reviewqueue.dashboard import inbox_url, seam_text
from reviewqueue.desk import Desk

_CHANGES: dict[Compatibility, Any] = {
    Compatibility.SAME: gettext_lazy("same schema, other rules in code"),
    Compatibility.BOTH: gettext_lazy("compatible"),
    Compatibility.FOR_PRODUCERS: gettext_lazy("compatible for producers"),
    Compatibility.FOR_CONSUMERS: gettext_lazy("compatible for consumers"),
    Compatibility.NEITHER: gettext_lazy("breaking"),
}
SOON, LATER = timedelta(days=7), timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Known:
    """A contract that is declared, stored, or both. `versions`: the stored ones, newest first."""

    name: str
    contract: type[Contract] | None
    versions: list[ContractVersion]
    places: list[Place]

    @property
    def short(self) -> str:
        """Its own name, without that of its module."""
        return self.name.rsplit(".", 1)[-1]

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def is_declared(self) -> bool:
        """For templates, which would call the class."""
        return self.contract is not None

    @property
    def current(self) -> ContractVersion | None:
        """The stored version that is declared now; None where it is not stored yet, or no longer declared."""
        if self.contract is None:
            return None
        declared = contract_hash(self.contract)
        return next((version for version in self.versions if version.hash == declared), None)

    @property
    def newest(self) -> ContractVersion | None:
        return self.versions[0] if self.versions else None

    @property
    def hashes(self) -> set[str]:
        declared = {contract_hash(self.contract)} if self.contract else set()
        return declared | {version.hash for version in self.versions}

    @property
    def history(self) -> list[tuple[ContractVersion, str]]:
        """(version, whom the change to it can break): newest first, the first version without a word."""
        older = [*(json.loads(version.schema) for version in self.versions[1:]), None]
        pairs = zip(self.versions, older, strict=False)  # a contract without versions has no history
        return [(v, _CHANGES[classify(before, json.loads(v.schema))] if before else "") for v, before in pairs]

    @property
    def url(self) -> str:
        return reverse("contract", args=[self.name])

    @property
    def flows(self) -> list[str]:
        return list(dict.fromkeys(place.flow for place in self.places))

    @property
    def fields(self) -> list[Field]:
        """The declared schema as rows, or the last stored one."""
        if self.contract is not None:
            return fields(schema(self.contract))
        return fields(json.loads(self.versions[0].schema)) if self.versions else []

    @property
    def about(self) -> str:
        doc = (self.contract.__doc__ or "") if self.contract else ""
        return " ".join(doc.split())

    @property
    def counts_unknown(self) -> bool:
        return self.contract is not None and self.contract.model_config.get("extra") == "allow"


@dataclass(frozen=True, slots=True)
class Trial:
    """A body held against a contract, to see; nothing is kept."""

    body: str
    violations: tuple[Violation, ...]
    unknown: tuple[str, ...]


def known_contracts(desk: Desk, name: str | None = None) -> list[Known]:
    """The contracts that a person sees (an admin also those that no flow names any more), or the one of a name.

    One query.
    """
    declared = {name_of(contract): contract for contract in contracts_of(desk.flows)}
    stored = ContractVersion.objects.order_by("-version", "pk")
    if not sees_all(desk.user):
        stored = stored.filter(name__in=declared)
    if name is not None:
        stored = stored.filter(name=name)
        declared = {known: contract for known, contract in declared.items() if known == name}
    versions: dict[str, list[ContractVersion]] = {}
    for row in stored:
        versions.setdefault(row.name, []).append(row)
    return [
        _known(desk, name, declared.get(name), versions.get(name, []))
        for name in [*declared, *_only(versions, declared)]
    ]


def _only(versions: Iterable[str], declared: Iterable[str]) -> list[str]:
    return sorted(set(versions) - set(declared))


def _known(desk: Desk, name: str, contract: type[Contract] | None, versions: list[ContractVersion]) -> Known:
    return Known(name, contract, versions, contract_use.places(contract, desk.flows) if contract else [])


def list_rows(desk: Desk) -> list[dict[str, Any]]:
    """The list of contracts: two queries."""
    known = known_contracts(desk)
    every = [place for each in known for place in each.places]
    stopped = contract_use.stopped_at(list(dict.fromkeys(every)), [queue.pk for queue in desk.queues])
    return [{"contract": each, "stopped": sum(stopped[place] for place in each.places)} for each in known]


def figures_of(desk: Desk, known: Known) -> dict[str, Any]:
    """How a contract fares: four queries."""
    queues = [queue.pk for queue in desk.queues]
    month, week = contract_use.tallies(known.places, queues, desk.now - LATER, desk.now - SOON)
    stopped = contract_use.stopped_at(known.places, queues)
    return {
        "week": week,
        "month": month,
        "week_rate": percent(week),
        "month_rate": percent(month),
        "stopped": sum(stopped.values()),
        "places": [_place_row(place, stopped[place]) for place in known.places],
        "violated": [
            (field, inbox_url(**_field_choices(known, field.pointer)))
            for field in contract_use.violated_fields(known.hashes, queues, desk.now - LATER)
        ],
    }


def _field_choices(known: Known, pointer: str) -> dict[str, str]:
    """The list can only be asked for a field itself, not for one inside any item of a list."""
    return (
        {"view": "any"}
        | ({} if "*" in pointer else {"field": pointer})
        | ({"flow": known.flows[0]} if known.flows else {})
    )


def _place_row(place: Place, stopped: int) -> dict[str, Any]:
    roles = {
        Side.INTAKE: _("what comes in"),
        Side.RECEIVES: _("what %(step)s receives") % {"step": place.step},
        Side.RETURNS: _("what %(step)s returns") % {"step": place.step},
    }
    url = inbox_url(flow=place.flow, step=place.step, kind=place.kind.value)
    seam = "" if place.side == Side.RETURNS else seam_text(place.flow, place.step)
    return {"place": place, "role": roles[place.side], "seam": seam, "stopped": stopped, "url": url}


def percent(tally: Tally) -> str:
    """A rate that never claims all where one broke, or none where one held."""
    if tally.rate is None:
        return ABSENT
    share = 100 * tally.rate
    rounded = round(share, 1) if 0 < tally.rate < 1 else share
    if tally.broke and rounded == 100:
        rounded = 99.9
    return _("%(n)s %%") % {"n": written(rounded)}


def tried(contract: type[Contract], text: str) -> Trial:
    """Hold a pasted body against a contract, through the same gate as one that is sent."""
    read = strict_json.read(text.encode("utf-8", "surrogatepass"))
    if isinstance(read, tuple):
        return Trial(text, from_flaws(read, side=Side.RECEIVES), ())
    checked = check(contract, read.text, side=Side.RECEIVES)
    return Trial(text, checked.violations, () if checked.violations else checked.unknown)


def compare_url(known: Known, older: int, newer: int) -> str:
    return f"{reverse('contract-compare', args=[known.name])}?{urlencode({'a': older, 'b': newer})}"
