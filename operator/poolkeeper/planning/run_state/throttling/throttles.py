"""Which throttles a run needs, and which values it restores, as values.

Kafka throttles a replica only if both hold: the topic's list names it on that broker, and the
broker has a rate. A list entry matters only for replicas that are not in sync. So an entry too many
does not slow healthy replication. Per partition of a run:

* leader list: every broker that may lead while the move runs, the union of all lists of the path
  but the last;
* follower list: every broker that any step adds.

Lists are written once per run, for its topics only. While a stage waits for a dead broker, they are
taken off topics of which everything has arrived: once it is back, its replicas of these have to
catch up. A list longer than `LIST_BYTES_MAX` is written as `*` (all replicas of the topic), because
Kafka cannot serialise arbitrarily long ones. `*` throttles no replica that is in sync.

Copies between the log directories of a broker have a rate of their own, and no list: it holds for
all copies within that broker.

Every key that is written has a *saved* value, the one before the run or `None`. A key is *ours* if
its live value is one that this run wrote; then, and only then, the saved one is restored. Who
removes a key in mid-run removes the saved one as well: ours may be written again, and is unset.

Others may add their entries to a list of ours, as Cruise Control does. While ours are among them
the list is as the run needs it, and in the end only ours are taken off.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from poolkeeper.algorithms.throttles import (
    BROKER_KEYS,
    EVERY,
    FOLLOWER_LIST,
    FOLLOWER_RATE,
    LEADER_LIST,
    LEADER_RATE,
    LOG_DIRS_RATE,
    TOPIC_KEYS,
    list_value,
)
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.refusals import HopelessMove
from poolkeeper.model.execution.runs import ThrottleConflicts, ThrottleValues, UnreadableConfig
from poolkeeper.model.execution.throttles import is_value
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, MoveLogDir, Plan

__all__ = ["BROKER_KEYS", "TOPIC_KEYS"]

REPLICATION_KEYS = (LEADER_RATE, FOLLOWER_RATE)
_PAIR = re.compile("[0-9]+:[0-9]+")
LIST_BYTES_MAX = 64 * 1024
FROZEN_BYTES_PER_S = 1
"""The rate at which nothing arrives any more, for the moment in which moves are cancelled."""
ADAPTIVE_RISE_MAX = 16
RATE_MIN_BYTES_PER_S = 1024 * 1024
NO_CONFLICTS = ThrottleConflicts()
PUT_BACK_MAX = 10
"""How often throttles that somebody removed are set again; then they are left to him."""


@frozen
class ThrottleWatch:
    """What a process knows of the throttles of its run.

    `checked_ms`: when they were last compared with the live ones, and `found` what came of it.
    `put_back`: how often ours were set again after somebody had removed them. `changes`: how often
    the rate was changed. `unsettled`: the brokers that say that the rate is not in force there.
    """

    checked_ms: int = 0
    found: ThrottleConflicts = NO_CONFLICTS
    put_back: int = 0
    changes: int = 0
    unsettled: tuple[int, ...] = ()

    @property
    def keeps(self) -> bool:
        """Whether throttles that somebody removes are set again."""
        return self.put_back < PUT_BACK_MAX


def throttled_lists(moves: Iterable[Move]) -> dict[str, dict[str, str]]:
    """Return `{topic: {key: list}}` for the moves that copy data."""
    leaders: dict[str, set[tuple[int, int]]] = {}
    followers: dict[str, set[tuple[int, int]]] = {}
    for move in moves:
        added = {b for before, after in pairwise(move.path) for b in set(after) - set(before)}
        if not added:
            continue
        sources = {broker for replicas in move.path[:-1] for broker in replicas}
        leaders.setdefault(move.topic, set()).update((move.partition, b) for b in sources)
        followers.setdefault(move.topic, set()).update((move.partition, b) for b in added)
    return {
        topic: {
            LEADER_LIST: _list_text(leaders[topic]),
            FOLLOWER_LIST: _list_text(followers[topic]),
        }
        for topic in sorted(leaders)
    }


def _list_text(pairs: set[tuple[int, int]]) -> str:
    text = list_value(pairs)
    return text if len(text) <= LIST_BYTES_MAX else EVERY


def brokers_of(moves: Iterable[Move]) -> tuple[int, ...]:
    """Return the brokers whose rate matters: all brokers of all moves that copy data, ascending.

    Dead brokers are included: they may return during the run.
    """
    copying = (move for move in moves if any(set(a) - set(b) for b, a in pairwise(move.path)))
    return tuple(sorted({b for move in copying for replicas in move.path for b in replicas}))


def keys_by_broker(plan: Plan) -> dict[int, tuple[str, ...]]:
    """Return the throttle keys that a run of the plan sets, by broker in ascending order."""
    keys: dict[int, tuple[str, ...]] = dict.fromkeys(brokers_of(plan.moves), REPLICATION_KEYS)
    for step in plan.steps:
        if isinstance(step, MoveLogDir) and LOG_DIRS_RATE not in keys.get(step.broker, ()):
            keys[step.broker] = (*keys.get(step.broker, ()), LOG_DIRS_RATE)
    return dict(sorted(keys.items()))


def rates(rate_bytes_per_s: int, keys: Iterable[str] = BROKER_KEYS) -> dict[str, str]:
    """Return these throttle keys of a broker at that rate."""
    return {key: str(rate_bytes_per_s) for key in keys}


def values_of(config: Mapping[str, str], keys: Sequence[str]) -> dict[str, str | None]:
    """Return the throttle keys of a live config."""
    return {key: config.get(key) for key in keys}


def to_set(
    live: ThrottleValues, wanted: ThrottleValues, known: Sequence[ThrottleValues]
) -> tuple[dict[str, str | None], frozenset[str]]:
    """Return the keys to set, and the keys that somebody else has set.

    A key that is absent or has one of the `known` values, which may be digests, is set. A list that
    has all of ours beside others is left as it is.
    """
    differing = {
        key: value
        for key, value in wanted.items()
        if live.get(key) != value and not includes(live.get(key), value)
    }
    foreign = frozenset(
        key
        for key in differing
        if live.get(key) is not None
        and not any(is_value(live[key], values.get(key)) for values in known)
    )
    return {key: value for key, value in differing.items() if key not in foreign}, foreign


def values_to_restore(
    live: ThrottleValues, saved: ThrottleValues, ours: Sequence[ThrottleValues]
) -> dict[str, str | None]:
    """Return what to write back: each key whose live value is one of ours and not the saved one.

    A key that somebody else changed during the run keeps its value, a list to which he added his
    keeps these. `ours` may hold digests.
    """
    restored: dict[str, str | None] = {}
    for key, value in live.items():
        before = saved.get(key)
        if value == before:
            continue
        if any(is_value(value, mine.get(key)) for mine in ours):
            restored[key] = before
        elif before is None or _pairs(before):
            lists = [mine[key] for mine in ours if includes(value, mine.get(key))]
            if lists:
                restored[key] = _without(value, lists, before)
    return restored


def includes(live: str | None, ours: str | None) -> bool:
    """Whether a list has all pairs of ours, in whatever order, perhaps beside others."""
    mine = _pairs(ours)
    return bool(mine) and set(mine) <= set(_pairs(live))


def _without(live: str | None, ours: Iterable[str | None], before: str | None) -> str | None:
    """Return the list without the pairs of ours, with those before the run."""
    mine = {pair for each in ours for pair in _pairs(each)}
    kept = [pair for pair in _pairs(live) if pair not in mine]
    return ",".join(dict.fromkeys((*_pairs(before), *kept))) or None


def _pairs(value: str | None) -> tuple[str, ...]:
    """Return the pairs of a list as texts; none of any other value, as a rate, a digest or `*`."""
    parts = (value or "").split(",")
    return tuple(parts) if all(map(_PAIR.fullmatch, parts)) else ()


def next_adaptive_rate(rate_bytes_per_s: int, start_bytes_per_s: int, *, healthy: bool) -> int:
    """Return the next adaptive rate: a quarter of the start more, or half.

    Bounds: 1 MiB/s below (or the start, if that is lower), 16 times the start above.
    """
    if healthy:
        return min(
            rate_bytes_per_s + max(1, start_bytes_per_s // 4), ADAPTIVE_RISE_MAX * start_bytes_per_s
        )
    return max(rate_bytes_per_s // 2, min(RATE_MIN_BYTES_PER_S, start_bytes_per_s))


def hopeless_moves(
    moves: Sequence[Move | MoveLogDir], in_bytes_per_s: Sequence[float | None], rate: int
) -> list[HopelessMove]:
    """Return the moves that can never catch up: their partition takes in at least the rate.

    They are moves between brokers and between log directories.
    """
    return [
        HopelessMove(move.name, ingest, rate)
        for move, ingest in zip(moves, in_bytes_per_s, strict=True)
        if ingest is not None and ingest >= rate and move.bytes
    ]


def unsaved_entities(entities: Iterable[str | int]) -> dict[str | int, UnreadableConfig]:
    """Return why these are not throttled: what they had before the run is not known."""
    why = "its throttles could not be saved when the run began"
    return {each: UnreadableConfig(each, "", why) for each in entities}


def waits_for_configs(unreadable: Iterable[UnreadableConfig]) -> tuple[Wait, ...]:
    """Name the configs that cannot be read, as one wait for each cause."""
    by_cause: dict[str, list[UnreadableConfig]] = {}
    for each in unreadable:
        by_cause.setdefault(each.detail, []).append(each)
    return tuple(
        Wait(
            WaitReason.THROTTLES_UNREADABLE,
            topics=tuple(each.entity for each in found if isinstance(each.entity, str)),
            brokers=tuple(each.entity for each in found if isinstance(each.entity, int)),
            path=found[0].path,
            detail=why,
        )
        for why, found in by_cause.items()
    )
