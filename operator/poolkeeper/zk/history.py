"""The history of a cluster's runs: nodes below `/poolkeeper/history`, the last `RUNS_MAX`.

A run that ends leaves its entry in the transaction that removes it: none is missed, and none is
there twice. An entry's name is its number. An entry that cannot be read costs itself alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from poolkeeper import typed_json
from poolkeeper.errors import InvalidInput
from poolkeeper.jsontext import canonical
from poolkeeper.model.history import FinishedRun
from poolkeeper.model.runs import Ending
from poolkeeper.typed_json import Natural
from poolkeeper.zk import znodes
from poolkeeper.zk.client.operations import Create, Delete, Operation
from poolkeeper.zk.client.session import Session

VERSION = 1
RUNS_MAX = 50


class _Body(Struct):
    """An entry as it is written: the fields of `FinishedRun`, an ending by its name."""

    version: Literal[1]
    plan: str
    started_ms: Natural
    ended_ms: Natural
    ending: Literal["FINISHED", "STOPPED", "REPLACED", "ROLLED_BACK"] | None
    stages: Natural
    moves: Natural
    moves_done: Natural
    size_bytes: Natural
    approved_by: str
    executor: str


@dataclass(frozen=True, slots=True)
class History:
    """The finished runs, the oldest first, and the paths of entries that cannot be read."""

    runs: tuple[FinishedRun, ...]
    unreadable: tuple[str, ...] = ()


def read(session: Session) -> History:
    """Return the history; it is empty before the first run has ended."""
    paths = _entries(session)
    found: list[FinishedRun] = []
    unreadable = []
    for path, node in zip(paths, session.read_many(paths), strict=True):
        if node is None:
            continue
        try:
            found.append(decode(node.data))
        except InvalidInput:
            unreadable.append(path)
    return History(tuple(found), tuple(unreadable))


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
    numbers = sorted(int(name) for name in names if name.isascii() and name.isdecimal())
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
    }
    return canonical(body).encode()


def decode(data: bytes) -> FinishedRun:
    """Decode an entry's body; raises `InvalidInput`, also for one of a later release."""
    body = typed_json.decode(data, _Body)
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
    )
