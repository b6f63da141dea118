"""Faults on demand: what fails at the n-th call of a client.

A fault plan is a function from a call to a fault or None. So a test can enumerate calls, draw from
a seeded generator, or choose by path. The plan is asked before the call. `Fault.done` says whether
the fault strikes before or after the write.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from poolkeeper.frozen import frozen


class FaultKind(StrEnum):
    """The kind of a fault.

    LOST: the connection and all watches are lost; the session goes on. EXPIRED: the session is lost
    as well. DELAYED: the answer comes late. STALE: a lagging follower answers, reads only. DIED:
    the calling process is killed; the call raises `ClientKilled`, and the session times out.
    """

    LOST = "the connection is lost"
    EXPIRED = "the session ends"
    DELAYED = "the answer is late"
    STALE = "a lagging follower answers"
    DIED = "the process ends"


class ClientKilled(BaseException):
    """Stands for the end of the calling process: none of its code runs on."""


@frozen
class Fault:
    """A trouble; `done`: after the server has done what was asked, else before.

    `delay_ms` belongs to DELAYED, `lag`, a number of transactions, to STALE.
    """

    kind: FaultKind
    done: bool = False
    delay_ms: int = 0
    lag: int = 0


class Call(NamedTuple):
    """One request of a client: its number, counted from 1 among calls of its sort, and its paths.

    Paths are without the chroot. `write` tells the sort.
    """

    number: int
    write: bool
    what: str
    paths: tuple[str, ...]


Faults: TypeAlias = Callable[[Call], Fault | None]


def none(_: Call) -> Fault | None:
    """A fault plan without faults."""
    return None


def at_writes(plan: Mapping[int, Fault]) -> Faults:
    """A fault plan in which the writes with these numbers fail, each once over all sessions."""
    left = dict(plan)
    return lambda call: left.pop(call.number, None) if call.write else None


@dataclass(slots=True)
class Script:
    """Faults drawn from a seed: the same calls meet the same faults.

    `rate` is the share of calls that fail, `most` bounds their number.
    """

    seed: int
    rate: float
    most: int = 1_000_000
    writes: Sequence[Fault] = (
        Fault(FaultKind.LOST),
        Fault(FaultKind.LOST, done=True),
        Fault(FaultKind.EXPIRED),
        Fault(FaultKind.EXPIRED, done=True),
        Fault(FaultKind.DELAYED, delay_ms=700),
    )
    reads: Sequence[Fault] = (
        Fault(FaultKind.LOST),
        Fault(FaultKind.STALE, lag=3),
        Fault(FaultKind.STALE, lag=20),
        Fault(FaultKind.DELAYED, delay_ms=700),
    )

    def plan(self) -> Faults:
        """Return the fault plan, from its beginning."""
        dice = random.Random(self.seed)
        left = self.most

        def draw(call: Call) -> Fault | None:
            nonlocal left
            if dice.random() >= self.rate or not left:
                return None
            left -= 1
            return dice.choice(self.writes if call.write else self.reads)

        return draw
