"""Observation of a tree that changes between any two reads."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import Unavailable
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.topology import (
    Controller,
    ReassignmentEntry,
)
from poolkeeper.zk.reading import observe
from unit.zk.trees import (
    AT_CLOSING,
    AT_LAST_ADMIN,
    AT_STATES,
    AT_TOPICS,
    CLUSTER,
    NODES,
    T,
    Tree,
    U,
    request,
    seen,
    state,
    topic_node,
)


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
    assert found == ClusterReading(CLUSTER)


def test_a_request_between_the_last_two_readings_is_read_again() -> None:
    found = seen(
        before={
            AT_LAST_ADMIN: lambda tree: tree.put("/admin/reassign_partitions", request("u")),
            AT_LAST_ADMIN + 3: lambda tree: tree.put("/brokers/topics/u", topic_node([9, 2])),
        }
    )
    assert found.cluster.reassignment == (ReassignmentEntry("u", 0, (9,)),)
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


def delete_topics(tree: Tree) -> None:
    tree.delete("/brokers/topics")


def delete_brokers(tree: Tree) -> None:
    tree.delete("/brokers/ids")


@pytest.mark.parametrize("at", [1, AT_TOPICS - 2])
@pytest.mark.parametrize(
    ("delete", "gone"), [(delete_topics, "/brokers/topics"), (delete_brokers, "/brokers/ids")]
)
def test_a_cluster_whose_nodes_were_deleted_is_no_empty_one(
    at: int, delete: Callable[[Tree], None], gone: str
) -> None:
    with pytest.raises(Unavailable, match=f"there is no {gone} any more"):
        observe.cluster(Tree(NODES, {at: delete}), "main")  # type: ignore[arg-type]


def test_a_cluster_without_topics_and_brokers_is_one() -> None:
    parents = {path: b"" for path in ("/brokers/ids", "/brokers/topics")}
    found = observe.cluster(Tree(parents, {}), "main").cluster  # type: ignore[arg-type]
    assert (found.brokers, found.topics) == ({}, {})


changes = st.sampled_from(
    [
        lambda tree: tree.put("/brokers/topics/t", topic_node([3, 1, 2], [2, 1])),
        lambda tree: tree.put("/brokers/topics/t", b""),
        lambda tree: tree.delete("/brokers/topics/t"),
        delete_topics,
        delete_brokers,
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
    try:
        found = observe.cluster(tree, "main").cluster  # type: ignore[arg-type]
    except Unavailable:
        assert {delete_topics, delete_brokers} & set(before.values())
        return
    for name, topic in found.topics.items():
        node = tree.nodes.get(f"/brokers/topics/{name}")
        if node is not None and node.version == topic.version:
            lists = json.loads(node.data)["partitions"].values()
            assert [list(p.replicas) for p in topic.partitions] == list(lists)
    assert not found.torn & set(found.topics)
    assert not set(found.damaged) & set(found.topics)
    assert found.torn | set(found.topics) | set(found.damaged) <= {"t", "u", "v"}
