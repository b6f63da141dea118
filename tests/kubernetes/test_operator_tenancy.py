"""A tenant names what is not its own: it gets nothing without the platform's word.

What is wrong with its own holds up nobody else.
"""

from kazoo.security import make_acl, make_digest_acl

from real.support import kazoo

APPLY = {"mode": "Apply", "approval": {"policy": "Auto"}, "adoption": {"policy": "Approve"}}
TWO = {"partitions": 2, "replicationFactor": 2}
HOSTILE = {"config": {"retention.ms": "1"}, "deletionPolicy": "Delete"}


def test_what_exists_is_taken_over_only_as_approved(scene):
    for name in ("_schemas", "audit", "orders"):
        scene.create_topic(name, (1, 2), (2, 1), retention_ms="900000000")
    before = {name: scene.assignment(name) for name in ("_schemas", "audit", "orders")}
    scene.apply(scene.cluster(**APPLY), scene.pool("p", 4, 5, 6))
    scene.says("cluster")
    scene.apply(
        scene.topic("audit", "p", **HOSTILE),
        scene.topic("orders", "p", **HOSTILE),
        scene.topic("schemas", "p", topicName="_schemas", **HOSTILE),
    )
    said = scene.says("topic", "orders", "AdoptionRequired")
    scene.says("topic", "schemas", "NameNotAllowed", about="spec.systemTopics")
    scene.says("topic", "audit", "AdoptionRequired")
    scene.barrier("p")
    asked = scene.asked("audit", "orders")
    assert {**asked, "hash": ""} == {
        "namespace": scene.namespace,
        "hash": "",
        "topics": 2,
        "names": ["audit", "orders"],
    }
    assert asked["hash"] in said
    scene.says("cluster", about=asked["hash"])
    for name, assignment in before.items():
        assert scene.assignment(name) == assignment
        assert scene.config(name) == {"retention.ms": "900000000"}

    scene.delete("topic", "audit")
    scene.gone("topic", "audit")
    scene.barrier("p")
    assert "audit" in scene.topics()
    asked = scene.asked("orders")
    scene.patch("cluster", approval={"policy": "Auto", "plans": [asked["hash"]]})
    scene.says("topic", "orders")
    assert scene.config("orders") == {"retention.ms": "1"}
    assert scene.holders("orders") <= {4, 5, 6}
    scene.events("cluster", awaited="TopicsAdopted")
    assert scene.assignment("audit") == before["audit"]


def test_a_topic_goes_to_another_namespace_with_its_data(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.topic("orders", "p", deletionPolicy="Delete", **TWO),
    )
    scene.says("topic", "orders")
    id_ = scene.status("topic", "orders")["topicId"]
    other = scene.plane.new_namespace()
    scene.apply(scene.topic("orders", "p", namespace=other, deletionPolicy="Delete", **TWO))
    said = scene.says("topic", "orders", "TopicConflict", namespace=other)
    assert f"set spec.deletionPolicy of {scene.namespace}/orders to Retain" in said
    scene.patch("topic", "orders", deletionPolicy="Retain")
    said = scene.says("topic", "orders", "TopicConflict", about="delete one", namespace=other)
    scene.delete("topic", "orders")
    scene.says("topic", "orders", "AdoptionRequired", namespace=other)
    told = scene.events("topic", "orders", other, awaited="AdoptionRequired")
    assert [reason for _, reason, _ in told] == ["TopicConflict", "AdoptionRequired"]
    asked = scene.asked("orders")
    scene.patch("cluster", approval={"policy": "Auto", "plans": [asked["hash"]]})
    scene.says("topic", "orders", namespace=other)
    assert scene.status("topic", "orders", other)["topicId"] == id_


def test_a_namespace_that_a_pool_does_not_admit_does_not_keep_it(scene):
    other = scene.plane.new_namespace()
    admitted = {"names": [scene.namespace]}
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3, allowedNamespaces=admitted),
        scene.topic("own", "p", **TWO),
        scene.topic("foreign", "p", namespace=other, **TWO),
    )
    scene.says("topic", "own")
    scene.says("topic", "foreign", "NamespaceNotAllowed", namespace=other)
    scene.wait(lambda: scene.get("pool", "p")["metadata"].get("finalizers"), "the pool is guarded")
    scene.delete("pool", "p")
    said = scene.says("pool", "p", "Deleting")
    assert scene.text(said) == "kept while Topics name it: shop/own"
    scene.delete("topic", "own")
    scene.gone("pool", "p")
    scene.says("topic", "foreign", "NoSuchPool", namespace=other)


def test_the_loser_of_a_conflict_neither_keeps_nor_inherits_a_topic(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.topic("kept", "p", **TWO),
        scene.topic("going", "p", deletionPolicy="Delete", **TWO),
    )
    scene.says("topic", "kept")
    scene.says("topic", "going")
    other = scene.plane.new_namespace()
    for name in ("kept", "going"):
        scene.apply(scene.topic(name, "p", namespace=other, **HOSTILE, **TWO))
        scene.says("topic", name, "TopicConflict", namespace=other)
    first = scene.status("topic", "going")["topicId"]
    for name in ("kept", "going"):
        scene.delete("topic", name)
        scene.gone("topic", name)
    scene.says(
        "topic", "kept", "AdoptionRequired", about=f"{scene.namespace}/kept's", namespace=other
    )
    assert scene.config("kept") == {}
    scene.says("topic", "going", namespace=other)  # a new topic: the owner's is gone with its data
    assert scene.status("topic", "going", namespace=other)["topicId"] != first


def test_a_topic_whose_config_may_not_be_written_holds_up_no_other(scene):
    throttled = {"throttle": {"mode": "Fixed", "rate": "100Mi"}}
    scene.apply(
        scene.cluster(**APPLY, execution=throttled),
        scene.pool("p", 1, 2, 3),
        scene.topic("bad", "p", **TWO),
        scene.topic("good", "p", **TWO),
    )
    for name in ("bad", "good"):
        scene.says("topic", name)
    path, everybody = "/config/topics/bad", make_acl("world", "anyone", all=True)
    readable = make_acl("world", "anyone", read=True)
    with kazoo(scene.connect) as zookeeper:
        zookeeper.add_auth("digest", "alice:right")
        zookeeper.set_acls(path, [make_digest_acl("alice", "right", all=True), readable])
        scene.patch("pool", "p", brokers={"ids": [1, 2, 3, 4, 5]}, drain=[1, 2, 3])
        scene.wait(lambda: scene.holders("good") <= {4, 5}, "the other one has moved")
        scene.says("topic", "good")
        scene.says("topic", "bad", "Waiting", about=f"could not be throttled: setting {path}")
        scene.says("cluster", reason="Waiting", about="topic bad is not moved")
        zookeeper.set_acls(path, [everybody])
    scene.says("topic", "bad")
    assert scene.holders("bad") <= {4, 5}
