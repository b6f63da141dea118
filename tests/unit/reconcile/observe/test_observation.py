"""What is shown of a cluster that changes while it is read."""

from dataclasses import replace

from poolkeeper.model.execution.outcomes import LastObservation
from poolkeeper.model.execution.records import Records
from poolkeeper.model.readings import ClusterReading
from poolkeeper.reconcile.known_answers import KnownAnswers
from poolkeeper.reconcile.observe.observation import Observation, last_observation_of
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
        Observation(ClusterReading(torn), torn, RECORDS, frozenset({4})), before, KnownAnswers()
    )
    expected = replace(kafka([A, B, C]), torn=frozenset({"new"}))
    assert found == LastObservation(expected, RECORDS, frozenset({4}))
    assert [*found.cluster.topics] == ["a", "b", "c"]


def test_what_was_read_whole_is_shown_as_it_is() -> None:
    now = kafka([A, B_LATER])
    found = last_observation_of(
        Observation(ClusterReading(now), now, RECORDS, frozenset()),
        LastObservation(kafka([A, B]), RECORDS),
        KnownAnswers(),
    )
    assert found == LastObservation(now, RECORDS)
