"""A plan as a diff, and why a Topic is as it is."""

import pytest

from poolkeeper.cli.kubectl import diff, explain
from poolkeeper.cli.kubectl.explain import Explanation
from poolkeeper.cli.kubectl.operators import OperatorRelease
from poolkeeper.cli.kubectl.reading import whole_plan
from poolkeeper.errors import Unavailable

PLAN = {
    "hash": "sha256:" + "a" * 64,
    "steps": [
        {"kind": "CreateTopic", "topic": "new", "replicas": [[1, 2]], "config": {"a": "1"}},
        {"kind": "AddPartitions", "topic": "grown", "first": 4, "replicas": [[2, 3]]},
        {
            **{"kind": "SetConfig", "topic": "t", "set": {"retention.ms": "1"}, "unset": ["x"]},
            "destructive": ["older records are deleted"],
        },
        {"kind": "MoveLogDir", "topic": "t", "partition": 2, "broker": 1, "from": "/a", "to": "/b"},
        {"kind": "DeleteTopic", "topic": "old"},
        {"kind": "ElectLeaders", "partitions": [["t", 0]]},
    ],
    "moves": [
        {"topic": "t", "partition": 0, "from": [1, 2], "to": [3, 2], "reason": "1 is drained"}
    ],
    "problems": [
        {"pool": "fast", "topic": "t", "message": "t is too large"},
        {"pool": "fast", "topic": "other", "message": "of another topic"},
        {"pool": "fast", "topic": "", "message": "of the pool"},
    ],
}


def test_the_diff_is_by_topic_and_says_what_goes_and_what_comes():
    assert diff.lines(PLAN) == [
        *("--- grown", "+++ grown", "+4: [2, 3]"),
        *("--- new", "+++ new", "+0: [1, 2]", "+a=1"),
        *("--- old", "+++ old", "-(the topic, with all of its data)"),
        *("--- t", "+++ t", "+retention.ms=1", "-x", "-2 on 1: /a", "+2 on 1: /b"),
        *("-0: [1, 2]", "+0: [3, 2]"),
    ]


def test_no_plan_is_no_diff():
    assert diff.lines({"steps": [], "moves": []}) == []


def resource(kind, name, reason, message, **spec):
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": message}
    status = {"conditions": [ready]}
    return {"kind": kind, "metadata": {"name": name}, "spec": spec, "status": status}


def explained(**given):
    topic = resource(
        "Topic", "t", "Moving", "moving into pool fast", poolRef={"name": "fast"}, partitions=1
    )
    topic["metadata"]["namespace"] = "shop"
    around = {
        "pool": resource("ResourcePool", "fast", "InPlace", "in place"),
        "cluster": resource("KafkaCluster", "main", "WaitingForApproval", "waits to move"),
    }
    return Explanation(topic=topic, **{**around, "plan": PLAN, **given})


def test_why_goes_from_the_topic_outwards_to_the_plan():
    assert explain.lines(explained()) == [
        "Topic shop/t: t in Kafka",
        "  declared: pool fast, partitions 1, replication factor any",
        "  Moving: moving into pool fast",
        "ResourcePool fast",
        "  InPlace: in place",
        "KafkaCluster main",
        "  WaitingForApproval: waits to move",
        "The plan sha256:aaaaaaaa has of it:",
        "  SetConfig",
        "    +retention.ms=1",
        "    -x",
        "    ! older records are deleted",
        "  MoveLogDir",
        "    -2 on 1: /a",
        "    +2 on 1: /b",
        "  0: [1, 2] → [3, 2]  # 1 is drained",
        "  ! t is too large",
        "  ! of the pool",
    ]


def test_where_nobody_leads_that_comes_first():
    led = OperatorRelease("infra/one", True, "pod", "2026-11-29T11:59:58Z")
    known = (led, OperatorRelease("b/c", False))
    first, second, *_ = explain.lines(explained(operators=known))
    assert first.startswith("no operator of the release b/c leads: its Lease is gone; ")
    assert second == "Topic shop/t: t in Kafka"
    operators = explain.as_data(explained(operators=known))["operators"]
    assert [each["leads"] for each in operators] == [True, False]


def test_what_is_missing_is_said():
    last = explain.lines(explained(pool=None, cluster=None, plan=None))[-2:]
    assert last == [
        "Its pool is not there, and a pool alone tells of which cluster a Topic is.",
        "No plan waits or runs.",
    ]
    last = explain.lines(explained(cluster=None, plan=None))[-2:]
    assert last == ["Its cluster is not there.", "No plan waits or runs."]
    assert explain.lines(explained(plan=None, unread="you may not read it"))[-1:] == [
        "you may not read it"
    ]


def test_who_may_read_only_the_topic_learns_what_it_says():
    nothing = {"pool": None, "cluster": None, "plan": None, "unread": "pools are forbidden"}
    assert explain.lines(explained(**nothing)) == [
        "Topic shop/t: t in Kafka",
        "  declared: pool fast, partitions 1, replication factor any",
        "  Moving: moving into pool fast",
        "pools are forbidden",
    ]
    no_cluster = explained(cluster=None, plan=None, unread="clusters are forbidden")
    assert explain.lines(no_cluster)[3:] == [
        "ResourcePool fast",
        "  InPlace: in place",
        "clusters are forbidden",
    ]
    assert explain.as_data(no_cluster)["unread"] == "clusters are forbidden"
    assert explain.as_data(explained())["unread"] is None


def test_a_plan_that_is_not_written_yet_tells_who_knows_why():
    class NotYet:
        def plan(self, _):
            return None

    named = {
        "plan": {"hash": "sha256:0123456789abcdef"},
        "planDocument": "infra/poolkeeper-plan-main",
    }
    with pytest.raises(Unavailable) as waiting:
        whole_plan(NotYet(), {"metadata": {"name": "main"}, "status": named})
    assert str(waiting.value) == (
        "the plan sha256:01234567 of main is being written: try again; if it does not come,"
        " `kubectl logs -n infra -l app.kubernetes.io/part-of=poolkeeper` says why"
    )
