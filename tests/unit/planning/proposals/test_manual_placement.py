"""Manual placements that cannot be: each broker that is in the way is named, and what helps."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.specs import Strategy
from poolkeeper.planning.facts.topics import PinnedElsewhere
from poolkeeper.planning.planner import make_plan

State = dict[int, str]
"""By broker: whether it is `drained`, `down`, `elsewhere` (not in the pool), or nothing of it."""


def refusals(states: State, assignment: tuple[int, ...]) -> list[str]:
    pool = pool_spec(
        "p",
        *(broker for broker, state in states.items() if state != "elsewhere"),
        drain=frozenset(broker for broker, state in states.items() if state == "drained"),
    )
    spec = topic_spec("t", "p", strategy=Strategy.MANUAL, assignment=(tuple(assignment),))
    live = (broker for broker, state in states.items() if state != "down")
    seen = cluster((*live, 9), topic("t", (9,)))
    wanted = desired(pool, spec)
    return [
        problem.message
        for problem in make_plan(wanted, seen).problems
        if isinstance(problem.facts, PinnedElsewhere)
    ]


PLACEMENTS = (
    st.fixed_dictionaries(
        {broker: st.sampled_from(["", "drained", "down", "elsewhere"]) for broker in (1, 2, 3)}
    ),
    st.lists(st.sampled_from([1, 2, 3]), min_size=1, unique=True),
)


@settings(max_examples=15)
@given(*PLACEMENTS)
def test_each_broker_that_is_named_is_in_the_way_by_itself(states, assignment) -> None:
    assignment = tuple(assignment)
    found = refusals({**states, 9: ""}, assignment)
    blocked = {broker for broker in assignment if states[broker]}
    assert bool(found) == bool(blocked)
    if not found:
        return
    reasons = found[0].split(". ")[0]
    assert {int(n) for n in re.findall(r"(\d+) is", reasons)} == blocked
    for broker in blocked:
        only = {other: state if other == broker else "" for other, state in states.items()}
        assert refusals({**only, 9: ""}, assignment)
    assert not refusals(dict.fromkeys([*states, 9], ""), assignment)


def test_a_refusal() -> None:
    states = {1: "drained", 2: "down", 3: "elsewhere", 9: ""}
    assert refusals(states, (1, 2, 3)) == [
        "stays as it is: spec.placement.assignment pins it, and broker 1 is drained, 2 is not"
        " live, 3 is not in pool p. Take broker 1 out of spec.drain and bring broker 2 back and"
        " add broker 3 to the pool, or change the assignment"
    ]
