"""While a run is under way: what goes on beside it, what stops it, what it tells."""

import pytest

from operated_resources import Scene
from real.support import MIB, REQUEST, of_path, run

pytestmark = pytest.mark.long

OLD, NEW = (1, 2, 3), (4, 5, 6)
AUTO = {"mode": "Apply", "approval": {"policy": "Auto"}}


@pytest.fixture
def moving(scene: Scene):
    """Two topics, each of which is a stage; the first is too heavy to arrive."""
    for name in ("a-heavy", "b-light"):
        scene.create_topic(name, (1, 2), (2, 3), (3, 1))
    scene.make_heavy("a-heavy")
    scene.apply(
        scene.cluster(**AUTO, execution={"maxMoves": 6}),
        scene.pool("old", *OLD),
        scene.pool("new", *NEW),
        scene.topic("a-heavy", "new"),
        scene.topic("b-light", "new"),
    )
    scene.says("topic", "a-heavy", "Moving")
    scene.wait(lambda: scene.request, "a request is in flight")
    return scene


def test_how_far_it_is_can_be_seen_without_yaml(moving):
    moving.says("cluster", reason="Moving", about="stage 1: 0 of 6 moves done, 12 MiB left")
    plan = moving.status("cluster")["plan"]
    assert {**plan, "hash": ""} == {
        "hash": "",
        "approval": "NotNeeded",
        "approvedBy": "approval policy Auto",
        "moves": 6,
        "movesDone": 0,
        "bytes": 12 * MIB,
        "bytesDone": 0,
        "stage": 1,
        "predictedSeconds": 10,
    }
    assert moving.table("cluster")[1] == "main | Apply | False | Moving | 9/9 |  | 6 | 0"
    moving.says("topic", "b-light", "Moving")
    row = moving.table("topic", "-o", "wide")[2].split(" | ")
    assert (row[0], *row[4:8]) == ("b-light", "False", "Moving", "3", "0")
    assert row[-1] == "moving into pool new: 0 of 3 partitions, 6 MiB left"
    assert moving.says("pool", "new", "Moving") == "moving: 0 of 6 partitions"


def test_a_topic_is_created_at_once_beside_a_run(moving):
    moving.apply(
        moving.topic("created", "old", partitions=2, replicationFactor=2),
        moving.topic("b-light", "new", config={"retention.ms": "900000000"}),
    )
    moving.says("topic", "created")
    moving.wait(lambda: moving.config("b-light"), "a config is set beside the run")
    assert moving.holders("created") <= set(OLD)
    assert moving.request


def test_partitions_that_are_declared_in_mid_move_wait_for_it_and_need_nobody(moving):
    """Once all has arrived, and before the run has ended, nothing is done to the topic yet."""
    moving.patch("topic", "a-heavy", partitions=5)
    moving.says("topic", "a-heavy", "Moving")
    moving.make_light("a-heavy")
    said = moving.text(moving.says("topic", "a-heavy"))
    assert said == "in place in pool new: 5 partitions of 2 replicas"
    told = moving.events("topic", "a-heavy", awaited="PartitionsAdded")
    assert [each for each in told if each[0] == "Warning"] == []


def test_paused_in_mid_run_finishes_the_stage_and_starts_none(moving):
    moving.patch("cluster", mode="Paused")
    said = moving.says("cluster", reason="Paused", about="stage 1")
    assert moving.text(said).startswith(
        "the stage in flight runs to its end, no further stage starts; stage 1: 0 of 6 moves done,"
        " 12 MiB left; the mode is Paused: kubectl patch kafkacluster"
    )
    moving.make_light("a-heavy")
    moving.says("topic", "a-heavy")
    moving.says("cluster", reason="Paused", about="3 of 6 moves done, 6 MiB left; the mode")
    said = moving.says("topic", "b-light", "Paused")
    assert moving.text(said) == (
        "KafkaCluster main is in mode Paused; left to do: move 3 partitions into pool new; set"
        " spec.mode to Apply to go on"
    )
    moving.apply(moving.topic("later", "old", partitions=1, replicationFactor=1))
    moving.says("topic", "later", "Paused")
    assert not moving.request
    assert moving.holders("b-light") == set(OLD)
    assert "later" not in moving.topics()
    assert len([c for c in of_path(moving.changes(), REQUEST) if c.kind == "CREATE"]) == 1
    moving.run_printed(moving.says("cluster", reason="Paused"))
    moving.says("topic", "b-light")
    moving.says("topic", "later")


