"""Resources that contradict each other, or may not be followed: nothing moves, and all say so."""

import json

from operated_resources import Scene

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
    said = scene.says("topic", "second", "TopicConflict")
    assert scene.text(said) == (
        "Kafka topic orders belongs to shop/first, which declared it first;"
        " delete one of the Topics"
    )
    scene.says("topic", "first")
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
    told = scene.events("topic", "second", awaited="Recovered")
    assert told[:2] == [("Warning", "TopicConflict", 1), ("Normal", "Recovered", 1)]


def test_who_loses_a_topic_does_not_keep_its_owner_from_moving_it(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.pool("q", 4, 5, 6),
        scene.topic("orders", "p", **ONE),
    )
    scene.says("topic", "orders")
    scene.apply(scene.topic("a-rival", "p", topicName="orders", **ONE))
    scene.says("topic", "a-rival", "TopicConflict")
    scene.patch("topic", "orders", poolRef={"name": scene.full("pool", "q")})
    scene.says("topic", "orders")
    assert scene.holders("orders") <= {4, 5, 6}


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
    assert scene.says("topic", "second", "TopicConflict") == (
        "Kafka cannot tell shop_orders from topic shop.orders in its metrics: choose another name"
    )
    scene.barrier("p")
    assert "shop_orders" not in scene.topics()


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
    for pool, other in (("one", "two"), ("two", "one")):
        said = scene.says("pool", pool, "BrokerConflict")
        told = scene.text(said)
        assert told.startswith(f"nothing moves in this pool: broker 3 is in pool {other} too; name")
    scene.says("topic", "orders", "Waiting", about="broker 3 is in pool")
    scene.says("topic", "fresh", "Waiting", about="broker 3 is in pool")
    scene.barrier("apart")
    assert scene.holders("orders") == {1, 2}
    assert "fresh" not in scene.topics()
    scene.apply(scene.pool("one", 1, 2))
    scene.says("topic", "orders")
    scene.says("topic", "fresh")
    scene.says("pool", "one")
    scene.says("pool", "two")
    assert scene.holders("orders") <= {3, 4, 5}
    assert scene.events("pool", "one", awaited="Recovered")[:2] == [
        ("Warning", "BrokerConflict", 1),
        ("Normal", "Recovered", 1),
    ]


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
    expected = {
        "unknown-key": (
            "Invalid",
            "spec.config[retention.msec]: unknown key 'retention.msec'"
            " (did you mean 'retention.ms'?)",
        ),
        "bad-value": (
            "Invalid",
            "spec.config[retention.ms]: 'soon' is not a whole number"
            " (expected a whole number from -1 to 9223372036854775807)",
        ),
        "too-many": (
            "Impossible",
            "not created: 4 replicas need 4 brokers; usable in pool p: 1, 2, 3. Add 1 broker, or"
            " take as many out of spec.drain",
        ),
        "unsized": (
            "Impossible",
            "not created: neither the Topic nor pool p says how many partitions (set"
            " spec.partitions)",
        ),
    }
    for name, (reason, message) in expected.items():
        assert scene.text(scene.says("topic", name, reason)) == message
    scene.says("cluster")
    scene.says("pool", "p")
    assert scene.topics() == ["good"]
    scene.apply(scene.topic("bad-value", "p", config={"retention.ms": "900000000"}, **ONE))
    scene.says("topic", "bad-value")
    told = [reason for _, reason, _ in scene.events("topic", "bad-value", awaited="Recovered")]
    assert told[:2] == ["Invalid", "Recovered"]


def test_what_is_missing_is_named_and_waited_for(scene):
    scene.apply(scene.topic("orders", "p", **ONE))
    said = scene.says("topic", "orders", "NoSuchPool")
    assert scene.text(said) == "spec.poolRef: ResourcePool p does not exist"
    scene.apply(scene.pool("p", 1, 2, 3))
    said = scene.says("topic", "orders", "NoSuchCluster")
    assert scene.text(said) == "KafkaCluster main of ResourcePool p does not exist"
    said = scene.says("pool", "p", "NoSuchCluster")
    assert scene.text(said) == "spec.clusterRef: KafkaCluster main does not exist"
    scene.apply(scene.cluster(**APPLY))
    scene.says("topic", "orders")
    scene.says("pool", "p")
    told = [reason for _, reason, _ in scene.events("topic", "orders", awaited="Recovered")]
    assert told[:3] == ["NoSuchPool", "NoSuchCluster", "Recovered"]


