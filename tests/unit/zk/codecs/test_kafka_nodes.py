"""Bodies as Kafka writes them, bodies that would hurt it, and what survives a rewrite."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.model.topology import (
    Broker,
    Controller,
    ReassignmentEntry,
    RequestDamage,
    RequestFlaw,
    TopicPartition,
)
from poolkeeper.zk import znodes
from poolkeeper.zk.codecs.kafka_nodes import (
    BrokerNode,
    ClusterIdNode,
    ConfigChangeNode,
    ConfigNode,
    ControllerNode,
    PreferredElectionNode,
    ReassignmentNode,
    TopicNode,
)


@pytest.mark.parametrize(
    ("body", "broker"),
    [
        pytest.param(
            b'{"jmx_port":-1,"timestamp":"1","host":"k1","version":1,"port":9092}',
            Broker(1, None, ("PLAINTEXT://k1:9092",)),
            id="version-1-has-host-and-port",
        ),
        pytest.param(
            b'{"version":2,"host":null,"port":-1,"endpoints":["SSL://k1:9093"]}',
            Broker(1, None, ("SSL://k1:9093",)),
            id="version-2-has-endpoints",
        ),
        pytest.param(
            b'{"version":3,"host":"k","port":1,"endpoints":["PLAINTEXT://k:1"],"rack":null}',
            Broker(1, None, ("PLAINTEXT://k:1",)),
            id="version-3-may-have-a-null-rack",
        ),
        pytest.param(
            b'{"version":4,"endpoints":["IN://[::1]:9092","OUT://:9093"],"rack":"a",'
            b'"listener_security_protocol_map":{"IN":"PLAINTEXT","OUT":"SSL"}}',
            Broker(1, "a", ("IN://[::1]:9092", "OUT://:9093")),
            id="version-4-has-a-rack-and-listeners",
        ),
        pytest.param(
            b'{"features":{},"version":5,"endpoints":["PLAINTEXT://k:1"],"rack":"a"}',
            Broker(1, "a", ("PLAINTEXT://k:1",)),
            id="version-5-has-features",
        ),
    ],
)
def test_registrations(body: bytes, broker: Broker) -> None:
    assert BrokerNode.decode(body).broker(1) == broker


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "the node is empty (expected a JSON object)"),
        (b"{", "the node is not JSON: Expecting property name"),
        (b"[]", "the node is [] (expected a JSON object)"),
        (b'{"version":"4"}', 'version is "4" (expected an integer)'),
        (b'{"version":0}', "version is 0 (expected 1 or more)"),
        (b'{"version":4,"rack":1,"endpoints":[]}', "rack is 1 (expected a string)"),
        (b'{"version":4}', "endpoints is absent (expected a list of strings)"),
        (b'{"version":1,"host":"k"}', "port is absent (expected an integer)"),
    ],
)
def test_damaged_registrations(body: bytes, problem: str) -> None:
    with pytest.raises(Refused) as raised:
        BrokerNode.decode(body)
    assert str(raised.value).startswith(problem)


def test_a_topic_node_of_each_version() -> None:
    assert TopicNode.decode(b'{"version":1,"partitions":{"10":[1],"2":[2,3]}}') == TopicNode(
        {2: (2, 3), 10: (1,)}
    )
    assert TopicNode.decode(
        b'{"partitions":{"0":[4,1,2]},"topic_id":"gczQTcQlQD2_hh6pPSlgsQ","adding_replicas":'
        b'{"0":[4]},"removing_replicas":{"0":[2]},"version":3}'
    ) == TopicNode({0: (4, 1, 2)}, {0: (4,)}, {0: (2,)}, "gczQTcQlQD2_hh6pPSlgsQ", 3)
    moving = b'{"version":2,"partitions":{},"adding_replicas":{},"removing_replicas":{}}'
    assert TopicNode.decode(moving) == TopicNode({}, version=2)
    assert TopicNode.decode(moving).knows_adding
    assert TopicNode.decode(b'{"version":99,"partitions":{"0":[1]},"new":1}').partitions == {
        0: (1,)
    }


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "the node is empty (expected a JSON object)"),
        (b'{"version":1}', "partitions is absent (expected an object)"),
        (b'{"partitions":{"a":[1]}}', 'partitions has the partition "a" (expected a number)'),
        (b'{"partitions":{"0":1}}', "partitions 0 is 1 (expected a list)"),
        (b'{"partitions":{"0":[1,"2"]}}', 'partitions 0 holds "2" (expected integers)'),
        (b'{"partitions":{"0":[true]}}', "partitions 0 holds true (expected integers)"),
        (b'{"partitions":{"0":[1.0]}}', "partitions 0 holds 1.0 (expected integers)"),
        (b'{"partitions":{"0":[],"1":[1]}}', "partitions [0] have no replicas"),
        (
            b'{"partitions":{"0":[1]},"adding_replicas":{"0":["4"]}}',
            'adding_replicas 0 holds "4" (expected integers)',
        ),
        (b'{"partitions":{"0":[1]},"topic_id":5}', "topic_id is 5 (expected a string)"),
        (b"[" * 100_000, "the node is not JSON"),
        (b'{"partitions":{"0":[1]}', "the node is not JSON"),
        (b"\xff", "the node is not JSON"),
    ],
)
def test_damaged_topic_nodes(body: bytes, problem: str) -> None:
    with pytest.raises(Refused) as raised:
        TopicNode.decode(body)
    assert str(raised.value).startswith(problem)


def test_a_new_topic() -> None:
    assert TopicNode.encode_new(((1, 2), (2, 3))) == (
        b'{"version":1,"partitions":{"0":[1,2],"1":[2,3]}}'
    )


def test_adding_partitions_keeps_everything_else() -> None:
    before = (
        b'{"partitions":{"1":[2,1],"0":[1,2]},"topic_id":"x","adding_replicas":{"0":[4]},'
        b'"removing_replicas":{},"version":3,"unknown":{"kept":[]}}'
    )
    after = TopicNode.decode(before).encode_with_added(2, ((3, 4),))
    assert json.loads(after) == json.loads(before) | {
        "partitions": {"1": [2, 1], "0": [1, 2], "2": [3, 4]}
    }


@pytest.mark.parametrize("partitions", [{"0": [1], "2": [1]}, {"0": [1]}, {"1": [1], "2": [1]}])
def test_partitions_are_added_only_behind_a_whole_range(partitions: dict[str, list[int]]) -> None:
    node = TopicNode.decode(json.dumps({"partitions": partitions}).encode())
    with pytest.raises(Refused, match="partitions cannot be added from 2 on"):
        node.encode_with_added(2, ((1,),))


DANGEROUS = [
    pytest.param((), "names no|no partition", id="nothing"),
    pytest.param(((1, 2), ()), "is empty", id="an-empty-list"),
    pytest.param(((1, 1),), "names a broker twice", id="duplicates"),
    pytest.param((("1", "2"),), "holds what is no broker id", id="strings"),
    pytest.param(((1, True),), "holds what is no broker id", id="booleans"),
    pytest.param(((1, -1),), "holds what is no broker id", id="negative-ids"),
]


@pytest.mark.parametrize(("lists", "problem"), DANGEROUS)
def test_nothing_is_encoded_that_could_hurt_a_controller(lists: tuple, problem: str) -> None:
    request = [ReassignmentEntry("t", number, replicas) for number, replicas in enumerate(lists)]
    node = TopicNode({0: (1,)}, raw={"partitions": {"0": [1]}})
    with pytest.raises(Refused, match=problem):
        ReassignmentNode.encode(request)
    with pytest.raises(Refused, match=problem):
        TopicNode.encode_new(lists)
    with pytest.raises(Refused, match=problem):
        node.encode_with_added(1, lists)


def test_a_request_holds_nothing_but_what_kafka_reads() -> None:
    assert ReassignmentNode.encode(
        [ReassignmentEntry("b", 1, (4, 5)), ReassignmentEntry("a", 0, (1,))]
    ) == (
        b'{"version":1,"partitions":[{"topic":"b","partition":1,"replicas":[4,5]},'
        b'{"topic":"a","partition":0,"replicas":[1]}]}'
    )


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([("t", 0), ("u", 0), ("t", 0)], "a request names t-0 twice"),
        ([("t", -1)], "a request names t--1, which is no partition"),
        ([], "a request names no partition"),
    ],
)
def test_requests_name_each_partition_once(entries: list[tuple[str, int]], problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        ReassignmentNode.encode(
            [ReassignmentEntry(topic, number, (1,)) for topic, number in entries]
        )
    with pytest.raises(Refused, match=problem):
        PreferredElectionNode.encode(entries)


def test_an_election_names_topics_and_partitions() -> None:
    assert PreferredElectionNode.encode([("t", 0)]) == (
        b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    )


F, T0 = RequestFlaw, TopicPartition("t", 0)
requests = st.lists(
    st.builds(
        ReassignmentEntry,
        st.text(min_size=1, max_size=5),
        st.integers(0, 9),
        st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True).map(tuple),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda entry: (entry.topic, entry.partition),
).map(tuple)


@given(requests)
def test_a_request_reads_back_as_written(entries: tuple[ReassignmentEntry, ...]) -> None:
    assert ReassignmentNode.decode(ReassignmentNode.encode(entries)) == (entries, ())


@pytest.mark.parametrize(
    ("body", "entries", "problems"),
    [
        pytest.param(
            b'{"partitions":[{"topic":"t","partition":0,"replicas":[1]},'
            b'{"topic":"t","partition":0,"replicas":[2],"log_dirs":["any"]}]}',
            (ReassignmentEntry("t", 0, (2,)),),
            (RequestDamage(F.UNKNOWN_KEY, "log_dirs", T0),),
            id="of-two-entries-for-a-partition-the-last-wins",
        ),
        pytest.param(
            b'{"partitions":[{"topic":"t","partition":0,"replicas":["1"]},7,'
            b'{"topic":"t","partition":"0","replicas":[1]},'
            b'{"topic":"u","partition":1,"replicas":[]}]}',
            (ReassignmentEntry("u", 1, ()),),
            (
                RequestDamage(F.BAD_REPLICAS, 'the list of t-0 holds "1" (expected integers)', T0),
                RequestDamage(F.BAD_ENTRY, "an entry is 7 (expected topic, partition, replicas)"),
                RequestDamage(F.BAD_ENTRY, 'partition is "0" (expected an integer)'),
            ),
            id="entries-that-make-sense-are-read-beside-others",
        ),
        pytest.param(
            b"",
            (),
            (RequestDamage(F.NOT_JSON, "the node is empty (expected a JSON object)"),),
            id="empty",
        ),
        pytest.param(
            b'{"version":1}',
            (),
            (RequestDamage(F.NOT_JSON, "partitions is absent (expected a list)"),),
            id="no-partitions",
        ),
        pytest.param(
            b'{"version":1,"partitions":[],"x":1}',
            (),
            (
                RequestDamage(F.UNKNOWN_KEY, "x"),
                RequestDamage(F.NO_ENTRIES, "partitions is empty"),
            ),
            id="no-entries-and-another-key",
        ),
    ],
)
def test_foreign_requests(
    body: bytes, entries: tuple[ReassignmentEntry, ...], problems: tuple[RequestDamage, ...]
) -> None:
    assert ReassignmentNode.decode(body) == (entries, problems)


@pytest.mark.parametrize(
    ("nodes", "controller"),
    [
        pytest.param((None, None, None), Controller(), id="nothing-there"),
        pytest.param(
            (b'{"version":1,"brokerid":3,"timestamp":"1"}', b"7", None),
            Controller(3, 7),
            id="before-3.4",
        ),
        pytest.param(
            (b'{"version":1,"brokerid":1,"timestamp":"1512018424988"}', b"1", None),
            Controller(1, 1),
            id="the-articles-own",
        ),
        pytest.param(
            (b'{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":-1}', b"7", None),
            Controller(3, 7),
            id="since-3.4",
        ),
        pytest.param(
            (b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":2}', b"9", None),
            Controller(3000, 9, kraft=True),
            id="a-kraft-controller",
        ),
        pytest.param(
            (None, b"7", b'{"version":0,"kraft_controller_id":-1,"kraft_controller_epoch":-1}'),
            Controller(None, 7),
            id="a-migration-that-has-not-begun",
        ),
        pytest.param(
            (None, b"7", b'{"version":0,"kraft_controller_id":3000,"kraft_controller_epoch":1}'),
            Controller(None, 7, kraft=True),
            id="a-migration-with-a-leader",
        ),
        pytest.param(
            (None, b"7", b"what?"),
            Controller(None, 7, kraft=True),
            id="a-migration-that-makes-no-sense-counts",
        ),
    ],
)
def test_controllers(nodes: tuple[bytes | None, ...], controller: Controller) -> None:
    assert ControllerNode.decode(*nodes) == controller
    assert ControllerNode.is_kraft(nodes[0], nodes[2]) is controller.kraft


@pytest.mark.parametrize("epoch", [b"", b"x", b'"1"', b"-1", "١".encode()])
def test_an_epoch_is_a_plain_number(epoch: bytes) -> None:
    with pytest.raises(Refused, match="expected a number"):
        ControllerNode.decode(None, epoch, None)


def test_a_config_keeps_foreign_keys_and_fields() -> None:
    node = ConfigNode.decode(b'{"version":1,"config":{"a":"1","b":"2","c":"3"},"new":true}')
    assert node == ConfigNode({"a": "1", "b": "2", "c": "3"})
    assert json.loads(node.encode_with({"b": "5", "d": "é"}, unset=("c", "x"))) == {
        "version": 1,
        "config": {"a": "1", "b": "5", "d": "é"},
        "new": True,
    }


def test_a_config_without_a_body_is_empty_and_can_be_written() -> None:
    assert ConfigNode.decode(b"") == ConfigNode({})
    assert ConfigNode({}).encode_with({"a": "1"}) == b'{"version":1,"config":{"a":"1"}}'
    assert ConfigNode({"a": "1"}).encode_with({}, ("a",)) == b'{"version":1,"config":{}}'


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"config":[]}', r"config is \[\] \(expected an object\)"),
        (b'{"config":{"a":1}}', r"config a is 1 \(expected a string\)"),
    ],
)
def test_damaged_configs(body: bytes, problem: str) -> None:
    with pytest.raises(Refused, match=problem):
        ConfigNode.decode(body)


def test_notifications_name_the_entity() -> None:
    assert ConfigChangeNode.encode(znodes.topic_config("t")) == (
        b'{"version":2,"entity_path":"topics/t"}'
    )
    assert ConfigChangeNode.encode(znodes.broker_config(3)) == (
        b'{"version":2,"entity_path":"brokers/3"}'
    )
    with pytest.raises(Refused, match="/brokers/ids/3 is not the config of a topic or broker"):
        ConfigChangeNode.encode(znodes.broker(3))


def test_the_cluster_id() -> None:
    assert ClusterIdNode.decode(b'{"version":"1","id":"NbXc"}') == "NbXc"
    with pytest.raises(Refused, match="id is 5"):
        ClusterIdNode.decode(b'{"version":"1","id":5}')


@pytest.mark.slow
def test_what_is_wrong_with_a_request_is_told_of_the_first_few():
    body = {"version": 1, "partitions": ["z"] * 60_000, **{f"k{n}": n for n in range(60_000)}}
    _, found = ReassignmentNode.decode(json.dumps(body).encode())
    assert [damage.flaw for damage in found] == [F.UNKNOWN_KEY, *[F.BAD_ENTRY] * 11]
    assert found[-1].detail == "59990 more entries cannot be read"
    assert max(len(damage.detail) for damage in found) < 100
