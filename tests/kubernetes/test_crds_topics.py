"""Topics, as the API server and our reader judge them."""

import pytest

from admission import ask_reader, ask_server, at_least, at_most, row
from apirequests import merged
from manifests import TOPIC


def topic(name, spec, *refusals, **more):
    return row(TOPIC, name, spec, *refusals, **more)


def manual(*lists, **more):
    return {"placement": {"strategy": "Manual", "assignment": list(lists)}, **more}


def internal(name="__consumer_offsets", **spec):
    return {"topicName": name, **spec}


AT = "spec.placement.assignment"
COMPRESSION = (
    "compression.type of __consumer_offsets is producer, of __transaction_state uncompressed; "
    "leave it out"
)
BEYOND_ZNODE = (
    "spec.partitions: so many partitions and replicas fit into no znode (200 KiB); leave them out "
    "to keep what Kafka has"
)
ROWS = [
    topic("no more than a pool", {}),
    topic("no pool", {"poolRef": None}, "spec.poolRef: Required value"),
    topic("a name with every character", {"topicName": "Az09._-"}),
    topic("as many partitions as fit", {"partitions": 17066}),
    topic(
        "more partitions than fit into a znode",
        {"partitions": 20000},
        BEYOND_ZNODE,
    ),
    topic(
        "more replicas than fit into a znode",
        {"partitions": 2000, "replicationFactor": 50},
        BEYOND_ZNODE,
    ),
    topic(
        "more lists than fit into a znode",
        manual(*[[1, 2, 3]] * 12801),
        f"{AT}: so many lists fit into no znode (200 KiB)",
    ),
    topic(
        "a config larger than a transaction",
        {"config": {f"k{n}": "v" * 8000 for n in range(9)}},
        "spec.config: a config has at most 64 KiB in all",
    ),
    topic("three dots are a name", {"topicName": "..."}),
    topic("a dot is none", {"topicName": "."}, "spec.topicName: a dot or two are no topic name"),
    topic(
        "two dots are none", {"topicName": ".."}, "spec.topicName: a dot or two are no topic name"
    ),
    topic(
        "a name with a blank",
        {"topicName": "a b"},
        "spec.topicName: spec.topicName in body should match '^[a-zA-Z0-9._-]+$'",
    ),
    topic("the longest name", {"topicName": "x" * 249}),
    topic(
        "a longer one",
        {"topicName": "x" * 250},
        "spec.topicName: Too long: may not be more than 249 bytes",
    ),
    *(
        topic(
            f"Kafka's own {name}", {"topicName": name}, "spec.topicName: the topic belongs to Kafka"
        )
        for name in ("__share_group_state", "__cluster_metadata")
    ),
    topic("the offsets, more often", internal(replicationFactor=3)),
    topic("the offsets, pinned", internal(**manual([1, 2], [2, 3]))),
    topic(
        "the offsets with configs that do no harm",
        internal(
            config={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "unclean.leader.election.enable": "False",
                "remote.storage.enable": "false",
                "segment.bytes": "104857600",
            }
        ),
    ),
    topic(
        "the transactions as Kafka writes them",
        internal("__transaction_state", config={"compression.type": "uncompressed"}),
    ),
    topic(
        "partitions of the offsets",
        internal(partitions=50),
        "spec.partitions: an internal topic keeps the partitions that Kafka gave it; "
        "leave them out",
    ),
    topic(
        "deletion of the transactions",
        internal("__transaction_state", deletionPolicy="Delete"),
        "spec.deletionPolicy: Kafka does not run without its internal topics; write Retain",
    ),
    topic(
        "offsets that are deleted when they are old",
        internal(config={"cleanup.policy": "compact,delete"}),
        "spec.config: an internal topic has cleanup.policy compact, or commits get lost",
    ),
    topic(
        "offsets compressed again",
        internal(config={"compression.type": "gzip"}),
        f"spec.config: {COMPRESSION}",
    ),
    topic(
        "transactions compressed",
        internal("__transaction_state", config={"compression.type": "producer"}),
        f"spec.config: {COMPRESSION}",
    ),
    topic(
        "unclean elections of the offsets",
        internal(config={"unclean.leader.election.enable": "true"}),
        "spec.config: unclean elections lose commits in an internal topic; leave them off",
    ),
    *(
        topic(
            f"{key} of the offsets",
            internal(config={key: value}),
            "spec.config: an internal topic has no message format of its own and no remote "
            "storage; leave them out",
        )
        for key, value in (("message.format.version", "2.8"), ("remote.storage.enable", "true"))
    ),
    topic("partitions and replicas", {"partitions": 100, "replicationFactor": 1000}),
    topic(
        "none of them",
        {"partitions": 0, "replicationFactor": 0},
        at_least(1, "spec.partitions"),
        at_least(1, "spec.replicationFactor"),
    ),
    topic(
        "too many of them",
        {"partitions": 100001, "replicationFactor": 1001},
        BEYOND_ZNODE,
        at_most(100000, "spec.partitions"),
        at_most(1000, "spec.replicationFactor"),
    ),
    topic("keys accepted elsewhere", {"keyed": True, "partitions": 6, "acceptKeyRemapTo": 6}),
    topic(
        "keys of a topic without",
        {"acceptKeyRemapTo": 6},
        "spec.acceptKeyRemapTo: acceptKeyRemapTo is for keyed topics; "
        "write keyed as well, or leave it out",
    ),
    topic(
        "keys accepted for another number",
        {"keyed": True, "partitions": 6, "acceptKeyRemapTo": 12},
        "spec.acceptKeyRemapTo: acceptKeyRemapTo must equal partitions",
    ),
    topic("a config", {"config": {"retention.ms": "604800000"}}),
    topic(
        "a config that is no text",
        {"config": {"retention.ms": 604800000}},
        "spec.config.retention.ms: spec.config.retention.ms in body must be of type string: "
        '"integer"',
    ),
    *(
        topic(
            f"throttled replicas of the {side}",
            {"config": {f"{side}.replication.throttled.replicas": "*"}},
            "spec.config: throttled replicas are set by Poolkeeper while replicas move",
        )
        for side in ("leader", "follower")
    ),
    topic("an assignment", manual([1, 2], [2, 3], partitions=2, replicationFactor=2)),
    topic(
        "Manual without an assignment",
        {"placement": {"strategy": "Manual"}},
        "spec.placement: strategy Manual and an assignment belong together",
    ),
    topic(
        "an assignment without Manual",
        {"placement": {"assignment": [[1]]}},
        "spec.placement: strategy Manual and an assignment belong together",
    ),
    topic(
        "an assignment of nothing",
        manual(),
        f"{AT}: {AT} in body should have at least 1 items",
    ),
    topic(
        "a partition on no broker",
        manual([1], []),
        f"{AT}: every partition needs the same number of replicas",
        f"{AT}[1]: {AT}[1] in body should have at least 1 items",
    ),
    topic("a broker twice", manual([1, 2], [3, 3]), f"{AT}[1][1]: Duplicate value: 3"),
    topic(
        "lists of different lengths",
        manual([1, 2], [2]),
        f"{AT}: every partition needs the same number of replicas",
    ),
    topic(
        "more lists than partitions",
        manual([1], [2], partitions=1),
        f"{AT}: placement.assignment needs one list for each of the partitions",
    ),
    topic(
        "other lists than the replication factor",
        manual([1], [2], replicationFactor=2),
        "spec.replicationFactor: replicationFactor contradicts placement.assignment; leave it out",
    ),
    topic(
        "a broker below 0",
        manual([-1]),
        f"{AT}[0][0]: {AT}[0][0] in body should be greater than or equal to 0",
    ),
    topic("deletion", {"deletionPolicy": "Delete"}),
    topic(
        "words in the wrong case",
        {"deletionPolicy": "delete", "placement": {"strategy": "manual"}},
        'spec.deletionPolicy: supported values: "Retain", "Delete"',
        'spec.placement.strategy: supported values: "Balanced", "Kafka", "Manual"',
    ),
]


