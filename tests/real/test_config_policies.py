"""Brokers with policies of their own: what these refuse is one Topic's problem, in their words.

`real.guarded_brokers` says which policy it is.
"""

import json
from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec, topic_spec
from conditions import until
from matrices import soak
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import Approval, ApprovalPolicy, Mode
from poolkeeper.reconcile import config_checks
from real.guarded_brokers import WEEK, YEAR, Guarded
from real.kept import kept
from real.support import (
    NO_THROTTLE,
    asking_brokers,
    declare,
    run,
)

pytestmark = pytest.mark.long

POOL = {"p": {"brokers": {"ids": [1]}}}
COUNTS = {"pool": "p", "partitions": 1, "replicationFactor": 1}
CONFIGS = {
    "new-refused": {"retention.ms": YEAR},
    "new-fine": {"retention.ms": WEEK},
    "live-refused": {"retention.ms": YEAR, "flush.ms": "1000"},
    "live-fine": {"flush.ms": "1000"},
}
REFUSED = {name for name in CONFIGS if "fine" not in name}
LIVE = {name for name in CONFIGS if "live" in name}
VERSIONS = ["3.9.2", *soak("2.8.2", "2.3.1", "2.0.1")]


def accepted(*also: str) -> dict[str, dict[str, str]]:
    """What is configured when nothing else was taken than what the policy allows."""
    live = {name: {} for name in LIVE}
    return live | {n: c for n, c in CONFIGS.items() if n not in REFUSED or n in also}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_policy_refuses_is_not_written_and_the_rest_is(fresh_kafka, tmp_path, version):
    guarded = Guarded(fresh_kafka, version, tmp_path, LIVE)
    folder = tmp_path / "declared"
    declare(folder, guarded.sandbox, POOL, {n: COUNTS | {"config": c} for n, c in CONFIGS.items()})
    planned = run("plan", "-f", folder, "--output", "json")
    problems = {p["topic"]: p for p in json.loads(planned.out)["problems"] if p["topic"]}
    assert {name: each["reason"] for name, each in problems.items()} == {
        name: "ConfigRefused" for name in REFUSED
    }
    for name in REFUSED:
        said = f"topic {name}: retention.ms above {WEEK} needs a ticket"
        assert said in problems[name]["message"]
    assert guarded.written() == set()

    done = run("apply", "-f", folder, "--yes", "--output", "json")
    undone = {each["topic"]: each["reason"] for each in json.loads(done.out)["undone"]}
    assert (done.code, undone) == (4, {name: "ConfigRefused" for name in REFUSED})
    assert guarded.configs() == accepted()
    assert guarded.written() == CONFIGS.keys() - REFUSED


def wanted(**configs: dict[str, str]) -> Desired:
    cluster = cluster_spec(
        "c", mode=Mode.APPLY, approval=Approval(ApprovalPolicy.AUTO), execution=NO_THROTTLE
    )
    topics = [
        topic_spec(name, pool="p", partitions=1, replication_factor=1, config=config)
        for name, config in configs.items()
    ]
    return Desired(cluster, (pool_spec("p", 1, cluster="c"),), tuple(topics))


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.9.2", "2.0.1"])
def test_a_policy_is_asked_again_later_and_whenever_the_topic_changes(
    fresh_kafka, tmp_path, monkeypatch, version
):
    guarded = Guarded(fresh_kafka, version, tmp_path, LIVE)
    desired = wanted(**CONFIGS)

    def refused(outcome: Outcome) -> set[str]:
        found = () if outcome.plan is None else outcome.plan.problems
        return {p.topic for p in found if p.reason is ProblemReason.CONFIG_REFUSED}

    with kept(guarded.sandbox, desired, asking_brokers(guarded.sandbox)) as loop:

        def settled(names: set[str]) -> bool:
            return any(refused(each) == names and not each.waits for each in loop.outcomes)

        until(lambda: settled(REFUSED), "what is refused is told", 120)
        assert guarded.configs() == accepted()
        assert guarded.written() == CONFIGS.keys() - REFUSED

        guarded.allow(YEAR)
        loop.again()
        until(lambda: loop.outcomes, "it looked again, and asked nobody", 60)
        assert guarded.configs() == accepted()

        topics = [
            replace(spec, config={**spec.config, "segment.ms": "3600000"})
            if spec.topic == "new-refused"
            else spec
            for spec in desired.topics
        ]
        loop.declare(replace(desired, topics=tuple(topics)))
        until(lambda: "new-refused" in guarded.configs(), "the one that changed is taken", 60)
        assert guarded.configs()["live-refused"] == {}

        monkeypatch.setattr(config_checks, "ASK_AGAIN_MS", 1000)
        loop.again()
        until(lambda: settled(set()), "the other one is asked about again", 120)
        assert guarded.configs()["live-refused"] == CONFIGS["live-refused"]
        assert guarded.written() == CONFIGS.keys()
