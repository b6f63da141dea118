"""What is shown of a cluster that changes while it is read."""

from dataclasses import replace

import pytest

from poolkeeper.errors import OtherCluster
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.execution.records import Records
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import KafkaClusterSpec, ZooKeeperSpec
from poolkeeper.reconcile.answer_cache import AnswerCache
from poolkeeper.reconcile.observe.observation import Observation, check_id, last_observation_of
from unit.resources.bodies import kafka, kafka_topic

RECORDS = Records("kafka-id")
A, B, B_LATER, C = (
    kafka_topic("a", (1,)),
    kafka_topic("b", (1,)),
    kafka_topic("b", (2,)),
    kafka_topic("c", (3,)),
)


def test_a_topic_that_changed_while_it_was_read_is_shown_as_it_was_before() -> None:
    before = LastObservation(kafka([A, B]), RECORDS)
    torn = replace(kafka([A, C]), torn=frozenset({"b", "new"}))
    found = last_observation_of(
        Observation(ClusterReading(torn), torn, RECORDS, frozenset({4})), before, AnswerCache()
    )
    expected = replace(kafka([A, B, C]), torn=frozenset({"new"}))
    assert found == LastObservation(expected, RECORDS, frozenset({4}))
    assert [*found.cluster.topics] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("found", "declared", "said"),
    [
        pytest.param(
            "x",
            None,
            "this is another cluster: its id is x, the record of the first run says kafka-id",
            id="another-cluster",
        ),
        pytest.param(
            None,
            "kafka-id",
            "the node /cluster/id is damaged or missing, spec.clusterId says kafka-id: if this is"
            " that cluster (cluster.id in meta.properties of its brokers), write"
            ' {"version": "1", "id": "kafka-id"} there before a broker restarts',
            id="no-id",
        ),
    ],
)
def test_a_cluster_that_is_not_known_to_be_the_pinned_one_is_refused(
    found: str | None, declared: str | None, said: str
) -> None:
    spec = KafkaClusterSpec("main", ZooKeeperSpec("zk:2181"), cluster_id=declared)
    with pytest.raises(OtherCluster) as refused:
        check_id(found, Desired(spec), RECORDS.cluster_id)
    assert str(refused.value) == said


def test_what_a_declared_id_does_not_undo_is_told_without_it() -> None:
    """The record of the first run counts whatever `spec.clusterId` says."""
    desired = Desired(KafkaClusterSpec("main", ZooKeeperSpec("zk:2181")), seen_id="recorded")
    with pytest.raises(OtherCluster) as refused:
        check_id("new", desired, "recorded")
    assert str(refused.value) == (
        "this is another cluster: its id is new, the record of the first run says recorded"
    )


def test_the_id_of_a_cluster_that_is_pinned_nowhere_may_be_missing() -> None:
    check_id(None, Desired(KafkaClusterSpec("main", ZooKeeperSpec("zk:2181"))))


def test_a_cluster_without_records_is_refused_if_another_one_was_seen_at_its_name() -> None:
    """As after an edit of `connect`, or where somebody sets an ensemble up anew."""
    desired = Desired(KafkaClusterSpec("main", ZooKeeperSpec("zk:2181")), seen_id="seen")
    check_id("seen", desired)
    with pytest.raises(OtherCluster) as refused:
        check_id("new", desired)
    assert str(refused.value) == (
        "this is another cluster: its id is new, status.clusterId says seen; correct"
        " spec.zookeeper.connect, or set spec.clusterId to new if it is meant"
    )
    check_id("new", replace(desired, cluster=replace(desired.cluster, cluster_id="new")))


def test_what_was_read_whole_is_shown_as_it_is() -> None:
    now = kafka([A, B_LATER])
    found = last_observation_of(
        Observation(ClusterReading(now), now, RECORDS, frozenset()),
        LastObservation(kafka([A, B]), RECORDS),
        AnswerCache(),
    )
    assert found == LastObservation(now, RECORDS)
