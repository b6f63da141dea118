"""One-shot watches, and the order in which they fire.

`get` and `exists` watch a node's data (creation, change, deletion), `children` watches the set of
its children and its deletion. A watch fires once. The same callback that watches the same path
twice is one watch.
"""

from collections.abc import Iterator

from poolkeeper.sandbox.fake_zookeeper.tree import parent_of
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CreateNode,
    DeleteNode,
    Event,
    Happening,
    Operation,
    Watch,
    WriteNode,
)

WatchEvent = tuple[int, Watch, Event]
"""Session, callback, and the event that it gets."""


class WatchTable:
    """All watches of a server."""

    def __init__(self) -> None:
        self._data: dict[str, dict[tuple[int, Watch], None]] = {}
        self._children: dict[str, dict[tuple[int, Watch], None]] = {}

    def add(self, path: str, session: int, watch: Watch, *, children: bool) -> None:
        """Watch a node's data, or its children."""
        table = self._children if children else self._data
        table.setdefault(path, {})[session, watch] = None

    def take_all(self, session: int) -> tuple[Watch, ...]:
        """Forget a session's watches; return them."""
        taken: dict[Watch, None] = {}
        for table in (self._data, self._children):
            for path in list(table):
                for key in [key for key in table[path] if key[0] == session]:
                    del table[path][key]
                    taken[key[1]] = None
                if not table[path]:
                    del table[path]
        return tuple(taken)

    def after(self, operation: Operation, path: str) -> Iterator[WatchEvent]:
        """Take and yield the watches that an operation on `path`, now done, sets off."""
        match operation:
            case CreateNode():
                yield from _events(self._data.pop(path, {}), Happening.CREATED, path)
                yield from self._of_parent(path)
            case WriteNode():
                yield from _events(self._data.pop(path, {}), Happening.CHANGED, path)
            case DeleteNode():
                both = self._data.pop(path, {}) | self._children.pop(path, {})
                yield from _events(both, Happening.DELETED, path)
                yield from self._of_parent(path)

    def _of_parent(self, path: str) -> Iterator[WatchEvent]:
        above = parent_of(path)
        yield from _events(self._children.pop(above, {}), Happening.CHILDREN, above)


def _events(
    watching: dict[tuple[int, Watch], None], how: Happening, path: str
) -> Iterator[WatchEvent]:
    return ((session, watch, Event(how, path)) for session, watch in watching)
