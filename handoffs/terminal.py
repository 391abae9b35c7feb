"""How our commands show records to people: tables and a progress bar."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich import box
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from handoffs.insight.standing import Standing
from handoffs.states import Status

STYLES = {Status.COMPLETED: "green", Status.ESCALATED: "yellow", Status.CLOSED: "dim"}
LONGEST_NAME = 40
LONGEST_REASON = 150  # the page shows all of it
KIND_WORDS = {
    "refused": "refused",
    "broken_output": "broken output",
    "low_confidence": "low confidence",
    "failed": "failed",
    "asked": "asked a question",
    "review": "a person's step",
    "stranded": "step is gone",
    "reopened": "reopened",
}


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table with a line under its head and nothing around it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def record_tables(rows: Iterable[tuple[str, Standing]]) -> Iterator[RenderableType]:
    """One line per record: where it came from, where it stands and why; those that wait for a person by queue.

    A name is where it came from, such as a file.
    """
    every = sorted(rows, key=lambda row: row[1].queue)
    widths = [min(max(len(name) for name, _ in every), LONGEST_NAME), max(len(_step(one)) for _, one in every)]
    for (queue, owner), group in groupby(every, key=lambda row: (row[1].queue, row[1].owner)):
        listed = list(group)
        if queue:
            many = "record waits" if len(listed) == 1 else "records wait"
            yield Text.assemble("\n ", (queue, "bold"), f", owned by {owner}: {len(listed)} {many}")
        yield _rows_of(listed, widths)


def without_common_folder(rows: Sequence[tuple[str, Standing]]) -> list[tuple[str, Standing]]:
    """The same rows, without the folder that all names have in common."""
    folders = {os.path.dirname(name) for name, _ in rows}
    if "" in folders or len({folder.startswith(os.sep) for folder in folders}) > 1:
        return list(rows)
    common = os.path.commonpath(folders)
    return [(os.path.relpath(name, common), one) for name, one in rows]


def _rows_of(rows: Iterable[tuple[str, Standing]], widths: Sequence[int]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(width=widths[0], overflow="fold")
    table.add_column(width=len(Status.COMPLETED))
    table.add_column(width=widths[1])
    table.add_column(overflow="fold")
    for name, one in rows:
        table.add_row(Text(name), status(one.status), _step(one), Text(_shortened(one.reason)))
    return table


def _shortened(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1].rstrip() + "…"


def summary_table(standings: Iterable[Standing]) -> Table:
    """One line per status and reason, the most frequent first within each status."""
    counts = Counter(
        (one.status, _step(one), KIND_WORDS.get(one.kind, one.kind), one.at, one.queue, one.owner) for one in standings
    )
    table = plain_table("Records", "Status", "Step", "Why", "", "Queue", "Owner", right=["Records"])
    order = list(Status)
    for key, count in sorted(counts.items(), key=lambda item: (order.index(Status(item[0][0])), -item[1], item[0])):
        name, *texts = key
        table.add_row(f"{count:,}", status(name), *map(Text, texts))
    return table


def status(name: str) -> Text:
    return Text(name, style=STYLES.get(Status(name), "cyan"))


def _step(one: Standing) -> str:
    return "" if one.status == Status.COMPLETED else one.step


def progress(console: Console) -> Progress:
    """A bar with counts, gone when it is done; silent where no person looks."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
