"""What is told becomes these series, and no others."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

import builders
from poolkeeper.errors import Fenced, StalePlan, Unavailable
from poolkeeper.model.execution.outcomes import LastObservation, Outcome, Progress, State
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topology import Partition, Topic
from poolkeeper.telemetry.families import FAMILIES
from poolkeeper.telemetry.metrics import Metrics

PLAN = Plan(
    "main",
    "sha256:1",
    "sha256:2",
    moves=(
        Move("orders", None, 0, ((1, 2), (1, 3)), 700, ""),
        Move("orders", None, 1, ((2, 1), (3, 1)), 300, ""),
    ),
)
PROGRESS = Progress(
    "sha256:1",
    Phase.MOVING,
    stage=1,
    moves_done=1,
    moves_in_flight=1,
    moves_total=2,
    bytes_done=700,
    bytes_total=1000,
    throttle_bytes_per_s=50,
    rate_bytes_per_s=25.5,
    seconds_left=12.0,
    bytes_in_flight=300,
)
SEEN = LastObservation(
    builders.cluster((1, 2, 3), Topic("orders", (Partition(0, (1, 2)), Partition(1, (2, 1))))),
    Records(),
)


class Told:
    """Metrics with a clock of their own, and what they expose."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.metrics = Metrics(CollectorRegistry(), lambda: self.now_s, version="1.2.3")

    def text(self) -> str:
        return self.metrics.page()[0].decode()

    def series(self, containing: str = "") -> dict[str, float]:
        lines = [line for line in self.text().splitlines() if not line.startswith("#")]
        found = dict(line.rsplit(" ", 1) for line in lines)
        return {
            name.removeprefix("poolkeeper_"): float(value)
            for name, value in found.items()
            if containing in name and "_info" not in name
        }


