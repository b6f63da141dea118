"""Observation of a tree that changes between any two reads, and of one that makes no sense."""

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    Partition,
    Requested,
    Topic,
)
from poolkeeper.zk import inference, observe
from poolkeeper.zk.inference import Traces
from poolkeeper.zk.nodes import Node
from poolkeeper.zk.readings import Observation


class Tree:
    """A session on a dict: what observation asks of it, and what happens before each call."""

    def __init__(
        self, nodes: dict[str, object], before: dict[int, Callable[["Tree"], None]]
    ) -> None:
        self.zxid = 0
        self.nodes: dict[str, Node] = {}
        self.hidden: set[str] = set()
        self.before = before
        self.calls: list[str] = []
        for path, body in nodes.items():
            self.put(path, body)

    def put(self, path: str, body: object) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.zxid += 1
        old = self.nodes.get(path)
        if old is None:
            self.nodes[path] = Node(data, 0, self.zxid, self.zxid, 0, 0)
        else:
            self.nodes[path] = old._replace(data=data, version=old.version + 1, mzxid=self.zxid)

    def delete(self, path: str) -> None:
        for known in [p for p in self.nodes if p == path or p.startswith(f"{path}/")]:
            del self.nodes[known]

    def sync(self) -> None:
        self._called("sync")

    def exists(self, path: str) -> bool:
        self._called(f"exists {path}")
        return path in self.nodes

    def children(self, path: str) -> tuple[str, ...] | None:
        self._called(f"children {path}")
        below = {
            p.removeprefix(f"{path}/").partition("/")[0]
            for p in self.nodes
            if p.startswith(f"{path}/")
        }
        return tuple(sorted(below)) if below or path in self.nodes else None

    def read_many(
        self, paths: Sequence[str], *, unreadable: Node | None = None
    ) -> list[Node | None]:
        self._called(f"read {' '.join(paths)}")
        return [unreadable if p in self.hidden else self.nodes.get(p) for p in paths]

    def _called(self, what: str) -> None:
        self.calls.append(what)
        action = self.before.pop(len(self.calls), None)
        if action:
            action(self)


def topic_node(*lists: list[int], **more: object) -> dict[str, object]:
    return {"version": 1, "partitions": {str(p): ids for p, ids in enumerate(lists)}, **more}


def state(leader: int, *isr: int, epoch: int = 0) -> dict[str, object]:
    return {"leader": leader, "leader_epoch": epoch, "isr": list(isr)}


def registration(rack: str | None = None, version: int = 4) -> dict[str, object]:
    return {"version": version, "endpoints": ["PLAINTEXT://h:1"], "rack": rack}


NODES: dict[str, object] = {
    "/cluster/id": {"version": "1", "id": "NbXc"},
    "/controller": {"version": 1, "brokerid": 1, "timestamp": "1"},
    "/controller_epoch": b"7",
    "/brokers/ids/1": registration("a"),
    "/brokers/ids/2": registration("b"),
    "/config/brokers/1": {"version": 1, "config": {"x": "1"}},
    "/brokers/topics/t": topic_node([1, 2], [2, 1]),
    "/brokers/topics/t/partitions/0/state": state(1, 1, 2),
    "/brokers/topics/t/partitions/1/state": state(2, 2, epoch=3),
    "/config/topics/t": {"version": 1, "config": {"retention.ms": "1"}},
    "/brokers/topics/u": topic_node([2]),
    "/brokers/topics/u/partitions/0/state": state(2, 2),
}
T = Topic(
    "t",
    (
        Partition(0, (1, 2), (), (), 1, (1, 2), 0),
        Partition(1, (2, 1), (), (), 2, (2,), 3),
    ),
    None,
    {"retention.ms": "1"},
    0,
    0,
)
U = Topic("u", (Partition(0, (2,), (), (), 2, (2,), 0),), None, {}, 0, None)
CLUSTER = Cluster(
    name="main",
    id="NbXc",
    kafka_version="0.10.1 to 3.3",
    controller=Controller(1, 7, 0),
    brokers={
        1: Broker(1, "a", ("PLAINTEXT://h:1",), {"x": "1"}, 0),
        2: Broker(2, "b", ("PLAINTEXT://h:1",), {}),
    },
    topics={"t": T, "u": U},
)


def seen(
    nodes: dict[str, object] | None = None,
    before: dict[int, Callable[[Tree], None]] | None = None,
    hidden: Sequence[str] = (),
    **options: object,
) -> Observation:
    """Observe the example with nodes replaced (`...` removes one)."""
    wanted = {path: body for path, body in (NODES | (nodes or {})).items() if body is not ...}
    tree = Tree(wanted, before or {})
    tree.hidden.update(hidden)
    return observe.cluster(tree, "main", **options)  # type: ignore[arg-type]