@pytest.mark.parametrize("row", ROWS)
def test_creations(api, row):
    ask_server(api, row)


@pytest.mark.parametrize("row", ROWS)
def test_our_reader_comes_to_the_same_verdict(row):
    ask_reader(row)


@pytest.mark.parametrize(
    ("length", "spec", "refusals"),
    [
        pytest.param(249, {}, [], id="the-longest"),
        pytest.param(250, {"topicName": "short"}, [], id="a-longer-one-with-a-short-topic"),
        pytest.param(
            250,
            {},
            ["spec.topicName: a Kafka topic's name has at most 249 characters; set spec.topicName"],
            id="a-longer-one",
        ),
    ],
)
def test_names_of_resources_are_names_of_topics(api, length, spec, refusals):
    body = merged(TOPIC, {"metadata": {"name": "x" * length}, "spec": spec})
    assert api.dry_create(body).refusals() == refusals


@pytest.mark.parametrize("partitions", [10_000, 12_000])
def test_a_big_assignment_is_not_refused_for_its_size(api, partitions):
    lists = [[number % 9, number % 9 + 1, number % 9 + 2] for number in range(partitions)]
    body = merged(TOPIC, {"spec": {**manual(*lists), "partitions": partitions}})
    assert api.dry_create(body).refusals() == []
