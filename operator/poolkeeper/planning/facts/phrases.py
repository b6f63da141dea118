"""Parts of sentences about problems: counts, brokers, and the first few of many names."""

from collections.abc import Iterable, Sequence

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import FailureDomain, Headroom
from poolkeeper.text import count as counted
from poolkeeper.text import join, more, named

__all__ = ["Names", "brokers", "counted", "failures_text", "with_advice"]

_NAMED_MAX = 5


def needed(factor: int) -> str:
    """`3 replicas need 3 brokers`."""
    return "1 replica needs 1 broker" if factor == 1 else f"{factor} replicas need {factor} brokers"


def with_advice(said: str, ways: Iterable[str]) -> str:
    """`Broker 1 is full. Add a broker, or drain it`: what is so, and what a person can do."""
    advice = ", or ".join(ways)
    return f"{said}. {advice[:1].upper()}{advice[1:]}"


def brokers(ids: Sequence[int]) -> str:
    """`broker 1`, `brokers 1, 2`."""
    return named("broker", ids)


@frozen
class Names:
    """How many names there are, and the first of them."""

    total: int
    first: tuple[str, ...]

    @staticmethod
    def of(names: Sequence[object], named_max: int = _NAMED_MAX) -> "Names":
        """Keep the first few of these names."""
        return Names(len(names), tuple(map(str, names[:named_max])))

    def __str__(self) -> str:
        return " ".join(filter(None, (join(self.first), more(self.total - len(self.first)))))


def failures_text(headroom: Headroom) -> str:
    """The failures that the headroom asks for, in words: `the largest rack lost`."""
    noun = "rack" if headroom.domain is FailureDomain.RACK else "broker"
    if not headroom.failures:
        return "nothing lost"
    if headroom.failures == 1:
        return f"the largest {noun} lost"
    return f"the {headroom.failures} largest {noun}s lost"


def room_after_failures(headroom: Headroom, more: str, most: str) -> str:
    """`add capacity for 2 more replicas on new or smaller brokers, up to 4 replicas each`.

    `most`: what a broker (a rack) may have and not be one of those that count as lost.
    """
    where = "in" if headroom.domain is FailureDomain.RACK else "on"
    noun = "racks" if headroom.domain is FailureDomain.RACK else "brokers"
    return f"add capacity for {more} {where} new or smaller {noun}, up to {most} each"
