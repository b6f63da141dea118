"""Observation of a tree at rest, and of one that makes no sense."""

import pytest

from poolkeeper.errors import Forbidden
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Partition,
    ReassignmentEntry,
    Topic,
)
from poolkeeper.zk.reading import observe
from unit.zk.trees import CLUSTER, NODES, T, Tree, U, seen, topic_node


def test_the_whole_picture() -> None:
    assert seen() == ClusterReading(CLUSTER)


def test_a_topic_tells_in_which_transaction_it_was_created() -> None:
    tree = Tree(NODES, {})
    found = observe.cluster(tree, "main")  # type: ignore[arg-type]
    created = {name: topic.created_zxid for name, topic in found.cluster.topics.items()}
    assert created == {name: tree.nodes[f"/brokers/topics/{name}"].czxid for name in ("t", "u")}


def test_the_order_of_reading_is_the_argument_for_its_consistency() -> None:
    tree = Tree(NODES, {})
    observe.cluster(tree, "main")  # type: ignore[arg-type]
    admin = ["children /admin/delete_topics", "children /brokers/ids", ADMIN]
    assert tree.calls == [
        "sync",
        *admin,
        "children /brokers/topics",
        TOPICS,
        "read /config/topics/t /config/topics/u",
        "read /brokers/ids/1 /brokers/ids/2",
        "read /config/brokers/1 /config/brokers/2",
        "read /cluster/id /latest_producer_id_block /log_dir_event_notification /delegation_token "
        "/feature",
        STATES,
        TOPICS,
        *admin,
    ]


ADMIN = (
    "read /controller /controller_epoch /migration /admin/reassign_partitions "
    "/admin/preferred_replica_election"
)
TOPICS = "read /brokers/topics/t /brokers/topics/u"
STATES = (
    "read /brokers/topics/t/partitions/0/state /brokers/topics/t/partitions/1/state "
    "/brokers/topics/u/partitions/0/state"
)


def test_requests_elections_deletions_and_the_lock() -> None:
    found = seen(
        {
            "/admin/reassign_partitions": {
                "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 3]}]
            },
            "/admin/preferred_replica_election": {"partitions": []},
            "/admin/delete_topics/u": b"",
            "/ops/restart": b"",
        },
        restart_lock="/ops/restart",
    )
    assert found.cluster.reassignment == (ReassignmentEntry("t", 0, (1, 3)),)
    assert found.cluster.electing
    assert found.cluster.deleting == {"u"}
    assert found.cluster.restart_locked
    assert found.versions == {
        "/admin/reassign_partitions": 0,
        "/admin/preferred_replica_election": 0,
    }
    assert found.cluster.topics == {"t": T, "u": U}


def test_a_move_that_kafka_itself_records() -> None:
    node = topic_node([3, 1, 2], adding_replicas={"0": [3]}, removing_replicas={"0": [2]})
    found = seen({"/brokers/topics/u": {**node, "version": 3, "topic_id": "id"}})
    assert found.cluster.topics["u"] == Topic(
        "u", (Partition(0, (3, 1, 2), (3,), (2,), 2, (2,), 0),), "id", {}, 0
    )
    assert found.cluster.kafka_version == "2.8 to 3.3"


def test_a_missing_state_leaves_leader_and_isr_unknown() -> None:
    found = seen({"/brokers/topics/u/partitions/0/state": ...})
    assert found.cluster.topics["u"].partitions == (Partition(0, (2,)),)


def test_some_topics_only() -> None:
    found = seen(topics=["u", "absent"])
    assert found == ClusterReading(
        Cluster(**{**vars_of(CLUSTER), "topics": {"u": U}}),
    )


def vars_of(cluster: Cluster) -> dict[str, object]:
    return {name: getattr(cluster, name) for name in cluster.__dataclass_fields__}


def test_configs_that_nobody_wants_or_may_read_are_unknown() -> None:
    without = seen(want_configs=False).cluster.topics["t"]
    assert without.config is None
    broker = seen(hidden=["/config/brokers/1"]).cluster.brokers[1]
    assert broker.config is None


