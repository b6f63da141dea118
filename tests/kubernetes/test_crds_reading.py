"""What people and tools see of our kinds: columns, explanations, names, and `kubectl wait`."""

import re

import pytest

from apirequests import PLURALS, Api, merged
from manifests import CLUSTER, POOL, TOPIC
from poolkeeper.resources.parse import schemas

PLAN = f"sha256:{'3f' * 32}"


@pytest.fixture
def api(clean_cluster):
    with Api(clean_cluster.access) as way:
        yield way


def conditions(status, reason, message, generation=1):
    ready = {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }
    return {"observedGeneration": generation, "conditions": [ready]}


def show(api, base, name, status, namespace=None):
    where = {"namespace": namespace} if namespace else {}
    body = api.create(merged(base, {"metadata": {"name": name, **where}}))
    assert api.set_status(body, status).refusals() == []


def seen(control_plane, *words):
    """What kubectl prints, without ages and without blanks at the ends of lines."""
    text = control_plane.kubectl("get", *words).stdout
    lines = [re.sub(r" \d+s( |$)", r" 0s\1", line).rstrip() for line in text.splitlines()]
    return "\n".join(lines) + "\n"


TOPICS = """\
NAME       POOL   PARTITIONS   RF    READY   REASON          MOVING   MOVED   AGE
invoices   fast                      False   TopicConflict                    0s
new        fast                                                               0s
orders     fast   12           3     False   Moving          12       3       0s
returns    fast   6            3     True    InPlace                          0s
"""
POOLS = """\
NAME   CLUSTER   BROKERS   TOPICS   READY   REASON    DRAINING   AGE
fast   main      3/3       40       False   Moving    3          0s
slow   main      2/3       12       True    InPlace              0s
"""
CLUSTERS = """\
NAME      MODE       READY   REASON     BROKERS   WAITS   MOVES   MOVED   AGE
main      PlanOnly   False   Moving     8/9               36      12      0s
staging   PlanOnly   False   PlanOnly                     4               0s
"""


def test_columns_say_whether_it_is_done_and_if_not_why_and_how_far(control_plane, namespace, api):
    orders = conditions("False", "Moving", "moving into pool fast: 3 of 12 partitions")
    orders |= {"partitions": 12, "replicationFactor": 3, "moving": {"partitions": 12, "done": 3}}
    returns = conditions("True", "InPlace", "in place") | {"partitions": 6, "replicationFactor": 3}
    show(api, TOPIC, "orders", orders, namespace)
    show(api, TOPIC, "returns", returns, namespace)
    show(api, TOPIC, "invoices", conditions("False", "TopicConflict", "declared twice"), namespace)
    show(api, TOPIC, "new", {}, namespace)
    fast = conditions("False", "Moving", "broker 3 holds 120 replicas")
    fast |= {"brokersUp": "3/3", "topics": 40, "drains": "3"}
    slow = conditions("True", "InPlace", "in place")
    slow |= {"brokersUp": "2/3", "topics": 12, "drained": [3]}
    show(api, POOL, "fast", fast)
    show(api, POOL, "slow", slow)
    plan = {"hash": PLAN, "moves": 36, "movesDone": 12, "stage": 2, "approval": "Approved"}
    main = conditions("False", "Moving", "stage 2: 12 of 36 moves done")
    main |= {"plan": plan, "brokersUp": "8/9"}
    staging = conditions("False", "PlanOnly", "would move 4 partitions")
    show(api, CLUSTER, "main", main)
    show(api, CLUSTER, "staging", staging | {"plan": {"hash": PLAN, "moves": 4}})

    assert seen(control_plane, "topics", "-n", namespace) == TOPICS
    assert seen(control_plane, "resourcepools") == POOLS
    assert seen(control_plane, "kafkaclusters") == CLUSTERS
    wide = seen(control_plane, "pkt,pkp,pkc", "-n", namespace, "-o", "wide").splitlines()
    messages = {line.split()[0].rpartition("/")[2]: line for line in wide if "/" in line}
    assert messages["orders"].endswith("moving into pool fast: 3 of 12 partitions")
    assert messages["fast"].endswith("broker 3 holds 120 replicas")
    assert messages["main"].endswith(f"{PLAN}   stage 2: 12 of 36 moves done")


