"""Topics that are stalled by something of theirs alone, beside others that are not."""

from dataclasses import replace
from typing import Any

import pytest

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import RefusedConfig
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.status.all_resources import statuses
from unit.resources.bodies import kafka, kafka_topic, pool, topic
from unit.resources.situations import (
    AUTO,
    IN_FAST,
    POOLS,
    WANTED,
    of,
)
from unit.resources.stages import (
    NOW_MS,
    at_rest,
    conditions,
    seen,
)


@pytest.mark.parametrize("found", [None, kafka_topic("orders", (1, 2))], ids=["new", "there"])
@pytest.mark.parametrize(
    ("known", "reason", "says"),
    [
        pytest.param(
            {"traced_version": "3.4 to 3.9"},
            "Invalid",
            "'0' is out of range (expected a whole number from 1 to 9223372036854775807)",
            id="a-release-that-it-may-run-does-not-start-with-it",
        ),
        pytest.param(
            {"refused_configs": {"orders": RefusedConfig({"flush.messages": "0"}, "never 0")}},
            "ConfigRefused",
            "the brokers refuse it: never 0",
            id="the-brokers-refuse-it",
        ),
    ],
)
def test_a_config_that_is_not_written_is_that_topics_condition(
    found: Any, known: dict[str, Any], reason: str, says: str
) -> None:
    counts = {"partitions": 1, "replicationFactor": 2}
    bad = topic("orders", "fast", config={"flush.messages": "0"}, **counts)
    good = topic("other", "fast", config={"flush.messages": "1"}, **counts)
    every = assemble((AUTO, *POOLS, bad, good))
    what = seen(replace(kafka(() if found is None else (found,)), **known))
    told_of = statuses(every["main"], what, at_rest(every["main"], what), NOW_MS)
    found_of = {each["type"]: each for each in told_of[bad.key]["conditions"]}
    ready, stalled = found_of["Ready"], found_of["Stalled"]
    assert (ready["status"], ready["reason"], stalled["status"]) == ("False", reason, "True")
    assert says in ready["message"]
    assert told_of[good.key]["conditions"][0]["reason"] == "Creating"


def test_a_topic_that_is_too_large_to_be_written_says_so_and_no_other() -> None:
    counts = {"partitions": 1, "replicationFactor": 2}
    large, good = topic("large", "fast", **counts), topic("other", "fast", **counts)
    every = assemble((AUTO, *POOLS, large, good))
    what = seen(kafka(()))
    wait = Wait(WaitReason.TOPIC_TOO_LARGE, topic="large", count=70_000)
    outcome = replace(at_rest(every["main"], what), waits=(wait,))
    told_of = statuses(every["main"], what, outcome, NOW_MS)
    message = (
        "what is to be written of topic large at once takes 70,000 bytes, which the ZooKeeper"
        " servers do not take: raise their jute.maxbuffer to several times that"
    )
    assert told_of[large.key]["conditions"] == conditions("Stalled", "TooLarge", message)
    assert told_of[good.key]["conditions"][0]["reason"] == "Creating"


def test_a_topic_whose_node_is_too_large_to_move_is_stalled_and_no_other() -> None:
    every = assemble((AUTO, *POOLS, *(topic(name, "fast") for name in ("large", "other"))))
    what = seen(kafka([kafka_topic(name, (4, 5)) for name in ("large", "other")]))
    wait = Wait(WaitReason.TOPIC_NODE_TOO_LARGE, topic="large")
    outcome = replace(at_rest(every["main"], what), waits=(wait,))
    told_of = statuses(every["main"], what, outcome, NOW_MS)
    reasons = {key.name: told["conditions"][0]["reason"] for key, told in told_of.items()}
    assert (reasons["large"], reasons["other"]) == ("TooLarge", "Waiting")


def test_a_topic_over_the_quota_of_its_pool_is_stalled() -> None:
    fast = pool("fast", 1, 2, 3, quotas={"partitions": 6})
    new = topic("new", "fast", partitions=4, replicationFactor=1)
    found = of(new.key, (AUTO, fast, WANTED, new), IN_FAST)
    assert found["conditions"] == conditions(
        "Stalled",
        "QuotaExceeded",
        "not created: pool fast has 4 of 6 partitions and would get 4 more"
        " (raise spec.quotas.partitions to 8)",
    )