def test_namespaces_are_allowed_by_name(scene):
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3, allowedNamespaces={"names": ["elsewhere"]}),
        scene.topic("orders", "p", **ONE),
    )
    said = scene.says("topic", "orders", "NamespaceNotAllowed")
    assert scene.text(said) == (
        "ResourcePool p takes no Topics of namespace shop (spec.allowedNamespaces)"
    )
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
    scene.says("topic", "orders", "NamespaceNotAllowed")
    scene.kubectl("label", "namespace", scene.namespace, f"team={scene.name}")
    scene.says("topic", "orders")
    scene.kubectl("label", "namespace", scene.namespace, "team-")
    scene.says("topic", "orders", "NamespaceNotAllowed")
    assert scene.topics() == ["orders"]


def test_two_clusters_of_one_zookeeper_are_both_held(scene):
    scene.create_topic("orders", (1, 2))
    scene.apply(scene.cluster(**APPLY), scene.pool("p", 3, 4), scene.topic("orders", "p"))
    scene.says("topic", "orders")
    twin = scene.cluster(**APPLY)
    twin["metadata"]["name"] = f"{scene.name}-twin"
    scene.apply(twin)
    said = scene.says("cluster", reason="Invalid")
    assert scene.text(said) == (
        "KafkaCluster twin is of the same ensemble and chroot: nothing is done in either;"
        " delete one of them"
    )
    scene.says("topic", "orders", "Waiting", about="are of one ensemble and chroot")
    scene.kubectl("delete", "kafkacluster", f"{scene.name}-twin", "--timeout=180s")
    scene.says("cluster")
    scene.says("topic", "orders")


def test_an_invalid_copy_of_a_cluster_keeps_it_waiting_for_nothing(scene):
    scene.apply(scene.cluster(**APPLY), scene.pool("p", 3, 4), scene.topic("orders", "p", **ONE))
    scene.says("topic", "orders")
    execution = {"windows": [{"cron": "61 22 * * *", "duration": "8h"}]}
    copy = scene.cluster(**APPLY, execution=execution)
    copy["metadata"]["name"] = f"{scene.name}-copy"
    scene.apply(copy)

    def told():
        name = f"{scene.name}-copy"
        said = scene.kubectl("get", "kafkacluster", name, "-ojson").stdout
        conditions = json.loads(said).get("status", {}).get("conditions", ())
        return any(each["reason"] == "Invalid" for each in conditions)

    scene.wait(told, "the copy says what is wrong")
    scene.apply(scene.topic("late", "p", **ONE))
    scene.says("topic", "late")
    assert scene.condition("cluster")["reason"] == "InPlace"


def test_a_deleted_cluster_that_others_keep_makes_way_for_the_one_in_its_place(scene):
    old, keeper = scene.cluster(**APPLY), "example.com/keeper"
    name = old["metadata"]["name"] = f"{scene.name}-old"
    old["metadata"]["finalizers"] = [keeper]
    pool = scene.pool("p", 3, 4)
    pool["spec"]["clusterRef"]["name"] = name
    scene.apply(old, pool, scene.topic("orders", "p", **ONE))
    scene.says("topic", "orders")
    scene.kubectl("delete", "kafkacluster", name, "--wait=false")
    scene.apply(scene.cluster(**APPLY), scene.pool("q", 5, 6))
    scene.patch("topic", "orders", poolRef={"name": f"{scene.name}-q"})
    scene.says("topic", "orders", about=f"in pool {scene.name}-q")
    assert scene.holders("orders") <= {5, 6}
    without = '{"metadata":{"finalizers":null}}'
    scene.kubectl("patch", "kafkacluster", name, "--type=merge", "-p", without)


