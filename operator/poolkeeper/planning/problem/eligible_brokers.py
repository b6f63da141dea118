"""The brokers of a pool that may be given replicas, by id."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EligibleBrokers:
    """Brokers of a pool that may be given replicas: racks and weights by id.

    `caps` bounds replicas by broker, `quiet` names brokers that shall lead nothing. A rack is
    `None` where nobody says.
    """

    racks: Mapping[int, str | None]
    weights: Mapping[int, float]
    caps: Mapping[int, int]
    quiet: frozenset[int] = frozenset()
