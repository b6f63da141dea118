"""Pools as a person edits them: drain, demote, quotas; and what is told meanwhile."""

import re

AUTO = {"mode": "Apply", "approval": {"policy": "Auto"}}
NINE = [f"t-{n}" for n in range(9)]


def leaders(scene, topic):
    partitions = scene.assignment(topic)
    states = (f"/brokers/topics/{topic}/partitions/{p}/state" for p in partitions)
    return {scene.node(path)["leader"] for path in states}


def test_a_broker_is_drained_by_one_line_and_an_approval(scene):
    scene.apply(
        scene.cluster(mode="Apply"),
        scene.pool("p", 1, 2, 3),
        *(scene.topic(name, "p", partitions=3, replicationFactor=2) for name in NINE),
    )
    for name in NINE:
        scene.says("topic", name)
    scene.says("cluster")
    created = {name: scene.events("topic", name, awaited="Created") for name in NINE}
    assert set(map(str, created.values())) == {str([("Normal", "Created", 1)])}
    scene.patch("pool", "p", drain=[3])
    said = scene.says("pool", "p", "WaitingForApproval")
    assert scene.text(said) == (
        "approve plan sha256:PLAN in KafkaCluster main; broker 3 holds 18 replicas"
    )
    assert scene.table("pool")[1:] == ["p | main | 3/3 | 9 | False | WaitingForApproval | 3"]
    scene.says("topic", "t-0", "WaitingForApproval", about="off drained brokers")
    scene.approve()
    scene.says("pool", "p")
    for name in NINE:
        scene.says("topic", name)
        assert scene.holders(name) == {1, 2}
    scene.says("cluster")
    status = scene.status("pool", "p")
    assert (status["drained"], "draining" in status) == ([3], False)
    for name in NINE:
        told = [reason for _, reason, _ in scene.events("topic", name, awaited="Moved")]
        assert told == ["Created", "Moved"]
    # The broker may be seen empty while the run still clears its last stage away, or after.
    scene.events("pool", "p", awaited="Moved")
    told = scene.events("pool", "p", awaited="Drained")
    assert sorted(told) == [("Normal", "Drained", 1), ("Normal", "Moved", 1)]
    scene.wait(lambda: "Moved" in [r for _, r, _ in scene.events("cluster")], "the end is told")
    told = [reason for _, reason, _ in scene.events("cluster", awaited="RunEnded")]
    decided = ["RunBegun", "StageRequested", "RunEnded"]
    assert [reason for reason in told if reason in decided] == decided
    changed = ["Created", "WaitingForApproval", "Moving", "Moved"]
    assert [reason for reason in told if reason in changed] == changed
    assert sorted(told) == sorted(decided + changed)
    described = scene.kubectl("describe", "kafkacluster", scene.full("cluster")).stdout
    assert re.search(r"run begun: sha256:\w{64}; 18 moves.*; approved by its hash", described)
    assert re.search(r"run ended: finished; 18 of 18 moves done in \d stage", described)
    described = scene.kubectl("describe", "resourcepool", scene.full("pool", "p")).stdout
    assert "poolkeeper  broker 3 is empty" in described


def test_what_cannot_leave_a_drained_broker_is_named(scene):
    scene.apply(
        scene.cluster(**AUTO),
        scene.pool("p", 1, 2, 3),
        scene.topic("wide", "p", partitions=1, replicationFactor=3),
    )
    scene.says("topic", "wide")
    scene.patch("pool", "p", drain=[3])
    why = (
        "1 replica cannot leave broker 3: 3 replicas need 3 brokers; usable: 1, 2; 3 is drained."
        " Take broker 3 out of spec.drain, or add a broker"
    )
    said = scene.says("pool", "p", "Impossible")
    assert said == f"broker 3 keeps 1 replica (wide): wide: {why}"
    assert scene.says("topic", "wide", "Impossible") == why
    scene.patch("pool", "p", brokers={"ids": [1, 2, 3, 6]})
    scene.says("pool", "p")
    assert scene.holders("wide") == {1, 2, 6}


def test_a_demoted_broker_keeps_its_replicas_and_leads_nothing(scene):
    scene.apply(
        scene.cluster(**AUTO),
        scene.pool("p", 1, 2, 3),
        scene.topic("orders", "p", partitions=6, replicationFactor=3),
    )
    scene.says("topic", "orders")
    assert leaders(scene, "orders") == {1, 2, 3}
    scene.patch("pool", "p", demote=[2])
    scene.wait(lambda: leaders(scene, "orders") == {1, 3}, "broker 2 leads nothing")
    assert scene.holders("orders") == {1, 2, 3}
    scene.says("pool", "p")
    scene.says("cluster")


