"""While a run of the operator is under way: what goes on beside it, what stops it, what it tells."""

import pytest

from operated_resources import Scene
from real.support import REQUEST, of_path, run

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
    moving.says("cluster", reason="Moving", about="0 of 6 moves done")
    moving.says("topic", "b-light", "Moving")
    print(moving.status("cluster"))
    print(moving.table("cluster", "-o", "wide"))
    print(moving.table("topic", "-o", "wide"))
    print(moving.table("pool", "-o", "wide"))


def test_a_topic_is_created_at_once_beside_a_run(moving):
    moving.apply(
        moving.topic("created", "old", partitions=2, replicationFactor=2),
        moving.topic("b-light", "new", config={"retention.ms": "900000000"}),
    )
    moving.says("topic", "created")
    moving.wait(lambda: moving.config("b-light"), "a config is set beside the run")
    assert moving.holders("created") <= set(OLD)
    assert moving.request


def test_paused_in_mid_run_finishes_the_stage_and_starts_none(moving):
    moving.patch("cluster", mode="Paused")
    moving.says("cluster", reason="Paused", about="the stage in flight is finished")
    moving.make_light("a-heavy")
    moving.says("topic", "a-heavy")
    print(moving.says("cluster", reason="Paused"))
    print(moving.says("topic", "b-light", "Paused"))
    moving.wait(lambda: not moving.request, "the stage is over")
    moving.kubectl("label", "kafkacluster", moving.name, "wake=up")
    moving.apply(moving.topic("later", "old", partitions=1, replicationFactor=1))
    print(moving.says("topic", "later", "Paused"))
    assert moving.holders("b-light") == set(OLD)
    assert len([c for c in of_path(moving.changes(), REQUEST) if c.kind == "CREATE"]) == 1
    moving.patch("cluster", mode="Apply")
    moving.says("topic", "b-light")
    moving.says("topic", "later")


def test_stop_on_the_command_line_ends_the_run_after_the_stage(moving, tmp_path):
    ran = run("stop", "--zookeeper", moving.connect)
    print(ran)
    moving.make_light("a-heavy")
    moving.says("topic", "a-heavy")
    print(moving.condition("cluster"))
    print(moving.says("cluster", reason="Waiting", about="stopped"))
    print(moving.says("topic", "b-light", "Waiting"))
    print(moving.says("pool", "new", "Waiting"))
    assert moving.holders("b-light") == set(OLD)


def test_a_topic_resource_deleted_while_its_topic_moves(moving):
    moving.delete("topic", "a-heavy")
    moving.gone("topic", "a-heavy")
    print(moving.condition("cluster"))
    moving.make_light("a-heavy")
    moving.says("topic", "b-light")
    print(moving.condition("cluster"))
    moving.says("cluster")
    print(moving.assignment("a-heavy"))


def test_a_topic_with_delete_deleted_while_it_moves(moving):
    moving.patch("topic", "a-heavy", deletionPolicy="Delete")
    moving.wait(lambda: moving.get("topic", "a-heavy")["metadata"].get("finalizers"), "guarded")
    moving.delete("topic", "a-heavy")
    print(moving.says("topic", "a-heavy", "Deleting"))
    moving.barrier("old")
    print(moving.says("topic", "a-heavy", "Deleting"))
    moving.make_light("a-heavy")
    moving.gone("topic", "a-heavy")
    assert "a-heavy" not in moving.topics()
    moving.says("topic", "b-light")
    moving.says("cluster")


def test_metrics_after_a_run(moving):
    moving.make_light("a-heavy")
    moving.says("topic", "b-light")
    moving.says("cluster")
    print("\n".join(line for line in moving.operator.page("/metrics")[1].splitlines() if moving.name in line))
