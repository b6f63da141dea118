"""Topics that exist already: taken over as they are, and changed as they are declared."""

MANUAL = {"mode": "Apply"}
REPLICAS = ((1, 2), (2, 3), (3, 1))


def ground(scene, **config):
    scene.create_topic("orders", *REPLICAS, **config)
    scene.apply(scene.cluster(**MANUAL), scene.pool("p", 1, 2, 3), scene.pool("q", 4, 5, 6))
    scene.says("cluster")


def test_a_topic_is_taken_over_as_it_is(scene):
    ground(scene, retention_ms="900000000")
    scene.apply(scene.topic("orders", "p"))
    scene.says("topic", "orders")
    status = scene.status("topic", "orders")
    assert {**status, "conditions": [], "topicId": ""} == {
        "observedGeneration": 1,
        "topicName": "orders",
        "topicId": "",
        "cluster": scene.name,
        "pool": scene.full("pool", "p"),
        "partitions": 3,
        "replicationFactor": 2,
        "foreignConfig": ["retention.ms"],
        "conditions": [],
    }
    assert tuple(scene.assignment("orders").values()) == REPLICAS
    assert scene.config("orders") == {"retention.ms": "900000000"}
    assert scene.events("topic", "orders") == []


def test_partitions_are_added_at_once(scene):
    ground(scene)
    scene.apply(scene.topic("orders", "p", partitions=5))
    scene.says("topic", "orders")
    assert len(scene.assignment("orders")) == 5
    assert tuple(scene.assignment("orders").values())[:3] == REPLICAS
    told = scene.events("topic", "orders", awaited="PartitionsAdded")
    assert told == [("Normal", "PartitionsAdded", 1)]


def test_more_replicas_are_a_plan_and_partitions_of_a_topic_that_moves_come_after_it(scene):
    ground(scene)
    scene.apply(scene.topic("orders", "p", partitions=5, replicationFactor=3))
    said = scene.says("topic", "orders", "WaitingForApproval")
    assert scene.text(said) == (
        "approve plan sha256:PLAN in KafkaCluster main to add 2 partitions,"
        " move 3 partitions in pool p to 3 replicas"
    )
    scene.barrier("p")
    assert tuple(scene.assignment("orders").values()) == REPLICAS
    scene.approve()
    scene.says("topic", "orders")
    assert [len(ids) for ids in scene.assignment("orders").values()] == [3] * 5
    assert scene.holders("orders") == {1, 2, 3}


def test_fewer_partitions_are_impossible_and_said(scene):
    ground(scene)
    scene.apply(scene.topic("orders", "p", partitions=2))
    said = scene.says("topic", "orders", "Impossible")
    assert said == "stays at 3 partitions instead of 2: partitions never shrink"
    assert len(scene.assignment("orders")) == 3


def test_another_pool_is_a_plan(scene):
    ground(scene)
    scene.apply(scene.topic("orders", "q"))
    scene.says("topic", "orders", "WaitingForApproval", about="to move 3 partitions into pool")
    assert scene.status("topic", "orders")["pool"] == scene.full("pool", "p")
    scene.approve()
    scene.says("topic", "orders")
    assert scene.status("topic", "orders")["pool"] == scene.full("pool", "q")


def test_config_is_set_unset_and_what_is_foreign_stays(scene):
    ground(scene, segment_bytes="1048576")
    config = {"retention.ms": "900000000", "max.message.bytes": "2000000"}
    scene.apply(scene.topic("orders", "p", config=config))
    scene.says("topic", "orders")
    assert scene.config("orders") == {"segment.bytes": "1048576", **config}
    scene.apply(scene.topic("orders", "p", config={"retention.ms": "900000000"}))
    scene.says("topic", "orders")
    scene.wait(lambda: "max.message.bytes" not in scene.config("orders"), "a key is unset")
    assert scene.config("orders") == {"segment.bytes": "1048576", "retention.ms": "900000000"}
    assert scene.status("topic", "orders")["foreignConfig"] == ["segment.bytes"]


def test_a_config_that_loses_data_waits_for_its_line(scene):
    ground(scene, retention_ms="900000000")
    scene.apply(scene.topic("orders", "p", config={"retention.ms": "60000"}))
    scene.says("topic", "orders", "WaitingForApproval", about="to set config retention.ms")
    message = scene.says("cluster", reason="WaitingForApproval")
    assert message.startswith("waits to configure 1 topic (with loss); approve sha256:")
    scene.barrier("p")
    assert scene.config("orders") == {"retention.ms": "900000000"}
    scene.run_printed(message)
    scene.says("topic", "orders")
    assert scene.config("orders") == {"retention.ms": "60000"}
