"""What a poisoned topic node should hold."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.zk.codecs.kafka_nodes import TopicNode
from poolkeeper.zk.repair.topic_bodies import mended_body, mended_config

IN_SYNC = {0: (2, 1), 1: (3,)}


def body(partitions: Any, **more: Any) -> bytes:
    return json.dumps({"version": 2, "partitions": partitions, **more}).encode()


@pytest.mark.parametrize(
    ("found", "partitions", "more"),
    [
        pytest.param(
            body(
                {"0": ["2", "3", 1, 2], "1": [3]},
                adding_replicas={"0": ["2", "3"]},
                removing_replicas={"0": [1]},
                topic_id="x",
            ),
            {"0": [1, 2], "1": [3]},
            {"adding_replicas": {}, "removing_replicas": {}, "topic_id": "x"},
            id="texts-before-integers-were-a-request",
        ),
        pytest.param(body({"0": ["2", "1"]}), {"0": [2, 1]}, {}, id="texts-alone-are-the-list"),
        pytest.param(
            body({"0": [1, 2]}, adding_replicas={}, removing_replicas={"0": [1, 2]}),
            {"0": [1, 2]},
            {"adding_replicas": {}, "removing_replicas": {}},
            id="all-replicas-were-to-be-removed",
        ),
        pytest.param(
            body(
                {"0": [2, 2, 3], "1": [3, 4]},
                adding_replicas={"1": [4]},
                removing_replicas={},
            ),
            {"0": [2, 3], "1": [3, 4]},
            {"adding_replicas": {"1": [4]}, "removing_replicas": {}},
            id="a-broker-twice-and-a-move-of-another-partition",
        ),
        pytest.param(body({"0": [], "1": [3]}), {"0": [2, 1], "1": [3]}, {}, id="an-empty-list"),
        pytest.param(b"", {"0": [2, 1], "1": [3]}, {}, id="an-empty-node"),
        pytest.param(b'{"partitions', {"0": [2, 1], "1": [3]}, {}, id="a-node-cut-off"),
        pytest.param(
            body({"0": [1]}, adding_replicas=[]), {"0": [1]}, {"adding_replicas": {}}, id="a-list"
        ),
    ],
)
def test_lists_are_as_they_were_before_the_poison(
    found: bytes, partitions: Mapping[str, list[int]], more: Mapping[str, object]
) -> None:
    data = mended_body(found, IN_SYNC)
    assert data is not None
    written = json.loads(data)
    assert written["partitions"] == partitions
    assert {key: written[key] for key in more} == more


@pytest.mark.parametrize(
    ("found", "id_"),
    [
        pytest.param(b"", "noted", id="an-empty-node"),
        pytest.param(b'{"partitions', "noted", id="a-node-cut-off"),
        pytest.param(body({"0": ["2"], "1": [3]}, topic_id=7), "noted", id="an-id-that-is-none"),
        pytest.param(body({"0": ["2"], "1": [3]}, topic_id="own"), "own", id="its-own-stays"),
    ],
)
def test_an_id_that_is_lost_is_the_recorded_one(found: bytes, id_: str) -> None:
    data = mended_body(found, IN_SYNC, "noted")
    assert data is not None
    assert json.loads(data)["topic_id"] == id_


@pytest.mark.parametrize(
    ("found", "in_sync"),
    [
        pytest.param(body({"0": []}), {}, id="no-list-and-no-state"),
        pytest.param(body({"0": [1], "2": [2]}), {}, id="a-gap"),
        pytest.param(body({"x": [1]}), {}, id="no-number"),
        pytest.param(body({"0": ["1"]}, topic_id=7), {}, id="an-id-that-is-none"),
        pytest.param(b"", {}, id="nothing-is-known"),
    ],
)
def test_what_cannot_be_told_is_left(found: bytes, in_sync: Mapping[int, tuple[int, ...]]) -> None:
    assert mended_body(found, in_sync) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("01x"), inner),
    max_leaves=8,
)
IDS = st.lists(st.integers(-1, 5) | st.sampled_from(["1", "2", "x", ""]) | JSON, max_size=4)


@given(
    partitions=st.dictionaries(st.sampled_from("012x"), IDS | JSON, max_size=3) | JSON,
    adding=JSON,
    removing=st.dictionaries(st.sampled_from("01"), IDS) | JSON,
    topic_id=st.none() | st.text(max_size=3) | JSON,
)
def test_what_is_written_is_what_every_controller_starts_with(
    partitions: Any, adding: Any, removing: Any, topic_id: Any
) -> None:
    fields = {"adding_replicas": adding, "removing_replicas": removing, "topic_id": topic_id}
    data = mended_body(body(partitions, **fields), IN_SYNC)
    if data is None:
        return
    node = TopicNode.decode(data)
    assert sorted(node.partitions) == list(range(len(node.partitions)))
    for partition, replicas in node.partitions.items():
        assert set(replicas) - set(node.removing.get(partition, ()))
    assert mended_body(data, IN_SYNC) == data


@given(data=st.binary(max_size=60))
def test_any_bytes_are_mended_or_left(data: bytes) -> None:
    mended_body(data, IN_SYNC)
    mended_config(data)
