"""What a loop works towards, by what is declared, and when it ends."""

import time
from collections.abc import Callable, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from builders import cluster_spec
from poolkeeper.cluster_connections import ClusterConnector
from poolkeeper.controller.cluster_loop import REQUEST_SEEN_S, ClusterLoop
from poolkeeper.controller.cluster_loops import ClusterLoops, desired_of
from poolkeeper.controller.loops import loop
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.desired import Desired, WatchedNamespaces
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.person_requests import AnswerKind, RequestAnswer
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.specs import Mode
from poolkeeper.model.tenancy import Adoption, AdoptionPolicy
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from unit.resources.bodies import pool, topic

TENANCY = {"adoption": Adoption(AdoptionPolicy.APPROVE), "system_topics": ()}
SPEC = cluster_spec(mode=Mode.APPLY, **TENANCY)
PAUSED = cluster_spec(mode=Mode.PAUSED, **TENANCY)
CLUSTER = CustomResource("KafkaCluster", "", "main", "u", 1, False, (), SPEC)
DESIRED = Desired(SPEC, watched=WatchedNamespaces())


@pytest.mark.parametrize(
    ("assembly", "expected"),
    [
        pytest.param(
            Assembly("main", CLUSTER, DESIRED), DESIRED, id="what is declared, if it may be"
        ),
        pytest.param(
            Assembly("main", CLUSTER, None, "ResourcePool p is invalid"),
            None,
            id="nothing new while something is wrong",
        ),
        pytest.param(
            Assembly("main", CLUSTER, None, "KafkaCluster main is being deleted", leaving=True),
            Desired(PAUSED),
            id="nothing at all, so that a run ends, when the cluster is let go",
        ),
        pytest.param(
            Assembly("main", CLUSTER, None, "being deleted", leaving=True, replaced=True),
            None,
            id="nothing where another KafkaCluster has taken its place",
        ),
        pytest.param(Assembly("main"), None, id="nothing without a KafkaCluster"),
    ],
)
def test_a_loop_works_towards(assembly: Assembly, expected: Desired | None) -> None:
    assert desired_of(assembly) == expected


class Anything:
    """Takes every call, and gives itself."""

    def __getattr__(self, name: str) -> "Anything":
        return self

    def __call__(self, *given: object, **named: object) -> "Anything":
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class Contents:
    """The objects of a resource cache."""

    def __init__(self) -> None:
        self.objects: tuple[CustomResource, ...] = (CLUSTER,)

    def contents(self) -> tuple[Any, ...]:
        return self.objects, {}


MOVING = Outcome(State.WAITING, progress=Progress("sha256:p", Phase.MOVING, 1, 0, 2, 2, 0, 10))
AT_REST = Outcome(State.CONVERGED)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> ClusterLoops:
    monkeypatch.setattr(ClusterLoop, "_connections", lambda self: Anything())
    monkeypatch.setattr(loop, "run_loop", lambda config: config.stop.wait(60))
    nothing = cast(Any, Anything())
    made = ClusterLoops(
        cast(Any, Contents()),
        nothing,
        lambda: "",
        nothing,
        nothing,
        nothing,
        nothing,
        lambda: LeaderRole.HELD,
    )
    made.reconcile()
    return made


class Session:
    """Whose id is all that is asked for."""

    session_id = 7


def test_the_loop_of_a_session_is_known(loops: ClusterLoops) -> None:
    assert loops.cluster_of_session(0) == loops.cluster_of_session(7) == ""
    loops._loops["main"]._session = cast(Any, Session())
    assert (loops.cluster_of_session(0), loops.cluster_of_session(7)) == ("", "main")


def declared(loops: ClusterLoops, *objects: CustomResource) -> None:
    cast(Any, loops.cache).objects = objects
    loops.reconcile()


