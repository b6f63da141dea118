"""Which missing brokers are too many to be replaced."""

import pytest

from builders import cluster_spec, pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.specs import Heal
from poolkeeper.planning.constraints.outages import Outage, outage, problems
from poolkeeper.planning.facts.pools import HealHeld
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: None}


def records(*missing: int) -> Records:
    return Records(
        brokers={
            id_: BrokerRecord(rack, 100 if id_ in missing else None) for id_, rack in RACKS.items()
        }
    )


def desired(max_brokers: int = 1, drain: frozenset[int] = frozenset(), **heal: object) -> Desired:
    said = Heal(**{"enabled": True, "after_s": 60, "max_brokers": max_brokers, **heal})
    pool = pool_spec("p", *RACKS, drain=drain)
    return Desired(cluster_spec(heal=said), (pool,))


@pytest.mark.parametrize(
    ("missing", "wanted", "found", "gone"),
    [
        pytest.param((), desired(), None, set(), id="all-live"),
        pytest.param((2,), desired(), None, {2}, id="one"),
        pytest.param((2, 3), desired(), Outage((2, 3)), set(), id="more-than-allowed"),
        pytest.param((2, 3), desired(2), None, {2, 3}, id="as-many-as-allowed"),
        pytest.param((2, 5), desired(2), Outage((2, 5), ("b",)), set(), id="a-whole-rack"),
        pytest.param((3,), desired(), None, {3}, id="a-rack-of-one-broker"),
        pytest.param((6,), desired(), None, {6}, id="a-broker-without-a-rack"),
        pytest.param(
            (2, 3), desired(drain=frozenset({3})), None, {2, 3}, id="what-is-drained-is-not-counted"
        ),
        pytest.param((2, 5), desired(drain=frozenset({5})), None, {2, 5}, id="nor-of-its-rack"),
    ],
)
def test_an_outage_is_no_loss(missing, wanted, found, gone):
    assert outage(records(*missing), wanted) == found
    assert gone_brokers(records(*missing), wanted, 160_000) == gone
    assert gone_brokers(records(*missing), wanted, 159_000) == set()


@pytest.mark.parametrize(
    ("missing", "wanted", "message"),
    [
        pytest.param(
            (2, 3),
            desired(),
            "brokers 2, 3 are missing, more than spec.heal.maxBrokers (1): such an outage is waited"
            " for, and nothing is rebuilt: start them again, or drain those that are gone for good",
            id="too-many",
        ),
        pytest.param(
            (2, 5),
            desired(),
            "brokers 2, 5 are missing, more than spec.heal.maxBrokers (1) and all of rack b: such"
            " an outage is waited for, and nothing is rebuilt: start them again, or drain those"
            " that are gone for good",
            id="a-rack",
        ),
        pytest.param((2, 5), desired(enabled=False), None, id="nothing-is-healed-anyway"),
        pytest.param((2,), desired(), None, id="healed"),
    ],
)
def test_what_is_not_healed_is_told(missing, wanted, message):
    found = list(problems(records(*missing), wanted))
    assert [each.message for each in found] == ([] if message is None else [message])
    assert all(isinstance(each.facts, HealHeld) for each in found)
