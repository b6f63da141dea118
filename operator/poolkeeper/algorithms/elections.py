"""Who becomes leader of a partition, as Kafka's controller decides it.

The order that counts is always that of the assignment; the ISR is only a set. `live` are the
replicas on live brokers with a working log directory.

- **offline** (the leader is gone, or a new topic's partition has none): the first replica that is
  live and in the ISR. Else, only if unclean elections are on for the topic, the first live replica:
  records that it lacks are lost.
- **reassign** (a move completes and the leader is not in the target): the same over the target, and
  never uncleanly.
- **preferred**: the first replica of the assignment if it is live and in the ISR, else no change.
- **controlled shutdown**: the first live replica of the ISR that does not shut down as well.

None means that no leader can be elected: after `offline` the partition has none, in the other cases
it keeps the one it has. The ISR never becomes empty: its last member stays listed.

Kafka 0.8 to 3.9.
"""

from collections.abc import Collection, Sequence

from poolkeeper.model.topology import Replicas


def offline(
    assignment: Sequence[int], isr: Collection[int], live: Collection[int], *, unclean: bool = False
) -> int | None:
    """The leader after a loss. [1,2,3], ISR 1 3, live 2 3 → 3; ISR 1: None, or 2 if unclean."""
    clean = _first_live_in_sync(assignment, isr, live)
    if clean is None and unclean:
        return next((replica for replica in assignment if replica in live), None)
    return clean


def reassign(target: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """The leader at the end of a move: the first of the target that is live and in the ISR."""
    return _first_live_in_sync(target, isr, live)


def preferred(assignment: Sequence[int], isr: Collection[int], live: Collection[int]) -> int | None:
    """The preferred leader if it can lead now, else None: nothing changes."""
    return _first_live_in_sync(assignment[:1], isr, live)


def controlled_shutdown(
    assignment: Sequence[int],
    isr: Collection[int],
    live: Collection[int],
    shutting_down: Collection[int],
) -> int | None:
    """The leader that takes over from a broker that is about to stop."""
    staying = [replica for replica in assignment if replica not in shutting_down]
    return _first_live_in_sync(staying, isr, live)


def isr_after_offline(isr: Sequence[int], live: Collection[int], leader: int | None) -> Replicas:
    """The ISR after an offline election: the live part; the leader alone if it was unclean.

    Without a leader nothing is written, so it stays as it was.
    """
    if leader is None:
        return tuple(isr)
    if leader not in isr:
        return (leader,)
    return tuple(replica for replica in isr if replica in live)


def _first_live_in_sync(
    replicas: Sequence[int], isr: Collection[int], live: Collection[int]
) -> int | None:
    return next((replica for replica in replicas if replica in live and replica in isr), None)
