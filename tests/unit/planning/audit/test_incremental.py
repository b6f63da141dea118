"""What is told without looking at everything is what looking at everything says, for any plan."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bench import clusters
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Move, Plan
from poolkeeper.model.specs import (
    Capacity,
    ClusterLimits,
    FailureDomain,
    Headroom,
    LimitPolicy,
    Quotas,
)
from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.audit import fast_path
from poolkeeper.planning.audit.audit import state_after, worse_pools
from poolkeeper.planning.audit.excess import excesses, live_state, partition_excess
from poolkeeper.planning.audit.incremental import leaves_worse, lists_leave_worse
from poolkeeper.planning.audit.moves import move_violations
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.rules import Rules
from unit.planning.instances import instances

MIB = 1024**2
FEW = st.sampled_from([None, 1, 3, 9])
QUOTAS = st.builds(Quotas, FEW, FEW)
BY_NAMESPACE = st.builds(Quotas, FEW, FEW, st.fixed_dictionaries({"shop": QUOTAS}))


@st.composite
def bounded(draw: st.DrawFn) -> tuple[Desired, Cluster, frozenset[int]]:
    """Instances with bounds that are near: of brokers, of pools, of the whole cluster."""
    desired, cluster, gone = draw(instances())
    failures = st.sampled_from([Headroom(FailureDomain.BROKER, 1), Headroom(FailureDomain.RACK, 1)])
    pools = tuple(
        replace(
            pool,
            capacity=Capacity(
                disk_bytes=draw(st.sampled_from([None, 3 * MIB, 100 * MIB])),
                replicas=draw(st.sampled_from([None, 2, 4, 6])),
            ),
            capacity_of={},
            headroom=draw(st.none() | failures),
            quotas=draw(st.none() | BY_NAMESPACE),
        )
        for pool in desired.pools
    )
    limits = ClusterLimits(
        policy=draw(st.sampled_from(LimitPolicy)),
        partitions=draw(st.sampled_from([5, 15, 1000])),
        replicas_per_broker=draw(st.sampled_from([3, 8, 1000])),
    )
    spec = replace(desired.cluster, limits=limits)
    return replace(desired, cluster=spec, pools=pools), cluster, gone


@st.composite
def plans_of(draw: st.DrawFn, cluster: Cluster) -> Plan:
    """Any lists for some partitions; topics that come, grow and go."""
    ids = sorted({*cluster.brokers, *(b for lists in live_state(cluster).values() for b in lists)})
    lists = st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True).map(tuple)
    some = st.lists(lists, min_size=1, max_size=3).map(tuple)
    names = sorted(cluster.topics)
    going = draw(st.sets(st.sampled_from(names), max_size=1))
    moves = tuple(
        Move(name, None, partition, (replicas, draw(lists)), 0, "")
        for (name, partition), replicas in live_state(cluster).items()
        if name not in going and draw(st.integers(0, 5)) == 0
    )
    growing = draw(st.sets(st.sampled_from(names), max_size=1)) - going
    steps = (
        *(CreateTopic("new.1", "fast", draw(some), {}) for _ in range(draw(st.integers(0, 1)))),
        *(AddPartitions(n, len(cluster.topics[n].partitions), draw(some)) for n in growing),
        *(DeleteTopic(name, None) for name in going),
    )
    return Plan("main", "", "", steps, moves)


@examples(18)
@given(st.data())
def test_changes_say_what_whole_states_say(data: st.DataObject) -> None:
    desired, cluster, gone = data.draw(bounded())
    plan = data.draw(plans_of(cluster))
    rules, before = Rules(desired, cluster, gone), live_state(cluster)
    forgiven = data.draw(
        st.lists(
            st.tuples(st.sampled_from([p.name for p in desired.pools]), st.integers(0, 2)),
            max_size=1,
        )
    )
    worse = list(worse_pools(rules, before, state_after(plan, before), forgiven))
    assert leaves_worse(rules, plan, plan.moves, forgiven) == bool(worse)


@examples(18)
@given(st.data())
def test_lists_that_change_say_what_whole_states_say(data: st.DataObject) -> None:
    desired, cluster, gone = data.draw(bounded())
    before = live_state(cluster)
    ids = sorted({*cluster.brokers, *(b for lists in before.values() for b in lists)})
    lists = st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True).map(tuple)
    changing = data.draw(st.sets(st.sampled_from(sorted(before)), max_size=6))
    after = {name: data.draw(lists) for name in sorted(changing)}
    worse = excesses({**before, **after}, desired, cluster, gone) > excesses(
        before, desired, cluster, gone
    )
    assert lists_leave_worse(Rules(desired, cluster, gone), after) == worse


@examples(18)
@given(st.data())
def test_moves_that_are_lawful_at_a_glance_are_lawful(data: st.DataObject) -> None:
    desired, cluster, gone = data.draw(bounded())
    moves = data.draw(plans_of(cluster)).moves
    rules = Rules(desired, cluster, gone)
    others = set(fast_path.others(rules, moves))
    lawful = [move for move in moves if move not in others]
    assert list(move_violations(rules, lawful)) == []
    for move in lawful:
        assert partition_excess(rules, rules.home(move.topic), move.target) == (0, 0, 0, 0)


@examples(10)
@given(st.data())
def test_the_verdict_is_that_of_all_moves_looked_at_one_by_one(data: st.DataObject) -> None:
    desired, cluster, gone = data.draw(bounded())
    plan, rules = data.draw(plans_of(cluster)), Rules(desired, cluster, gone)
    others = list(fast_path.others(rules, plan.moves))
    assert leaves_worse(rules, plan, others) == leaves_worse(rules, plan, plan.moves)


def test_most_moves_of_a_plan_are_lawful_at_a_glance() -> None:
    cluster = clusters.cluster(600, brokers=24, joined=3)
    desired = clusters.desired(27)
    plan = make_plan(desired, cluster)
    rules = Rules(desired, cluster, frozenset())
    assert len(plan.moves) > 50
    assert list(fast_path.others(rules, plan.moves)) == []


def test_a_list_that_names_a_broker_twice_is_looked_at_closely() -> None:
    """What ends with as many names as before has more replicas than before."""
    desired, cluster = clusters.desired(24, goals=()), clusters.cluster(60, brokers=24)
    name = min(cluster.topics)
    partitions = (Partition(0, (1, 1)), Partition(1, (2,)), Partition(2, (3,)))
    cluster = replace(cluster, topics={name: Topic(name, partitions)})
    rules, move = Rules(desired, cluster, frozenset()), Move(name, None, 0, ((1, 1), (2, 3)), 0, "")
    assert list(fast_path.others(rules, [move])) == [move]
    assert [each.law for each in move_violations(rules, [move])] == ["replicas"]
