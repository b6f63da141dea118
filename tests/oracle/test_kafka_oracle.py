"""The oracle itself: what Kafka answers, what it throws, and that it survives a question."""

from kafka_oracle import Thrown


def test_kafka_answers_a_batch_in_order(kafka_3_9):
    asked = [{"utf8": "abc"}, {"hex": ""}, {"utf8": "21"}]
    assert kafka_3_9.ask("murmur2", asked) == [479470107, 275646681, -973932308]


def test_what_kafka_throws_is_an_answer_and_the_next_question_is_answered(kafka_3_9):
    asked = {"brokers": [{"id": 0}], "n_partitions": 1}
    answers = kafka_3_9.ask(
        "assign_replicas", [asked | {"replication_factor": factor} for factor in (2, 1)]
    )
    message = "Replication factor: 2 larger than available brokers: 1."
    assert answers == [Thrown("InvalidReplicationFactorException", message), {"0": [0]}]
