"""The rate of each cluster of a Rebalance, so that all together never exceed the budget. Pure.

Every cluster that moves may have an even share of each rate of the budget that it counts for. But a
loop takes up a rate when it makes its next pass, and its brokers take it up later still. So what a
cluster *may be copying at* is the highest of

- what the throttle of its run lets in, the earlier rate included while a change is not settled;
- the rate that its last pass worked with, and every rate that it was offered since.

A cluster that has more than its share is offered its share at once. One that has less, or begins,
is given only what is left of the budget by what all others may be copying at. So when clusters
join, those that move are lowered first; when they end, what becomes free is given to the others. A
cluster begins once half of its share is free.

What a new leader does not know yet counts as all of the budget, until it has looked. Of a cluster
that it cannot reach, an even share is assumed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.rebalances import BudgetSpec
from poolkeeper.planning.run_state.gates import windows

UNKNOWN = math.inf
OFFERS_MAX = 64


@frozen
class RateLimit:
    """Bytes per second that these clusters may copy together."""

    bytes_per_s: int
    clusters: frozenset[str]


@frozen
class RateOffer:
    """A rate that a cluster's loop works with from its next pass on; `None`: as it is declared.

    `number` grows with each offer of another rate; offers of one rate in a row have one number.
    """

    number: int
    bytes_per_s: int | None


NO_RATE = RateOffer(0, None)


@frozen
class ClusterRate:
    """What is known of the rate of one cluster.

    `offers`: from the one that its last pass worked with to the latest. `in_force`: bytes per
    second that the throttle of its run let in when that was last known; `UNKNOWN` before.
    `unreachable`: its last pass failed.
    """

    offers: tuple[RateOffer, ...] = ()
    in_force: float = UNKNOWN
    unreachable: bool = False

    @property
    def may_copy(self) -> float:
        """Bytes per second that the cluster may be copying at."""
        rates = (UNKNOWN if o.bytes_per_s is None else o.bytes_per_s for o in self.offers)
        return max(self.in_force, *rates) if self.offers else self.in_force

    def observed(self, outcome: Outcome | None, plan: str, receivers: int) -> "ClusterRate":
        """Return what is known after a pass; `receivers`: brokers that take replicas."""
        if outcome is None:
            return self
        told = outcome.external
        kept = self.offers
        if told is not None and told.plan == plan:
            kept = tuple(offer for offer in kept if offer.number >= told.offer)
        run = outcome.progress
        in_force = self.in_force if outcome.error is not None else 0.0
        if run is not None and run.plan == plan:
            in_force = float((run.throttle_highest_bytes_per_s or 0) * receivers)
        return ClusterRate(kept, in_force, outcome.error is not None)

    def offered(self, bytes_per_s: int | None) -> "ClusterRate":
        """Return what is known once this rate is offered."""
        last = self.offers[-1] if self.offers else NO_RATE
        if self.offers and last.bytes_per_s == bytes_per_s:
            return self
        offers = (*self.offers, RateOffer(last.number + 1, bytes_per_s))
        if len(offers) > OFFERS_MAX:
            # A loop that makes no passes: of what it may still take up the highest counts.
            first, second, *others = offers
            offers = (max(first, second, key=_rate), *others)
        return replace(self, offers=offers)


def limits_of(budget: BudgetSpec, clusters: Sequence[str], now_ms: int) -> tuple[RateLimit, ...]:
    """The budget's rates at that time, each with those of the clusters that it is for."""
    rate = fleet_rate(budget, now_ms)
    found = [] if rate is None else [RateLimit(rate, frozenset(clusters))]
    for site in budget.sites:
        there = frozenset(clusters) & frozenset(site.clusters)
        if there and site.rate_bytes_per_s is not None:
            found.append(RateLimit(site.rate_bytes_per_s, there))
    return tuple(found)


def fleet_rate(budget: BudgetSpec, now_ms: int) -> int | None:
    """The bytes per second that all clusters together may copy; `None`: no limit.

    The highest rate of all open windows counts; a window without a rate has the fleet's.
    """
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    opened = [each for each in budget.windows if windows.is_open((each.window,), now)]
    rates = [each.rate_bytes_per_s or budget.rate_bytes_per_s for each in opened]
    rates = rates or [budget.rate_bytes_per_s]
    known = [rate for rate in rates if rate is not None]
    return max(known) if len(known) == len(rates) else None


@frozen
class RateClaim:
    """A cluster whose turn it is; `may_copy`: bytes per second that it may be copying at.

    `unreachable`: what is `UNKNOWN` of it may stay so.
    """

    cluster: str
    has_begun: bool
    may_copy: float
    unreachable: bool = False


def share_rates(
    claims: Sequence[RateClaim], limits: Sequence[RateLimit]
) -> Mapping[str, int | None]:
    """The rate of each cluster, the first served first: 0: it does not begin yet; `None`: no limit.

    `limits` name no other clusters than `claims`.
    """
    even = {claim.cluster: _even(claim.cluster, limits) for claim in claims}
    taken = {
        claim.cluster: even[claim.cluster] if _is_assumed(claim) else claim.may_copy
        for claim in claims
    }
    found: dict[str, int | None] = {}
    for claim in claims:
        name = claim.cluster
        own = [limit for limit in limits if name in limit.clusters]
        found[name] = _share(claim, even[name], own, taken) if own else None
        rate = found[name]
        taken[name] = max(taken[name], UNKNOWN if rate is None else rate)
    return found


def even_share(cluster: str, limits: Sequence[RateLimit]) -> int | None:
    """The even share of a cluster; `None` where nothing limits it."""
    even = _even(cluster, limits)
    return None if even == UNKNOWN else int(even)


def _is_assumed(claim: RateClaim) -> bool:
    return claim.unreachable and claim.may_copy == UNKNOWN


def _even(cluster: str, limits: Sequence[RateLimit]) -> float:
    """The even share of a cluster, at least 1; `UNKNOWN` where nothing limits it."""
    rates = (each.bytes_per_s // len(each.clusters) for each in limits if cluster in each.clusters)
    return max(1, min(rates, default=UNKNOWN))


def _share(
    claim: RateClaim, even: float, limits: Sequence[RateLimit], taken: Mapping[str, float]
) -> int:
    if not claim.has_begun and claim.may_copy == UNKNOWN:
        return 0
    if taken[claim.cluster] >= even:
        return int(even)
    left = min(
        limit.bytes_per_s - sum(taken[name] for name in limit.clusters if name != claim.cluster)
        for limit in limits
    )
    if claim.has_begun:
        return int(max(taken[claim.cluster], min(even, left), 1))
    return int(min(even, left)) if left >= even / 2 else 0


def _rate(offer: RateOffer) -> float:
    return UNKNOWN if offer.bytes_per_s is None else offer.bytes_per_s
