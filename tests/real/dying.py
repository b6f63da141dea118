"""A `poolkeeper` that is killed around one of its writes: `dying.py 3 after apply --yes -f DIR`.

A write is a transaction of who holds the journal, or a call that has the brokers cancel moves. The
process ends by SIGKILL: nobody hears of the write, and its session stays until ZooKeeper ends it.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from poolkeeper.__main__ import main
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.zk.client.operations import Check
from poolkeeper.zk.fenced_session import FencedSession


class Death:
    """The end of this process, around its `number`th write."""

    def __init__(self, number: int, *, after: bool) -> None:
        self._left = number
        self._after = after

    def around(self, write: Callable[..., Any]) -> Callable[..., Any]:
        """Return the write with which this process may die."""

        def dying(this: object, *said: object) -> object:
            if all(isinstance(each, Check) for each in said):
                return write(this, *said)
            self._left -= 1
            if self._left == 0 and not self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = write(this, *said)
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return dying


if __name__ == "__main__":
    number, when = sys.argv[1:3]
    del sys.argv[1:3]
    death = Death(int(number), after=when == "after")
    FencedSession.commit = death.around(FencedSession.commit)  # type: ignore[method-assign]
    BrokerClient.cancel_moves = death.around(BrokerClient.cancel_moves)  # type: ignore[method-assign]
    main()