def test_a_small_scenario_is_this_text() -> None:
    told = Told()
    metrics = told.metrics
    metrics.set_leader(True)
    metrics.set_loops(1)
    metrics.observe_phase("main", "observe", 0.3)
    metrics.observe_phase("main", "observe", 400)
    metrics.observe_outcome(
        "main", Outcome(State.PROGRESSED, plan=PLAN, progress=PROGRESS, last_observation=SEEN)
    )
    metrics.set_rebalances({"Moving": 2})
    metrics.set_rebalances({"Succeeded": 2})
    metrics.observe_planning("Local", 7.5, 1000)
    metrics.count_rebalanced({"Done": 2, "Failed": 1}, 700)
    metrics.count_zookeeper("main", reads=3, writes=1)
    metrics.observe_api_request("patch", 200, 0.01)
    metrics.observe_api_request("list", None, 30.0)
    metrics.observe_api_request("watch", 410, None)
    metrics.set_resources("main", "Topic", {"True": 7, "False": 2})
    metrics.observe_status_write(0.2)
    metrics.follow_statuses(lambda: (4, 1.5))
    expected = """\
leader 1.0
loops 1.0
passes_total{cluster="main",kind="progressed"} 1.0
last_pass_timestamp_seconds{cluster="main"} 1000.0
phase_duration_seconds_bucket{cluster="main",le="0.01",phase="observe"} 0.0
phase_duration_seconds_bucket{cluster="main",le="0.05",phase="observe"} 0.0
phase_duration_seconds_bucket{cluster="main",le="0.25",phase="observe"} 0.0
phase_duration_seconds_bucket{cluster="main",le="1.0",phase="observe"} 1.0
phase_duration_seconds_bucket{cluster="main",le="5.0",phase="observe"} 1.0
phase_duration_seconds_bucket{cluster="main",le="15.0",phase="observe"} 1.0
phase_duration_seconds_bucket{cluster="main",le="60.0",phase="observe"} 1.0
phase_duration_seconds_bucket{cluster="main",le="180.0",phase="observe"} 1.0
phase_duration_seconds_bucket{cluster="main",le="+Inf",phase="observe"} 2.0
phase_duration_seconds_count{cluster="main",phase="observe"} 2.0
phase_duration_seconds_sum{cluster="main",phase="observe"} 400.3
converged{cluster="main"} 0.0
brokers{cluster="main"} 3.0
topics{cluster="main"} 1.0
partitions{cluster="main"} 2.0
plan_moves{cluster="main"} 2.0
plan_moves_moving{cluster="main"} 1.0
plan_moves_done{cluster="main"} 1.0
plan_bytes{cluster="main"} 1000.0
plan_moving_bytes{cluster="main"} 300.0
plan_done_bytes{cluster="main"} 700.0
moving_bytes_per_second{cluster="main"} 25.5
plan_remaining_seconds{cluster="main"} 12.0
throttle_bytes_per_second{cluster="main"} 50.0
plan_waits_for_approval{cluster="main"} 0.0
stage_deadline_exceeded{cluster="main"} 0.0
rebalances{reason="Moving"} 0.0
rebalances{reason="Succeeded"} 2.0
rebalance_planning_seconds_bucket{engine="Local",le="1.0"} 0.0
rebalance_planning_seconds_bucket{engine="Local",le="5.0"} 0.0
rebalance_planning_seconds_bucket{engine="Local",le="20.0"} 1.0
rebalance_planning_seconds_bucket{engine="Local",le="60.0"} 1.0
rebalance_planning_seconds_bucket{engine="Local",le="180.0"} 1.0
rebalance_planning_seconds_bucket{engine="Local",le="600.0"} 1.0
rebalance_planning_seconds_bucket{engine="Local",le="1800.0"} 1.0
rebalance_planning_seconds_bucket{engine="Local",le="3600.0"} 1.0
rebalance_planning_seconds_bucket{engine="Local",le="+Inf"} 1.0
rebalance_planning_seconds_count{engine="Local"} 1.0
rebalance_planning_seconds_sum{engine="Local"} 7.5
rebalance_clusters_total{outcome="Done"} 2.0
rebalance_clusters_total{outcome="Failed"} 1.0
rebalance_planned_bytes_total 1000.0
rebalance_moved_bytes_total 700.0
zookeeper_requests_total{cluster="main",verb="read"} 3.0
zookeeper_requests_total{cluster="main",verb="write"} 1.0
api_requests_total{kind="2xx",verb="patch"} 1.0
api_requests_total{kind="none",verb="list"} 1.0
api_requests_total{kind="4xx",verb="watch"} 1.0
api_request_duration_seconds_bucket{le="0.005",verb="patch"} 0.0
api_request_duration_seconds_bucket{le="0.02",verb="patch"} 1.0
api_request_duration_seconds_bucket{le="0.1",verb="patch"} 1.0
api_request_duration_seconds_bucket{le="0.5",verb="patch"} 1.0
api_request_duration_seconds_bucket{le="2.0",verb="patch"} 1.0
api_request_duration_seconds_bucket{le="10.0",verb="patch"} 1.0
api_request_duration_seconds_bucket{le="+Inf",verb="patch"} 1.0
api_request_duration_seconds_count{verb="patch"} 1.0
api_request_duration_seconds_sum{verb="patch"} 0.01
api_request_duration_seconds_bucket{le="0.005",verb="list"} 0.0
api_request_duration_seconds_bucket{le="0.02",verb="list"} 0.0
api_request_duration_seconds_bucket{le="0.1",verb="list"} 0.0
api_request_duration_seconds_bucket{le="0.5",verb="list"} 0.0
api_request_duration_seconds_bucket{le="2.0",verb="list"} 0.0
api_request_duration_seconds_bucket{le="10.0",verb="list"} 0.0
api_request_duration_seconds_bucket{le="+Inf",verb="list"} 1.0
api_request_duration_seconds_count{verb="list"} 1.0
api_request_duration_seconds_sum{verb="list"} 30.0
resources{cluster="main",kind="Topic",ready="True"} 7.0
resources{cluster="main",kind="Topic",ready="False"} 2.0
resources{cluster="main",kind="Topic",ready="Unknown"} 0.0
status_lag_seconds_bucket{le="0.1"} 0.0
status_lag_seconds_bucket{le="0.5"} 1.0
status_lag_seconds_bucket{le="1.0"} 1.0
status_lag_seconds_bucket{le="2.0"} 1.0
status_lag_seconds_bucket{le="5.0"} 1.0
status_lag_seconds_bucket{le="15.0"} 1.0
status_lag_seconds_bucket{le="60.0"} 1.0
status_lag_seconds_bucket{le="+Inf"} 1.0
status_lag_seconds_count 1.0
status_lag_seconds_sum 0.2
statuses_waiting 4.0
statuses_waiting_seconds 1.5
"""
    lines = [line for line in told.text().splitlines() if not line.startswith("#")]
    assert lines[0] == 'poolkeeper_build_info{version="1.2.3"} 1.0'
    assert [line.removeprefix("poolkeeper_") for line in lines[1:]] == expected.splitlines()


def test_every_family_is_exposed_as_declared() -> None:
    lines = Told().text().splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        line
        for family in FAMILIES
        for line in (f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.type}")
    ]


def test_a_phase_is_timed_also_where_it_fails() -> None:
    told = Told()
    with told.metrics.timed("main", "plan"):
        pass
    with pytest.raises(Unavailable), told.metrics.timed("main", "plan"):
        raise Unavailable("away")
    assert told.series("_count") == {
        'phase_duration_seconds_count{cluster="main",phase="plan"}': 2,
        "status_lag_seconds_count": 0,
    }


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(Unavailable("ZooKeeper is away"), "Unavailable", id="unavailable"),
        pytest.param(StalePlan("moved on"), "StalePlan", id="the-exact-kind-is-told"),
        pytest.param(Fenced("taken over"), "Fenced", id="fenced"),
        pytest.param(KeyError("topic-17"), "Internal", id="defects-are-one-kind"),
    ],
)
def test_errors_count_by_kind(error: Exception, kind: str) -> None:
    told = Told()
    told.metrics.count_error("main", error)
    told.metrics.count_error("main", error)
    assert told.series("main") == {
        f'errors_total{{cluster="main",kind="{kind}"}}': 2,
        'converged{cluster="main"}': 0,
    }


