"""Brokers that are missing and not replaced, because so many at once are an outage, not a loss.

`heal` rebuilds the replicas of missing brokers elsewhere. If more than `heal.maxBrokers` of the
declared brokers are missing, or all brokers of a rack that has several, then copying everything to
those that are left would do more harm than waiting. Nothing is rebuilt then, and the plan says so.
Brokers that are drained do not count: a person gave them up already.
"""

from collections.abc import Collection, Iterator, Mapping

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.planning.facts.pools import HealHeld


@frozen
class Outage:
    """The declared brokers that are missing; `racks`: those of which all are, of several each."""

    brokers: tuple[int, ...]
    racks: tuple[str, ...] = ()


def missing_since_s(records: Records, desired: Desired) -> Mapping[int, int]:
    """Return since when each declared broker is missing that is."""
    declared = _declared(desired)
    return {
        id_: record.missing_since_s
        for id_, record in sorted(records.brokers.items())
        if record.missing_since_s is not None and id_ in declared
    }


def outage(records: Records, desired: Desired) -> Outage | None:
    """Return the missing brokers if these are too many to be replaced."""
    kept = _declared(desired) - {broker for pool in desired.pools for broker in pool.drain}
    missing = tuple(id_ for id_ in missing_since_s(records, desired) if id_ in kept)
    racks = _missing_racks(records, kept, missing)
    if len(missing) <= desired.cluster.heal.max_brokers and not racks:
        return None
    return Outage(missing, racks)


def problems(records: Records, desired: Desired) -> Iterator[PlanProblem]:
    """Yield the problem that missing brokers are not replaced, where `heal` would."""
    heal = desired.cluster.heal
    found = outage(records, desired) if heal.enabled else None
    if found is not None:
        facts = HealHeld(found.brokers, found.racks, heal.max_brokers)
        yield PlanProblem("", "", facts)


def _declared(desired: Desired) -> frozenset[int]:
    return frozenset(broker for pool in desired.pools for broker in pool.brokers)


def _missing_racks(
    records: Records, declared: Collection[int], missing: Collection[int]
) -> tuple[str, ...]:
    """Return the racks with several brokers of which all are missing."""
    racks: dict[str, set[int]] = {}
    for id_ in set(declared) & set(records.brokers):
        racks.setdefault(records.brokers[id_].rack or f"broker {id_}", set()).add(id_)
    return tuple(
        sorted(rack for rack, ids in racks.items() if len(ids) > 1 and ids <= set(missing))
    )