def test_a_loop_whose_cluster_vanishes_in_mid_run_ends_the_run_first(
    loops: ClusterLoops, caplog: pytest.LogCaptureFixture
) -> None:
    found = loops._loops["main"]
    found._report(MOVING)
    declared(loops)
    declared(loops)
    assert loops.names() == {"main"}
    assert found.desired == Desired(PAUSED)
    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert told == [
        "KafkaCluster main is gone in mid-run: its run ends after the stage in flight first"
    ]
    found._report(AT_REST)
    declared(loops)
    found.thread.join(10)
    declared(loops)
    assert loops.names() == set()


def test_a_run_of_a_cluster_in_plan_only_stays_when_its_kafkacluster_vanishes(
    loops: ClusterLoops, caplog: pytest.LogCaptureFixture
) -> None:
    found = loops._loops["main"]
    found.desired = Desired(replace(DESIRED.cluster, mode=Mode.PLAN_ONLY))
    found._report(MOVING)
    declared(loops)
    found.thread.join(10)
    assert found.desired.cluster.mode is Mode.PLAN_ONLY
    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert [line.partition(": ")[0] for line in told] == [
        "KafkaCluster main is gone in mid-run, and its mode was PlanOnly"
    ]
    declared(loops)
    assert loops.names() == set()


@pytest.mark.parametrize(
    ("outcome", "uid", "told"),
    [
        pytest.param(MOVING, "u9", ["KafkaCluster main was made anew in mid-run"], id="made-anew"),
        pytest.param(MOVING, "", [], id="edited: its status tells"),
        pytest.param(AT_REST, "u9", [], id="at-rest"),
    ],
)
def test_a_run_that_is_left_where_an_earlier_kafkacluster_led_to_is_told(
    loops: ClusterLoops,
    caplog: pytest.LogCaptureFixture,
    outcome: Outcome,
    uid: str,
    told: list[str],
) -> None:
    loops._loops["main"]._report(outcome)
    elsewhere = replace(SPEC, zookeeper=replace(SPEC.zookeeper, connect="zk-9:2181/kafka"))
    declared(loops, replace(CLUSTER, uid=uid or CLUSTER.uid, spec=elsewhere))
    found = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert [line.partition(",")[0] for line in found] == told
    assert all(f"--zookeeper {DESIRED.cluster.zookeeper.connect}`" in line for line in found)


def test_a_loop_whose_cluster_comes_back_goes_on(loops: ClusterLoops) -> None:
    found = loops._loops["main"]
    found._report(MOVING)
    declared(loops)
    declared(loops, CLUSTER)
    assert loops.names() == {"main"}
    assert found.desired == DESIRED


def test_a_loop_at_rest_ends_with_its_cluster(loops: ClusterLoops) -> None:
    found = loops._loops["main"]
    found._report(AT_REST)
    declared(loops)
    found.thread.join(10)
    declared(loops)
    assert loops.names() == set()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda loops: declared(loops), id="with its cluster"),
        pytest.param(lambda loops: loops._end_all(), id="with the Lease"),
    ],
)
def test_the_keys_of_a_cluster_are_removed_when_its_loop_has_ended(
    loops: ClusterLoops, tmp_path: Path, end: Callable[[ClusterLoops], None]
) -> None:
    loops.connector_of = lambda name: ClusterConnector(lambda _: {}, tmp_path / name, 1, 1)
    for name in ("main", "other"):
        (tmp_path / name / "zookeeper").mkdir(parents=True)
        (tmp_path / name / "zookeeper" / "key.pem").write_text("")
    thread = loops._loops["main"].thread
    loops._loops["main"]._report(AT_REST)
    end(loops)
    thread.join(10)
    loops._reap()
    assert [each.name for each in tmp_path.iterdir()] == ["other"]


Reported = tuple[int, set[str]]


class Reports(Anything):
    """Keeps of each report the generation of the resource that is edited, and `edited`."""

    def __init__(self, key: ObjectKey) -> None:
        self._key = key
        self.told: list[Reported] = []

    def report(self, assembly: Assembly, outcome: Outcome, edited: Set[ObjectKey]) -> None:
        self.told.append((assembly.objects[self._key].generation, {key.name for key in edited}))


