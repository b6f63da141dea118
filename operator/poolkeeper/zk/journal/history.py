"""The history of a cluster's runs: nodes below `/poolkeeper/history`, the last `RUNS_MAX`.

A run that ends leaves its entry in the transaction that removes it: none is missed, and none is
there twice. An entry's name is its number. An entry that cannot be read costs itself alone.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from poolkeeper.errors import DamagedNode, NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.jsontext import canonical
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.runs import Ending
from poolkeeper.typed_json import Milliseconds
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Create, Delete, Operation
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.codecs import our_nodes
from poolkeeper.zk.codecs.our_nodes import Count, Name

VERSION = our_nodes.VERSION
RUNS_MAX = 50
NAME_DIGITS = 10


class _EntryBody(Struct):
    """An entry as it is written: the fields of `FinishedRun`, an ending by its name."""

    version: our_nodes.Version
    plan: Name
    started_ms: Milliseconds
    ended_ms: Milliseconds
    ending: Literal["FINISHED", "STOPPED", "REPLACED", "ROLLED_BACK"] | None
    stages: Count
    moves: Count
    moves_done: Count
    size_bytes: Count
    approved_by: str
    executor: str
    bytes_done: Count | None = None


@frozen
class History:
    """The finished runs, the oldest first, and the entries that cannot be read."""

    runs: tuple[FinishedRun, ...]
    damage: tuple[NodeDamage, ...] = ()


def read(session: Session) -> History:
    """Return the history; it is empty before the first run has ended."""
    paths = _entries(session)
    found: list[FinishedRun] = []
    damage = []
    for path, node in zip(paths, session.read_many(paths), strict=True):
        if node is None:
            continue
        try:
            found.append(decode(path, node.data))
        except DamagedNode as damaged:
            damage.append(damaged.damage)
    return History(tuple(found), tuple(damage))


def operations_to_add(session: Session, run: FinishedRun) -> tuple[Operation, ...]:
    """Return the operations that add a run and remove the oldest beyond `RUNS_MAX`."""
    paths = _entries(session)
    last = int(paths[-1].rpartition("/")[2]) if paths else -1
    made: list[Operation] = []
    if session.read(znodes.HISTORY) is None:
        made.append(Create(znodes.HISTORY, b""))
    oldest = paths[: max(0, len(paths) + 1 - RUNS_MAX)]
    return (*made, Create(znodes.finished_run(last + 1), encode(run)), *_deletes(session, oldest))


def _deletes(session: Session, paths: Sequence[str]) -> list[Delete]:
    nodes = zip(paths, session.read_many(paths), strict=True)
    return [Delete(path, node.version) for path, node in nodes if node is not None]


def _entries(session: Session) -> list[str]:
    """Return the paths of the entries, the oldest first; names of other kinds are left alone."""
    names = session.children(znodes.HISTORY) or ()
    entries = [name for name in names if len(name) == NAME_DIGITS and name.isascii()]
    numbers = sorted(int(name) for name in entries if name.isdecimal())
    return [znodes.finished_run(number) for number in numbers]


def encode(run: FinishedRun) -> bytes:
    """Encode an entry's body."""
    body = {
        "version": VERSION,
        "plan": run.plan,
        "started_ms": run.started_ms,
        "ended_ms": run.ended_ms,
        "ending": None if run.ending is None else run.ending.name,
        "stages": run.stages,
        "moves": run.moves,
        "moves_done": run.moves_done,
        "size_bytes": run.size_bytes,
        "approved_by": run.approved_by,
        "executor": run.executor,
        "bytes_done": run.bytes_done,
    }
    return canonical(body).encode()


def decode(path: str, data: bytes) -> FinishedRun:
    """Decode the body of the entry at `path`; raises `DamagedNode`."""
    body = our_nodes.decode(path, data, _EntryBody)
    return FinishedRun(
        plan=body.plan,
        started_ms=body.started_ms,
        ended_ms=body.ended_ms,
        ending=None if body.ending is None else Ending[body.ending],
        stages=body.stages,
        moves=body.moves,
        moves_done=body.moves_done,
        size_bytes=body.size_bytes,
        approved_by=body.approved_by,
        executor=body.executor,
        bytes_done=body.bytes_done,
    )