def test_the_whole_picture() -> None:
    assert seen() == Observation(CLUSTER)


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
AT_TOPICS, AT_STATES, AT_CLOSING, AT_LAST_ADMIN = 6, 11, 12, 13


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
    assert found.cluster.reassignment == (Requested("t", 0, (1, 3)),)
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
        "u", (Partition(0, (3, 1, 2), (3,), (2,), 2, (2,), 0),), "id", {}, 0, None
    )
    assert found.cluster.kafka_version == "2.8 to 3.3"


def test_a_missing_state_leaves_leader_and_isr_unknown() -> None:
    found = seen({"/brokers/topics/u/partitions/0/state": ...})
    assert found.cluster.topics["u"].partitions == (Partition(0, (2,)),)


def test_some_topics_only() -> None:
    found = seen(topics=["u", "absent"])
    assert found == Observation(
        Cluster(**{**vars_of(CLUSTER), "topics": {"u": U}}),
    )


def vars_of(cluster: Cluster) -> dict[str, object]:
    return {name: getattr(cluster, name) for name in cluster.__dataclass_fields__}


def test_configs_that_nobody_wants_or_may_read_are_unknown() -> None:
    without = seen(want_configs=False).cluster.topics["t"]
    assert (without.config, without.config_version) == (None, None)
    broker = seen(hidden=["/config/brokers/1"]).cluster.brokers[1]
    assert (broker.config, broker.config_version) == (None, None)


