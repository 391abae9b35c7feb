"""Taking files in: each becomes a record through its flow's reader, and what can't be taken in is named.

The same file again opens nothing: a record is known by what its reader says, or by the digest of its body.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from handoffs import conf
from handoffs.actions.records import Opened, Opening, open_records
from handoffs.flows import Flow
from handoffs.models import Attachment

LARGEST = 100_000_000  # bytes of one file; nothing that a contract or an attachment takes is near it
HELD = 16_000_000  # bytes of one batch; a batch of large files is a small one
LINES = frozenset({".jsonl", ".ndjson"})


class UnreadableFile(Exception):
    """A file or folder that can't be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """A path to take in, or why there is none."""

    path: Path
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one body of one file. With a `problem` nothing was written; `record_id` may be in its place."""

    name: str
    record_id: int | None = None
    created: bool = False
    problem: str = ""


def find(paths: Iterable[Path]) -> list[Found]:
    """The files to take in: of folders all that lie below, by name, without hidden ones."""
    return [found for path in paths for found in (_below(path) if path.is_dir() else [_one(path)])]


def _one(path: Path) -> Found:
    if path.is_file():
        return Found(path)
    return Found(path, "It is not a file." if path.exists() else "There is no such file.")


def _below(folder: Path) -> Iterator[Found]:
    problems: list[Found] = []

    def note(error: OSError) -> None:
        problems.append(Found(Path(error.filename), _said(error)))

    files = []
    for place, folders, names in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(place, name) for name in names if not name.startswith(".")]
    yield from (_one(path) for path in sorted(files))
    yield from problems


def shown(path: Path) -> str:
    """A path as text, whatever bytes its name has."""
    return str(path).encode("utf-8", "replace").decode()


def take_in(flow: Flow, found: Sequence[Found], *, actor: str, on_file: Callable[[], None]) -> Iterator[list[Taken]]:
    """Open records from files, in batches; what became of each body, in order. `on_file` is called after each file.

    Raises:
        UnknownQueue: a queue that the flow names does not exist.
    """
    names: list[str] = []
    openings: list[Opening] = []
    for each in found:
        try:
            for name, opening in _bodies(flow, each):
                names.append(name)
                openings.append(opening)
                if _is_full(openings):
                    yield _opened(flow, names, openings, actor)
                    names, openings = [], []
        except UnreadableFile as error:
            yield [*_opened(flow, names, openings, actor), Taken(shown(each.path), problem=str(error))]
            names, openings = [], []
        on_file()
    yield _opened(flow, names, openings, actor)


def _is_full(openings: Sequence[Opening]) -> bool:
    if len(openings) >= conf.get("INTAKE_BATCH"):
        return True
    return sum(len(o.body) + sum(len(content) for _, _, content in o.attachments) for o in openings) > HELD


def _bodies(flow: Flow, found: Found) -> Iterator[tuple[str, Opening]]:
    """(name, opening) of what a file holds. Raises `UnreadableFile`."""
    if found.problem:
        raise UnreadableFile(found.problem)
    name = shown(found.path)
    try:
        if flow.reader is None and found.path.suffix.lower() in LINES:
            yield from _lines(name, found.path)
            return
        raw = _read(found.path)
    except OSError as error:
        raise UnreadableFile(_said(error)) from error
    yield name, opening_of(flow, found.path, raw)


def _read(path: Path) -> bytes:
    size = path.stat().st_size
    if size > LARGEST:
        raise UnreadableFile(f"It has {size:,} bytes; files up to {LARGEST:,} are read.")
    return path.read_bytes()


def _lines(name: str, path: Path) -> Iterator[tuple[str, Opening]]:
    """One body per line. Equal lines are told apart by their number among their equals, so that a file may grow."""
    equal: Counter[str] = Counter()
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if body := line.strip():
                digest = _digest(body)
                equal[digest] += 1
                nth = equal[digest]
                yield f"{name}:{number}", Opening(body, digest if nth == 1 else f"{digest}:{nth}")


def opening_of(flow: Flow, path: Path, raw: bytes) -> Opening:
    """What the flow's reader makes of one file's bytes; without a reader they are the body. Raises `UnreadableFile`."""
    if flow.reader is None:
        return Opening(raw, _digest(raw))
    try:
        made = flow.reader(path, raw)
    except Exception as error:  # the flow's own code: one file that it can't read must not stop the others
        raise UnreadableFile(f"The reader of {flow.name} failed: {type(error).__name__}: {error}"[:500]) from error
    return Opening(made.body.encode("utf-8", "surrogatepass"), made.external_id, made.attachments)


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _said(error: OSError) -> str:
    return f"{error.strerror or error}."


def _opened(flow: Flow, names: Sequence[str], openings: Sequence[Opening], actor: str) -> list[Taken]:
    if not openings:
        return []
    answers = open_records(flow=flow, openings=openings, actor=actor)
    kept = _kept([opened.record_id for opened in answers if opened.conflict])
    return [_taken(*one, kept) for one in zip(names, openings, answers, strict=True)]


def _kept(records: Sequence[int]) -> set[tuple[int, str]]:
    """(record, digest) of every attachment of these records."""
    held = Attachment.objects.filter(record__in=records) if records else Attachment.objects.none()
    return set(held.values_list("record", "digest"))


def _taken(name: str, opening: Opening, opened: Opened, kept: set[tuple[int, str]]) -> Taken:
    """A file under another name makes another body, and is the same file: what it brings is attached already."""
    digests = [_digest(content) for _, _, content in opening.attachments]
    is_same_file = bool(digests) and all((opened.record_id, digest) in kept for digest in digests)
    if opened.conflict and not is_same_file:
        return Taken(name, opened.record_id, problem=f"Record {opened.record_id} has the same id, and another body.")
    return Taken(name, opened.record_id, opened.created)
