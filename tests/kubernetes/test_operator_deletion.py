"""Deleted resources: what happens to their Kafka topics, and when they are let go."""

MANUAL = {"mode": "Apply"}
ONE = {"partitions": 1, "replicationFactor": 1}


def declared(scene, *names, **topic):
    """Topics that exist, in a cluster whose plans a person approves."""
    scene.apply(
        scene.cluster(**MANUAL),
        scene.pool("p", 1, 2, 3),
        *(scene.topic(name, "p", **ONE, **topic) for name in names),
    )
    for name in names:
        scene.says("topic", name)


def guarded(scene, name):
    return "poolkeeper.dev/finalizer" in scene.get("topic", name)["metadata"].get("finalizers", ())


def test_retain_leaves_the_data(scene):
    declared(scene, "orders")
    assert not guarded(scene, "orders")
    scene.delete("topic", "orders")
    scene.gone("topic", "orders")
    scene.barrier("p")
    assert "orders" in scene.topics()


def test_delete_deletes_exactly_that_topic_once_it_is_approved(scene):
    declared(scene, "orders", "other", deletionPolicy="Delete")
    scene.wait(lambda: guarded(scene, "orders"), "the Topic is guarded")
    scene.delete("topic", "orders")
    said = scene.says("topic", "orders", "Deleting", about="approve")
    assert scene.text(said) == (
        "approve plan sha256:PLAN in KafkaCluster main to delete Kafka topic orders; set"
        " spec.deletionPolicy to Retain to delete this Topic and keep the data"
    )
    message = scene.says("cluster", reason="WaitingForApproval")
    assert message.startswith("waits to delete 1 topic; approve sha256:")
    scene.barrier("p")
    assert "orders" in scene.topics()
    scene.run_printed(message)
    scene.gone("topic", "orders")
    assert "orders" not in scene.topics()
    assert "other" in scene.topics()
    scene.says("cluster")


def test_a_topic_that_is_being_deleted_is_let_go_by_retain(scene):
    declared(scene, "orders", deletionPolicy="Delete")
    scene.wait(lambda: guarded(scene, "orders"), "the Topic is guarded")
    scene.delete("topic", "orders")
    scene.says("topic", "orders", "Deleting", about="approve")
    scene.patch("topic", "orders", deletionPolicy="Retain")
    scene.gone("topic", "orders")
    scene.barrier("p")
    assert "orders" in scene.topics()
    scene.says("cluster")


def test_delete_right_before_the_deletion(scene):
    """Whether the finalizer came in time or not: data is never lost without an approval."""
    declared(scene, "orders")
    scene.patch("topic", "orders", deletionPolicy="Delete")
    scene.delete("topic", "orders")
    scene.barrier("p")
    assert "orders" in scene.topics()
    if scene.get("topic", "orders"):
        scene.says("topic", "orders", "Deleting", about="approve")


def test_topics_deleted_while_the_operator_is_down(scene):
    declared(scene, "orders", "logs", "kept", deletionPolicy="Delete")
    for name in ("orders", "logs", "kept"):
        scene.wait(lambda name=name: guarded(scene, name), f"{name} is guarded")
    scene.patch("topic", "kept", deletionPolicy="Retain")
    scene.wait(lambda: not guarded(scene, "kept"), "what is retained is not guarded")
    scene.operator.stop()
    for name in ("orders", "logs", "kept"):
        scene.delete("topic", name)
    assert scene.get("topic", "orders")
    assert not scene.get("topic", "kept")
    scene.operator.start()
    scene.says("topic", "orders", "Deleting", about="approve")
    scene.approve()
    scene.gone("topic", "orders")
    scene.gone("topic", "logs")
    assert scene.topics() == ["kept"]


def test_many_deletions_at_once_wait_for_a_person(scene):
    names = [f"t-{n}" for n in range(12)]
    scene.apply(
        scene.cluster(mode="Apply", approval={"policy": "Auto"}),
        scene.pool("p", 1, 2, 3),
        *(scene.topic(name, "p", deletionPolicy="Delete", **ONE) for name in names),
    )
    for name in names:
        scene.says("topic", name)
        scene.wait(lambda name=name: guarded(scene, name), f"{name} is guarded")
    scene.kubectl("delete", "topics", "--all", "-n", scene.namespace, "--wait=false")
    message = scene.says("cluster", reason="WaitingForApproval")
    assert "so many deletions need a person's approval: approve" in message
    scene.barrier("p")
    assert len(set(names) & set(scene.topics())) > 2  # a few may have gone before it was a storm
    scene.run_printed(scene.says("cluster", reason="WaitingForApproval"))
    for name in names:
        scene.gone("topic", name)
    assert set(names).isdisjoint(scene.topics())
    scene.says("cluster")


def test_a_pool_stays_while_topics_name_it_and_a_cluster_goes_at_once(scene):
    declared(scene, "orders")
    scene.wait(lambda: scene.get("pool", "p")["metadata"].get("finalizers"), "the pool is guarded")
    scene.delete("pool", "p")
    said = scene.says("pool", "p", "Deleting")
    assert scene.text(said) == "kept while Topics name it: shop/orders"
    scene.delete("topic", "orders")
    scene.gone("topic", "orders")
    scene.gone("pool", "p")
    scene.delete("cluster")
    scene.gone("cluster")
    assert scene.topics() == ["orders"]
