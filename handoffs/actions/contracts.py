"""Keeping every version of every contract: what a stored result was once held against can always be looked up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Max

from handoffs.contracts import Contract, contract_hash, schema
from handoffs.flows import Flow
from handoffs.insight.compatibility import Compatibility, classify
from handoffs.models import ContractVersion, sql


@dataclass(frozen=True, slots=True)
class Version:
    """One contract's current version. `created`: it was not known before."""

    name: str
    number: int
    created: bool


def contracts_of(flows: Iterable[Flow]) -> list[type[Contract]]:
    """Every contract that the flows name, once, in the order of the records' way."""
    named = [
        contract
        for flow in flows
        for contract in (flow.intake, *(c for step in flow.steps for c in (step.receives, step.returns)))
    ]
    return list(dict.fromkeys(named))


def name_of(contract: type[Contract]) -> str:
    """How a contract is named in the table: `examples.invoices.contracts.Draft`."""
    return f"{contract.__module__}.{contract.__qualname__}"


@transaction.atomic
def store_versions(contracts: Iterable[type[Contract]]) -> list[Version]:
    """Store the current version of each contract that is not stored yet; rows that are there never change.

    Safe beside another one that does the same: whoever comes second finds the version there.
    """
    at = sql.now()
    return [_store(contract, at) for contract in contracts]


def change_of(version: Version) -> Compatibility | None:
    """What a version does to both sides, against the one before it; None for the first."""
    known = ContractVersion.objects.filter(name=version.name, version__in=[version.number - 1, version.number])
    schemas = [json.loads(text) for text in known.order_by("version").values_list("schema", flat=True)]
    return classify(*schemas) if len(schemas) > 1 else None


def _store(contract: type[Contract], at: datetime) -> Version:
    name, digest = name_of(contract), contract_hash(contract)
    known = ContractVersion.objects.filter(name=name)
    while not (found := known.filter(hash=digest).first()):
        last: int = known.aggregate(last=Max("version"))["last"] or 0
        text = json.dumps(schema(contract), ensure_ascii=False, sort_keys=True)
        row = ContractVersion(name=name, version=last + 1, hash=digest, schema=text, first_seen_at=at)
        ContractVersion.objects.bulk_create([row], ignore_conflicts=True)  # the number may have been taken just now
    return Version(name, found.version, found.first_seen_at == at)
