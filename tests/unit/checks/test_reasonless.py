"""The law that migrations on real brokers are held to: nothing but a fault costs a replica."""

import json
from dataclasses import replace

import pytest

from real.isr_law import REACTION_MS, Faults, reasonless
from real.migrated_topic import ORIGIN, TOPIC
from real.support import Change

BROKERS = {1, 2, 3, 4}
STATE = f"/brokers/topics/{TOPIC}/partitions/0/state"


def change(path: str, body: object = None, kind: str = "SET") -> Change:
    data = None if body is None else json.dumps(body).encode()
    return Change(1, 1, 1, kind, path, data, ())


def isr(*brokers: int) -> Change:
    return change(STATE, {"isr": list(brokers)})


def replicas(*brokers: int) -> Change:
    lists = {str(p): list(ids) for p, ids in enumerate(ORIGIN)}
    return change(f"/brokers/topics/{TOPIC}", {"partitions": {**lists, "0": list(brokers)}})


def dies(broker: int) -> Change:
    return change(f"/brokers/ids/{broker}", kind="DELETE")


def returns(broker: int) -> Change:
    return change(f"/brokers/ids/{broker}", {}, kind="CREATE")


def later(what: Change) -> Change:
    return replace(what, time_ms=what.time_ms + REACTION_MS)


MOVED = (replicas(3, 4, 1, 2), isr(1, 2, 3), isr(1, 2, 3, 4), isr(2, 3, 4), isr(3, 4))


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        pytest.param((), True, id="nothing-happens"),
        pytest.param((*MOVED, replicas(3, 4)), True, id="a-move"),
        pytest.param((isr(2),), False, id="a-replica-is-lost-without-a-fault"),
        pytest.param((dies(1), isr(2)), True, id="its-broker-died"),
        pytest.param((dies(3), isr(2)), False, id="another-broker-died"),
        pytest.param((dies(1), isr(2), returns(1), isr(2)), True, id="it-catches-up"),
        pytest.param(
            (dies(1), isr(2), returns(1), isr(2, 1), later(isr(2))), False, id="it-had-caught-up"
        ),
        pytest.param((dies(1), returns(1), isr(2)), True, id="its-end-is-seen-when-it-is-back"),
        pytest.param((dies(1), returns(1), later(isr(2))), False, id="it-had-been-back-for-long"),
        pytest.param(
            (dies(1), isr(2), replicas(3, 2), isr(2)), False, id="its-place-was-given-away"
        ),
        pytest.param(
            (replicas(3, 4, 1, 2), isr(1, 2, 3), dies(3), isr(1, 2), isr(1)),
            False,
            id="a-source-goes-before-the-targets-are-there",
        ),
    ],
)
def test_a_replica_is_missing_for_a_reason(changes: tuple[Change, ...], holds: bool) -> None:
    assert (reasonless(changes, BROKERS, Faults(touched=frozenset(BROKERS))) == []) is holds


@pytest.mark.parametrize(
    ("faults", "holds"),
    [
        pytest.param(Faults(), False, id="the-fault-touches-nobody"),
        pytest.param(Faults(frozenset({2})), False, id="the-fault-touches-another-broker"),
        pytest.param(Faults(frozenset({1})), True, id="the-fault-touches-it"),
        pytest.param(Faults(failing=frozenset({1})), True, id="its-directory-failed"),
        pytest.param(Faults(lagging=((1, 2),)), True, id="all-may-lag-at-that-time"),
        pytest.param(Faults(lagging=((2, 3),)), False, id="all-may-lag-later"),
    ],
)
def test_a_broker_is_missing_for_the_fault_alone(faults: Faults, holds: bool) -> None:
    assert (reasonless((dies(1), isr(2)), BROKERS, faults) == []) is holds
