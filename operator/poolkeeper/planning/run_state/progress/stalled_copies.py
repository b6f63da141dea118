"""Moves between log directories that their broker has ceased to work on.

A thread of the broker copies. After an error it lets a replica go, or tries the same bytes over and
over: the future log stays as it is, and nobody says so. To ask for the same directory once more
changes nothing. So where none of a broker's copies grows for `STALLED_MS`, they are cancelled,
which drops their future logs. A run that goes on asks for them anew, `held_copies.ASKS_MAX` times
in all.

A low rate gives them more time: the thread takes up to `replica.fetch.max.bytes` at once, a MiB by
default, and then waits until the rate allows for that.
"""

from collections.abc import Collection, Mapping, Sequence

from poolkeeper.frozen import frozen
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.run_state.progress.log_dir_copies import CopyProgress, CopyState, Replica

STALLED_MS = 600_000
UNSEEN_MS = 120_000
"""After so long without a look nobody knows what happened in between."""
_FETCHES = 4
_FETCH_BYTES = 2**20


@frozen
class CopyLook:
    """The sizes of the future logs of a broker's moves in flight, by partition.

    `since_ms`: since when each look finds these; `seen_ms`: the last look.
    """

    sizes: Mapping[TopicPartition, int]
    since_ms: int
    seen_ms: int


CopyLooks = Mapping[int, CopyLook]
"""By broker, of those that tell what they copy."""


def after_look(
    before: CopyLooks,
    steps: Sequence[MoveLogDir],
    progress: Sequence[CopyProgress],
    future_bytes: Mapping[Replica, int],
    now_ms: int,
) -> CopyLooks:
    """Return what is known after another look; `future_bytes`: the sizes of the future logs."""
    sizes: dict[int, dict[TopicPartition, int]] = {}
    for step, p in zip(steps, progress, strict=True):
        if p.state is CopyState.IN_FLIGHT:
            size = future_bytes.get((step.name, step.broker), 0)
            sizes.setdefault(step.broker, {})[step.name] = size
    found: dict[int, CopyLook] = {}
    for broker, now in sizes.items():
        look = before.get(broker)
        stays = look is not None and look.sizes == now and now_ms - look.seen_ms <= UNSEEN_MS
        found[broker] = CopyLook(now, look.since_ms if look and stays else now_ms, now_ms)
    return found


def stalled_copies(
    looks: CopyLooks, steps: Sequence[MoveLogDir], rates: Collection[int]
) -> tuple[int, ...]:
    """Return the positions of the moves of which nothing is copied any more.

    `rates`: those that may limit the copies of a broker, in bytes a second.
    """
    slow_ms = _FETCHES * _FETCH_BYTES * 1000 // min(rates) if rates else 0
    after_ms = max(STALLED_MS, slow_ms)
    brokers = {b for b, look in looks.items() if look.seen_ms - look.since_ms >= after_ms}
    return tuple(
        n
        for n, step in enumerate(steps)
        if step.broker in brokers and step.name in looks[step.broker].sizes
    )
