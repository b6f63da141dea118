"""Which partition coordinates a group, as Kafka's own code has it."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.algorithms.groups import offsets_partition

LETTERS = ("a", "z", "-", "0", "", "ä", "\uffff", "\U0001f600")
NO_POSITIVE = "polygenelubricants"
"""Java's hash of it is the least number of 32 bits."""


@given(st.integers(0, 2**32 - 1))
def test_the_coordinator_of_a_group_is_where_kafka_looks_for_it(kafka_3_9, seed):
    random = Random(seed)
    names = ["".join(random.choices(LETTERS, k=random.randint(0, 30))) for _ in range(60)]
    asked = [
        {"group": name, "partitions": random.choice((1, 3, 50, 1000))}
        for name in (*names, NO_POSITIVE)
    ]
    ours = [offsets_partition(each["group"], each["partitions"]) for each in asked]
    assert ours == kafka_3_9.ask("group_partition", asked)
