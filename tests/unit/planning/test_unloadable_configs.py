"""A topic whose config no broker can load stays: a replica of it would never be made."""

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.plans import SetConfig
from poolkeeper.planning.facts.topics import TopicLeftOut, Unsettled
from poolkeeper.planning.planner import make_plan

POOL = pool_spec("p", 1, 2, 3, drain={3})


def moved(live: dict[str, str], **declared: object) -> tuple[set[str], set[str], set[str]]:
    """What moves, what is configured, and what is left out for its config."""
    seen = cluster((1, 2, 3), topic("t", (3,), config=live), topic("u", (3,)))
    plan = make_plan(desired(POOL, topic_spec("t", **declared), topic_spec("u")), seen)
    left_out = {
        problem.topic
        for problem in plan.problems
        if isinstance(problem.facts, TopicLeftOut) and problem.facts.why is Unsettled.UNLOADABLE
    }
    configured = {step.topic for step in plan.steps if isinstance(step, SetConfig)}
    return {move.topic for move in plan.moves}, configured, left_out


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"retention.ms": "1000"}, id="sound"),
        pytest.param({"confluent.tier.enable": "x"}, id="a key that nobody knows"),
        pytest.param({"local.retention.ms": "x"}, id="a key that only later releases know"),
    ],
)
def test_what_some_broker_loads_moves(config: dict[str, str]) -> None:
    assert moved(config) == ({"t", "u"}, set(), set())


def test_what_no_broker_loads_stays_and_no_other() -> None:
    assert moved({"retention.ms": "x"}) == ({"u"}, set(), {"t"})


def test_the_declared_config_may_set_it_right() -> None:
    assert moved({"retention.ms": "x"}, config={"retention.ms": "1"}) == ({"u"}, {"t"}, {"t"})
