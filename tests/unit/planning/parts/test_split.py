"""A plan in parts: which move belongs to which, what comes after what, and laws of any split."""

from dataclasses import replace

import pytest
from hypothesis import given

from builders import MIB, cluster, desired, move, plan, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import DeleteTopic, Move, MoveLogDir, Plan, SetConfig, Urgency
from poolkeeper.model.specs import Capacity, DrainLogDir
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.parts.split import Circumstances, with_parts
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals.identity import is_destructive, plan_hash
from poolkeeper.planning.run_state.progress.after_plan import after_moves
from unit.planning.instances import instances

CLUSTER = cluster(
    {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c", 7: "c", 8: "c"},
    *(topic(name, (1, 2), (2, 3), (3, 1), (1, 2)) for name in ("a", "b", "c")),
    topic("old", (1, 2)),
)
FAST = pool_spec("fast", 1, 2, 3, 7, 8, drain=frozenset({3}))
SLOW = pool_spec("slow", 4, 5, 6)
DESIRED = desired((FAST, SLOW), *(topic_spec(name, "fast") for name in ("a", "b", "c")))
GIVEN = Circumstances(DESIRED, CLUSTER, Records(), frozenset())

LOSSY = SetConfig("a", {"retention.ms": "1"}, destructive=("shorter retention",))
HARMLESS = SetConfig("b", {"retention.ms": "9"})
DELETED = DeleteTopic("old")
COPIED_OUT = MoveLogDir("c", 0, 1, "/drained", "/d2", MIB)
EVENED_OUT = MoveLogDir("c", 1, 2, "/d1", "/d2", MIB)


def needed(name: str, number: int, *path: tuple[int, ...], urgency: Urgency) -> Move:
    return move(name, number, *path, urgency=int(urgency))


HEALED = needed("a", 0, (1, 2), (7, 2), urgency=Urgency.HEAL)
DRAINED = needed("a", 1, (2, 3), (2, 1), urgency=Urgency.DRAIN)
POOLED = needed("b", 1, (2, 3), (4, 5), urgency=Urgency.POOL)
MIGRATED = needed("b", 0, (1, 2), (4, 5), urgency=Urgency.POOL)
RAISED = needed("c", 0, (1, 2), (1, 2, 7), urgency=Urgency.FACTOR)
EVEN = needed("c", 3, (1, 2), (8, 2), urgency=Urgency.BALANCE)


def split(whole: Plan, given: Circumstances = GIVEN) -> list[tuple[object, ...]]:
    parts = with_parts(whole, given).parts
    return [(part.name, part.after, part.moves, part.steps) for part in parts]


MOVED = replace(
    DESIRED, topics=tuple(replace(t, pool="slow") if t.topic == "b" else t for t in DESIRED.topics)
)
DIRS = replace(DESIRED, pools=(replace(FAST, drain_log_dirs=(DrainLogDir(1, "/drained"),)), SLOW))


@pytest.mark.parametrize(
    ("whole", "wanted", "found"),
    [
        pytest.param(plan(), DESIRED, [], id="nothing"),
        pytest.param(plan(steps=(HARMLESS,)), DESIRED, [], id="nothing-to-approve"),
        pytest.param(
            plan(HEALED, DRAINED, MIGRATED, RAISED, EVEN),
            MOVED,
            [
                ("heal", (), (0,), ()),
                ("drain", ("heal",), (1,), ()),
                ("pool/slow", ("heal", "drain"), (2,), ()),
                ("replication-factor", ("heal", "drain", "pool/slow"), (3,), ()),
                ("balance", ("heal", "drain", "pool/slow", "replication-factor"), (4,), ()),
            ],
            id="one-of-each",
        ),
        pytest.param(
            plan(POOLED, needed("b", 3, (1, 2), (4, 5), urgency=Urgency.POOL)),
            MOVED,
            [("drain", (), (0,), ()), ("pool/slow", ("drain",), (1,), ())],
            id="off-a-drained-broker-and-into-a-pool",
        ),
        pytest.param(
            plan(DRAINED, steps=(HARMLESS, LOSSY, DELETED)),
            DESIRED,
            [
                ("drain", (), (0,), ()),
                ("topic/a", (), (), (1,)),
                ("topic/old", (), (), (2,)),
            ],
            id="topics-by-themselves",
        ),
        pytest.param(
            plan(steps=(COPIED_OUT, EVENED_OUT)),
            DIRS,
            [("drain", (), (), (0,)), ("balance", ("drain",), (), (1,))],
            id="between-log-dirs",
        ),
    ],
)
def test_what_belongs_to_which_part(
    whole: Plan, wanted: Desired, found: list[tuple[object, ...]]
) -> None:
    assert split(whole, replace(GIVEN, desired=wanted)) == found


def test_the_hash_of_a_part_is_that_of_a_plan_with_nothing_else() -> None:
    whole = with_parts(plan(DRAINED, EVEN, steps=(HARMLESS, LOSSY)), GIVEN)
    assert [part.hash for part in whole.parts] == [
        plan_hash((DRAINED,), ()),
        plan_hash((EVEN,), ()),
        plan_hash((), (LOSSY,)),
    ]
    alone = with_parts(plan(DRAINED, steps=(HARMLESS,)), GIVEN)
    assert [part.hash for part in alone.parts] == [alone.hash]


FULL = cluster(
    {1: "a", 2: "b", 3: "c", 4: "d"}, topic("a", (3, 2), (1, 2)), topic("b", (1, 2), (1, 2))
)
TIGHT = pool_spec("fast", 1, 2, 3, 4, drain=frozenset({3}), capacity=Capacity(replicas=3))
ROOM = [
    needed("b", 0, (1, 2), (4, 2), urgency=Urgency.BALANCE),
    needed("b", 1, (1, 2), (1, 4), urgency=Urgency.BALANCE),
]


def test_a_move_that_makes_room_for_a_more_urgent_part_belongs_to_it() -> None:
    drained = needed("a", 0, (3, 2), (1, 2), urgency=Urgency.DRAIN)
    wanted = desired((TIGHT,), topic_spec("a", "fast"), topic_spec("b", "fast"))
    found = split(plan(drained, *ROOM), Circumstances(wanted, FULL, Records(), frozenset()))
    assert found == [("drain", (), (0, 1), ()), ("balance", ("drain",), (2,), ())]


@pytest.mark.parametrize(
    ("topic_name", "changes"),
    [
        pytest.param("c", {"config": {"retention.ms": "7"}}, id="its-own-config"),
        pytest.param("b", {"pool": "slow"}, id="the-pool-of-another"),
        pytest.param("b", {"replication_factor": 1}, id="the-replication-factor-of-another"),
    ],
)
def test_what_a_tenant_declares_of_others_changes_no_fingerprint_of_the_platform(
    topic_name: str, changes: dict[str, object]
) -> None:
    other = replace(
        DESIRED,
        topics=tuple(
            replace(spec, **changes) if spec.topic == topic_name else spec
            for spec in (*DESIRED.topics, topic_spec("new", "fast"))
        ),
    )
    whole = plan(DRAINED)
    (now,) = with_parts(whole, GIVEN).parts
    (then,) = with_parts(whole, replace(GIVEN, desired=other)).parts
    assert then == now


def test_a_part_of_a_topic_ends_with_what_its_topic_declares() -> None:
    whole = plan(steps=(DELETED,))
    (now,) = with_parts(whole, GIVEN).parts
    again = replace(DESIRED, topics=(*DESIRED.topics, topic_spec("old", "fast")))
    (then,) = with_parts(whole, replace(GIVEN, desired=again)).parts
    assert now.hash == then.hash
    assert now.fingerprint != then.fingerprint


Instance = tuple[Desired, Cluster, frozenset[int]]


@examples(6)
@given(instances())
def test_parts_are_the_whole_and_each_is_lawful_after_those_before(instance: Instance) -> None:
    wanted, found, gone = instance
    whole = with_parts(
        make_plan(wanted, found, gone=gone), Circumstances(wanted, found, Records(), gone)
    )
    moves = [index for part in whole.parts for index in part.moves]
    assert sorted(moves) == list(range(len(whole.moves)))
    steps = [index for part in whole.parts for index in part.steps]
    approved = [
        n
        for n, step in enumerate(whole.steps)
        if is_destructive(step) or isinstance(step, MoveLogDir)
    ]
    assert sorted(steps) == approved
    names = [part.name for part in whole.parts]
    for number, part in enumerate(whole.parts):
        assert set(part.after) <= set(names[:number])
    for part in whole.parts:
        before = [p for p in whole.parts if p.name in part.after]
        reached = after_moves(found, [whole.moves[i] for p in before for i in p.moves])
        own = tuple(whole.moves[i] for i in part.moves)
        alone = Plan("c", plan_hash(own, ()), "", moves=own)
        assert check_plan(alone, wanted, reached, Records(), gone) == (), part.name