def test_two_addresses_of_one_kafka_cluster_are_told_of_the_second(scene):
    scene.apply(scene.cluster(**APPLY), scene.pool("p", 3, 4), scene.topic("orders", "p", **ONE))
    scene.says("topic", "orders")
    twin = scene.cluster(**APPLY)
    twin["metadata"]["name"] = f"{scene.name}-twin"
    twin["spec"]["zookeeper"]["connect"] = scene.connect.replace("127.0.0.1", "localhost")
    scene.apply(twin)

    def told():
        printed = scene.kubectl("get", "kafkacluster", f"{scene.name}-twin", "-ojson").stdout
        said = json.loads(printed).get("status", {}).get("conditions", ())
        conditions = {each["type"]: each for each in said}
        return conditions if "Stalled" in conditions else {}

    ready = scene.wait(told, "the second says what is wrong")["Ready"]
    assert ready["reason"] == "OtherCluster"
    assert scene.text(ready["message"]) == (
        "KafkaCluster main leads to the same Kafka cluster, by another spec.zookeeper.connect, and"
        " works on it: nothing is done for this one; delete one of them"
    )
    assert scene.condition("cluster")["reason"] == "InPlace"
    scene.kubectl("delete", "kafkacluster", f"{scene.name}-twin", "--timeout=180s")


def begin_slow_run(scene):
    """Begin to move a topic that is slow to copy from pool p to q; return the cluster's id."""
    scene.apply(
        scene.cluster(**APPLY),
        scene.pool("p", 1, 2, 3),
        scene.pool("q", 4, 5, 6),
        scene.topic("orders", "p", **ONE),
    )
    scene.says("topic", "orders")
    scene.make_heavy("orders")
    scene.patch("topic", "orders", poolRef={"name": scene.full("pool", "q")})
    scene.wait(lambda: "stage" in scene.status("cluster").get("plan", {}), "the run is told")
    return scene.status("cluster")["clusterId"]


def test_an_address_that_leads_to_another_cluster_gets_nothing_until_that_is_meant(scene, operated):
    first = begin_slow_run(scene)
    with Scene(operated) as other:
        other.rename_cluster("another")
        scene.patch("cluster", zookeeper={"connect": other.connect})
        plan = scene.status("cluster")["plan"]["hash"]
        assert scene.says("cluster", reason="OtherCluster") == (
            f"this is another cluster: its id is another, status.clusterId says {first}; correct"
            " spec.zookeeper.connect, or set spec.clusterId to another if it is meant; the run"
            f" under way (plan {plan}) stays meanwhile with its throttles in cluster {first} at"
            f" {scene.connect}"
        )
        assert scene.status("cluster")["clusterId"] == first
        assert other.topics() == []
        assert not other.exists("/poolkeeper")
        scene.patch("cluster", zookeeper={"connect": scene.connect})
        scene.make_light("orders")
        scene.says("topic", "orders")
        scene.says("cluster")
        told = [reason for _, reason, _ in scene.events("cluster", awaited="RunEnded")]
        assert told.count("RunEnded") == 1
        assert scene.holders("orders") <= {4, 5, 6}
        scene.patch("cluster", zookeeper={"connect": other.connect}, clusterId="another")
        scene.wait(other.topics, "the topic is created in the cluster that is meant")
        scene.says("cluster")
        assert scene.status("cluster")["clusterId"] == "another"
        assert "leftRun" not in scene.status("cluster")


def test_a_run_in_the_cluster_that_an_address_led_to_before_is_told(scene, operated):
    first = begin_slow_run(scene)
    with Scene(operated) as other:
        other.rename_cluster("another")
        scene.patch("cluster", zookeeper={"connect": other.connect}, clusterId="another")
        told = scene.says("cluster", about="was left with its throttles")
        assert f"at {scene.connect}: `poolkeeper status --zookeeper {scene.connect}`" in told
        assert scene.status("cluster")["leftRun"]["clusterId"] == first
        events = [each[:2] for each in scene.events("cluster", awaited="RunLeftBehind")]
        assert ("Warning", "RunLeftBehind") in events
        assert "RunEnded" not in dict.fromkeys(reason for _, reason in events)
        assert scene.request
        scene.make_light("orders")
        scene.patch("cluster", zookeeper={"connect": scene.connect}, clusterId=first)
        scene.wait(lambda: scene.holders("orders") <= {4, 5, 6}, "the run is taken up")
        scene.says("cluster")
        assert "leftRun" not in scene.status("cluster")
