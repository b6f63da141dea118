"""Connections to brokers that fail are opened anew from time to time, and the reason is told."""

from collections.abc import Sequence

from poolkeeper.controller.loops.broker_link import RETRY_S, BrokerLink
from poolkeeper.errors import BrokersUnreachable
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait

WRONG = "h1:9092: the credentials are wrong"
TOLD = (Wait(WaitReason.BROKERS_UNREACHABLE, detail=WRONG),)


class Client:
    """A connection that works until somebody refuses it."""

    def __init__(self) -> None:
        self.is_refused = False
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


class Linked:
    """A link whose attempts have these results, one after the other; an error is a refusal."""

    def __init__(self, *results: Client | str | None) -> None:
        self.now_s = 0.0
        self.results = list(results)
        self.link = BrokerLink(self._open, lambda: self.now_s)

    def _open(self) -> Client | None:
        found = self.results.pop(0)
        if isinstance(found, str):
            raise BrokersUnreachable(found)
        return found

    def seen(self, *at_s: float) -> Sequence[Client | None]:
        found = []
        for self.now_s in at_s:
            found.append(self.link.renew())
        return found


def test_who_works_is_kept() -> None:
    client = Client()
    linked = Linked(client)
    assert linked.seen(0, RETRY_S, 9 * RETRY_S) == [client] * 3
    assert linked.link.waits() == ()
    linked.link.close()
    assert client.is_closed


def test_who_is_away_is_told_and_looked_for_now_and_then() -> None:
    client = Client()
    linked = Linked(WRONG, WRONG, client)
    assert linked.seen(0, 1, RETRY_S - 1) == [None] * 3
    assert linked.link.waits() == TOLD
    assert linked.seen(RETRY_S, 2 * RETRY_S - 1) == [None] * 2
    assert linked.link.waits() == TOLD
    assert linked.seen(2 * RETRY_S) == [client]
    assert linked.link.waits() == ()


def test_who_is_away_is_looked_for_at_once_when_a_broker_has_started() -> None:
    client = Client()
    linked = Linked(WRONG, client)
    assert (linked.seen(0), linked.link.is_away) == ([None], True)
    linked.link.retry()
    assert (linked.seen(1), linked.link.is_away) == ([client], False)
    linked.link.retry()
    assert linked.seen(2) == [client]


def test_who_is_refused_stays_until_another_connection_is_there() -> None:
    first, second = Client(), Client()
    linked = Linked(first, WRONG, second)
    linked.seen(0)
    first.is_refused = True
    assert linked.seen(1) == [first]
    assert linked.link.waits() == ()
    assert linked.seen(RETRY_S) == [first]
    assert linked.link.waits() == TOLD
    assert (linked.seen(2 * RETRY_S), first.is_closed) == ([second], True)
    assert linked.link.waits() == ()


def test_who_is_refused_for_a_moment_is_told_no_longer() -> None:
    client = Client()
    linked = Linked(client, WRONG)
    linked.seen(0)
    client.is_refused = True
    linked.seen(RETRY_S)
    client.is_refused = False
    assert linked.seen(RETRY_S + 1) == [client]
    assert linked.link.waits() == ()


def test_none_is_declared() -> None:
    linked = Linked(None, None)
    assert linked.seen(0, RETRY_S) == [None, None]
    assert linked.link.waits() == ()
    assert not linked.link.is_away
