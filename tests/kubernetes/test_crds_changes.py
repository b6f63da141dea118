"""Changes of what is there: what may become what, what a status may touch, what is filled in.

Changes are asked as merge patches that happen nowhere, against a resource that has been made.
"""

import copy
import secrets

import pytest

from apirequests import MERGE, address, merged
from manifests import CLUSTER, POOL, TOPIC

SHRINK = "spec.partitions: partitions can only grow; leave them out to keep what Kafka has"
REMAP = (
    "spec.partitions: with more partitions keys go to other ones; set acceptKeyRemapTo to the new "
    "number if consumers bear that"
)
RENAME = "spec.topicName: topicName cannot change, since Kafka renames no topic; make another Topic"
OTHER_CLUSTER = "spec.clusterRef: a pool cannot change its cluster; make another pool"
KEYED = {"keyed": True, "partitions": 6}


@pytest.fixture
def made(api):
    """Makes a resource under a name of its own; all are gone afterwards."""
    bodies = []

    def make(base, spec):
        name = f"{base['metadata']['name']}-{secrets.token_hex(4)}"
        body = merged(base, {"metadata": {"name": name}, "spec": spec})
        bodies.append(api.create(body))
        return bodies[-1]

    yield make
    for body in bodies:
        api.delete(body)


def case(name, base, before, change, *refusals):
    return pytest.param(base, before, change, list(refusals), id=name.replace(" ", "-"))


CHANGES = [
    case("partitions grow", TOPIC, {"partitions": 6}, {"partitions": 12}),
    case("partitions stay", TOPIC, {"partitions": 6}, {"partitions": 6, "paused": True}),
    case("partitions shrink", TOPIC, {"partitions": 6}, {"partitions": 5}, SHRINK),
    case("partitions are no longer said", TOPIC, {"partitions": 6}, {"partitions": None}),
    case("partitions are said at last", TOPIC, {}, {"partitions": 1}),
    case("keyed partitions grow", TOPIC, KEYED, {"partitions": 12}, REMAP),
    case(
        "keyed partitions grow as accepted",
        TOPIC,
        KEYED,
        {"partitions": 12, "acceptKeyRemapTo": 12},
    ),
    case("keys no longer matter", TOPIC, KEYED, {"partitions": 12, "keyed": False}),
    case("keys matter from now on", TOPIC, {"partitions": 6}, {**KEYED, "partitions": 12}, REMAP),
    case("keyed partitions stay", TOPIC, KEYED, {"paused": True}),
    case("a Kafka name is set", TOPIC, {}, {"topicName": "x"}, RENAME),
    case("a Kafka name changes", TOPIC, {"topicName": "x"}, {"topicName": "y"}, RENAME),
    case("a Kafka name is taken out", TOPIC, {"topicName": "x"}, {"topicName": None}, RENAME),
    case("a Kafka name stays", TOPIC, {"topicName": "x"}, {"topicName": "x", "paused": True}),
    case("another pool", TOPIC, {}, {"poolRef": {"name": "slow"}}),
    case("another factor", TOPIC, {"replicationFactor": 3}, {"replicationFactor": 2}),
    case("deletion", TOPIC, {}, {"deletionPolicy": "Delete"}),
    case("other brokers", POOL, {}, {"brokers": {"ids": [7]}}),
    case("another cluster", POOL, {}, {"clusterRef": {"name": "other"}}, OTHER_CLUSTER),
    case("the same cluster", POOL, {}, {"clusterRef": {"name": "main"}, "drain": [3]}),
    case(
        "a broker leaves that is drained",
        POOL,
        {"drain": [3]},
        {"brokers": {"ids": [1, 2]}},
        "spec.drain: drain names a broker that is not in the pool; see spec.brokers",
    ),
    case("a cluster is to be written to", CLUSTER, {}, {"mode": "Apply"}),
    case("an ensemble moves", CLUSTER, {}, {"zookeeper": {"connect": "zk-2:2181"}}),
]


@pytest.mark.parametrize(("base", "before", "change", "refusals"), CHANGES)
def test_changes(api, made, base, before, change, refusals):
    answer = api.patch(made(base, before), {"spec": change}, dryRun="All")
    assert answer.refusals() == refusals
    assert answer.status == (422 if refusals else 200)


def test_the_name_that_was_there_by_default_may_be_written_out(api, made):
    body = made(TOPIC, {})
    named = {"spec": {"topicName": body["metadata"]["name"]}}
    assert api.patch(body, named, dryRun="All").refusals() == []


@pytest.mark.parametrize("base", [CLUSTER, POOL, TOPIC], ids=lambda base: base["kind"])
def test_nothing_unknown_is_taken(api, base):
    answer = api.dry_create(merged(base, {"spec": {"unknown": 1}, "extra": 2}))
    assert answer.status == 400
    assert answer.message.endswith(
        'strict decoding error: unknown field "extra", unknown field "spec.unknown"'
    )


