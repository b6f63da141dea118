"""What is added to an observation: also who has not told yet which logs it holds."""

from builders import cluster
from poolkeeper.brokers.requests import Versions
from poolkeeper.brokers.sizes import Failure, Sizes
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.broker_link import BrokerLink
from poolkeeper.controller.loops.open_pass import enrich_for
from poolkeeper.errors import BrokersUnreachable
from poolkeeper.model.topology import Cluster

LIVE = cluster((1, 2, 3))


class Client:
    """A client of brokers that do not answer, each for its reason."""

    is_refused = False

    def sizes(self, brokers: object, deadline_s: float) -> Sizes:
        refused = Failure("these credentials are not authorized")
        failures = {1: Failure("no answer in time", silent=True), 2: refused}
        return Sizes({}, failures)

    def min_insync(self, brokers: object, deadline_s: float) -> dict[int, int]:
        return {}

    def versions(self, brokers: object, deadline_s: float) -> Versions:
        return Versions({}, {})


def silent(live: Cluster) -> list[int]:
    return [broker.id for broker in live.brokers.values() if broker.silent]


def test_who_does_not_answer_is_marked_and_who_cannot_tell_is_not() -> None:
    link = BrokerLink(lambda: None)
    link.client = Client()  # type: ignore[assignment]
    assert silent(enrich_for(ClusterConnections(lambda: None), link)(LIVE)) == [1]


def test_all_are_marked_while_none_can_be_reached_and_a_new_one_is_asked_at_once() -> None:
    attempts = []

    def open_() -> None:
        attempts.append(1)
        raise BrokersUnreachable("no broker answers")

    link = BrokerLink(open_, lambda: 0.0)
    enrich = enrich_for(ClusterConnections(lambda: None), link)
    for live, of_them, tried in ((cluster(()), [], 1), (LIVE, [1, 2, 3], 1), (LIVE, [1, 2, 3], 2)):
        link.renew()
        assert (silent(enrich(live)), len(attempts)) == (of_them, tried)
    link.renew()
    assert len(attempts) == 2


def test_none_is_marked_where_none_is_declared() -> None:
    link = BrokerLink(lambda: None)
    link.renew()
    assert silent(enrich_for(ClusterConnections(lambda: None), link)(LIVE)) == []
