"""Resources that contradict each other, or may not be followed: nothing moves, and all say so."""

APPLY = {"mode": "Apply", "approval": {"policy": "Auto"}}
ONE = {"partitions": 1, "replicationFactor": 1}


def test_two_topics_for_one_kafka_topic(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.topic("first", "p", topicName="orders", deletionPolicy="Delete", **ONE),
    )
    scene.says("topic", "first")
    second = scene.topic("second", "p", topicName="orders", deletionPolicy="Delete", partitions=3)
    scene.apply(second)
    print(scene.says("topic", "second", "TopicConflict"))
    print(scene.condition("topic", "first"))
    scene.barrier("p")
    assert len(scene.assignment("orders")) == 1

    scene.delete("topic", "second")
    scene.gone("topic", "second")
    scene.barrier("p")
    assert "orders" in scene.topics()
    scene.says("topic", "first")

    scene.apply(second)
    scene.says("topic", "second", "TopicConflict")
    scene.patch("topic", "first", deletionPolicy="Retain")
    scene.delete("topic", "first")
    scene.gone("topic", "first")
    scene.says("topic", "second")
    assert len(scene.assignment("orders")) == 3
    print(scene.events("topic", "second"))


def test_deleting_the_owner_deletes_nothing_that_somebody_else_declares(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.topic("first", "p", topicName="orders", deletionPolicy="Delete", **ONE),
    )
    scene.says("topic", "first")
    scene.apply(scene.topic("second", "p", topicName="orders", **ONE))
    scene.says("topic", "second", "TopicConflict")
    scene.delete("topic", "first")
    scene.gone("topic", "first")
    scene.says("topic", "second")
    assert "orders" in scene.topics()


def test_a_dot_and_an_underscore_are_one_name_to_kafka(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.topic("first", "p", topicName="shop.orders", **ONE),
    )
    scene.says("topic", "first")
    scene.apply(scene.topic("second", "p", topicName="shop_orders", **ONE))
    print(scene.says("topic", "second", "TopicConflict"))
    scene.barrier("p")
    assert "shop_orders" not in scene.topics()
    print(scene.condition("cluster"))


def test_a_broker_in_two_pools_stops_both(scene):
    scene.create_topic("orders", (1, 2))
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("one", 1, 2, 3),
        scene.pool("two", 3, 4, 5),
        scene.pool("apart", 7, 8, 9),
        scene.topic("orders", "two"),
        scene.topic("fresh", "one", **ONE),
    )
    print(scene.says("pool", "one", "BrokerConflict"))
    print(scene.says("pool", "two", "BrokerConflict"))
    print(scene.condition("topic", "orders"))
    print(scene.condition("topic", "fresh"))
    scene.barrier("apart")
    print(scene.condition("cluster"))
    assert scene.holders("orders") == {1, 2}
    assert "fresh" not in scene.topics()
    scene.apply(scene.pool("one", 1, 2))
    scene.says("topic", "orders")
    scene.says("topic", "fresh")
    scene.says("pool", "one")
    scene.says("pool", "two")
    assert scene.holders("orders") <= {3, 4, 5}
    print(scene.events("pool", "one"))


def test_what_is_invalid_is_said_and_is_nobody_elses_trouble(scene):
    scene.apply(
        scene.cluster(**APPLY, kafkaVersion="2.8"),
        scene.pool("p", 1, 2, 3),
        scene.topic("good", "p", **ONE),
        scene.topic("unknown-key", "p", config={"retention.msec": "5"}, **ONE),
        scene.topic("bad-value", "p", config={"retention.ms": "soon"}, **ONE),
        scene.topic("too-many", "p", partitions=1, replicationFactor=4),
        scene.topic("unsized", "p"),
    )
    scene.says("topic", "good")
    print(scene.says("topic", "unknown-key", "Invalid"))
    print(scene.says("topic", "bad-value", "Invalid"))
    print(scene.says("topic", "too-many", "Impossible"))
    print(scene.says("topic", "unsized", "Impossible"))
    print(scene.condition("cluster"))
    print(scene.condition("pool", "p"))
    scene.apply(scene.topic("bad-value", "p", config={"retention.ms": "900000000"}, **ONE))
    scene.says("topic", "bad-value")
    print(scene.events("topic", "bad-value"))


def test_what_is_missing_is_named_and_waited_for(scene):
    scene.apply(scene.topic("orders", "p", **ONE))
    print(scene.says("topic", "orders", "NoSuchPool"))
    scene.apply(scene.pool("p", 1, 2, 3))
    print(scene.says("topic", "orders", "NoSuchCluster"))
    print(scene.says("pool", "p", "NoSuchCluster"))
    scene.apply(scene.cluster(**APPLY))
    scene.says("topic", "orders")
    scene.says("pool", "p")
    print(scene.events("topic", "orders"))


def test_namespaces_are_allowed_by_name(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3, allowedNamespaces={"names": ["elsewhere"]}),
        scene.topic("orders", "p", **ONE),
    )
    print(scene.says("topic", "orders", "NamespaceNotAllowed"))
    assert scene.topics() == []
    scene.patch("pool", "p", allowedNamespaces={"names": ["elsewhere", scene.namespace]})
    scene.says("topic", "orders")


def test_namespaces_are_allowed_by_labels_also_by_those_that_come_later(scene):
    selector = {"selector": {"matchLabels": {"team": scene.name}}}
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3, allowedNamespaces=selector),
        scene.topic("orders", "p", **ONE),
    )
    print(scene.says("topic", "orders", "NamespaceNotAllowed"))
    scene.kubectl("label", "namespace", scene.namespace, f"team={scene.name}")
    scene.says("topic", "orders")
    scene.kubectl("label", "namespace", scene.namespace, "team-")
    print(scene.says("topic", "orders", "NamespaceNotAllowed"))
    assert scene.topics() == ["orders"]


def test_two_clusters_of_one_zookeeper_are_both_held(scene):
    scene.create_topic("orders", (1, 2))
    scene.apply(scene.cluster(**APPLY), scene.pool("p", 3, 4), scene.topic("orders", "p"))
    scene.says("topic", "orders")
    twin = scene.cluster(**APPLY)
    twin["metadata"]["name"] = f"{scene.name}-twin"
    scene.apply(twin)
    print(scene.says("cluster", reason="Invalid"))
    print(scene.condition("topic", "orders"))
    scene.kubectl("delete", "kafkacluster", f"{scene.name}-twin", "--timeout=20s")
    scene.says("cluster")
    scene.says("topic", "orders")
