"""A topic's node, of which only what changed is made anew, is the node made as a whole."""

from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import PartitionAssignment, RequestEntries, TopicBody, Tp
from poolkeeper.sandbox.simulation.controller.controller import ControllerTopic
from poolkeeper.sandbox.simulation.profiles import Profile

IDS = st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True).map(tuple)
ASSIGNMENTS = st.builds(
    lambda origin, target: PartitionAssignment(origin).towards(target), IDS, IDS
) | IDS.map(PartitionAssignment)


@examples(40)
@given(
    partitions=st.dictionaries(st.integers(0, 30), ASSIGNMENTS, min_size=1, max_size=12),
    changes=st.lists(st.tuples(st.integers(0, 40), ASSIGNMENTS), max_size=8),
    kafka=st.sampled_from(("1.1.1", "2.4.0", "3.9.2")),
    topic_id=st.none() | st.just('with "quotes"'),
)
def test_what_is_written_piece_by_piece_is_what_is_written_whole(
    partitions, changes, kafka, topic_id
) -> None:
    topic, profile = ControllerTopic(dict(partitions), topic_id), Profile.of(kafka)
    for partition, assignment in changes:
        topic.assign(partition, assignment)
        body = TopicBody(dict(sorted(topic.partitions.items())), topic_id)
        assert topic.encode(profile) == codecs.encode_topic(profile, body)
        assert codecs.decode_topic(profile, topic.encode(profile)).partitions.keys() == (
            topic.partitions.keys()
        )


def test_a_request_without_some_entries_is_the_request_of_the_others() -> None:
    profile = Profile.of("3.9.2")
    entries = {Tp("a", 0): (1, 2), Tp("b", 1): (3,), Tp("c", 2): (4, 5)}
    whole = codecs.encode_request(entries)
    read = codecs.decode_request(profile, whole)
    assert isinstance(read, RequestEntries)
    rest = codecs.encode_request(read.without([Tp("b", 1)]))
    assert read == entries
    others = {tp: ids for tp, ids in entries.items() if tp != Tp("b", 1)}
    assert rest == codecs.encode_request(others)
    assert codecs.decode_request(profile, bytes(bytearray(rest))) == others