@pytest.mark.parametrize(
    ("nodes", "damaged"),
    [
        pytest.param(
            {"/brokers/topics/u": b""},
            "the node is empty (expected a JSON object)",
            id="an-empty-topic-node",
        ),
        pytest.param(
            {"/brokers/topics/u": {"partitions": {"0": ["2"]}}},
            'partitions 0 holds "2" (expected integers)',
            id="replica-ids-as-strings",
        ),
        pytest.param(
            {"/brokers/topics/u/partitions/0/state": b"x"},
            "the state of a partition makes no sense: the node is not JSON: "
            "Expecting value: line 1 column 1 (char 0)",
            id="a-state-that-is-no-json",
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
        ({"/brokers/ids/x": b"{}"}, "/brokers/ids/x is no broker"),
        (
            {"/config/topics/u": {"config": {"a": 1}}},
            "/config/topics/u: config a is 1 (expected a string)",
        ),
        ({"/cluster/id": {}}, "/cluster/id: id is absent (expected a string)"),
        (
            {"/controller_epoch": b"x"},
            "/controller or /controller_epoch: the node is 'x' (expected a number)",
        ),
        (
            {"/admin/reassign_partitions": b""},
            "/admin/reassign_partitions: the node is empty (expected a JSON object)",
        ),
    ],
)
def test_other_damage_gives_a_note(nodes: dict[str, object], note: str) -> None:
    assert seen(nodes).notes == (note,)


def test_a_broker_that_makes_no_sense_is_live_all_the_same() -> None:
    assert seen({"/brokers/ids/2": b"{}"}).cluster.brokers[2] == Broker(2, None, (), {})


def test_a_request_that_makes_no_sense_is_there_all_the_same() -> None:
    assert seen({"/admin/reassign_partitions": b"?"}).cluster.reassignment == ()


@pytest.mark.parametrize("when", range(AT_TOPICS + 1, AT_CLOSING + 1))
def test_a_topic_that_changes_while_it_is_read_is_torn(when: int) -> None:
    found = seen(before={when: lambda tree: tree.put("/brokers/topics/u", topic_node([1]))})
    assert (found.cluster.topics, found.cluster.torn) == ({"t": T}, {"u"})


@pytest.mark.parametrize("when", range(AT_TOPICS + 1, AT_CLOSING + 1))
def test_a_topic_that_is_replaced_by_an_equal_one_is_torn(when: int) -> None:
    def replace(tree: Tree) -> None:
        tree.delete("/brokers/topics/u")
        tree.put("/brokers/topics/u", topic_node([2]))

    found = seen(before={when: replace})
    assert (found.cluster.topics, found.cluster.torn) == ({"t": T}, {"u"})


@pytest.mark.parametrize("when", range(AT_TOPICS, AT_CLOSING + 1))
def test_a_topic_that_vanishes_while_it_is_read_is_absent(when: int) -> None:
    found = seen(before={when: lambda tree: tree.delete("/brokers/topics/u")})
    assert (found.cluster.topics, found.cluster.torn) == ({"t": T}, frozenset())
    assert found.cluster.damaged == {}


@pytest.mark.parametrize("when", range(1, 16))
def test_a_broker_that_goes_while_we_read_is_not_live(when: int) -> None:
    found = seen(before={when: lambda tree: tree.delete("/brokers/ids/2")})
    assert set(found.cluster.brokers) == ({1} if when <= AT_LAST_ADMIN + 1 else {1, 2})


def request(*topics: str) -> dict[str, object]:
    return {"partitions": [{"topic": name, "partition": 0, "replicas": [9]} for name in topics]}


def test_a_request_that_ends_while_we_read_is_gone_and_its_topic_torn() -> None:
    def complete(tree: Tree) -> None:
        tree.put("/brokers/topics/u", topic_node([9]))
        tree.delete("/admin/reassign_partitions")

    found = seen({"/admin/reassign_partitions": request("u")}, {AT_STATES: complete})
    assert (found.cluster.reassignment, found.cluster.torn) == (None, {"u"})
    assert found.versions == {}


def test_a_request_that_is_dropped_without_effect_tears_nothing() -> None:
    found = seen(
        {"/admin/reassign_partitions": request("u")},
        {AT_STATES: lambda tree: tree.delete("/admin/reassign_partitions")},
    )
    assert found == Observation(CLUSTER)


def test_a_request_between_the_last_two_readings_is_read_again() -> None:
    found = seen(
        before={
            AT_LAST_ADMIN: lambda tree: tree.put("/admin/reassign_partitions", request("u")),
            AT_LAST_ADMIN + 3: lambda tree: tree.put("/brokers/topics/u", topic_node([9, 2])),
        }
    )
    assert found.cluster.reassignment == (Requested("u", 0, (9,)),)
    assert found.cluster.torn == {"u"}


def test_requests_that_never_rest_tear_the_topics_of_entries_that_differ() -> None:
    steps = [request("t", "u"), request("u"), request("t", "u"), request("t")]
    before = {
        AT_LAST_ADMIN + 2 + 4 * i: lambda tree, step=step: tree.put(
            "/admin/reassign_partitions", step
        )
        for i, step in enumerate(steps)
    }
    found = seen(before=before)
    assert found.cluster.torn == {"t"}
    assert found.cluster.topics == {"u": U}


def test_a_failover_while_we_read_gives_the_new_controller() -> None:
    def fail_over(tree: Tree) -> None:
        tree.put("/controller", {"version": 2, "brokerid": 2, "kraftControllerEpoch": -1})
        tree.put("/controller_epoch", b"8")

    found = seen(before={AT_STATES: fail_over})
    assert found.cluster.controller == Controller(2, 8, 1)
    assert found.cluster.kafka_version == "3.4 to 3.9"


changes = st.sampled_from(
    [
        lambda tree: tree.put("/brokers/topics/t", topic_node([3, 1, 2], [2, 1])),
        lambda tree: tree.put("/brokers/topics/t", b""),
        lambda tree: tree.delete("/brokers/topics/t"),
        lambda tree: tree.delete("/brokers/topics"),
        lambda tree: tree.delete("/brokers"),
        lambda tree: tree.put("/brokers/topics/t/partitions/0/state", state(-1, 2)),
        lambda tree: tree.put("/brokers/topics/v", topic_node([1])),
        lambda tree: tree.put("/admin/delete_topics/u", b""),
        lambda tree: tree.put("/admin/reassign_partitions", request("t", "u", "v")),
        lambda tree: tree.delete("/admin"),
        lambda tree: tree.delete("/config"),
        lambda tree: tree.delete("/controller"),
        lambda tree: tree.put("/controller_epoch", b"8"),
    ]
)


@given(st.dictionaries(st.integers(1, 25), changes, max_size=6))
def test_whatever_happens_each_topic_is_whole_or_left_out(
    before: dict[int, Callable[[Tree], None]],
) -> None:
    tree = Tree(NODES, dict(before))
    found = observe.cluster(tree, "main").cluster  # type: ignore[arg-type]
    for name, topic in found.topics.items():
        node = tree.nodes.get(f"/brokers/topics/{name}")
        if node is not None and node.version == topic.version:
            lists = json.loads(node.data)["partitions"].values()
            assert [list(p.replicas) for p in topic.partitions] == list(lists)
    assert not found.torn & set(found.topics)
    assert not set(found.damaged) & set(found.topics)
    assert found.torn | set(found.topics) | set(found.damaged) <= {"t", "u", "v"}


@pytest.mark.parametrize(
    ("traces", "version"),
    [
        pytest.param(Traces(), None, id="nothing-known"),
        pytest.param(Traces(has_features=True), None, id="no-cluster-id-is-no-known-kafka"),
        pytest.param(Traces(has_cluster_id=True), "0.10.1 to 3.9", id="any"),
        pytest.param(
            Traces(has_cluster_id=True, controller_knows_kraft=False),
            "0.10.1 to 3.3",
            id="a-controller-before-kraft",
        ),
        pytest.param(
            Traces(has_cluster_id=True, has_producer_ids=True, has_delegation_tokens=True),
            "1.1 to 3.9",
            id="the-highest-lower-bound-counts",
        ),
        pytest.param(
            Traces(has_cluster_id=True, brokers=(4, 5)), "2.7 to 3.9", id="one-new-broker"
        ),
        pytest.param(
            Traces(has_cluster_id=True, has_migration=True), "3.4 to 3.9", id="can-migrate"
        ),
        pytest.param(
            Traces(has_cluster_id=True, has_migration=True, controller_knows_kraft=False),
            None,
            id="a-tree-that-contradicts-itself",
        ),
    ],
)
def test_versions_told_from_the_tree(traces: Traces, version: str | None) -> None:
    assert inference.kafka_version(traces) == version