def test_a_pass_is_reported_on_what_was_declared_when_it_began(loops: ClusterLoops) -> None:
    reports = cast(Any, loops).reporter = Reports(CLUSTER.key)
    config = loops._loops["main"]._config
    edited = replace(CLUSTER, generation=2, spec=replace(SPEC, mode=Mode.PAUSED))
    assert config.declared() == DESIRED
    declared(loops, edited)
    config.report(AT_REST)
    for _ in range(2):
        assert config.declared() == replace(DESIRED, cluster=PAUSED)
        config.report(AT_REST)
    declared(loops, CLUSTER)
    config.report(AT_REST)  # of no pass: it waits for another executor
    assert reports.told == [(1, {"main"}), (2, set()), (2, set()), (1, set())]


def test_a_topic_that_is_placed_as_before_is_not_reported_on(loops: ClusterLoops) -> None:
    def orders(replicas: int, **fields: Any) -> CustomResource:
        spec = topic("orders", "fast", partitions=2, replicationFactor=replicas, **fields)
        return replace(spec, generation=replicas)

    fast = pool("fast", 1, 2, 3)
    reports = cast(Any, loops).reporter = Reports(orders(1).key)
    declared(loops, CLUSTER, fast, orders(1))
    config = loops._loops["main"]._config
    placed = []
    for now in (orders(1), orders(2), orders(2, config={"retention.ms": "1"})):
        declared(loops, CLUSTER, fast, now)
        desired, _ = config.settled(config.declared())
        placed.append(desired.topics[0].replication_factor)
        config.report(AT_REST)
    assert placed == [1, 1, 1]
    assert reports.told == [(1, set()), (2, {"orders"}), (2, {"orders"})]
    cast(Any, loops._loops["main"])._settle_time.settle_s = 0.0
    desired, _ = config.settled(config.declared())
    config.report(AT_REST)
    assert (desired.topics[0].replication_factor, reports.told[-1]) == (2, (2, set()))


def plans_of_pass(found: ClusterLoop) -> tuple[bool, bool, object]:
    """What the pass that began last is told of external plans."""
    config = found._config
    return config.paused(), config.rate_known(), config.external_plan()


def test_a_pass_works_with_the_external_plans_that_were_known_when_it_began(
    loops: ClusterLoops,
) -> None:
    found, plan = loops._loops["main"], cast(Any, object())
    loops.forget_external_plans()
    found._config.declared()
    loops.set_external_plans({"main": plan})
    assert plans_of_pass(found) == (True, False, None)
    found._config.declared()
    loops.forget_external_plans()
    assert plans_of_pass(found) == (False, True, plan)
    found._config.declared()
    assert plans_of_pass(found) == (True, False, None)


def test_a_loop_is_woken_once_it_is_known_that_no_external_plan_is_for_it(
    loops: ClusterLoops,
) -> None:
    found = loops._loops["main"]
    for known in (None, {}):
        loops.external_plans = known
        found._config.wake.clear()
        loops.set_external_plans({})
        assert found._config.wake.is_set() is (known is None)


def test_a_request_is_carried_out_once_however_long_it_is_shown(
    loops: ClusterLoops, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `stop` that names no run, and cannot be taken off, would end each later one."""
    left = [True]
    loops.reporter = cast(Any, Requests(left))
    asked = replace(CLUSTER, request="stop")
    found = ClusterLoop("main", Assembly("main", asked, DESIRED), DESIRED, loops)
    assert found._request() == "stop"
    found._answered(RequestAnswer("stop", AnswerKind.DONE, 1))
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    for _ in range(3):
        now_s += REQUEST_SEEN_S + 1
        assert found._request() == ""
    left.clear()
    now_s += REQUEST_SEEN_S / 2
    assert found._request() == "", "a watch may show it a little longer"
    now_s += REQUEST_SEEN_S
    assert found._request() == "stop", "it was asked for again"


class Requests(Anything):
    """A reporter that has not taken the request off while the list has anything."""

    def __init__(self, left: list[bool]) -> None:
        self.left = left

    def is_left(self, cluster: CustomResource, text: str) -> bool:
        return bool(self.left)
