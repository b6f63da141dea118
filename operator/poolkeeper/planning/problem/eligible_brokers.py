"""The brokers of a pool that may be given replicas, by id."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EligibleBrokers:
    """Brokers of a pool that may be given replicas: racks and weights by id.

    `caps`: the most replicas by broker.
    `quiet`: brokers that should lead no partition.
    The rack of a broker is `None` if neither the broker nor its pool names one.
    """

    racks: Mapping[int, str | None]
    weights: Mapping[int, float]
    caps: Mapping[int, int]
    quiet: frozenset[int] = frozenset()
