"""Moves between log directories that come to nothing, and are left alone for a while.

A broker may refuse a move each time that it is asked, somebody may take it back each time with a
tool of theirs, and a copy may stall each time (`stalled_copies`). A run asks for a move `ASKS_MAX`
times, and gives it up. The next plan has it again, and a run would begin for it at once. So it is
held: for ten minutes after the first run, and for twice as long after each later one. Runs for
other moves leave it alone, too.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyProgress, CopyState

ASKS_MAX = 5
PAUSE_MS = 600_000
PAUSE_MAX_MS = 21_600_000


class CopyKey(NamedTuple):
    """A move between log directories, whatever the size of its log is by now."""

    topic: str
    partition: int
    broker: int
    target: str


@frozen
class CopyHold:
    """Why a move is held, from when on it may be asked for again, and how long the pause is."""

    wait: Wait
    until_ms: int
    pause_ms: int


@frozen
class Asks:
    """How often a broker was asked for a move of this run, and its last error if it refused.

    `stalled`: whether it was cancelled since, as nothing of it was copied any more.
    """

    count: int = 0
    error: str = ""
    stalled: bool = False


Holds = Mapping[CopyKey, CopyHold]


def abandoned_copies(progress: Sequence[CopyProgress], asks: Mapping[int, Asks]) -> frozenset[int]:
    """Return the moves that brokers were asked for too often, and that have not begun."""
    return frozenset(
        n
        for n, each in asks.items()
        if each.count >= ASKS_MAX and progress[n].state is CopyState.PENDING
    )


def after_run(
    holds: Holds,
    steps: Sequence[MoveLogDir],
    asks: Mapping[int, Asks],
    without: frozenset[int],
    now_ms: int,
) -> Holds:
    """Return what is held once a run has ended that gave the moves `without` up.

    A hold is forgotten once its move has been left in peace for the longest pause.
    """
    found = {key: each for key, each in holds.items() if now_ms - each.until_ms < PAUSE_MAX_MS}
    for n in without:
        key = _key_of(steps[n])
        before = found.get(key)
        pause_ms = PAUSE_MS if before is None else min(2 * before.pause_ms, PAUSE_MAX_MS)
        found[key] = CopyHold(_wait_of(steps[n], asks[n]), now_ms + pause_ms, pause_ms)
    return found


def waits_of_held(holds: Holds, steps: Sequence[MoveLogDir], now_ms: int) -> Mapping[int, Wait]:
    """Return why moves are held now, by their positions."""
    if not holds:
        return {}
    found = ((n, holds.get(_key_of(step))) for n, step in enumerate(steps))
    return {n: each.wait for n, each in found if each is not None and now_ms < each.until_ms}


def _wait_of(step: MoveLogDir, asks: Asks) -> Wait:
    names, brokers = (step.name,), (step.broker,)
    if asks.error:
        refused = WaitReason.LOG_DIR_MOVE_REFUSED
        return Wait(refused, partitions=names, brokers=brokers, detail=asks.error)
    undone = WaitReason.LOG_DIR_MOVE_UNDONE
    if asks.stalled:
        undone = WaitReason.LOG_DIR_MOVE_STALLED
    return Wait(undone, partitions=names, brokers=brokers, count=asks.count)


def _key_of(step: MoveLogDir) -> CopyKey:
    return CopyKey(step.topic, step.partition, step.broker, step.target)
