"""Hypothesis attacks the stages: lawful at every step, inside every limit, never stuck."""

import itertools
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from builders import desired, pool_spec
from laws import examples
from poolkeeper.model import plans, specs, topology
from poolkeeper.model.columns.replica_lists import ReplicaLists
from poolkeeper.model.desired import Desired
from poolkeeper.planning.audit.excess import Rules, excesses, live_state, partition_excess
from poolkeeper.planning.staging import next_stage
from poolkeeper.planning.staging.candidates import entry_for
from poolkeeper.planning.staging.disks.disk_space import Disks
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.lawful.excess_ledger import Ledger
from poolkeeper.planning.staging.lawful.list_changes import LAWFUL, list_changes
from poolkeeper.planning.staging.limits import Bounds, bytes_around, line_bytes, record_bytes
from poolkeeper.planning.staging.queues import Backlog

MIB = 2**20
BROKERS = range(1, 9)


@st.composite
def clusters(draw: st.DrawFn) -> topology.Cluster:
    racks = draw(st.lists(st.sampled_from("abc"), min_size=8, max_size=8))
    topics = {}
    for name in ("t", "u", "v"):
        lists = draw(st.lists(replica_lists, max_size=5))
        sizes = draw(st.lists(st.integers(0, 9), min_size=5, max_size=5))
        partitions = tuple(
            topology.Partition(n, replicas, leader=replicas[0], size_bytes=size * MIB)
            for n, (replicas, size) in enumerate(zip(lists, sizes, strict=False))
        )
        topics[name] = topology.Topic(name, partitions, config={})
    brokers = {id: topology.Broker(id, rack) for id, rack in zip(BROKERS, racks, strict=True)}
    return topology.Cluster("main", brokers, topics)


replica_lists = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True).map(tuple)
caps = st.none() | st.integers(0, 6)
bounds = st.sampled_from([Bounds(), Bounds(topic_partitions_min=1, topic_write_bytes=0)])
"""The usual ones, and those by which a topic moves one partition at a time."""


@st.composite
def declared(draw: st.DrawFn) -> Desired:
    disk = draw(st.none() | st.integers(20, 60))
    capacity = specs.Capacity(replicas=draw(caps), disk_bytes=None if disk is None else disk * MIB)
    headroom = draw(st.none() | st.just(specs.Headroom(failures=1)))
    drain = draw(st.frozensets(st.sampled_from(BROKERS), max_size=2))
    first = pool_spec(
        "p", 1, 2, 3, 4, 5, capacity=capacity, headroom=headroom, drain=drain, claims=("t|u",)
    )
    second = pool_spec("q", 6, 7, 8, claims=("v",))
    execution = specs.Execution(
        max_moves=draw(st.integers(1, 6)),
        max_moves_per_broker=draw(st.integers(1, 3)),
        max_bytes=draw(st.sampled_from([1, 5 * MIB, 100 * MIB])),
    )
    limits = specs.ClusterLimits(
        replicas_per_broker=draw(st.integers(2, 9)), policy=draw(st.sampled_from(specs.LimitPolicy))
    )
    return desired((first, second), execution=execution, limits=limits)


@st.composite
def moves_of(draw: st.DrawFn, cluster: topology.Cluster) -> tuple[plans.Move, ...]:
    moves = []
    for topic in cluster.topics.values():
        for partition in topic.partitions:
            path = [partition.replicas]
            for target in draw(st.lists(replica_lists, max_size=2)):
                if target != path[-1]:
                    path.append(target)
            if len(path) > 1:
                added = sum(len(set(b) - set(a)) for a, b in itertools.pairwise(path))
                size = (partition.size_bytes or 0) * added
                urgency = draw(st.integers(0, 4))
                moves.append(
                    plans.Move(
                        topic.name, None, partition.partition, tuple(path), size, "", urgency
                    )
                )
    return tuple(moves)


def advanced(cluster: topology.Cluster, state: dict) -> topology.Cluster:
    """The cluster once its replicas are where the state says."""
    topics = {}
    for topic in cluster.topics.values():
        lists = (
            p._replace(replicas=state[topic.name, p.partition], leader=None)
            for p in topic.partitions
        )
        topics[topic.name] = replace(topic, partitions=tuple(lists))
    return replace(cluster, topics=topics)