@pytest.mark.parametrize(
    "path", ["/brokers/topics/u", "/brokers/topics/u/partitions/0/state"], ids=["list", "state"]
)
def test_a_topic_that_nobody_may_read_is_damaged_and_the_others_are_read(path: str) -> None:
    found = seen(hidden=[path]).cluster
    assert found.topics == {"t": T}
    assert found.damaged == {"u": f"{path}: its ACL does not let us read it"}
    assert (found.torn, found.deleting) == (frozenset(), frozenset())


def test_who_may_read_no_topic_at_all_has_the_wrong_rights() -> None:
    topics = ["/brokers/topics/t", "/brokers/topics/u"]
    with pytest.raises(Forbidden, match="/brokers/topics/t"):
        seen(hidden=topics)
    assert set(seen(hidden=topics, topics=["u"]).cluster.damaged) == {"u"}


@pytest.mark.parametrize(
    ("nodes", "damaged"),
    [
        pytest.param(
            {"/brokers/topics/u": b""},
            "/brokers/topics/u: the node is empty (expected a JSON object)",
            id="an-empty-topic-node",
        ),
        pytest.param(
            {"/brokers/topics/u": {"partitions": {"0": ["2"]}}},
            '/brokers/topics/u: partitions 0 holds "2" (expected integers)',
            id="replica-ids-as-strings",
        ),
        pytest.param(
            {"/brokers/topics/u/partitions/0/state": b"x"},
            "/brokers/topics/u/partitions/0/state: the node is not JSON: Expecting value: line 1"
            " column 1 (char 0)",
            id="a-state-that-is-no-json",
        ),
        pytest.param(
            {"/brokers/topics/u": {"partitions": {"0": [2, 2]}}},
            "/brokers/topics/u: partitions [0] name a broker twice",
            id="a-broker-twice",
        ),
        pytest.param(
            {"/brokers/topics/u": {"partitions": {"0": [*range(10_001)]}}},
            "/brokers/topics/u: the replica list of partition 0 names 10,001 brokers (expected at"
            " most 10,000)",
            id="a-list-as-no-cluster-has",
        ),
        pytest.param(
            {
                "/brokers/topics/u/partitions/0/state": {
                    "controller_epoch": 1,
                    "leader": 2,
                    "version": 1,
                    "leader_epoch": 0,
                    "isr": [*range(10_001)],
                }
            },
            "/brokers/topics/u/partitions/0/state: the ISR of partition 0 names 10,001 brokers"
            " (expected at most 10,000)",
            id="an-isr-as-no-cluster-has",
        ),
        pytest.param(
            {"/config/topics/u": {"config": {"a": 1}}},
            "/config/topics/u: config a is 1 (expected a string)",
            id="a-config-with-a-number",
        ),
    ],
)
def test_a_damaged_topic_is_named_and_spoils_no_other(
    nodes: dict[str, object], damaged: str
) -> None:
    found = seen(nodes)
    assert found.cluster.damaged == {"u": damaged}
    assert found.cluster.topics == {"t": T}


@pytest.mark.parametrize(
    ("nodes", "note"),
    [
        ({"/brokers/ids/2": b"{}"}, "/brokers/ids/2: version is absent (expected an integer)"),
        ({"/brokers/ids/x": b"{}"}, "/brokers/ids/x: 'x' is no broker id"),
        (
            {"/config/brokers/1": {"config": {"a": 1}}},
            "/config/brokers/1: config a is 1 (expected a string)",
        ),
        ({"/cluster/id": {}}, "/cluster/id: id is absent (expected a string)"),
        (
            {"/controller_epoch": b"x"},
            "/controller: the node is 'x' (expected a number), here or in /controller_epoch",
        ),
        (
            {"/admin/reassign_partitions": b""},
            "/admin/reassign_partitions: the node is empty (expected a JSON object)",
        ),
    ],
)
def test_other_damage_gives_a_note(nodes: dict[str, object], note: str) -> None:
    assert tuple(map(str, seen(nodes).notes)) == (note,)


def test_a_broker_that_makes_no_sense_is_live_all_the_same() -> None:
    assert seen({"/brokers/ids/2": b"{}"}).cluster.brokers[2] == Broker(2, None, (), {})


def test_a_request_that_makes_no_sense_is_there_all_the_same() -> None:
    assert seen({"/admin/reassign_partitions": b"?"}).cluster.reassignment == ()
