"""The seams of a flow, read before any record goes through: what each step may be handed against what it receives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from handoffs import titles
from handoffs.contracts import Contract
from handoffs.fit import Gap, Level, escape, fit
from handoffs.flows import Flow, Step
from handoffs.shapes import Shape
from handoffs.states import INTAKE


@dataclass(frozen=True, slots=True)
class Route:
    """One way to arrive at a step: who wrote the document, and which steps between were skipped."""

    producer: str
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What the reading found at one seam; `pointer` is relative to the consumer's contract."""

    level: Level
    code: str
    seam: str
    pointer: str
    sentence: str


def paths(flow: Flow) -> dict[str, tuple[Route, ...]]:
    """List the ways to arrive at each step, the nearest producer first."""
    found: dict[str, tuple[Route, ...]] = {}
    routes: tuple[Route, ...] = (Route(INTAKE),)
    for step in flow.steps:
        found[step.name] = routes
        around = [replace(route, skipped=(*route.skipped, step.name)) for route in routes] if step.when else []
        routes = (Route(step.name), *around)
    return found


def read(flow: Flow) -> list[Finding]:
    """Read every seam of a flow on every path, in the order of its steps."""
    routes = paths(flow)
    findings = [finding for step in flow.steps for finding in _read_step(flow, step, routes[step.name])]
    return list(dict.fromkeys([*findings, *_read_shown(flow)]))


def _read_step(flow: Flow, step: Step, routes: tuple[Route, ...]) -> Iterator[Finding]:
    by_route = {route: _arriving(flow, route, step) for route in routes}
    for route, gaps in by_route.items():
        told = [gap for gap in gaps if gap.code != "never_filled" or _is_everywhere(gap, by_route.values())]
        told += _clashes(flow, route, step)
        yield from _findings(step, _seam(route, step), _certain(flow, route.producer, told))
    for key, taken in step.takes.items():
        gaps = _certain(flow, taken, _taken(flow, step, key, taken))
        yield from _findings(step, f"{taken} → {step.name}", gaps)
    yield from _findings(step, step.name, _dropped(flow, step, routes))


def _seam(route: Route, step: Step) -> str:
    skipped = f" ({', '.join(route.skipped)} skipped)" if route.skipped else ""
    return f"{route.producer} → {step.name}{skipped}"


def _findings(step: Step, seam: str, gaps: Iterable[Gap]) -> Iterator[Finding]:
    for gap in gaps:
        # A step that only observes refuses nothing.
        level: Level = gap.level if step.enforce else "warning"
        yield Finding(level, gap.code, seam, gap.pointer, gap.sentence)


def _handed_over(flow: Flow, producer: str) -> type[Contract]:
    return flow.intake if producer == INTAKE else flow.step(producer).returns


def _arriving(flow: Flow, route: Route, step: Step) -> list[Gap]:
    """Compare what arrives on one route; each step skipped on the way has let through only what it receives."""
    needed = Shape.of(step.receives).without(step.takes)
    gaps = fit(Shape.of(_handed_over(flow, route.producer)), needed)
    for skipped in map(flow.step, route.skipped):
        if skipped.enforce:
            gaps = _in_both(gaps, fit(Shape.of(skipped.receives).without(skipped.takes), needed))
    return gaps


def _in_both(gaps: list[Gap], others: list[Gap]) -> list[Gap]:
    """Keep the gaps that a second contract, which the same document holds, does not rule out."""
    named = {other.pointer for other in others if other.code != "unknown_may_come"}
    opened = {other.pointer for other in others if other.code == "unknown_may_come"}

    def stays(gap: Gap) -> bool:
        if gap.code == "unknown_may_come":
            return gap.pointer in opened
        if gap.code == "unknown_field" and gap.pointer.rpartition("/")[0] in opened:
            return True
        return any(_is_within(pointer, gap.pointer) or _is_within(gap.pointer, pointer) for pointer in named)

    return [gap for gap in gaps if stays(gap)]


def _is_within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(outer + "/")


def _is_everywhere(gap: Gap, every: Iterable[list[Gap]]) -> bool:
    return all(any(gap.pointer == other.pointer for other in gaps) for gaps in every)


def _certain(flow: Flow, producer: str, gaps: Iterable[Gap]) -> list[Gap]:
    """Raise the level where a worker produces: its output is written out whole, defaults included."""
    if producer == INTAKE or flow.step(producer).by != "worker":
        return list(gaps)
    return [replace(gap, level="error") if gap.code == "unknown_field" else gap for gap in gaps]


def _clashes(flow: Flow, route: Route, step: Step) -> Iterator[Gap]:
    arriving = Shape.of(_handed_over(flow, route.producer))
    for key in step.takes:
        if any(key in form.fields for form in arriving.forms()):
            sentence = "The document has a field of this name already; takes needs another key."
            yield Gap("error", "takes_clash", f"/{escape(key)}", sentence)


def _taken(flow: Flow, step: Step, key: str, taken: str) -> Iterator[Gap]:
    form, pointer = Shape.of(step.receives).forms()[0], f"/{escape(key)}"
    if field := form.field(key):
        yield from fit(Shape.of(flow.step(taken).returns), field, pointer)
        if flow.step(taken).when and key in form.required:
            sentence = f"Not guaranteed: {taken} may be skipped, and then there is no output to take."
            yield Gap("warning", "not_guaranteed", pointer, sentence)
    elif not form.is_open:
        yield Gap("error", "unknown_field", pointer, "It is taken, and refused as unknown.")


def _dropped(flow: Flow, step: Step, routes: Iterable[Route]) -> Iterator[Gap]:
    """Find the facts that come in marked as carried and have no place in what the step hands over."""
    incoming = [Shape.of(step.receives).without(step.takes)]
    incoming += [Shape.of(_handed_over(flow, route.producer)) for route in routes]
    returns = Shape.of(step.returns)
    for pointer in dict.fromkeys(fact for shape in incoming for fact in facts(shape)):
        if returns.at(titles.parts(pointer)) is None:
            yield Gap(
                "warning",
                "carried_dropped",
                pointer,
                "It is a carried fact, and what is handed over has no place for it.",
            )


def facts(shape: Shape, pointer: str = "", within: frozenset[str] = frozenset()) -> Iterator[str]:
    """Give the pointers of the facts that a contract marks as carried; a list's items stand as `*`."""
    for form in shape.forms():
        if form.schema.get("x-carried"):
            yield pointer
        if form.name in within:
            continue
        inside = within | {form.name} if form.name else within
        for name, field in form.fields.items():
            yield from facts(field, f"{pointer}/{escape(name)}", inside)
        if form.kind == "array":
            yield from facts(form.item(form.places), f"{pointer}/*", inside)


def _read_shown(flow: Flow) -> Iterator[Finding]:
    shapes = [Shape.of(contract) for contract in (flow.intake, *(step.returns for step in flow.steps))]
    for shown in flow.shown_fields:
        path = titles.parts(shown)
        if not any(shape.at(path) for shape in shapes):
            sentence = f"Title or columns show {shown!r}, which no contract of the flow has."
            yield Finding("warning", "shown_unknown", flow.name, "/" + "/".join(map(escape, path)), sentence)
