"""Registered brokers that do not answer are marked for a minute, each from its own first time."""

from builders import cluster
from poolkeeper.controller.loops.silent_brokers import SILENT_S, SilentBrokers
from poolkeeper.model.topology import Cluster


class Looks:
    """Looks at a cluster, one after the other, with the brokers that did not answer."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.silence = SilentBrokers(lambda: self.now_s)

    def marked(self, live: Cluster, *silent: int, after_s: float = 0.0) -> list[int]:
        self.now_s += after_s
        found = self.silence.mark(live, silent)
        return [broker.id for broker in found.brokers.values() if broker.silent]


def test_who_is_silent_is_waited_for_once() -> None:
    looks, live = Looks(), cluster((1, 2, 3))
    assert looks.marked(live, 2, 3) == [2, 3]
    assert looks.marked(live, 1, 2, 3, after_s=SILENT_S - 1) == [1, 2, 3]
    assert looks.marked(live, 1, 2, 3, after_s=1) == [1]
    assert looks.marked(live, 1, 2, 3, after_s=SILENT_S) == []


def test_who_answered_or_was_gone_is_waited_for_again() -> None:
    looks, live = Looks(), cluster((1, 2))
    looks.marked(live, 1, 2)
    looks.marked(live, 2, after_s=SILENT_S)
    assert looks.marked(live, 1, 2) == [1]
    looks.marked(cluster((1,)), 1, 2)
    assert looks.marked(live, 1, 2) == [1, 2]


def test_who_answers_is_not_marked() -> None:
    looks, live = Looks(), cluster((1, 2))
    assert looks.silence.mark(live, ()) is live


def test_a_broker_that_comes_is_new_once() -> None:
    silence = SilentBrokers()
    found = [silence.has_new(cluster(ids)) for ids in ((1, 2), (1, 2), (2,), (2, 3), (1, 2, 3))]
    assert found == [True, False, False, True, True]
