"""A first contract from sample bodies: what all of them have in common, written as Python to go on from.

The schema is inferred by genson, the code is written by datamodel-code-generator; both come with the extra `draft`.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from handoffs import strict_json
from handoffs.contracts import Contract, check
from handoffs.errors import DeclarationError
from handoffs.states import Side

_FORMATS = {"date": date.fromisoformat, "date-time": datetime.fromisoformat}


def read_samples(raw: bytes) -> list[Any]:
    """The bodies of an NDJSON file, one on each line.

    Raises:
        DeclarationError: a line is not JSON as the gate takes it, no object, or there is none.
    """
    found = []
    for number, line in enumerate(raw.splitlines(), 1):
        if not line.strip():
            continue
        read = strict_json.read(line)
        if isinstance(read, tuple):
            raise DeclarationError(f"Line {number}: {read[0].sentence}")
        if not isinstance(read.data, dict):
            raise DeclarationError(f"Line {number} is no object: a contract has fields.")
        found.append(read.data)
    if not found:
        raise DeclarationError("There is no sample: put one JSON object on each line.")
    return found


def draft(samples: Sequence[Any], name: str) -> str:
    """Python code of a contract that every sample holds.

    Raises:
        DeclarationError: the extra is not installed, or what was written does not hold.
    """
    try:
        from datamodel_code_generator.__main__ import main as write
        from genson import SchemaBuilder
    except ImportError as error:
        raise DeclarationError("Install the extra first: pip install 'handoffs[draft]'.") from error
    builder = SchemaBuilder()
    for sample in samples:
        builder.add_object(sample)
    schema = builder.to_schema()
    _note_formats(schema, samples)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given, made = Path(folder) / "samples.json", Path(folder) / "contracts.py"
        given.write_text(json.dumps(schema | {"title": name}), encoding="utf-8")
        words = [
            "--input", str(given), "--input-file-type", "jsonschema", "--output", str(made), "--class-name", name,
            "--base-class", "handoffs.Contract", "--output-model-type", "pydantic_v2.BaseModel", "--use-annotated",
            "--disable-timestamp", "--target-python-version", "3.11", "--use-standard-collections",
            "--use-union-operator", "--custom-file-header", f'"""Drafted from {len(samples)} samples: narrow it."""',
        ]  # fmt: skip
        if write(words):
            raise DeclarationError("datamodel-code-generator could not write the contract.")
        code = made.read_text(encoding="utf-8")
    _require_holds(code, name, samples)
    return code


def _note_formats(schema: dict[str, Any], values: Sequence[Any]) -> None:
    """Say which texts are dates or times in every sample; the inference only sees texts."""
    kinds = schema.get("type")
    if kinds == "string" or (isinstance(kinds, list) and "string" in kinds):
        texts = [value for value in values if isinstance(value, str)]
        for named, read in _FORMATS.items():
            if texts and all(_reads(read, text) and ("T" in text) == (named == "date-time") for text in texts):
                schema["format"] = named
    for name, inner in schema.get("properties", {}).items():
        _note_formats(inner, [value[name] for value in values if isinstance(value, dict) and name in value])
    if isinstance(items := schema.get("items"), dict):
        _note_formats(items, [item for value in values if isinstance(value, list) for item in value])


def _reads(read: Any, text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _require_holds(code: str, name: str, samples: Sequence[Any]) -> None:
    space: dict[str, Any] = {"__name__": f"drafted_{name.lower()}"}
    exec(compile(code, "<drafted contract>", "exec"), space)  # noqa: S102 - it was written just now, from a schema
    contract: type[Contract] = space[name]
    contract.model_rebuild(_types_namespace=space)
    for place, sentence in _breaks(contract, samples):
        raise DeclarationError(f"The draft does not take sample {place}: {sentence}")


def _breaks(contract: type[Contract], samples: Sequence[Any]) -> Iterator[tuple[int, str]]:
    for place, sample in enumerate(samples, 1):
        for violation in check(contract, json.dumps(sample), side=Side.INTAKE).violations:
            yield place, f"{violation.pointer}: {violation.sentence}"
