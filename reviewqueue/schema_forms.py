"""A form for one body, made from its contract.

    form = SchemaForm(shape_of(step.receives), record.payload, data=request.POST)
    form.text        the body as it is now: the very text that was sent where nothing changed
    form.problems    why it can't be read; then there is no text

Untouched fields keep what was sent, to the digit; fields that were not shown are not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from handoffs.contracts import Violation
from handoffs.exact_json import Value, parse, same, write
from reviewqueue.schema_controls import Leaf
from reviewqueue.schema_fields import Shape
from reviewqueue.schema_nodes import Node, Rows
from reviewqueue.schema_operations import apply
from reviewqueue.schema_tree import Place, Source, build, with_those_above

FIELDS, ITEMS = 120, 20  # shown at first
MOST_FIELDS, MOST_ITEMS = 600, 120  # shown when all are asked for
BROKEN = 60  # violations that are shown at once; the next ones come once these are mended
PARTIAL = "partial"  # in a form's data: only what was changed is there
IN_SIGHT = 12  # fields that stand open; more are folded away


class SchemaForm:
    """The fields of one body.

    Raises:
        Unreadable: what was sent is no JSON object that fields could show.
    """

    def __init__(
        self,
        shape: Shape,
        sent: str,
        *,
        data: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
        show_all: bool = False,
    ) -> None:
        self.shape, self.sent_text, self.data = shape, sent, data
        self.violations, self.show_all = tuple(violations), show_all
        self.sent: Value = parse(sent) if sent else {}
        self.doubtful: list[str] = []  # fields that are looked at before others that hold the contract

    def with_violations(self, violations: Sequence[Violation]) -> SchemaForm:
        """The same form, with what breaks the contract beside its fields."""
        return SchemaForm(self.shape, self.sent_text, data=self.data, violations=violations, show_all=self.show_all)

    @cached_property
    def root(self) -> Node:
        data, restored = apply(self.data)
        leaves, items = (MOST_FIELDS, MOST_ITEMS) if self.show_all else (FIELDS, ITEMS)
        shown = self.violations[:BROKEN]
        touched = frozenset(above for v in shown for above in with_those_above(v.pointer))
        is_partial = bool(data and PARTIAL in data)
        self.source = Source(data, touched, restored, is_partial, leaves, items)
        root = build(self.source, self.shape, self.sent, Place())
        self.elsewhere = _distribute(root, shown)
        for node in _broken(root):
            node.is_hoisted = True
        return root

    # --- the body --------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The body as it is now."""
        value = self.root.value
        return self.sent_text if same(self.sent, value) else write(value)

    @property
    def is_changed(self) -> bool:
        return not same(self.sent, self.root.value)

    @property
    def problems(self) -> list[tuple[Node, str]]:
        """Fields whose text can't be read, with the sentences that say why."""
        return [(node, sentence) for node in self.root.walk() for sentence in node.problems]

    @property
    def changes(self) -> list[Node]:
        """The single values that differ from what was sent; a list that was rearranged stands for its items."""
        return list(_changes(self.root))

    @property
    def controls(self) -> dict[str, str]:
        """What a browser sends if nobody touches the form any more, but for line ends."""
        return {name: text for node in self.root.walk() for name, text in node.controls.items()}

    # --- what the page shows -----------------------------------------------------------------------------------------

    @property
    def broken(self) -> list[Node]:
        """The fields that break the contract, wherever they stand."""
        return [node for node in self.root.walk() if node.is_hoisted]

    @property
    def general(self) -> list[Violation]:
        """What breaks the contract as a whole, or at a place that has no field here."""
        self.root  # noqa: B018 - the violations find their fields while it is built
        return self.elsewhere

    @property
    def more_broken(self) -> int:
        """How many violations are not shown yet."""
        return max(len(self.violations) - BROKEN, 0)

    @property
    def others(self) -> list[Node]:
        """The fields that hold the contract, those in doubt first."""
        found = [node for node in self.root.children if not node.is_hoisted]
        above = {each for pointer in self.doubtful for each in with_those_above(pointer)}
        return sorted(found, key=lambda node: node.pointer not in above)

    @property
    def in_sight(self) -> list[Node]:
        """The other fields that stand open: all of a small form, the first few of a large one."""
        return self.others if self.size <= IN_SIGHT else self.others[: max(IN_SIGHT // 2 - len(self.broken), 2)]

    @property
    def folded(self) -> list[Node]:
        return self.others[len(self.in_sight) :]

    @property
    def folded_size(self) -> int:
        return sum(isinstance(each, Leaf) for node in self.folded for each in node.walk() if not each.is_hoisted)

    @property
    def size(self) -> int:
        """How many single values are shown."""
        return len(self.leaves)

    @property
    def left_out(self) -> int:
        """How many fields and items are not shown."""
        self.root  # noqa: B018 - counted while it is built
        return self.source.left_out

    @property
    def leaves(self) -> list[Leaf]:
        """The single values that are shown, in their order."""
        return [node for node in self.root.walk() if isinstance(node, Leaf)]

    @property
    def first_id(self) -> str:
        """The control that the eye and the key go to first."""
        nodes = [*self.broken, *self.others]
        leaves = (each for node in nodes for each in node.walk() if isinstance(each, Leaf))
        return next((leaf.id for leaf in leaves), "fix")


def _distribute(root: Node, violations: Iterable[Violation]) -> list[Violation]:
    """Give violations to their fields; those that have none here are returned."""
    nodes: dict[str, Node] = {node.pointer: node for node in root.walk() if node.pointer}
    elsewhere = []
    for violation in violations:
        node = nodes.get(violation.pointer)
        if node is None:
            # Within what is shown as JSON, the nearest field says it.
            above = (nodes.get(pointer) for pointer in with_those_above(violation.pointer))
            node = next((each for each in above if isinstance(each, Leaf)), None)
        if node is None:
            elsewhere.append(violation)
        else:
            node.violations.append(violation)
    return elsewhere


def _broken(node: Node) -> Iterator[Node]:
    """The uppermost fields with errors; what is within one of them, or was just added, stays where it is."""
    for child in node.children:
        if child.errors and not child.is_new:
            yield child
        else:
            yield from _broken(child)


def _changes(node: Node) -> Iterator[Node]:
    if not node.is_changed:
        return
    moved = isinstance(node, Rows) and [child.name for child in node.children] != [
        f"{node.name}/{place}" for place in range(len(node.children))
    ]
    if isinstance(node, Leaf) or moved or not any(child.is_changed for child in node.children):
        yield node
        return
    for child in node.children:
        yield from _changes(child)
