"""Which configs a plan writes: what some possible release refuses is one topic's problem."""

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.plans import CreateTopic, SetConfig
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.topology import Broker, RefusedConfig
from poolkeeper.planning.planner import make_plan

R = ProblemReason


def plan_of(config, live=None, *, told="3.9", declared=None, records=None, **seen):
    """The plan for one topic: created, or with its live config."""
    brokers = [Broker(n, release=told) for n in (1, 2)]
    found = () if live is None else (topic("t", (1, 2), config=live),)
    counts = {} if found else {"partitions": 1, "replication_factor": 2}
    wanted = desired(
        pool_spec("p", 1, 2, goals=()),
        topic_spec("t", config=config, **counts),
        kafka_version=declared,
    )
    return make_plan(wanted, cluster(brokers, *found, **seen), records or Records())


def told_of(plan):
    """The reasons of the plan's problems, and the configs that it writes."""
    written = [
        dict(s.config if isinstance(s, CreateTopic) else s.set)
        for s in plan.steps
        if isinstance(s, CreateTopic | SetConfig)
    ]
    return {p.reason for p in plan.problems}, written


BAD = {"retention.ms": "-5"}


@pytest.mark.parametrize("live", [None, {}], ids=["created", "changed"])
@pytest.mark.parametrize(
    ("known", "written"),
    [
        pytest.param({"told": "3.9"}, False, id="every-broker-reports-3.9"),
        pytest.param({"told": "3.9", "declared": "2.0"}, False, id="declared-wrongly"),
        pytest.param({"told": "2.0"}, True, id="every-broker-reports-2.0"),
        pytest.param({"told": None}, False, id="nothing-is-known"),
        pytest.param({"told": None, "declared": "2.0"}, True, id="declared-alone"),
        pytest.param(
            {"told": None, "declared": "2.0", "traced_version": "3.4 to 3.9"},
            False,
            id="declared-against-the-znodes",
        ),
        pytest.param(
            {"told": None, "traced_version": "1.1 to 3.3"}, False, id="in-some-of-the-range"
        ),
    ],
)
def test_a_value_is_written_only_if_every_possible_release_reads_it(live, known, written):
    reasons, configs = told_of(plan_of(BAD, live, **known))
    assert configs == ([BAD] if written else [])
    assert reasons == (set() if written else {R.INVALID_CONFIG})


@pytest.mark.parametrize("live", [None, {}], ids=["created", "changed"])
def test_a_key_that_only_some_possible_releases_know_is_written_with_a_warning(live):
    config = {"max.compaction.lag.ms": "1000"}
    seen = {"told": None, "traced_version": "1.1 to 3.3"}
    assert told_of(plan_of(config, live, **seen)) == ({R.CONFIG_KEY_UNKNOWN_TO_SOME}, [config])
    refused = told_of(plan_of({"max.compaction.lag.ms": "0"}, live, **seen))
    assert refused == ({R.INVALID_CONFIG}, [])


def test_what_is_in_force_is_not_judged_again():
    """A release in doubt does not unsettle what the brokers run with."""
    config = {"compression.type": "zstd", "flush.ms": "5"}
    reasons, configs = told_of(plan_of(config, {"compression.type": "zstd"}, told=None))
    assert (reasons, configs) == (set(), [{"flush.ms": "5"}])


def test_a_change_that_breaks_what_is_in_force_is_refused():
    live = {"max.compaction.lag.ms": "10"}
    reasons, configs = told_of(plan_of({"min.compaction.lag.ms": "11"}, live))
    assert (reasons, configs) == ({R.INVALID_CONFIG}, [])


def test_keys_of_moves_are_none_of_its_business():
    live = {"leader.replication.throttled.replicas": "*"}
    assert told_of(plan_of({"flush.ms": "5"}, live)) == (set(), [{"flush.ms": "5"}])


@pytest.mark.parametrize(
    ("live", "before"), [(None, {}), ({"flush.ms": "1"}, {"flush.ms": "1"})], ids=["new", "old"]
)
def test_what_brokers_refused_is_not_written_until_something_changes(live, before):
    config = {"retention.ms": "7"}
    said = {"t": RefusedConfig({**before, **config}, "not by our policy")}
    plan = plan_of(config, live, refused_configs=said)
    assert told_of(plan) == ({R.CONFIG_REFUSED}, [])
    assert "not by our policy" in plan.problems[0].message
    other = plan_of({"retention.ms": "8"}, live, refused_configs=said)
    assert told_of(other) == (set(), [{"retention.ms": "8"}])


def test_removing_a_key_is_judged_with_what_stays():
    """The limit of retention goes, and what is kept on disks would exceed the default."""
    live = {
        "remote.storage.enable": "true",
        "local.retention.ms": "900000000",
        "retention.ms": "900000000",
    }
    records = Records(topics={"t": TopicRecord("shop/t", ("retention.ms",))})
    plan = plan_of({}, live, records=records)
    assert told_of(plan) == ({R.INVALID_CONFIG}, [])
