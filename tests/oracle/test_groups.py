"""Which partition coordinates a group, and who leads it, as Kafka's own code has it."""

from base64 import b64decode
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from laws import compared
from poolkeeper.algorithms.groups import next_leader, offsets_partition
from poolkeeper.brokers.group_leaders import group_of_key, leader_of_value

LETTERS = ("a", "z", "-", "0", "", "ä", "\uffff", "\U0001f600")
NO_POSITIVE = "polygenelubricants"
"""Java's hash of it is the least number of 32 bits."""
SEEDS = st.integers(0, 2**32 - 1)
RELEASES = ("0.10.0", "1.0", "2.2", "3.9")
"""Each writes the record of a group in another version."""


@compared(6)
@given(SEEDS)
def test_the_coordinator_of_a_group_is_where_kafka_looks_for_it(kafka_3_9, seed):
    random = Random(seed)
    names = ["".join(random.choices(LETTERS, k=random.randint(0, 30))) for _ in range(60)]
    asked = [
        {"group": name, "partitions": random.choice((1, 3, 50, 1000))}
        for name in (*names, NO_POSITIVE)
    ]
    ours = [offsets_partition(each["group"], each["partitions"]) for each in asked]
    assert ours == kafka_3_9.ask("group_partition", asked)


def drawn_events(random):
    """Members that join and leave; the group shrinks now and then to few."""
    there, events = [], []
    for _ in range(random.randint(1, 60)):
        if there and random.random() < random.choice((0.2, 0.7)):
            events.append({"leaves": there.pop(random.randrange(len(there)))})
        else:
            there.append(f"{random.choice(LETTERS)}{random.randint(0, 3)}-{random.getrandbits(64)}")
            events.append({"joins": there[-1]})
    return {"events": events}


@compared(6)
@given(SEEDS)
def test_the_member_that_takes_over_is_the_first_other_one_that_kafka_lists(kafka_3_9, seed):
    random = Random(seed)
    asked = [drawn_events(random) for _ in range(60)]
    for question, states in zip(asked, kafka_3_9.ask("group_leaders", asked), strict=True):
        leader, listed = None, []
        for event, state in zip(question["events"], states, strict=True):
            if "leaves" not in event:
                leader = leader or event["joins"]
            elif event["leaves"] == leader:
                leader = next_leader(listed, leader)
            listed = state["listed"]
            assert state["leader"] == leader


@compared(6)
@given(SEEDS)
def test_the_leader_is_read_from_the_record_of_a_group(kafka_3_9, seed):
    random = Random(seed)
    asked = [
        {
            "group": "".join(random.choices(LETTERS[:4], k=random.randint(1, 30))),
            "members": [f"c-{random.getrandbits(64)}" for _ in range(random.randint(0, 20))],
            "release": random.choice(RELEASES),
        }
        for _ in range(60)
    ]
    for question, record in zip(asked, kafka_3_9.ask("group_record", asked), strict=True):
        key, value = map(b64decode, record)
        assert group_of_key(key) == question["group"]
        assert leader_of_value(value) == next(iter(question["members"]), None)
