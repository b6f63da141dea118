"""Sizes are asked for anew when anything was written, when others answer, and when they are old."""

from dataclasses import replace

from builders import cluster
from poolkeeper.controller.loops.broker_link import (
    ASKING_SHARE,
    KEPT_MAX_S,
    KEPT_S,
    BrokerLink,
    EnrichmentCache,
)
from poolkeeper.model.topology import Cluster


class Asked:
    """Brokers that take some time, and answer something else each time."""

    def __init__(self, takes_s: float = 0.0) -> None:
        self.takes_s = takes_s
        self.now_s = 100.0
        self.link = BrokerLink(lambda: None)
        self.times = 0
        self.sizes = EnrichmentCache(self.enrich, self.link, lambda: self.now_s)

    def enrich(self, found: Cluster) -> Cluster:
        self.times += 1
        self.now_s += self.takes_s
        return cluster((self.times,))

    def look(self, found: Cluster, after_s: float = 0.0) -> int:
        self.now_s += after_s
        (broker,) = self.sizes(found).brokers
        return broker


def test_the_same_observation_is_asked_about_once_in_a_while() -> None:
    asked, found = Asked(), cluster((1, 2))
    assert [asked.look(found, KEPT_S / 4) for _ in range(9)] == [1, 1, 1, 1, 2, 2, 2, 2, 3]


def test_another_observation_is_asked_about_although_it_is_equal() -> None:
    asked = Asked()
    assert [asked.look(cluster((1, 2))), asked.look(cluster((1, 2)))] == [1, 2]


def test_other_brokers_are_asked_at_once() -> None:
    asked, found = Asked(), cluster((1, 2))
    asked.look(found)
    asked.link.client = object()  # type: ignore[assignment]
    assert asked.look(found) == 2


def test_who_answers_slowly_is_asked_less_often_but_not_for_ever() -> None:
    asked, found = Asked(takes_s=1.0), cluster((1, 2))
    assert asked.look(found) == 1
    assert asked.look(found, ASKING_SHARE - 0.1) == 1
    assert asked.look(found, 0.1) == 2
    asked.takes_s = 1000.0
    assert asked.look(found, KEPT_MAX_S) == 3
    assert asked.look(found, KEPT_MAX_S - 1) == 3
    assert asked.look(found, 1) == 4


def test_who_has_not_answered_is_asked_again_soon() -> None:
    asked, found = Asked(takes_s=KEPT_S), cluster((1, 2))

    def enrich(_: Cluster) -> Cluster:
        asked.times += 1
        asked.now_s += KEPT_S
        (broker,) = cluster((asked.times,)).brokers.values()
        return cluster([replace(broker, silent=asked.times == 1)])

    asked.sizes = EnrichmentCache(enrich, asked.link, lambda: asked.now_s)
    assert [asked.look(found, KEPT_S) for _ in range(3)] == [1, 2, 2]