DEFAULTS = {
    "KafkaCluster": {
        "mode": "PlanOnly",
        "approval": {"policy": "Manual", "plans": [], "by": {}},
        "execution": {
            "maxMoves": 200,
            "maxMovesPerBroker": 10,
            "maxBytes": "1Ti",
            "replicasAtATime": "All",
            "throttle": {"mode": "Adaptive", "rate": "100Mi"},
            "stageDeadline": "6h",
            "onDeadline": "Wait",
            "remedies": {
                "removeStaleRequests": False,
                "finishOrphanedMoves": False,
                "allowControllerFailover": False,
                "overwriteLargerLogs": False,
            },
        },
        "heal": {"enabled": False, "after": "30m", "maxBrokers": 1},
        "balancing": {"enabled": True, "coolDown": "1h", "minGain": 0},
        "unmanagedTopics": "Ignore",
        "load": {"source": "None"},
        "limits": {
            "partitions": 200000,
            "replicasPerBroker": 4000,
            "policy": "Warn",
            "perTopic": {"partitions": 10000, "configBytes": 65536, "manualLists": 10000},
            "perNamespace": {
                "topics": 5000,
                "partitions": 50000,
                "configBytes": 4194304,
                "manualLists": 10000,
            },
        },
    },
    "ResourcePool": {"capacity": {}, "defaults": {}, "rackPolicy": "Spread"},
    "Topic": {
        "keyed": False,
        "config": {},
        "placement": {"strategy": "Balanced"},
        "deletionPolicy": "Retain",
        "paused": False,
    },
}


@pytest.mark.parametrize("base", [CLUSTER, POOL, TOPIC], ids=lambda base: base["kind"])
def test_what_is_not_said_is_filled_in(api, base):
    assert api.dry_create(base).body["spec"] == base["spec"] | DEFAULTS[base["kind"]]


def test_what_is_opened_is_filled_in(api):
    load = {"source": "Prometheus", "prometheus": {"url": "http://p:9090"}}
    cluster = api.dry_create(merged(CLUSTER, {"spec": {"load": load}})).body
    assert cluster["spec"]["load"]["prometheus"] == {"url": "http://p:9090", "window": "24h"}
    pool = api.dry_create(merged(POOL, {"spec": {"headroom": {}}})).body
    assert pool["spec"]["headroom"] == {"domain": "Broker", "failures": 1}


def test_a_status_changes_no_spec_and_a_spec_no_status(api, made):
    body = made(TOPIC, {"partitions": 6})
    both = {"spec": {"partitions": 12}, "status": {"partitions": 6}}

    after_status = api.send("PATCH", f"{address(body)}/status", both, MERGE).body
    assert after_status["spec"] == body["spec"]
    assert after_status["status"] == {"observedGeneration": -1, "partitions": 6}
    assert after_status["metadata"]["generation"] == 1

    both["status"]["partitions"] = 7
    after_spec = api.patch(body, both).body
    assert after_spec["spec"]["partitions"] == 12
    assert after_spec["status"] == {"observedGeneration": -1, "partitions": 6}
    assert after_spec["metadata"]["generation"] == 2


@pytest.mark.parametrize("base", [CLUSTER, POOL, TOPIC], ids=lambda base: base["kind"])
def test_a_new_resource_says_that_nobody_has_looked_at_it(api, base):
    body = api.dry_create(merged(base, {"status": {"observedGeneration": 3}})).body
    assert body["status"] == {"observedGeneration": -1}


CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "InPlace",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "observedGeneration": 1,
}
AT = "status.conditions[0]"
ONE_WORD = (
    f"{AT}.reason: conditions[0].reason in body should match "
    "'^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'"
)


@pytest.mark.parametrize(
    ("change", "refusals"),
    [
        pytest.param({}, [], id="as-it-should-be"),
        pytest.param(
            {"reason": ""},
            [f"{AT}.reason: conditions[0].reason in body should be at least 1 chars long"],
            id="no-reason",
        ),
        pytest.param(
            {"reason": "in place"},
            [ONE_WORD],
            id="a-reason-of-two-words",
        ),
        pytest.param(
            {"status": "Yes"},
            [f'{AT}.status: supported values: "True", "False", "Unknown"'],
            id="another-status",
        ),
        pytest.param(
            {"message": "x" * 32769},
            [f"{AT}.message: Too long: may not be more than 32768 bytes"],
            id="a-long-message",
        ),
        pytest.param(
            {"lastTransitionTime": None},
            [f"{AT}.lastTransitionTime: Required value"],
            id="no-time",
        ),
    ],
)
def test_conditions_are_held_to_their_shape(api, made, change, refusals):
    body = made(CLUSTER, {})
    condition = merged(copy.deepcopy(CONDITION), change)
    assert api.set_status(body, {"conditions": [condition]}).refusals() == refusals
