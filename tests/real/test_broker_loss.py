"""`whatif lose` on a live cluster, and then the brokers are killed: leaders are where it said."""

import json
from collections.abc import Iterable

from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition

from conditions import until
from poolkeeper.model.topology import Cluster
from poolkeeper.sandbox import Sandbox
from real.support import create, run, seen

SETTINGS = (
    ("offsets.topic.replication.factor", "3"),
    ("offsets.topic.num.partitions", "3"),
    ("min.insync.replicas", "2"),
)
LISTS = {
    "pairs": ((1, 2), (2, 3), (3, 1)),
    "alone": ((1,), (2,), (3,)),
    "triples": ((1, 2, 3), (2, 3, 1), (3, 1, 2)),
}
OFFSETS = "__consumer_offsets"
GROUP = "loses-coordinator"

State = tuple[int | None, frozenset[int]]


def state(leader: int | None, isr: Iterable[int]) -> State:
    """Leader and ISR; without a leader the last one that was in the ISR stays, which is chance."""
    return leader, frozenset(() if leader == -1 else isr)


def look(sandbox: Sandbox) -> Cluster:
    return seen(sandbox, *LISTS, OFFSETS)


def states(cluster: Cluster) -> dict[str, State]:
    return {
        f"{name}-{each.partition}": state(each.leader, each.isr or ())
        for name, topic in cluster.topics.items()
        for each in topic.partitions
    }


def test_what_it_says_of_a_live_cluster_is_what_happens(fresh_kafka):
    sandbox = fresh_kafka(racks="", session_timeout_ms=6_000, settings=SETTINGS)
    for name, lists in LISTS.items():
        create(sandbox, name, *lists)
    commit(sandbox.bootstrap)
    before = look(sandbox)
    controller = before.controller.broker
    assert controller is not None
    lost = {controller, 1 if controller != 1 else 2}
    also = ("--broker", min(lost - {controller}))
    cluster = ("--zookeeper", sandbox.connect, "--bootstrap", sandbox.bootstrap)
    said = run("whatif", "lose", *cluster, "--controller", *also, "--output", "json")
    assert (said.code, said.err) == (0, "")
    told = json.loads(said.out)
    assert (told["lost"], told["controllerLost"]) == (sorted(lost), True)
    assert told["assumed"] == []  # the brokers told their settings
    assert {each["minIsr"] for each in told["affected"]} == {2}
    (group,) = [each for each in told["groups"] if each["group"] == GROUP]
    offsets = f"{OFFSETS}-{group['offsetsPartition']}"
    assert group["coordinatorBefore"] == states(before)[offsets][0]
    for broker in lost:
        sandbox.kill(broker)
    sandbox.await_gone(*lost)
    predicted = states(before) | {
        f"{each['topic']}-{each['partition']}": state(each["leader"], each["isr"])
        for each in told["affected"]
    }
    until(lambda: states(look(sandbox)) == predicted, "all leaders are elected as predicted", 60)
    assert predicted[offsets][0] == group["coordinator"]
    assert {name for name, (leader, _) in predicted.items() if leader == -1} >= {
        f"alone-{broker - 1}" for broker in lost
    }


def commit(bootstrap: str) -> None:
    """Commit an offset, so that the group and its coordinator are there."""
    consumer = KafkaConsumer(bootstrap_servers=bootstrap.split(","), group_id=GROUP)
    try:
        partition = TopicPartition("alone", 0)
        consumer.assign([partition])
        consumer.commit({partition: OffsetAndMetadata(0, "", -1)})
    finally:
        consumer.close()
