"""The version of Kafka, told from the traces that it leaves in the tree."""

from dataclasses import replace

import pytest

from poolkeeper.zk.reading import version_inference
from poolkeeper.zk.reading.version_inference import Traces

LATER = Traces(
    has_cluster_id=True,
    has_delegation_tokens=True,
    has_features=True,
    has_migration=True,
    has_adding_replicas=True,
    has_topic_ids=True,
)
"""What a controller of 3.4 or later leaves."""


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
        pytest.param(replace(LATER, brokers=(4, 4)), "3.4 to 3.9", id="what-later-ones-left"),
        pytest.param(
            replace(LATER, brokers=(4, 4), has_old_rewrites=True),
            "1.1 to 3.9",
            id="an-earlier-controller-after-a-later-one",
        ),
        pytest.param(
            replace(LATER, brokers=(4, 5), has_old_rewrites=True),
            "3.4 to 3.9",
            id="a-tool-wrote-as-earlier-ones-do",
        ),
        pytest.param(
            replace(LATER, controller_knows_kraft=True, has_old_rewrites=True),
            "3.4 to 3.9",
            id="a-tool-did-and-the-controller-is-a-late-one",
        ),
    ],
)
def test_versions_told_from_the_tree(traces: Traces, version: str | None) -> None:
    assert version_inference.kafka_version(traces) == version
