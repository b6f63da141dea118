"""The work of a cluster: its plan, cut into stages of one urgency."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.fleet.schedule import work as schedule_work
from poolkeeper.fleet.schedule.budget import ClusterWork, ScheduledStage
from poolkeeper.model.plans import Move, Plan, PlannedStage
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.report.values import Holding
from unit.fleet.moments import BALANCE, DRAIN, NIGHT


def holding(broker: int, weight: float, before: int, after: int) -> Holding:
    return Holding("p", broker, None, True, weight, before, after, 0, 0, 0, 0)


MOVES = (
    Move("t", None, 0, ((1, 2), (3, 2)), 500, "broker 1 is drained", DRAIN),
    Move("t", None, 1, ((1, 2), (3, 2)), 500, "broker 1 is drained", DRAIN),
    Move("u", None, 0, ((2,), (2, 3), (2, 3, 4)), 600, "replication factor 1 → 3", 3),
    Move("v", None, 0, ((2, 3), (3, 2)), 0, "balance of leaders", BALANCE),
)
BROKERS = (holding(1, 0, 2, 0), holding(2, 1, 6, 6), holding(3, 1, 2, 5), holding(4, 1, 0, 1))


def test_moves_are_cut_into_stages_of_one_urgency():
    plan = Plan("main", "sha256:h", "sha256:f", moves=MOVES)
    cut = schedule_work.Cut(moves_max=10, bytes_per_s_per_broker=100)
    assert schedule_work.work_of(plan, BROKERS, "x", (NIGHT,), cut) == ClusterWork(
        "main",
        (
            ScheduledStage(1000, 10_000, DRAIN, 4.0),
            ScheduledStage(300, 3_000, 3, -1.0),
            ScheduledStage(300, 3_000, 3, 1.0),
            ScheduledStage(0, 0, BALANCE, 0.0),
        ),
        "x",
        (NIGHT,),
    )


def test_stages_that_a_plan_predicts_are_taken():
    stages = (PlannedStage(((0, 1), (2, 1)), 800, 2.5), PlannedStage(((1, 1), (2, 2)), 800, 4.0))
    plan = Plan("main", "sha256:h", "sha256:f", moves=MOVES[:3], stages=stages)
    assert [stage[:3] for stage in schedule_work.work_of(plan, BROKERS).stages] == [
        (800, 2500, DRAIN),
        (800, 4000, DRAIN),
    ]


def test_a_cluster_s_own_bounds_make_the_cut():
    unthrottled = Throttle(ThrottleMode.NONE, 7)
    assert schedule_work.cut_of(Execution(max_moves=3, max_bytes=5)) == schedule_work.Cut(5, 3)
    assert schedule_work.cut_of(Execution(throttle=unthrottled)) == schedule_work.DEFAULT_CUT


@examples(20)
@given(st.integers(1, 5), st.integers(0, 1500))
def test_no_byte_is_lost_in_cutting(moves_max, bytes_max):
    plan = Plan("main", "sha256:h", "sha256:f", moves=MOVES)
    work = schedule_work.work_of(plan, BROKERS, cut=schedule_work.Cut(bytes_max, moves_max))
    assert sum(stage.bytes for stage in work.stages) == sum(move.bytes for move in MOVES)


def imbalance(brokers: Iterable[Holding], held: Mapping[int, int]) -> float:
    return sum(abs(held[b] - share) for b, share in schedule_work.shares_of(tuple(brokers)).items())


@examples(30)
@given(st.lists(st.permutations((1, 2, 3, 4)), min_size=2, max_size=8), st.integers(1, 3))
def test_gains_add_up_to_the_imbalance_that_the_plan_removes(lists, moves_max):
    paths = [(tuple(a[:2]), tuple(b[:3])) for a, b in pairwise(lists)]
    moves = tuple(Move("t", None, n, path, 9, "", BALANCE) for n, path in enumerate(paths))
    before = {each.broker: each.replicas_before for each in BROKERS}
    after = Counter(before)
    for source, target in paths:
        after.update(target)
        after.subtract(source)
    plan = Plan("main", "sha256:h", "sha256:f", moves=moves)
    work = schedule_work.work_of(plan, BROKERS, cut=schedule_work.Cut(moves_max=moves_max))
    assert sum(stage.gain for stage in work.stages) == pytest.approx(
        imbalance(BROKERS, before) - imbalance(BROKERS, after), abs=1e-9
    )


@examples(30)
@given(st.lists(st.permutations((1, 2, 3)), min_size=2, max_size=8))
def test_the_busiest_broker_of_a_stage_makes_its_time(lists):
    paths = [(tuple(a[:2]), tuple(b[:2])) for a, b in pairwise(lists)]
    moves = tuple(
        Move("t", None, n, path, 1000 * len({*path[1]} - {*path[0]}), "", BALANCE)
        for n, path in enumerate(paths)
    )
    load_in = Counter(b for old, new in paths for b in {*new} - {*old})
    load_out = Counter(old[0] for old, new in paths for b in {*new} - {*old})
    plan = Plan("main", "sha256:h", "sha256:f", moves=moves)
    (stage,) = schedule_work.work_of(plan, BROKERS, cut=schedule_work.Cut(10**9, 99, 1000)).stages
    assert stage.least_ms == 1000 * max((0, *load_in.values(), *load_out.values()))
