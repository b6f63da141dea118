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
from dataclasses import dataclass

from poolkeeper.model.plans import CreateTopic, Move, Plan, PlanProblem, PoolCertificate, Step
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired, ReplicasAtATime, ResourcePoolSpec
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning import findings, identities, topicsteps
from poolkeeper.planning.certificates import certificate
from poolkeeper.planning.layouts import Layout, lay_out, replicas_cap
from poolkeeper.planning.moves import Change, changes_of, move_of
from poolkeeper.planning.pins import pinned_changes
from poolkeeper.planning.quotas import Tally, standing_problems
from poolkeeper.planning.scopes import Scope, scope
from poolkeeper.planning.spreading import Loads, Usable
from poolkeeper.planning.units import Brokers, brokers_of, eligible_of, unit_of

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
    brokers = brokers_of(reach, cluster, desired, records, gone)
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
    laid = _lay_out_all(desired, reach, cluster, brokers, usable, lists, created)
    moves = _moves(desired, cluster, [*pinned, *(c for part in laid for c in part.changes)])

    steps, step_problems = _steps(reach, cluster, records, ground, moves, created)
    problems = (
        *reach.problems,
        *unpinned,
        *refused,
        *step_problems,
        *(problem for part in laid for problem in findings.of(part.layout)),
        *standing_problems(ground.tally, _loads(lists).replicas),
    )
    return Plan(
        cluster=desired.cluster.name,
        hash=identities.plan_hash(moves, steps),
        fingerprint=identities.fingerprint(desired, cluster.id, gone),
        steps=steps,
        moves=moves,
        certificates=_certificates(laid, moves),
        problems=tuple(sorted(set(problems), key=lambda p: (p.pool, p.topic, p.law, p.message))),
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
    created: Iterable[CreateTopic],
) -> list[_Laid]:
    """Lay out pool after pool; `lists` is brought up to date in between.

    Only an unmanaged topic that evacuates brokers of two pools is seen by two of them.
    """
    for step in created:
        lists[step.topic] = step.replicas
    limits = desired.cluster.limits
    laid = []
    for name, pool in sorted(reach.pools.items()):
        unit = unit_of(pool, reach, cluster, lists, brokers)
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
        earlier = latest[key].causes if key in latest else ()
        causes = tuple(sorted((*earlier, *change.causes), key=lambda cause: cause[0]))
        latest[key] = Change(*key, change.target, causes, change.badness)
    moves = [move_of(change, cluster, one_at_a_time=one) for change in latest.values()]
    return tuple(sorted(moves, key=lambda m: (m.urgency, m.topic, m.partition)))


def _steps(
    reach: Scope,
    cluster: Cluster,
    records: Records,
    ground: topicsteps.Ground,
    moves: Sequence[Move],
    created: tuple[CreateTopic, ...],
) -> tuple[tuple[Step, ...], tuple[PlanProblem, ...]]:
    added, not_added = topicsteps.additions(reach, cluster, ground, {move.topic for move in moves})
    configs = topicsteps.configs(reach, cluster, records)
    elections = topicsteps.elections(reach, cluster, {(m.topic, m.partition) for m in moves})
    deleted, not_deleted = topicsteps.deletions(reach, cluster)
    return (*created, *added, *configs, *elections, *deleted), (*not_added, *not_deleted)


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


def _loads(lists: Mapping[str, tuple[Replicas, ...]]) -> Loads:
    loads = Loads()
    for replicas in lists.values():
        loads.add(replicas)
    return loads
