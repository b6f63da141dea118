"""What a broker makes of dynamic config: its throttle rates and its replicas that are throttled.

Config counts only once its notification was handled. A rate that is no number is an error in the
broker's log and the one before stays; a value that is no string spoils the whole change.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from poolkeeper.sandbox.simulation.codecs import Tp

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
RATES = (LEADER_RATE, FOLLOWER_RATE, DIRECTORY_RATE)
LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
_PAIRS = re.compile(r"(?:[0-9]+:[0-9]+(?:,[0-9]+:[0-9]+)*)?")


@lru_cache(maxsize=512)
def _partitions_by_broker(text: str) -> Mapping[int, frozenset[int]] | None:
    """Read a list, which every broker does; None for one that makes no sense."""
    if not _PAIRS.fullmatch(text):
        return None
    found: dict[int, set[int]] = {}
    for pair in text.split(",") if text else ():
        partition, broker = pair.split(":")
        found.setdefault(int(broker), set()).add(int(partition))
    return {broker: frozenset(partitions) for broker, partitions in found.items()}


@dataclass(slots=True)
class Throttles:
    """One broker's throttles in force. Rates are bytes per second; absent means unlimited.

    `lists`: by config key and topic, the partitions of this broker's throttled replicas; None for
    all of them.
    """

    broker: int
    rates: dict[str, int] = field(default_factory=dict)
    lists: dict[str, dict[str, frozenset[int] | None]] = field(
        default_factory=lambda: {key: {} for key in LISTS}
    )

    def take_rates(self, config: Mapping[str, str]) -> tuple[str, ...]:
        """Put the broker's config in force; return what is wrong with it."""
        wrong = []
        for key in RATES:
            text = config.get(key)
            if text is None:
                self.rates.pop(key, None)
            elif re.fullmatch(r"\s*[0-9]+\s*", text):
                self.rates[key] = int(text)
            else:
                wrong.append(f"{key}: {text!r} is no rate")
        return tuple(wrong)

    def take_lists(self, topic: str, config: Mapping[str, str]) -> tuple[str, ...]:
        """Put a topic's config in force; return what is wrong with it."""
        wrong = []
        for key in LISTS:
            text = config.get(key, "").strip()
            if text == "*":
                self.lists[key][topic] = None
                continue
            by_broker = _partitions_by_broker(text)
            if by_broker is None:
                wrong.append(f"{key} of {topic}: {text!r} is no list")
                continue
            self.lists[key].pop(topic, None)
            if self.broker in by_broker:
                self.lists[key][topic] = by_broker[self.broker]
        return tuple(wrong)

    def limit(self, rate_key: str, list_key: str, tp: Tp) -> int | None:
        """Return the rate that holds for a replica, or None if it is not throttled."""
        if tp.topic not in self.lists[list_key]:
            return None
        partitions = self.lists[list_key][tp.topic]
        return (
            self.rates.get(rate_key) if partitions is None or tp.partition in partitions else None
        )
