"""Replicas between log directories: what is drained gets empty, what is uneven gets even."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import MIB, partition, pool_spec, topic
from poolkeeper.model.plans import MoveLogDir
from poolkeeper.model.specs import DrainLogDir, Goal, GoalKind, ResourcePoolSpec
from poolkeeper.model.topology import Broker, Cluster, LogDir, Topic, TopicPartition
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole
from poolkeeper.planning.proposals.log_dirs import moves_between_log_dirs

A, B, C = "/a", "/b", "/c"
EVEN = Goal(GoalKind.LOG_DIRS, percent=10)
PLACED = TopicHome(TopicRole.PLACED, "p")


def pool(*drained: str, goal: Goal | None = None) -> ResourcePoolSpec:
    drains = tuple(DrainLogDir(1, path) for path in drained)
    return pool_spec(
        "p", 1, 2, cluster="c", drain_log_dirs=drains, goals=() if goal is None else (goal,)
    )


def cluster(sizes, dirs=(A, B), arriving=None, silent=False) -> Cluster:
    """Broker 1 holds partition n of topic t: so many MiB in that directory."""
    partitions = (
        partition(number, 1, 2, size_bytes=mib * MIB, log_dirs={1: path, 2: A})
        for number, (path, mib) in enumerate(sizes)
    )
    known = None if silent else {each: LogDir() for each in dirs}
    going = {TopicPartition("t", n): path for n, path in (arriving or {}).items()}
    first = Broker(1, log_dirs=known, arriving=going)
    brokers = (first, Broker(2, log_dirs={A: LogDir()}))
    return builders.cluster(brokers, topic("t", *partitions), name="c")


def planned(pool_, cluster_, moving=(), home=PLACED, balance=True):
    steps, problems = moves_between_log_dirs(
        {"p": pool_}, cluster_, {"t": home}, moving, balance=balance
    )
    assert all(step.broker == 1 and step.topic == "t" for step in steps)
    assert [step.bytes for step in steps] == [
        cluster_.topics["t"].partitions[step.partition].size_bytes for step in steps
    ]
    return {s.partition: (s.source, s.target) for s in steps}, [p.message for p in problems]


@pytest.mark.parametrize(
    ("pool_", "cluster_", "expected"),
    [
        pytest.param(pool(), cluster([(A, 9), (A, 9)]), {}, id="nobody-asks-for-anything"),
        pytest.param(
            pool(A),
            cluster([(A, 5), (A, 4), (A, 1)], (A, B, C)),
            {0: (A, B), 1: (A, C), 2: (A, C)},
            id="what-is-drained-goes-where-least-is",
        ),
        pytest.param(
            pool(A),
            cluster([(A, 5), (A, 4)], (A, B), arriving={0: B}),
            {1: (A, B)},
            id="what-is-on-its-way-is-not-asked-for-again",
        ),
        pytest.param(
            pool(goal=EVEN),
            cluster([(A, 5), (A, 5), (A, 5), (A, 5)]),
            {0: (A, B), 1: (A, B)},
            id="bytes-are-evened-out",
        ),
        pytest.param(
            pool(goal=EVEN), cluster([(A, 54), (B, 46)]), {}, id="within-the-band-nothing-moves"
        ),
        pytest.param(
            pool(goal=EVEN), cluster([(A, 100), (B, 4)]), {}, id="one-giant-is-not-sent-to-and-fro"
        ),
        pytest.param(
            pool(A, goal=EVEN),
            cluster([(A, 6), (B, 4), (B, 4), (B, 4)], (A, B, C)),
            {0: (A, C), 1: (B, C)},
            id="a-drained-directory-is-no-place-to-even-out-to",
        ),
    ],
)
def test_what_goes_where(pool_, cluster_, expected):
    found, problems = planned(pool_, cluster_)
    assert (found, problems) == (expected, [])


def test_without_balance_directories_are_emptied_only():
    uneven = cluster([(A, 6), (B, 4), (B, 4), (B, 4)], (A, B, C))
    assert planned(pool(A, goal=EVEN), uneven, balance=False) == ({0: (A, C)}, [])
    assert planned(pool(goal=EVEN), uneven, balance=False) == ({}, [])
    assert planned(pool(goal=EVEN), cluster([], silent=True), balance=False) == ({}, [])


@pytest.mark.parametrize(
    ("pool_", "cluster_", "more", "sentence"),
    [
        pytest.param(
            pool(A),
            cluster([(A, 1)], silent=True),
            {},
            "broker 1 does not report its log directories",
            id="an-old-or-silent-broker",
        ),
        pytest.param(
            pool("/z"),
            cluster([]),
            {},
            "broker 1 has no log directory /z (it has /a, /b)",
            id="a-directory-that-is-none",
        ),
        pytest.param(
            pool(A, B),
            cluster([(A, 1)]),
            {},
            "broker 1: log directory /a keeps t-0: it has no directory that is not drained",
            id="all-are-drained",
        ),
        pytest.param(
            pool(A),
            cluster([(A, 1)]),
            {"moving": {("t", 0)}},
            "broker 1: log directory /a keeps t-0: they move to other brokers, or another pool"
            " decides about them",
            id="it-goes-to-another-broker",
        ),
        pytest.param(
            pool(A),
            cluster([(A, 1)] * 5),
            {"home": TopicHome(TopicRole.UNTOUCHED, "p")},
            "broker 1: log directory /a keeps t-0, t-1, t-2 and 2 more: they move to other"
            " brokers, or another pool decides about them",
            id="it-may-not-be-touched",
        ),
    ],
)
def test_what_stays_is_said(pool_, cluster_, more, sentence):
    found, problems = planned(pool_, cluster_, **more)
    assert (found, problems) == ({}, [sentence])


@pytest.mark.parametrize(("sizes", "told"), [([(A, 1)], True), ([], False)])
def test_a_dead_broker_with_replicas_is_not_said_to_be_empty(sizes, told):
    dead = builders.without_brokers(cluster(sizes), 1)
    found, problems = planned(pool(A), dead)
    assert found == {}
    unknown = (
        "broker 1 is not live, and what its log directories hold is not known: start it, or have"
        " its replicas rebuilt elsewhere"
    )
    assert problems == ([unknown] if told else [])
    assert planned(pool(), dead) == ({}, [])


def test_a_directory_takes_what_leaves_some_of_its_disk_free():
    small = LogDir(total_bytes=100 * MIB, usable_bytes=12 * MIB)
    big = LogDir(total_bytes=1000 * MIB, usable_bytes=60 * MIB)
    before = cluster([(A, 8), (A, 7), (A, 6)], (A,))
    broker = Broker(1, log_dirs={A: LogDir(), B: small, C: big}, arriving={})
    brokers = {1: broker, 2: before.brokers[2]}
    found, problems = planned(pool(A), Cluster("c", brokers, before.topics))
    assert found == {0: (A, C), 1: (A, B)}
    assert problems == [
        "broker 1: log directory /a keeps t-2: no other directory has space for them"
    ]


PLACES = st.lists(st.tuples(st.sampled_from([A, B, C]), st.integers(0, 50)), max_size=12)


@given(PLACES, st.sets(st.sampled_from([A, B, C]), max_size=2), st.booleans(), st.randoms())
def test_laws(sizes, drained, even, random):
    pool_ = pool(*sorted(drained), goal=EVEN if even else None)
    before = cluster(sizes, (A, B, C))
    steps, problems = moves_between_log_dirs({"p": pool_}, before, {"t": PLACED}, ())
    assert problems == ()
    after = [path for path, _ in sizes]
    for step in steps:
        assert step.source == after[step.partition] != step.target
        after[step.partition] = step.target
    assert len({step.partition for step in steps}) == len(steps)
    assert not drained & set(after)
    moved = list(zip(after, (mib for _, mib in sizes), strict=True))
    again, _ = moves_between_log_dirs({"p": pool_}, cluster(moved, (A, B, C)), {"t": PLACED}, ())
    assert again == ()
    if even and not drained:
        assert _spread(moved) <= _spread(sizes)
    shuffled = list(before.topics["t"].partitions)
    random.shuffle(shuffled)
    same = Cluster("c", before.brokers, {"t": Topic("t", tuple(shuffled))})
    assert moves_between_log_dirs({"p": pool_}, same, {"t": PLACED}, ())[0] == steps


def _spread(sizes):
    held = [sum(mib for path, mib in sizes if path == each) for each in (A, B, C)]
    return max(held) - min(held)


def test_a_step_names_what_it_copies():
    (step,), _ = moves_between_log_dirs({"p": pool(A)}, cluster([(A, 3)]), {"t": PLACED}, ())
    assert step == MoveLogDir("t", 0, 1, A, B, 3 * MIB, "log directory /a is drained")