def test_a_pass_that_failed_leaves_what_was_known_of_the_plan() -> None:
    told = Told()
    told.metrics.observe_outcome(
        "main", Outcome(State.PROGRESSED, plan=PLAN, progress=PROGRESS, last_observation=SEEN)
    )
    before = told.series("main")
    told.now_s += 60
    told.metrics.observe_outcome(
        "main",
        Outcome(
            State.WAITING,
            waits=(Wait(WaitReason.UNAVAILABLE, detail="away"),),
            error=Unavailable("away"),
        ),
    )
    assert told.series("main") == before | {
        'passes_total{cluster="main",kind="waiting"}': 1,
        'errors_total{cluster="main",kind="Unavailable"}': 1,
    }


def test_a_plan_that_waits_for_approval_tells_since_when() -> None:
    told = Told()
    approval = Wait(WaitReason.APPROVAL_REQUIRED, hash="sha256:1")
    waits = Outcome(State.WAITING, waits=(approval,), plan=PLAN)
    since = []
    for outcome in (waits, waits, Outcome(State.CONVERGED), waits):
        told.metrics.observe_outcome("main", outcome)
        since.append(told.series("waits_for_approval"))
        told.now_s += 10
    waiting = 'plan_waits_for_approval{cluster="main"}'
    stamp = 'plan_waits_for_approval_timestamp_seconds{cluster="main"}'
    assert since == [
        {waiting: 1, stamp: 1000},
        {waiting: 1, stamp: 1000},
        {waiting: 0},
        {waiting: 1, stamp: 1030},
    ]


def test_a_plan_that_has_not_begun_is_told_from_its_moves() -> None:
    told = Told()
    told.metrics.observe_outcome("main", Outcome(State.WAITING, plan=PLAN))
    assert told.series("plan_") | told.series("moving") == {
        'plan_moves{cluster="main"}': 2,
        'plan_moves_moving{cluster="main"}': 0,
        'plan_moves_done{cluster="main"}': 0,
        'plan_bytes{cluster="main"}': 1000,
        'plan_moving_bytes{cluster="main"}': 0,
        'plan_done_bytes{cluster="main"}': 0,
        'plan_waits_for_approval{cluster="main"}': 0,
        'moving_bytes_per_second{cluster="main"}': 0,
    }


def test_no_throttle_is_no_series() -> None:
    told = Told()
    told.metrics.observe_outcome("main", Outcome(State.PROGRESSED, progress=PROGRESS))
    assert told.series("throttle") == {'throttle_bytes_per_second{cluster="main"}': 50}
    unthrottled = replace(PROGRESS, throttle_bytes_per_s=None)
    told.metrics.observe_outcome("main", Outcome(State.PROGRESSED, progress=unthrottled))
    assert told.series("throttle") == {}


@pytest.mark.parametrize(
    ("rate", "in_doubt", "expected"),
    [
        pytest.param(None, 0, 0, id="nothing is copied"),
        pytest.param(None, 100, None, id="nobody tells whether anything is copied"),
        pytest.param(25.0, 100, 25, id="something arrived"),
    ],
)
def test_a_rate_that_nobody_knows_is_no_series(
    rate: float | None, in_doubt: int, expected: float | None
) -> None:
    """It would be told as moves that do not advance, while a large replica is copied."""
    told = Told()
    for known in (PROGRESS, replace(PROGRESS, rate_bytes_per_s=rate, bytes_in_doubt=in_doubt)):
        told.metrics.observe_outcome("main", Outcome(State.PROGRESSED, progress=known))
    assert told.series("moving_bytes_per_second") == (
        {} if expected is None else {'moving_bytes_per_second{cluster="main"}': expected}
    )


def test_a_stage_over_its_deadline_is_told() -> None:
    told = Told()
    late = Outcome(
        State.WAITING,
        waits=(Wait(WaitReason.STAGE_IN_FLIGHT), Wait(WaitReason.STAGE_DEADLINE, stage=3)),
    )
    told.metrics.observe_outcome("main", late)
    assert told.series("deadline") == {'stage_deadline_exceeded{cluster="main"}': 1}


def test_a_cluster_that_is_forgotten_leaves_no_series() -> None:
    told = Told()
    bare = told.text()
    for cluster in ("main", "other"):
        told.metrics.observe_phase(cluster, "plan", 1)
        told.metrics.observe_outcome(
            cluster, Outcome(State.PROGRESSED, plan=PLAN, progress=PROGRESS)
        )
        told.metrics.count_error(cluster, Unavailable("away"))
        told.metrics.count_zookeeper(cluster, reads=1, writes=1)
        told.metrics.set_resources(cluster, "Topic", {"True": 1})
    told.metrics.forget("main")
    assert told.series('"main"') == {}
    assert told.series('"other"')
    told.metrics.forget("other")
    told.metrics.forget("never seen")
    assert told.text() == bare


def test_the_process_tells_its_memory_by_default() -> None:
    text, content_type = Metrics().page()
    assert b"process_resident_memory_bytes" in text
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
