"""From what is declared and what was observed to a plan. Pure: no clock, no randomness, no I/O.

    scope       which topics live where, and what may be done to them
    new topics  straight in their pools
    layouts     one per pool, independent of each other
    moves       what changes, with paths and reasons; then steps that wait for moves
    proof       certificates, problems, stages, hash and fingerprint

The same input gives the same plan whatever its order, and a plan for the outcome of a plan has no
moves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    Move,
    Plan,
    PlanProblem,
    PoolCertificate,
    Step,
)
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired, ReplicasAtATime, ResourcePoolSpec
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning import findings, identities, topicsteps
from poolkeeper.planning.certificates import certificate
from poolkeeper.planning.columns import Brokers, Lists, brokers_of, eligible_of
from poolkeeper.planning.layouts import Layout, lay_out, replicas_cap
from poolkeeper.planning.moves import Change, changes_of, move_of
from poolkeeper.planning.pins import pinned_changes
from poolkeeper.planning.quotas import Tally, standing_problems
from poolkeeper.planning.scopes import Home, Role, Scope, scope
from poolkeeper.planning.spreading import Loads, Usable
from poolkeeper.planning.units import unit_of

_NOTHING_RECORDED = Records()


def make_plan(
    desired: Desired,
    cluster: Cluster,
    records: Records = _NOTHING_RECORDED,
    gone: frozenset[int] = frozenset(),
    *,
    prune: bool = False,
) -> Plan:
    """The plan that brings the cluster to what is declared, as far as the laws allow.

    `gone`: brokers that count as lost for good; live ones among them do not. `prune`: delete topics
    whose recorded owner wanted that and no longer declares them.
    """
    reach = scope(desired, cluster, records, prune=prune)
    brokers = brokers_of(cluster, desired, records, gone)
    usable = {name: _usable(pool, brokers, desired) for name, pool in sorted(reach.pools.items())}
    lists = {
        name: tuple(p.replicas for p in topic.partitions)
        for name, topic in sorted(cluster.topics.items())
    }
    pinned, unpinned = pinned_changes(reach, cluster, usable)
    for change in pinned:
        lists[change.topic] = _with_change(lists[change.topic], change)
    ground = topicsteps.Ground(usable, _loads(lists), Tally.of(desired, reach, cluster, usable))
    created, refused = topicsteps.creations(reach, ground)
    added, not_added = topicsteps.additions(reach, cluster, ground)
    for step in (*created, *added):
        lists[step.topic] = (*lists.get(step.topic, ()), *step.replicas)
    laid = _lay_out_all(desired, reach, cluster, brokers, usable, lists)
    changes = [*pinned, *(change for part in laid for change in part.changes)]
    moves = _moves(desired, cluster, changes)
    steps, deferred = _steps(reach, cluster, records, lists, moves, (*created, *added))
    deleted, not_deleted = topicsteps.deletions(reach, cluster)
    problems = {
        *reach.problems,
        *unpinned,
        *refused,
        *not_added,
        *deferred,
        *not_deleted,
        *(problem for part in laid for problem in findings.of(part.layout)),
        *standing_problems(ground.tally, _loads(lists).replicas),
    }
    return Plan(
        cluster=desired.cluster.name,
        hash=identities.plan_hash(moves, (*steps, *deleted)),
        fingerprint=identities.fingerprint(desired, cluster.id, gone),
        steps=(*steps, *deleted),
        moves=moves,
        certificates=_certificates(laid, moves),
        problems=tuple(sorted(problems, key=lambda p: (p.pool, p.topic, p.law, p.message))),
    )


@dataclass(frozen=True, slots=True)
class _Laid:
    layout: Layout
    changes: tuple[Change, ...]


def _lay_out_all(
    desired: Desired,
    reach: Scope,
    cluster: Cluster,
    brokers: Brokers,
    usable: Mapping[str, Usable],
    lists: dict[str, tuple[Replicas, ...]],
) -> list[_Laid]:
    """Lay out pool after pool; `lists` is brought up to date in between.

    Only an unmanaged topic that evacuates brokers of two pools is seen by two of them.
    """
    new = {spec.topic: Home(Role.PLACED, spec.pool, spec) for spec in reach.absent}
    homes = {**reach.homes, **{name: home for name, home in new.items() if name in lists}}
    limits = desired.cluster.limits
    laid = []
    for name, pool in sorted(reach.pools.items()):
        unit = unit_of(pool, homes, cluster, lists, brokers)
        layout = lay_out(unit, usable[name], limits, balance=desired.cluster.balancing.enabled)
        caps = {
            broker: cap
            for broker in pool.brokers
            if (cap := replicas_cap(pool, broker, limits)) is not None
        }
        changes = tuple(changes_of(layout, caps))
        for change in changes:
            lists[change.topic] = _with_change(lists[change.topic], change)
        laid.append(_Laid(layout, changes))
    return laid


def _with_change(lists: tuple[Replicas, ...], change: Change) -> tuple[Replicas, ...]:
    return (*lists[: change.partition], change.target, *lists[change.partition + 1 :])


def _moves(desired: Desired, cluster: Cluster, changes: Iterable[Change]) -> tuple[Move, ...]:
    one = desired.cluster.execution.replicas_at_a_time is ReplicasAtATime.ONE
    latest: dict[tuple[str, int], Change] = {}
    for change in changes:
        key = (change.topic, change.partition)
        if not _exists(cluster, *key):
            continue
        earlier = latest[key].causes if key in latest else ()
        causes = tuple(sorted((*earlier, *change.causes), key=lambda cause: cause[0]))
        latest[key] = Change(*key, change.target, causes, change.badness)
    moves = [move_of(change, cluster, one_at_a_time=one) for change in latest.values()]
    return tuple(sorted(moves, key=lambda m: (m.urgency, m.topic, m.partition)))


def _exists(cluster: Cluster, topic: str, partition: int) -> bool:
    return topic in cluster.topics and partition < len(cluster.topics[topic].partitions)


def _steps(
    reach: Scope,
    cluster: Cluster,
    records: Records,
    lists: Lists,
    moves: Sequence[Move],
    proposed: Sequence[CreateTopic | AddPartitions],
) -> tuple[tuple[Step, ...], tuple[PlanProblem, ...]]:
    """All steps but deletions; partitions are not added to topics that are about to move."""
    moving = {move.topic for move in moves}
    kept: list[Step] = []
    deferred = []
    for step in proposed:
        first = step.first if isinstance(step, AddPartitions) else 0
        if step.topic in moving:
            deferred.append(topicsteps.deferral(reach, step.topic, first))
        else:
            kept.append(replace(step, replicas=lists[step.topic][first:]))
    kept += topicsteps.configs(reach, cluster, records)
    kept += topicsteps.elections(reach, cluster, {(m.topic, m.partition) for m in moves})
    return tuple(kept), tuple(deferred)


def _certificates(laid: Sequence[_Laid], moves: Iterable[Move]) -> tuple[PoolCertificate, ...]:
    by_topic: dict[str, list[Move]] = {}
    for move in moves:
        by_topic.setdefault(move.topic, []).append(move)
    return tuple(
        certificate(
            part.layout,
            [move for name in part.layout.unit.topics for move in by_topic.get(name, ())],
        )
        for part in laid
    )


def _usable(pool: ResourcePoolSpec, brokers: Brokers, desired: Desired) -> Usable:
    eligible = eligible_of(pool, brokers)
    rows = {b: brokers.index[b] for b in pool.brokers if eligible[brokers.index[b]]}
    limits = desired.cluster.limits
    caps = {b: replicas_cap(pool, b, limits) for b in rows}
    return Usable(
        racks={b: brokers.rack_names[brokers.rack[row]] or None for b, row in rows.items()},
        weights={b: pool.capacity_for(b).weight for b in rows},
        caps={b: cap for b, cap in caps.items() if cap is not None},
        quiet=pool.demote,
    )


def _loads(lists: Lists) -> Loads:
    loads = Loads()
    for replicas in lists.values():
        loads.add(replicas)
    return loads
