"""When balance alone may start a plan, and that nothing else ever waits for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, desired, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BalanceRecord, Records
from poolkeeper.model.plans import AddPartitions, CreateTopic, MoveLogDir, Urgency
from poolkeeper.model.specs import Balancing, Capacity, Goal, GoalKind, Strategy
from poolkeeper.model.topology import Broker, Cluster, LogDir, Partition, Topic
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals.cool_down import (
    CooledPlan,
    balance_record,
    has_balance_moves,
    hold_balance_back,
    waits_until_ms,
    without_goals,
)
from unit.planning.byhand import COUNT_1, paths
from unit.planning.instances import instances

MINUTE_MS = 60_000
HOUR = Balancing(cool_down_s=3600)
NOW_MS = 1_700_000_000_000
LATER_MS = NOW_MS + 1


NEW = CreateTopic | AddPartitions


def planner(seen: Cluster, gone: frozenset[int] = frozenset()):
    return lambda wanted: make_plan(wanted, seen, Records(), gone)


def lawful_for(wanted: Desired, seen: Cluster, gone: frozenset[int] = frozenset()):
    return lambda plan: not check_plan(plan, wanted, seen, Records(), gone)


@pytest.mark.parametrize(
    ("last_ms", "now_ms", "until_ms"),
    [
        pytest.param(None, NOW_MS, None, id="never-before"),
        pytest.param(NOW_MS, NOW_MS, NOW_MS + 60 * MINUTE_MS, id="just-now"),
        pytest.param(
            NOW_MS, NOW_MS + 60 * MINUTE_MS - 1, NOW_MS + 60 * MINUTE_MS, id="nearly-over"
        ),
        pytest.param(NOW_MS, NOW_MS + 60 * MINUTE_MS, None, id="over"),
        pytest.param(
            NOW_MS + MINUTE_MS, NOW_MS, NOW_MS + 61 * MINUTE_MS, id="by-a-clock-that-runs-ahead"
        ),
        pytest.param(NOW_MS + 60 * MINUTE_MS, NOW_MS, None, id="by-a-clock-that-was-wrong"),
    ],
)
def test_when_balance_alone_may_start_again(last_ms, now_ms, until_ms):
    last = None if last_ms is None else BalanceRecord(last_ms)
    assert waits_until_ms(HOUR, last, now_ms) == until_ms


@given(
    st.integers(1, 10_000),
    st.lists(st.tuples(st.integers(0, 20_000_000), st.booleans()), max_size=30),
)
def test_no_two_starts_are_nearer_than_that_and_none_is_later_than_needed(cool_s, passes):
    balancing, now_ms, last, wanted_ms = Balancing(cool_down_s=cool_s), NOW_MS, None, None
    for later_ms, wanted in passes:
        now_ms += later_ms
        wanted_ms = None if not wanted else wanted_ms or now_ms
        if not wanted:
            continue
        until_ms = waits_until_ms(balancing, last, now_ms)
        if until_ms is None:
            assert last is None or now_ms - last.started_ms >= cool_s * 1000
            last, wanted_ms = BalanceRecord(now_ms), None
        else:
            assert now_ms < until_ms == last.started_ms + cool_s * 1000


DRAINED = (
    desired(
        [pool_spec("p", 1, 2, 3, 4, drain=frozenset({1}), goals=COUNT_1)], topic_spec("t", "p")
    ),
    cluster((1, 2, 3, 4), topic("t", (1,), (2,), (2,), (2,), (2,), (3,))),
)
UNEVEN = (
    desired([pool_spec("p", 1, 2, goals=COUNT_1)], topic_spec("t", "p")),
    cluster((1, 2), topic("t", (1,), (1,), (1,), (1,))),
)
LEADERS = (
    desired([pool_spec("p", 1, 2, goals=COUNT_1)], topic_spec("t", "p")),
    cluster((1, 2), topic("t", (1, 2), (1, 2), (1, 2), (1, 2))),
)
TOO_FULL = (
    desired(
        [pool_spec("p", 1, 2, goals=(), capacity_of={b: Capacity(replicas=2) for b in (1, 2)})],
        topic_spec("t", "p"),
    ),
    cluster((1, 2), topic("t", (1,), (1,), (1,), (2,))),
)
TOO_FULL_AND_UNEVEN = (
    desired(
        [pool_spec("p", 1, 2, 3, goals=COUNT_1, capacity_of={1: Capacity(replicas=5)})],
        topic_spec("t", "p"),
    ),
    cluster((1, 2, 3), topic("t", *[(1,)] * 6)),
)
PINNED = (
    desired(
        [pool_spec("p", 1, 2, goals=COUNT_1)],
        topic_spec("t", "p", strategy=Strategy.MANUAL, assignment=((2,), (1,))),
        topic_spec("u", "p"),
    ),
    cluster((1, 2), topic("t", (1,), (1,)), topic("u", (1,), (1,), (1,), (1,))),
)
GROWING = (
    desired([pool_spec("p", 1, 2, goals=COUNT_1)], topic_spec("t", "p", partitions=5)),
    cluster((1, 2), topic("t", (1,), (1,), (1,), (1,))),
)


def test_what_is_remembered_of_a_run():
    plan, settled = make_plan(*UNEVEN), make_plan(UNEVEN[0], cluster((1, 2), topic("t", (1,))))
    assert balance_record(settled, HOUR, None, NOW_MS) is None
    assert balance_record(plan, HOUR, None, NOW_MS) == BalanceRecord(NOW_MS)
    assert balance_record(plan, HOUR, BalanceRecord(NOW_MS - 60 * MINUTE_MS), NOW_MS) is not None
    assert balance_record(plan, HOUR, BalanceRecord(NOW_MS - MINUTE_MS), NOW_MS) is None


@pytest.mark.parametrize(
    ("wanted", "seen", "goes", "held"),
    [
        pytest.param(*UNEVEN, set(), 2, id="balance-alone"),
        pytest.param(*LEADERS, set(), 2, id="leaders-alone"),
        pytest.param(*DRAINED, {"t-0"}, 2, id="a-drain-goes"),
        pytest.param(*PINNED, {"t-0"}, 2, id="what-is-pinned-goes"),
        pytest.param(*TOO_FULL, {"t-0"}, 0, id="a-broker-above-its-cap-is-no-matter-of-balance"),
        pytest.param(
            *TOO_FULL_AND_UNEVEN, {"t-0"}, 3, id="of-a-broker-above-its-cap-only-what-must-go-goes"
        ),
        pytest.param(*GROWING, set(), 2, id="partitions-are-added-all-the-same"),
    ],
)
def test_what_waits_and_what_goes(wanted, seen, goes, held):
    plan = make_plan(wanted, seen)
    found = hold_balance_back(plan, wanted, LATER_MS, planner(seen), lawful_for(wanted, seen))
    assert paths(found.plan).keys() == goes
    assert len(plan.moves) - len(found.plan.moves) == held
    assert found.waits_until_ms == (LATER_MS if held else None)
    assert found.plan.fingerprint == plan.fingerprint
    assert check_plan(found.plan, wanted, seen, Records(), frozenset()) == ()


def test_moves_that_go_have_the_targets_of_the_whole_plan():
    wanted, seen = DRAINED
    plan = make_plan(wanted, seen)
    found = hold_balance_back(plan, wanted, LATER_MS, planner(seen), lawful_for(wanted, seen)).plan
    assert found.moves == plan.moves[:1]
    assert (found.steps, found.problems) == (plan.steps, plan.problems)


def test_partitions_do_not_wait_for_moves_that_wait():
    wanted, seen = GROWING
    plan = make_plan(wanted, seen)
    assert [type(step) for step in plan.steps] == []
    found = hold_balance_back(plan, wanted, LATER_MS, planner(seen), lawful_for(wanted, seen)).plan
    assert [type(step) for step in found.steps] == [AddPartitions]


def test_what_the_rest_alone_would_break_is_planned_anew():
    wanted, seen = DRAINED
    plan = make_plan(wanted, seen)
    found = hold_balance_back(plan, wanted, LATER_MS, planner(seen), lambda wanted: False)
    assert found.plan.moves == make_plan(without_goals(wanted), seen).moves


def test_nothing_is_planned_again_where_nothing_waits():
    def never(wanted: object):
        raise AssertionError("asked for nothing")

    wanted, seen = DRAINED
    plan = make_plan(wanted, seen)
    assert hold_balance_back(plan, wanted, None, never, never) == CooledPlan(plan)
    balanced = make_plan(wanted, cluster((1, 2, 3, 4), topic("t", (2,), (3,), (4,))))
    assert hold_balance_back(balanced, wanted, LATER_MS, never, never) == CooledPlan(balanced)


def test_log_directories_are_evened_out_all_the_same():
    goals = (*COUNT_1, Goal(GoalKind.LOG_DIRS, percent=10))
    wanted = desired([pool_spec("p", 1, 2, goals=goals)], topic_spec("t", "p"))
    dirs = {"/a": LogDir(), "/b": LogDir()}
    brokers = {b: Broker(b, log_dirs=dirs) for b in (1, 2)}
    partitions = [
        Partition(n, (1,), leader=1, isr=(1,), size_bytes=2**30, log_dirs={1: "/a"})
        for n in range(6)
    ]
    seen = Cluster("main", brokers, {"t": Topic("t", tuple(partitions), config={})}, id="c1")
    plan = make_plan(wanted, seen)
    found = hold_balance_back(plan, wanted, LATER_MS, planner(seen), lawful_for(wanted, seen))
    assert len(plan.moves) == 3
    assert found.plan.moves == ()
    assert {type(step) for step in found.plan.steps} == {MoveLogDir}


@examples(8)
@given(instances())
def test_laws_of_what_is_left(instance):
    wanted, seen, gone = instance
    plan = make_plan(wanted, seen, gone=gone)
    lawful = lawful_for(wanted, seen, gone)
    found = hold_balance_back(plan, wanted, LATER_MS, planner(seen, gone), lawful)
    assert lawful(found.plan)
    assert found.plan.fingerprint == plan.fingerprint
    # What has another reason than balance goes now.
    due = {(m.topic, m.partition) for m in plan.moves if m.urgency < Urgency.BALANCE}
    assert due <= {(m.topic, m.partition) for m in found.plan.moves}
    assert {s.topic for s in plan.steps if isinstance(s, NEW)} <= {
        s.topic for s in found.plan.steps if isinstance(s, NEW)
    }
    # Something waits, and is told to, or nothing does.
    assert (found.waits_until_ms is None) == (found.plan is plan)
    assert (found.waits_until_ms is None) == (len(found.plan.moves) == len(plan.moves))
    if found.waits_until_ms is not None and has_balance_moves(found.plan):
        assert found.plan.moves == make_plan(without_goals(wanted), seen, gone=gone).moves
