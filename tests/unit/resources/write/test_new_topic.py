import pytest

from poolkeeper.errors import InvalidInput
from poolkeeper.resources.kinds.topic import read_topic
from poolkeeper.resources.parse import yaml_documents
from poolkeeper.resources.write import new_topic


def test_a_manual_assignment_as_kafkas_tool_takes_it():
    text = new_topic.manifest("Orders", "fast", "1:2:3, 2:3:4")
    parsed, _ = yaml_documents.parse(text, "f.yaml")
    spec = read_topic(parsed[0].body).sound
    assert (spec.topic, spec.pool, spec.strategy) == ("Orders", "fast", "Manual")
    assert spec.assignment == ((1, 2, 3), (2, 3, 4))


def test_numbers_instead_of_an_assignment():
    assert new_topic.manifest("orders", "fast", None, 12, 3) == (
        "apiVersion: poolkeeper.dev/v1alpha1\n"
        "kind: Topic\n"
        "metadata:\n  name: orders\n  namespace: default\n"
        "spec:\n  poolRef:\n    name: fast\n  partitions: 12\n  replicationFactor: 3\n"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ("orders", "fast", "1:x,,2:2,3:4:5"),
            [
                "--replica-assignment: partition 0: 'x' is no broker id"
                " (expected such as 1:2:3,2:3:4)",
            ],
            id="what-is-no-number",
        ),
        pytest.param(
            ("orders", "fast", "1:2,,2:2,3:4:5"),
            [
                "--replica-assignment: partition 1: has no replica (expected at least one broker)",
                "--replica-assignment: partition 2: broker 2 is listed twice (expected once)",
                "--replica-assignment: partition 3: has 3 replicas (expected 2 as the others)",
            ],
            id="every-problem-of-the-lists",
        ),
        pytest.param(
            ("orders", "fast", "1:2,2:3", 3, 1),
            [
                "--replica-assignment: contradicts --replication-factor 1"
                " (expected the same, or one)",
                "--replica-assignment: has 2 partitions (expected 3 as --partitions says)",
            ],
            id="numbers-that-contradict-it",
        ),
        pytest.param(
            ("orders", "fast", "1:2", 3, 2),
            ["--replica-assignment: has 1 partition (expected 3 as --partitions says)"],
            id="one-list-for-three-partitions",
        ),
        pytest.param(
            ("my orders", "fast", None, 0, 0),
            [
                "--partitions: 0 is too small (expected at least 1)",
                "--replication-factor: 0 is too small (expected at least 1)",
                "NAME: 'my orders' contains ' ' (expected letters, digits, '.', '_', '-')",
            ],
            id="options-by-their-names",
        ),
        pytest.param(
            ("orders", ""), ["--pool: is empty (expected text)"], id="a-pool-without-a-name"
        ),
        pytest.param(
            ("__cluster_metadata", "fast"),
            ["NAME: '__cluster_metadata' is reserved by Kafka (expected a name of your own)"],
            id="a-name-that-kafka-reserves",
        ),
        pytest.param(
            ("__consumer_offsets", "fast", None, 50, 3),
            [
                "--partitions: __consumer_offsets keeps the partitions that Kafka gave it"
                " (expected no number)"
            ],
            id="partitions-of-kafkas-own-topic",
        ),
    ],
)
def test_all_problems_are_told_in_the_words_of_the_command(arguments, expected):
    with pytest.raises(InvalidInput) as caught:
        new_topic.manifest(*arguments)
    assert str(caught.value).splitlines() == expected
