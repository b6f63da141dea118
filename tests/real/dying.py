"""A `poolkeeper` that is killed around one of its writes: `dying.py 3 after apply --yes -f DIR`.

A write is a transaction of who holds the journal, or a call that has the brokers cancel moves. The
process ends by SIGKILL: nobody hears of the write, and its session stays until ZooKeeper ends it.
"""

import os
import signal
import sys
from collections.abc import Sequence

from poolkeeper.__main__ import main
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.zk.client.operations import Check, Operation
from poolkeeper.zk.client.session import SentTransaction
from poolkeeper.zk.fenced_session import FencedSession

ANSWER_S = 10
SEND, CANCEL = FencedSession._send, BrokerClient.cancel_moves


class Death:
    """The end of this process, around its `number`th write."""

    def __init__(self, number: int, *, after: bool) -> None:
        self._left = number
        self._after = after

    def send(self, journal: FencedSession, operations: Sequence[Operation]) -> SentTransaction:
        """Send a transaction, whether or not others are still on their way."""
        if all(isinstance(each, Check) for each in operations):
            return SEND(journal, operations)
        self._begin()
        sent = SEND(journal, operations)
        if self._left == 0:
            sent.result.wait(ANSWER_S)
            self._end()
        return sent

    def cancel(self, client: BrokerClient, *said: object) -> object:
        """Have the brokers cancel moves."""
        self._begin()
        answer = CANCEL(client, *said)  # type: ignore[arg-type]
        if self._left == 0:
            self._end()
        return answer

    def _begin(self) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            self._end()

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    number, when = sys.argv[1:3]
    del sys.argv[1:3]
    death = Death(int(number), after=when == "after")
    FencedSession._send = lambda *said: death.send(*said)  # type: ignore[method-assign]
    BrokerClient.cancel_moves = lambda *said: death.cancel(*said)  # type: ignore[method-assign]
    main()
