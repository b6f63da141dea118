"""The four leader elections, as decisions.

The order that counts is that of the assignment. `live` are the ids of live brokers. Each returns
the next state, or None where no leader can be found (`elect_offline`) or nothing changes.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from poolkeeper.sandbox.simulation.codecs import PartitionState


def first_state(replicas: Sequence[int], live: Collection[int]) -> PartitionState | None:
    """Return a new partition's first state: all live replicas are in sync."""
    isr = tuple(id_ for id_ in replicas if id_ in live)
    return PartitionState(isr[0], isr) if isr else None


def elect_offline(
    replicas: Sequence[int], state: PartitionState, live: Collection[int], *, unclean: bool
) -> PartitionState | None:
    """Return the state after the leader was lost."""
    isr = tuple(id_ for id_ in state.isr if id_ in live)
    clean = next((id_ for id_ in replicas if id_ in isr), None)
    if clean is not None:
        return replace(state, isr=isr).led_by(clean)
    other = next((id_ for id_ in replicas if id_ in live), None) if unclean else None
    return None if other is None else replace(state, isr=(other,)).led_by(other)


def elect_for_target(
    target: Sequence[int], state: PartitionState, live: Collection[int]
) -> PartitionState | None:
    """Return the state at the end of a move whose leader does not stay."""
    leader = next((id_ for id_ in target if id_ in live and id_ in state.isr), None)
    return None if leader is None else state.led_by(leader)


def elect_preferred(
    replicas: Sequence[int], state: PartitionState, live: Collection[int]
) -> PartitionState | None:
    """Return the state under the preferred leader, if it can lead."""
    preferred = replicas[0]
    return state.led_by(preferred) if preferred in live and preferred in state.isr else None


def elect_for_shutdown(
    replicas: Sequence[int], state: PartitionState, live: Collection[int], leaving: int
) -> PartitionState | None:
    """Return the state after a leader said that it is about to stop."""
    isr = tuple(id_ for id_ in state.isr if id_ != leaving)
    leader = next((id_ for id_ in replicas if id_ in isr and id_ in live), None)
    return None if leader is None else replace(state, isr=isr).led_by(leader)
