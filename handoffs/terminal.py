"""How our commands show records to people: tables and a progress bar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from handoffs.insight.standing import Standing
from handoffs.states import Status

STYLES = {Status.COMPLETED: "green", Status.ESCALATED: "yellow", Status.CLOSED: "dim"}
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


def record_table(rows: Iterable[tuple[str, Standing]]) -> Table:
    """One line per record: where it came from, and where it stands and why."""
    table = plain_table("From", "Status", "Step", "Why", "Queue", "Owner")
    for name, one in rows:
        table.add_row(Text(name), status(one.status), _step(one), Text(one.reason), Text(one.queue), Text(one.owner))
    return table


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