def test_quotas_are_counted_and_the_later_topic_is_the_one_too_many(scene):
    scene.apply(
        scene.cluster(**AUTO),
        scene.pool("p", 1, 2, 3, quotas={"topics": 2, "partitions": 5}),
        scene.topic("a", "p", partitions=2, replicationFactor=1),
        scene.topic("b", "p", partitions=2, replicationFactor=1),
    )
    scene.says("topic", "a")
    scene.says("topic", "b")
    scene.wait(
        lambda: (
            scene.status("pool", "p").get("quota")
            == {"topics": 2, "partitions": 4, "topicsMax": 2, "partitionsMax": 5}
        ),
        "the quota is counted",
        instead=lambda: scene.status("pool", "p"),
    )
    scene.apply(scene.topic("0-later", "p", partitions=1, replicationFactor=1))
    said = scene.says("topic", "0-later", "QuotaExceeded")
    assert scene.text(said) == (
        "not created: pool p has 2 of 2 topics and would get 1 more (raise spec.quotas.topics to 3)"
    )
    scene.says("topic", "a")
    scene.says("topic", "b")
    assert scene.topics() == ["a", "b"]


def test_a_quota_is_free_again_when_a_topic_is_deleted(scene):
    scene.apply(
        scene.cluster(**AUTO),
        scene.pool("p", 1, 2, 3, quotas={"topics": 1}),
        scene.topic("a", "p", partitions=2, replicationFactor=1, deletionPolicy="Delete"),
    )
    scene.says("topic", "a")
    scene.apply(scene.topic("b", "p", partitions=1, replicationFactor=1))
    scene.says("topic", "b", "QuotaExceeded")
    scene.delete("topic", "a")
    scene.gone("topic", "a")
    scene.says("topic", "b")
    assert scene.topics() == ["b"]


def test_a_cluster_is_renamed_and_who_is_late_holds_nobody_up(scene):
    """Pools do not change their cluster, so that those of the new name have new names, too."""
    spec = {"partitions": 3, "replicationFactor": 2}
    cluster = {"mode": "Apply", "approval": {"policy": "Auto"}}
    scene.apply(
        scene.cluster(**cluster),
        scene.pool("old", 1, 2, 3),
        *(scene.topic(name, "old", **spec) for name in ("orders", "late")),
    )
    for name in ("orders", "late"):
        scene.says("topic", name)
    known = len(scene.changes())
    renamed, pool = scene.cluster(**cluster), scene.pool("new", 1, 2, 3)
    renamed["metadata"]["name"] = pool["spec"]["clusterRef"]["name"] = f"{scene.name}-renamed"
    scene.apply(renamed, pool, scene.topic("orders", "new", **spec))
    scene.says("topic", "orders", "Waiting", about="are of one ensemble and chroot")
    scene.delete("cluster")
    scene.delete("pool", "old")
    scene.says("topic", "orders")
    scene.says("topic", "late", "NoSuchCluster")
    scene.patch("topic", "late", poolRef={"name": scene.full("pool", "new")})
    scene.says("topic", "late")
    scene.gone("pool", "old")
    changed = {change.path for change in scene.changes()[known:]}
    assert not {path for path in changed if "orders" in path or "late" in path}
    for kind, name in (("topic", "orders"), ("topic", "late"), ("pool", "new")):
        scene.remove(scene.path(kind, name))
    scene.kubectl("delete", "kafkacluster", f"{scene.name}-renamed", "--timeout=60s")


def test_a_pool_is_renamed_and_who_is_late_holds_nobody_up(scene):
    spec = {"partitions": 3, "replicationFactor": 2}
    scene.apply(
        scene.cluster(mode="Apply", approval={"policy": "Auto"}),
        scene.pool("old", 1, 2, 3),
        *(scene.topic(name, "old", **spec) for name in ("orders", "late")),
    )
    for name in ("orders", "late"):
        scene.says("topic", name)
    known = len(scene.changes())
    scene.apply(scene.pool("new", 1, 2, 3), scene.topic("orders", "new", **spec))
    scene.delete("pool", "old")
    scene.says("topic", "orders")
    scene.says("pool", "new")
    assert scene.text(scene.says("topic", "late", "NoSuchPool")) == (
        "spec.poolRef: ResourcePool old is being deleted, its brokers are those of new now;"
        " name another pool"
    )
    said = scene.says("pool", "old", "Deleting")
    assert scene.text(said) == "kept while Topics name it: shop/late"
    scene.barrier("new")
    scene.patch("topic", "late", poolRef={"name": scene.full("pool", "new")})
    scene.says("topic", "late")
    scene.gone("pool", "old")
    changed = {change.path for change in scene.changes()[known:]}
    assert not {path for path in changed if "orders" in path or "late" in path}


def test_a_topic_that_is_mended_is_not_told_to_be_wrong_once_more(scene):
    """Until its edit has settled it is planned as before, and nothing is told of the edit."""
    scene.apply(
        scene.cluster(**AUTO),
        scene.pool("p", 1, 2, 3),
        scene.topic("wide", "p", partitions=1, replicationFactor=5),
    )
    scene.says("topic", "wide", "Impossible")
    scene.patch("topic", "wide", replicationFactor=3)
    told = set()

    def is_in_place():
        reason = scene.condition("topic", "wide").get("reason", "")
        told.add(reason)
        return reason == "InPlace"

    scene.wait(is_in_place, "the topic is there")
    assert told <= {"", "Creating", "Queued", "Waiting", "InPlace"}
