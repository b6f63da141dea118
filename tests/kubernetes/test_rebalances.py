"""Rebalances on a real API server: planned for several clusters, approved once, carried out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import manifests
from control_plane.access import ApiError
from operated_resources import HASH, Operated
from real.support import REQUEST
from rebalanced import Fleet, fleet_of

pytestmark = pytest.mark.long

CLUSTERS = Path(__file__).parents[2] / "crds" / "kafkaclusters.yaml"
MOVING_ALL = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]


@pytest.fixture
def fleet(operated: Operated) -> Iterator[Fleet]:
    with fleet_of(operated, 2) as found:
        yield found


def move_elsewhere(scene, topic, partition, replicas):
    """Move a partition as somebody else would."""
    entry = {"topic": topic, "partition": partition, "replicas": list(replicas)}
    body = json.dumps({"version": 1, "partitions": [entry]}).encode()
    scene.write(REQUEST, body)
    scene.wait(
        lambda: scene.assignment(topic)[partition] == replicas and not scene.request,
        "somebody else's move is done",
    )


def test_clusters_are_planned_at_once_approved_by_one_line_and_carried_out(fleet):
    fleet.declare()
    before = [scene.changes() for scene in fleet.scenes]
    fleet.begin()
    message = fleet.says("WaitingForApproval")
    assert fleet.text(message) == (
        "waits to move 12 partitions (8 MiB) in 2 clusters, in 1 wave, about 10 s; approve"
        " sha256:PLAN: kubectl patch rebalance first-r --type=merge"
        """ -p '{"spec":{"approval":{"plans":["sha256:PLAN"]}}}'"""
    )
    status = fleet.status()
    assert (status["step"], status["engine"]) == ("WaitingForApproval", "Local")
    assert status["plan"] == {
        **status["plan"],
        "hash": HASH.findall(message)[0],
        "clusters": 2,
        "clustersDone": 0,
        "moves": 12,
        "movesDone": 0,
        "waves": 1,
        "approval": "Waiting",
    }
    assert fleet.states() == {"first": "Planned", "second": "Planned"}
    (kept,) = fleet.maps()
    assert kept["metadata"]["annotations"]["poolkeeper.dev/digest"] == status["record"]
    assert [scene.changes() for scene in fleet.scenes] == before

    fleet.patch(approval={"plans": ["sha256:" + "0" * 64]})
    fleet.says("WaitingForApproval")
    assert [scene.changes() for scene in fleet.scenes] == before

    fleet.approve()
    assert fleet.text(fleet.says("Succeeded")) == "moved 12 partitions (8 MiB) in 2 clusters"
    assert fleet.states() == {"first": "Done", "second": "Done"}
    assert fleet.even() == [True, True]
    assert fleet.requested() == MOVING_ALL
    fleet.scenes[0].kubectl(
        "wait", "--for=condition=Ready", "rebalance", fleet.name, "--timeout=180s"
    )
    assert fleet.scenes[0].table("rebalance")[:1] == [
        "NAME | READY | REASON | CLUSTERS | DONE | MOVES | MOVED"
    ]
    assert "True | Succeeded | 2 | 2 | 12 | 12" in fleet.scenes[0].table("rebalance")[1]
    told = [reason for _, reason, _ in fleet.events("Succeeded")]
    assert told == ["Planning", "WaitingForApproval", "Moving", "Succeeded"]
    with pytest.raises(ApiError, match="make another Rebalance"):
        fleet.patch(clusters={"names": [fleet.scenes[0].name]})


@pytest.mark.soak
def test_what_is_even_already_needs_no_word_of_anybody(fleet):
    fleet.declare()
    fleet.begin(approval={"policy": "Auto"})
    fleet.says("Succeeded", "moved 12 partitions")
    fleet.delete()
    fleet.scenes[0].gone("rebalance", fleet.name)
    fleet.begin()
    assert fleet.says("Succeeded") == "in place: nothing had to move in 2 clusters"
    assert fleet.states() == {"first": "InPlace", "second": "InPlace"}


@pytest.mark.soak
def test_a_cluster_in_mode_plan_only_waits_and_says_so_and_others_go_on(fleet):
    fleet.declare()
    fleet.scenes[0].patch("cluster", mode="PlanOnly")
    fleet.begin(budget={"clustersAtOnce": 1})
    fleet.approve()
    fleet.await_states("Waiting", "Done")
    message = fleet.says("Waiting", "PlanOnly")
    assert fleet.text(message).endswith(
        "waits: first: the mode is PlanOnly: kubectl patch kafkacluster first --type=merge"
        """ -p '{"spec":{"mode":"Apply"}}'"""
    )
    assert fleet.even() == [False, True]
    fleet.scenes[0].run_printed(message)
    fleet.says("Succeeded")
    assert fleet.even() == [True, True]


@pytest.mark.soak
def test_a_cluster_that_cannot_be_reached_is_told_and_the_others_are_carried_out(fleet):
    fleet.declare()
    lost = fleet.scenes[1].cluster(zookeeper={"connect": "127.0.0.1:1/lost"})
    fleet.scenes[1].patch("cluster", **lost["spec"])
    fleet.scenes[1].says("cluster", reason="Unreachable")  # of two kinds, any may be seen first
    fleet.begin()
    message = fleet.says("WaitingForApproval", "not planned", timeout_s=150)
    assert fleet.text(message).startswith(
        "waits to move 6 partitions (4 MiB) in 1 cluster, in 1 wave, about 10 s;"
        " second: not planned: "
    )
    fleet.approve()
    message = fleet.text(fleet.says("Failed"))
    assert message.startswith("1 of 2 clusters done; second: not planned: ")
    assert message.endswith("; make another Rebalance for the rest")
    assert fleet.states() == {"first": "Done", "second": "Failed"}
    conditions = {each["type"]: each["status"] for each in fleet.status()["conditions"]}
    assert conditions == {"Ready": "False", "Stalled": "True"}
    assert fleet.even()[0]


@pytest.mark.soak
def test_what_moved_on_since_is_not_touched_and_the_others_are_carried_out(fleet):
    fleet.declare()
    fleet.begin()
    fleet.says("WaitingForApproval")
    for partition in range(6):
        move_elsewhere(fleet.scenes[0], "orders", partition, (4, 5))
    fleet.approve()
    message = fleet.text(fleet.says("Failed"))
    assert message.startswith(
        "1 of 2 clusters done; first: the plan is outdated: orders-0 has replicas [4, 5], planned"
        " from [1, 2]; "
    )
    assert fleet.states() == {"first": "Failed", "second": "Done"}
    assert fleet.scenes[0].holders("orders") == {4, 5}
    assert ("Warning", "ClusterFailed", 1) in fleet.events("ClusterFailed")


@pytest.mark.soak
def test_other_brokers_in_a_pool_are_planned_anew_while_it_waits(fleet):
    fleet.declare()
    fleet.begin()
    before = HASH.findall(fleet.says("WaitingForApproval"))[0]
    fleet.scenes[0].patch("pool", "p", brokers={"ids": [1, 2, 3, 4]})
    fleet.wait(
        lambda: fleet.status().get("plan", {}).get("hash", before) != before, "it is another plan"
    )
    fleet.approve()
    fleet.says("Succeeded")
    assert fleet.scenes[0].holders("orders") == {1, 2, 3, 4}
    assert len(fleet.maps()) == 1


@pytest.mark.soak
def test_waves_come_one_after_the_other_and_a_pause_holds_the_next_stage(fleet):
    fleet.declare(execution={"maxMoves": 2})
    fleet.scenes[0].make_heavy("orders")
    fleet.begin(budget={"clustersAtOnce": 1})
    fleet.approve()
    fleet.await_states("Moving", "Planned")
    fleet.scenes[0].wait(lambda: fleet.scenes[0].request, "a stage is in flight")
    assert [each["wave"] for each in fleet.status()["clusters"]] == [1, 2]
    assert fleet.scenes[0].status("cluster")["plan"]["hash"] == fleet.cluster(0)["hash"]
    fleet.patch(paused=True)
    fleet.says("Paused")
    fleet.scenes[0].make_light("orders")
    fleet.scenes[0].wait(lambda: not fleet.scenes[0].request, "the stage has ended")
    held = "the Rebalance is paused"
    fleet.wait(lambda: fleet.cluster(0).get("message") == held, "it is held")
    asked = fleet.requested()
    assert (len(asked[0]), asked[1]) == (2, [])
    fleet.patch(paused=False)
    fleet.says("Succeeded")
    assert fleet.requested() == MOVING_ALL


@pytest.mark.soak
def test_deleted_in_mid_run_it_is_gone_after_the_stage_in_flight(fleet):
    fleet.declare(execution={"maxMoves": 2})
    fleet.scenes[0].make_heavy("orders")
    fleet.begin(budget={"clustersAtOnce": 1})
    fleet.approve()
    fleet.scenes[0].wait(lambda: fleet.scenes[0].request, "a stage is in flight")
    fleet.wait(lambda: fleet.cluster(0).get("state") == "Moving", "it moves")
    fleet.delete()
    assert fleet.text(fleet.says("Deleting")) == "its runs end after their stages in flight: first"
    fleet.scenes[0].make_light("orders")
    fleet.scenes[0].gone("rebalance", fleet.name)
    assert not fleet.scenes[0].exists("/poolkeeper/run")
    asked = fleet.requested()
    assert (len(asked[0]), asked[1]) == (2, [])
    fleet.scenes[0].wait(lambda: not fleet.maps(), "its ConfigMaps are gone")


@pytest.mark.soak  # resources of other tests go with their definition, too
def test_a_definition_that_is_replaced_in_mid_run_fails_nothing(fleet):
    operator = fleet.scenes[0].operator
    operator.stop()  # it would await what tests before deleted, as if that had gone just now
    operator.start()
    operator.await_role("leader")
    declared = {"mode": "Apply", "execution": {"maxMoves": 2}}
    fleet.declare(**declared)
    scene, definition = fleet.scenes[0], "crd/kafkaclusters.poolkeeper.dev"
    scene.make_heavy("orders")
    fleet.begin(budget={"clustersAtOnce": 1})
    fleet.approve()
    scene.wait(lambda: scene.request, "a stage is in flight")
    kubectl = scene.plane.kubectl
    kubectl("delete", definition, "--wait=false")
    removed = "the definitions of kafkaclusters are being removed"
    fleet.wait(lambda: removed in fleet.cluster(1).get("message", ""), "the other one is missing")
    scene.make_light("orders")
    kubectl("wait", "--for=delete", definition, "--timeout=50s")
    kubectl("apply", "--server-side", "-f", str(CLUSTERS))
    kubectl("wait", "--for=condition=Established", definition)
    for each in fleet.scenes:
        each.apply(each.cluster(**declared))
    fleet.says("Succeeded")
    assert (fleet.states(), fleet.even()) == ({"first": "Done", "second": "Done"}, [True, True])


def test_a_killed_operator_goes_on_where_it_was(fleet):
    fleet.declare(execution={"maxMoves": 2})
    for scene in fleet.scenes:
        scene.make_heavy("orders")
    fleet.begin()
    fleet.says("WaitingForApproval")
    operator = fleet.scenes[0].operator
    operator.kill()
    operator.start()
    operator.await_role("leader")
    fleet.approve()
    for scene in fleet.scenes:
        scene.wait(lambda scene=scene: scene.request, "a stage is in flight")
    operator.kill()
    for scene in fleet.scenes:
        scene.make_light("orders")
    operator.start()
    fleet.says("Succeeded", timeout_s=150)
    assert fleet.requested() == MOVING_ALL
    assert fleet.even() == [True, True]
    told = [reason for _, reason, _ in fleet.events("Succeeded") if reason != "Waiting"]
    assert list(dict.fromkeys(told)) == ["Planning", "WaitingForApproval", "Moving", "Succeeded"]
    assert [told.count(reason) for reason in ("Planning", "Succeeded")] == [1, 1]


def test_deleted_while_its_operator_is_dead_it_stays_until_its_runs_have_ended(fleet):
    fleet.declare(execution={"maxMoves": 2, "throttle": {"mode": "Fixed", "rate": "1Mi"}})
    for scene in fleet.scenes:
        scene.make_heavy("orders")
    fleet.begin()
    fleet.says("WaitingForApproval")
    late = fleet.status()
    fleet.approve()
    for scene in fleet.scenes:
        scene.wait(lambda scene=scene: scene.request, "a stage is in flight")
    assert all(scene.throttled() for scene in fleet.scenes)
    killed = [scene.holder() for scene in fleet.scenes]
    operator = fleet.scenes[0].operator
    operator.kill()
    fleet.write_status(late)  # a second before, that was all that the API server knew
    fleet.delete()
    operator.start()
    said = "its runs end after their stages in flight: first, second"
    assert fleet.text(fleet.says("Deleting")) == said
    for scene in fleet.scenes:
        scene.wait(lambda scene=scene: scene.holder() not in ({}, *killed), "its run is taken over")
    assert fleet.text(fleet.says("Deleting")) == said
    for scene in fleet.scenes:
        scene.make_light("orders")
    fleet.scenes[0].gone("rebalance", fleet.name)
    assert [scene.exists("/poolkeeper/run") for scene in fleet.scenes] == [False, False]
    assert [scene.throttled() for scene in fleet.scenes] == [[], []]
    assert fleet.requested() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        pytest.param(
            {"clusters": {"names": ["nowhere"]}},
            "NoSuchCluster",
            "nowhere: not planned: KafkaCluster nowhere does not exist",
            id="no-such-cluster",
        ),
        pytest.param(
            {"clusters": {"selector": {"matchLabels": {"site": "moon"}}}},
            "NoSuchCluster",
            "spec.clusters: no KafkaCluster with a pool in scope exists",
            id="none-has-the-label",
        ),
        pytest.param(
            {"pools": {"names": ["nowhere"]}},
            "NoSuchPool",
            "spec.pools: no cluster in scope has ResourcePool nowhere",
            id="no-such-pool",
        ),
        pytest.param(
            {"engine": "Spark"},
            "Impossible",
            "engine Spark: the operator has no image for planning; set planner.image of its chart,"
            " or spec.engine: Local",
            id="no-image-for-spark",
        ),
    ],
)
def test_what_a_person_must_change(fleet, spec, reason, message):
    scene = fleet.scenes[0]
    scene.apply(scene.cluster(), scene.pool("p", 1, 2, 3))
    body = {"clusters": {"names": [scene.name]}, **spec}
    scene.apply(manifests.body("Rebalance", fleet.name, body))
    assert fleet.says(reason) == message
