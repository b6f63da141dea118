"""The moves that no throttle can limit as it must, and that stay where they are for that.

The config of their topic, or of a broker of theirs, cannot be read or may not be written, so that
they would be copied at any rate; or their partition takes in at least the rate of the throttle, so
that they would never arrive. That is a matter of those topics and brokers alone: all other moves
are made, and the run ends without these, whether it was so at its beginning or has become so.

So it is with moves between the log directories of a broker, by the config of that broker.
"""

from collections.abc import Iterable, Mapping, Sequence

from poolkeeper.errors import RefusalReason, Refused
from poolkeeper.model.execution.runs import UnreadableConfig
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error
from poolkeeper.model.plans import Move, MoveLogDir
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.run_state.throttling import throttles


def unlimited(
    moves: Sequence[Move],
    left: Iterable[int],
    cluster: Cluster,
    rate_bytes_per_s: int,
    unwritable: Mapping[str | int, UnreadableConfig],
) -> dict[int, Wait]:
    """Return such moves by index, each with why it stays, of those `left` to be made.

    `cluster` has rates, where they are known. `unwritable`: by topic and by
    broker, why it cannot be throttled.
    """
    found: dict[int, Wait] = {}
    hopeless: list[int] = []
    for m in left:
        move = moves[m]
        if not any(move.replicas_added):
            continue
        if unwritable and (config := _config(move, unwritable)) is not None:
            found[m] = _unwritable(config)
        elif (ingest := _ingest(move, cluster)) is not None and ingest >= rate_bytes_per_s:
            hopeless.append(m)
    facts = throttles.hopeless_moves(
        [moves[m] for m in hopeless],
        [_ingest(moves[m], cluster) for m in hopeless],
        rate_bytes_per_s,
    )
    if facts:
        named = {each.partition for each in facts}
        wait = after_error(
            Refused(
                "the throttle is too low for a move to catch up",
                reason=RefusalReason.THROTTLE_TOO_LOW,
                facts=facts,
            )
        )
        found |= {m: wait for m in hopeless if moves[m].name in named}
    return found


def unlimited_copies(
    steps: Sequence[MoveLogDir],
    left: Iterable[int],
    unwritable: Mapping[str | int, UnreadableConfig],
) -> dict[int, Wait]:
    """Return such moves between log directories by index, of those `left` to be made."""
    found = ((n, unwritable.get(steps[n].broker)) for n in left)
    return {n: _unwritable(config) for n, config in found if config is not None}


def _config(
    move: Move, unwritable: Mapping[str | int, UnreadableConfig]
) -> UnreadableConfig | None:
    """Return why the move's topic or one of its brokers cannot be throttled, if it cannot."""
    brokers = sorted({broker for replicas in move.path for broker in replicas})
    entities: tuple[str | int, ...] = (move.topic, *brokers)
    return next((unwritable[each] for each in entities if each in unwritable), None)


def _unwritable(config: UnreadableConfig) -> Wait:
    entity = config.entity
    return Wait(
        WaitReason.THROTTLES_UNWRITABLE,
        topic=entity if isinstance(entity, str) else "",
        brokers=(entity,) if isinstance(entity, int) else (),
        path=config.path,
        detail=config.detail,
    )


def _ingest(move: Move, cluster: Cluster) -> float | None:
    """Return what the partition takes in, in bytes per second, where it is known."""
    topic = cluster.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    return None if partition is None else partition.in_bytes_per_s