def test_mode_roll_back_takes_the_stage_back_and_apply_goes_on(moving):
    """Without the address of brokers it takes a failover, and the status says what allows it."""
    moving.patch("cluster", mode="RollBack")
    said = moving.says("cluster", reason="Paused", about="takes a controller failover")
    assert moving.text(said).startswith("the stage in flight is cancelled and returns to where it")
    assert "set spec.execution.remedies.allowControllerFailover: true" in said
    allowed = {"maxMoves": 6, "remedies": {"allowControllerFailover": True}}
    moving.patch("cluster", execution=allowed)
    moving.wait(lambda: not moving.request, "the request is gone")
    moving.says("cluster", reason="Paused", about="0 of 6 moves done")
    assert moving.holders("a-heavy") == moving.holders("b-light") == set(OLD)
    told = [each[:2] for each in moving.events("cluster", awaited="ControllerFailover")]
    assert ("Warning", "MovesCancelled") in told
    moving.make_light("a-heavy")
    moving.patch("cluster", mode="Apply")
    moving.says("topic", "a-heavy")
    moving.says("topic", "b-light")


def test_stop_on_the_command_line_ends_the_run_after_the_stage(moving):
    ran = run("stop", "--zookeeper", moving.connect)
    assert ran.code == 0
    moving.make_light("a-heavy")
    moving.says("topic", "a-heavy")
    stopped = (
        "the run was stopped, or its stage rolled back: to go on, run `poolkeeper apply` (on"
        " Kubernetes `kubectl poolkeeper resume`), or change"
        " what is declared"
    )
    said = moving.says("cluster", reason="Waiting", about="stopped")
    assert said == f"waits to move 3 partitions (6 MiB): {stopped}"
    moving.says("topic", "b-light", "Waiting", about=stopped)
    moving.says("pool", "new", "Waiting", about=stopped)
    assert moving.holders("b-light") == set(OLD)


def test_a_topic_resource_deleted_while_its_topic_moves(moving):
    moving.delete("topic", "a-heavy")
    moving.gone("topic", "a-heavy")
    moving.make_light("a-heavy")
    moving.says("topic", "b-light")
    moving.says("cluster")
    assert "a-heavy" in moving.topics()
    assert not moving.request


def test_a_topic_with_delete_deleted_while_it_moves(moving):
    moving.patch("topic", "a-heavy", deletionPolicy="Delete")
    moving.wait(lambda: moving.get("topic", "a-heavy")["metadata"].get("finalizers"), "guarded")
    moving.delete("topic", "a-heavy")
    said = moving.says("topic", "a-heavy", "Deleting")
    assert said == (
        "waits for the run under way to end; set spec.deletionPolicy to Retain to delete this"
        " Topic and keep the data"
    )
    moving.barrier("old")
    assert "a-heavy" in moving.topics()
    moving.make_light("a-heavy")
    moving.gone("topic", "a-heavy")
    assert "a-heavy" not in moving.topics()
    moving.says("topic", "b-light")
    moving.says("cluster")


def test_metrics_tell_of_the_run_and_of_its_end(moving):
    def metrics(*names):
        return {name: moving.operator.metric(series(name)) for name in names}

    def series(name):
        family, _, labels = name.partition(" ")
        more = f",{labels}" if labels else ""
        return f'poolkeeper_{family}{{cluster="{moving.name}"{more}}}'

    plan = "plan_moves", "plan_moves_moving", "plan_moves_done", "plan_bytes", "converged"
    wanted = dict(zip(plan, (6, 3, 0, 12 * MIB, 0), strict=True))
    moving.wait(
        lambda: metrics(*plan) == wanted, "a run is told of", instead=lambda: metrics(*plan)
    )
    ready = 'resources kind="Topic",ready="True"', 'resources kind="Topic",ready="False"'
    assert metrics(*ready) == dict(zip(ready, (0, 2), strict=True))
    moving.make_light("a-heavy")
    moving.says("topic", "b-light")
    moving.says("cluster")
    wanted = dict(zip(plan, (0, 0, 0, 0, 1), strict=True))
    moving.wait(lambda: metrics(*plan) == wanted, "the end is told", instead=lambda: metrics(*plan))
    assert metrics(*ready) == dict(zip(ready, (2, 0), strict=True))
    assert metrics("brokers", "topics", "partitions") == {
        "brokers": 9,
        "topics": 2,
        "partitions": 6,
    }
    written = 'zookeeper_requests_total verb="write"'
    assert metrics(written)[written] > 0
    assert moving.operator.metric("poolkeeper_leader") == 1
    assert metrics('errors_total kind="Internal"') == {'errors_total kind="Internal"': None}