def added(move: plans.Move, step: int) -> set[int]:
    return set(move.path[step]) - set(move.path[step - 1])


def check_limits(stage, moves, state, cluster, wanted) -> None:
    """Only what goes alone, or a group that is lawful only as a whole, may be above a limit."""
    execution = wanted.cluster.execution
    copies = [added(moves[i], step) for i, step in stage.entries]
    into = Counter(broker for brokers in copies for broker in brokers)
    within = (
        sum(len(brokers) or 1 for brokers in copies) <= execution.max_moves
        and stage.bytes <= execution.max_bytes
        and max(into.values(), default=0) <= execution.max_moves_per_broker
    )
    if within or len(stage.entries) == 1:
        return
    was = excesses(state, wanted, cluster)
    for i, step in stage.entries:
        alone = state | {(moves[i].topic, moves[i].partition): moves[i].path[step]}
        assert excesses(alone, wanted, cluster) > was


def used_mib(cluster: topology.Cluster) -> Counter[int]:
    used: Counter[int] = Counter()
    for topic in cluster.topics.values():
        for partition in topic.partitions:
            for broker in partition.replicas:
                used[broker] += -(-(partition.size_bytes or 0) // MIB)
    return used


def check_disks(stage, moves, cluster, wanted) -> None:
    """With both copies on disk no broker that takes in is above its declared disk."""
    used, incoming = used_mib(cluster), set()
    for i, step in stage.entries:
        size = cluster.topics[moves[i].topic].partitions[moves[i].partition].size_bytes
        for broker in added(moves[i], step):
            used[broker] += size // MIB
            incoming |= {broker} if size else set()
    for broker in incoming:
        pool = next(pool for pool in wanted.pools if broker in pool.brokers)
        disk = pool.capacity_for(broker).disk_bytes
        assert disk is None or used[broker] * MIB <= disk


@examples(15)
@given(st.data())
def test_every_state_on_the_way_is_lawful_and_within_limits(data) -> None:
    cluster, wanted = data.draw(clusters()), data.draw(declared())
    moves, some = data.draw(moves_of(cluster)), data.draw(bounds)
    at = [0] * len(moves)
    for _ in range(sum(len(move.path) - 1 for move in moves) + 1):
        stage = next_stage.next_stage(moves, at, cluster, wanted, bounds=some)
        if not isinstance(stage, next_stage.Stage):
            break
        assert stage.entries
        assert len(set(stage.entries)) == len(stage.entries)
        before = live_state(cluster)
        after = next_stage.after_stage(before, moves, stage)
        next_stage.assert_lawful(before, after, wanted, cluster)
        check_limits(stage, moves, before, cluster, wanted)
        check_disks(stage, moves, cluster, wanted)
        cluster = advanced(cluster, after)
        for i, step in stage.entries:
            assert step == at[i] + 1
            at[i] = step
    else:
        raise AssertionError("the stages never end")
    if stage is None:
        assert all(place == len(move.path) - 1 for place, move in zip(at, moves, strict=True))
    else:
        check_stuck(moves, at, cluster, wanted)


def check_stuck(moves, at, cluster, wanted) -> None:
    """Nothing fits: then no step is both lawful and possible, nor are all of them together."""
    state = live_state(cluster)
    rules = Rules(wanted, cluster, frozenset())
    disks = Disks(rules, Bounds())
    open_steps = []
    for i, (move, place) in enumerate(zip(moves, at, strict=True)):
        if place + 1 == len(move.path):
            continue
        entry = entry_for(cluster.topics, cluster.brokers, i, move, place + 1)
        shrinks = not entry.added and len(entry.after) < len(entry.before)
        possible = disks.need(entry) is None and not shrinks
        alone = state | {(move.topic, move.partition): move.path[place + 1]}
        lawful = excesses(alone, wanted, cluster) <= excesses(state, wanted, cluster)
        assert not (possible and lawful)
        open_steps.append((possible, move, place))
    undisputed = wanted.pools[0].capacity.disk_bytes is None
    if undisputed and all(possible for possible, _, _ in open_steps):
        together = dict(state)
        for _, move, place in open_steps:
            together[move.topic, move.partition] = move.path[place + 1]
        assert excesses(together, wanted, cluster) > excesses(state, wanted, cluster)


@examples(15)
@given(st.data())
def test_the_change_of_a_step_is_that_of_the_laws(data) -> None:
    cluster, wanted = data.draw(clusters()), data.draw(declared())
    moves = data.draw(moves_of(cluster))
    rules = Rules(wanted, cluster, frozenset())
    ledger = Ledger(rules)
    state = live_state(cluster)
    for i, move in enumerate(moves):
        entry = entry_for(cluster.topics, cluster.brokers, i, move, 1)
        after = state | {(move.topic, move.partition): move.path[1]}
        was, becomes = excesses(state, wanted, cluster), excesses(after, wanted, cluster)
        assert tuple(ledger.change(entry)) == tuple(
            b - a for a, b in zip(was, becomes, strict=True)
        )
        ledger.apply(entry)
        state = after


odd_lists = st.lists(st.sampled_from((*BROKERS, 9)), min_size=1, max_size=4).map(tuple)


@examples(60)
@given(st.data())
def test_changes_by_column_are_those_of_the_laws(data) -> None:
    """Whatever the lists are: brokers twice, outside of the pool, gone, in racks that are full."""
    cluster = data.draw(clusters())
    wanted = data.draw(declared())
    unmanaged = data.draw(st.sampled_from(specs.UnmanagedTopics))
    pools = data.draw(st.sampled_from([wanted.pools, wanted.pools[1:]]))
    kafka = replace(wanted.cluster, unmanaged_topics=unmanaged, default_pool="q")
    rules = Rules(replace(wanted, cluster=kafka, pools=pools), cluster, frozenset({4}))
    lists = [(name, *data.draw(st.tuples(odd_lists, odd_lists))) for name in "tuvtuv"]
    topics = ["t", "u", "v"]
    found = list_changes(
        rules,
        topics,
        [topics.index(name) for name, _, _ in lists],
        ReplicaLists.of([before for _, before, _ in lists]).wide(),
        ReplicaLists.of([after for _, _, after in lists]).wide(),
    )
    for change, (name, *pair) in zip(found, lists, strict=True):
        before, after = (partition_excess(rules, rules.home(name), each) for each in pair)
        assert change.of_lists == tuple(b - a for a, b in zip(before, after, strict=True))
        assert change[4:] == (0, 0)
        assert (change is LAWFUL) == (before == after)


@examples(60)
@given(st.data())
def test_steps_by_column_are_the_steps_one_by_one(data) -> None:
    cluster = data.draw(clusters())
    for topic in data.draw(st.sets(st.sampled_from(sorted(cluster.topics)))):
        unled = (p._replace(leader=None) for p in cluster.topics[topic].partitions)
        cluster.topics[topic] = replace(cluster.topics[topic], partitions=tuple(unled))
    moves = data.draw(moves_of(cluster))
    at = [data.draw(st.none() | st.integers(0, len(move.path) - 1)) for move in moves]
    table = EntryTable(moves, cluster, at)
    expected = [
        entry_for(cluster.topics, cluster.brokers, index, move, place + 1)
        for index, (move, place) in enumerate(zip(moves, at, strict=True))
        if place is not None and place + 1 < len(move.path)
    ]
    assert [table.entry(row) for row in range(len(table))] == expected
    for row, entry in enumerate(expected):
        assert table.topics[table.topic[row]] == entry.topic
        assert table.request_bytes[row] >= line_bytes(entry) + bytes_around(entry, 0)
        assert table.request_bytes[row] >= record_bytes(entry, 0)
        assert table.is_last(row) == (entry.step + 1 == len(moves[entry.move].path))
    first = EntryTable(moves, cluster, [0] * len(moves))
    assert EntryTable(moves, cluster).move == first.move
    backlog = Backlog(table)  # which puts the rows into another order
    assert sorted(map(table.entry, backlog.everything())) == sorted(expected)
    assert backlog.all.bytes == sum(entry.bytes for entry in expected)
    lists = zip(table.before.tuples(), table.after.tuples(), strict=True)
    for row, pair in enumerate(lists):
        entry = table.entry(row)
        assert pair == (entry.before, entry.after)


@examples(15)
@given(st.data())
def test_a_prediction_is_what_next_stage_says_stage_by_stage(data) -> None:
    cluster, wanted = data.draw(clusters()), data.draw(declared())
    moves, some = data.draw(moves_of(cluster)), data.draw(bounds)
    predicted, makespan, halt = next_stage.predict(
        plans.Plan("main", "", "", moves=moves), cluster, wanted, bounds=some
    )
    steps = [pair for stage in predicted for pair in stage.moves]
    assert len(set(steps)) == len(steps)
    for i in range(len(moves)):
        own = [step for index, step in steps if index == i]
        assert own == list(range(1, len(own) + 1))
    if predicted:
        first = next_stage.next_stage(moves, [0] * len(moves), cluster, wanted, bounds=some)
        assert first == next_stage.Stage(predicted[0].moves, predicted[0].bytes)
    assert (makespan is None) == bool(halt or not moves)
    if makespan is not None:
        assert len(steps) == sum(len(move.path) - 1 for move in moves)
        assert makespan.seconds >= makespan.lower_bound_seconds


@examples(30)
@given(st.data())
def test_disks_hold_in_whatever_order_a_stage_completes(data) -> None:
    """Both copies of what is under way count, and whatever has finished is gone from its source."""
    cluster, wanted = data.draw(clusters()), data.draw(declared())
    moves = data.draw(moves_of(cluster))
    stage = next_stage.next_stage(moves, [0] * len(moves), cluster, wanted)
    if not isinstance(stage, next_stage.Stage):
        return
    finished = {pair for pair in stage.entries if data.draw(st.booleans())}
    half = live_state(cluster)
    for i, step in finished:
        half[moves[i].topic, moves[i].partition] = moves[i].path[step]
    used = used_mib(advanced(cluster, half))
    for i, step in stage.entries:
        size = cluster.topics[moves[i].topic].partitions[moves[i].partition].size_bytes
        for broker in added(moves[i], step) if (i, step) not in finished else ():
            used[broker] += size // MIB
    for broker in {b for i, step in stage.entries if moves[i].bytes for b in added(moves[i], step)}:
        pool = next(pool for pool in wanted.pools if broker in pool.brokers)
        disk = pool.capacity_for(broker).disk_bytes
        assert disk is None or used[broker] * MIB <= disk


@examples(30)
@given(st.data())
def test_laws_of_single_lists_hold_in_whatever_order_a_stage_completes(data) -> None:
    """Without capacities to share, every subset of a stage is lawful: no step leans on another."""
    cluster, wanted = data.draw(clusters()), data.draw(declared())
    free = tuple(replace(p, capacity=specs.Capacity(), headroom=None) for p in wanted.pools)
    kafka = replace(wanted.cluster, limits=specs.ClusterLimits())
    wanted = replace(wanted, cluster=kafka, pools=free)
    moves = data.draw(moves_of(cluster))
    stage = next_stage.next_stage(moves, [0] * len(moves), cluster, wanted)
    if not isinstance(stage, next_stage.Stage):
        return
    before = live_state(cluster)
    half = dict(before)
    for i, step in stage.entries:
        if data.draw(st.booleans()):
            half[moves[i].topic, moves[i].partition] = moves[i].path[step]
    next_stage.assert_lawful(before, half, wanted, cluster)


@examples(24)
@given(st.data())
def test_stages_do_not_depend_on_the_order_of_moves(data) -> None:
    cluster, wanted = data.draw(clusters()), data.draw(declared())
    moves = data.draw(moves_of(cluster))
    assert next_stage.next_stage(moves, [0] * len(moves), cluster, wanted) == next_stage.next_stage(
        list(moves),
        [0] * len(moves),
        replace(cluster, topics=dict(reversed(cluster.topics.items()))),
        wanted,
    )