def test_every_kind_has_its_names(control_plane, api):
    names = {}
    for resource in api.send("GET", "/apis/poolkeeper.dev/v1alpha1").body["resources"]:
        if "/" not in resource["name"]:
            names[resource["name"]] = (
                resource["kind"],
                resource["singularName"],
                resource["shortNames"],
                resource["categories"],
                resource["namespaced"],
            )
    assert names == {
        "kafkaclusters": ("KafkaCluster", "kafkacluster", ["pkc"], ["poolkeeper"], False),
        "rebalances": ("Rebalance", "rebalance", ["pkr"], ["poolkeeper"], False),
        "resourcepools": ("ResourcePool", "resourcepool", ["pkp"], ["poolkeeper"], False),
        "topics": ("Topic", "topic", ["pkt"], ["poolkeeper"], True),
    }


@pytest.mark.parametrize("plural", PLURALS.values())
def test_the_server_finds_nothing_wrong_with_the_definition(api, plural):
    folder = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    found = api.send("GET", f"{folder}/{plural}.poolkeeper.dev").body["status"]
    true = {each["type"] for each in found["conditions"] if each["status"] == "True"}
    assert true == {"Established", "NamesAccepted"}
    assert found["storedVersions"] == ["v1alpha1"]


def test_every_field_is_explained(api):
    """What `kubectl explain` reads, status and conditions included."""
    published = api.send("GET", "/openapi/v3/apis/poolkeeper.dev/v1alpha1").body
    for kind in PLURALS:
        root = published["components"]["schemas"][f"dev.poolkeeper.v1alpha1.{kind}"]
        silent = [path for path, schema in _nodes(root) if not schema.get("description")]
        assert silent == [], kind


def test_every_default_is_told(api):
    """`kubectl explain` shows none by itself."""
    published = api.send("GET", "/openapi/v3/apis/poolkeeper.dev/v1alpha1").body
    for kind in PLURALS:
        root = published["components"]["schemas"][f"dev.poolkeeper.v1alpha1.{kind}"]
        silent = [
            path
            for path, schema in _nodes(root["properties"]["spec"])
            if isinstance(value := schema.get("default"), str | int)
            and f"By default {str(value).lower() if isinstance(value, bool) else value}."
            not in schema["description"]
        ]
        assert silent == [], kind


def _nodes(schema, path=""):
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _nodes(inner, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        inner = schema.get(key)
        if isinstance(inner, dict) and schema is not inner:
            yield from _nodes(inner, f"{path}[]")


def test_what_is_explained_is_what_the_definition_says(control_plane):
    text = control_plane.kubectl("explain", "topics.spec.deletionPolicy").stdout
    spec = schemas.definition("topics")["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    said = spec["properties"]["spec"]["properties"]["deletionPolicy"]["description"]
    assert said in " ".join(text.split())
    assert "ENUM:\n    Retain\n    Delete\n" in text


def test_people_and_scripts_can_wait_until_it_is_ready(control_plane, namespace, api):
    body = api.create(merged(TOPIC, {"metadata": {"namespace": namespace}}))

    def waits(timeout="0s"):
        wait = ["wait", "--for=condition=Ready", f"--timeout={timeout}", "-n", namespace]
        return control_plane.kubectl(*wait, "topic/orders", check=False).returncode == 0

    assert not waits()
    api.set_status(body, conditions("False", "Moving", "moving"))
    assert not waits()
    api.set_status(body, conditions("True", "InPlace", "in place"))
    assert waits()
    api.patch(body, {"spec": {"partitions": 12}})
    assert not waits(), "what was said of an older generation does not count"
    api.set_status(body, conditions("True", "InPlace", "in place", generation=2))
    assert waits()
