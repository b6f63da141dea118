"""The version of Kafka, told from the traces that it leaves in the tree."""

import pytest

from poolkeeper.zk.reading import version_inference
from poolkeeper.zk.reading.version_inference import Traces


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
    assert version_inference.kafka_version(traces) == version
