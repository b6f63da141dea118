"""Which Topic resource is followed for a Kafka topic that several resources name.

The recorded owner is followed. A topic is *held*, and nothing is done to it, in three cases: a
resource that cannot be acted on names it; several resources do and none is its recorded owner; or
the record of its owner cannot be read.
A held topic is not treated as unmanaged, so a faulty resource moves nothing.

A resource that names a pool that is not there, or that does not take it, is *astray*. It holds
nothing: whoever may create one could stop a pool's drain otherwise. If it is the recorded owner of
a topic, that topic is *stranded*: nobody else gets it, and it only leaves drained and gone brokers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import Claim, DeletionPolicy, Desired, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.facts.topics import DeclaredTwice, TopicHeld, TopicStranded


@dataclass(frozen=True, slots=True)
class TopicOwners:
    """Which Topic resource is followed for each Kafka topic.

    `specs`: the resource that is followed, by topic.
    `held`: topics that nothing is done to.
    `stranded`: topics whose recorded owner is astray.
    """

    specs: Mapping[str, TopicSpec]
    held: frozenset[str]
    stranded: frozenset[str] = frozenset()


def topic_owners(desired: Desired, records: Records) -> TopicOwners:
    """One resource per Kafka topic: the recorded owner, else the only one that can be acted on."""
    claimed: dict[str, list[TopicSpec]] = {}
    pools = {pool.name for pool in desired.pools}
    astray = {claim.owner for claim in desired.astray}
    for spec in desired.topics:
        if spec.pool in pools:
            claimed.setdefault(spec.topic, []).append(spec)
        else:
            astray.add(spec.owner)
    unusable = {claim.owner for claim in desired.held}
    held = {claim.topic for claim in desired.held if claim.topic not in claimed}
    held |= {topic for topic, record in records.topics.items() if record.owner in unusable}
    held |= records.damaged_topics.keys()
    stranded = {t for t, record in records.topics.items() if record.owner in astray} - held
    specs = {}
    for name, rivals in claimed.items():
        followed = _followed(rivals, _owner(records, name))
        if followed is None:
            held.add(name)
        elif name not in held and name not in stranded:
            specs[name] = followed
    return TopicOwners(dict(sorted(specs.items())), frozenset(held), frozenset(stranded - held))


def _followed(rivals: Sequence[TopicSpec], owner: str | None) -> TopicSpec | None:
    """The resource that is followed, of all that name one topic."""
    recorded = next((spec for spec in rivals if spec.owner == owner), None)
    return recorded or (rivals[0] if len(rivals) == 1 else None)


def resolve_conflicts(desired: Desired, records: Records) -> Desired:
    """The declaration without the resources that lose a conflict."""
    return only_followed(desired, topic_owners(desired, records))


def only_followed(desired: Desired, owners: TopicOwners) -> Desired:
    """The declaration without the resources that these owners do not follow.

    The topic of a conflict in which none is followed is held. A resource that is not followed
    changes nothing, not even the plan's fingerprint. Those that are astray are kept: a plan names
    them.
    """
    pools = {pool.name for pool in desired.pools}
    kept = tuple(
        spec
        for spec in desired.topics
        if owners.specs.get(spec.topic) is spec or spec.pool not in pools
    )
    if len(kept) == len(desired.topics):
        return desired
    lost = {Claim(s.topic, s.owner) for s in desired.topics if s.topic in owners.held}
    return replace(desired, topics=kept, held=desired.held | lost)


def _owner(records: Records, topic: str) -> str | None:
    record = records.topics.get(topic)
    return None if record is None else record.owner


def conflicts(topics: Iterable[TopicSpec], owners: TopicOwners) -> list[PlanProblem]:
    """One problem for each resource that names a topic and is not followed."""
    claimants: dict[str, list[str]] = {}
    for spec in topics:
        claimants.setdefault(spec.topic, []).append(spec.owner)
    problems = []
    for spec in sorted(topics, key=lambda spec: (spec.topic, spec.owner)):
        if len(claimants[spec.topic]) > 1 and owners.specs.get(spec.topic) is not spec:
            others = tuple(sorted(o for o in claimants[spec.topic] if o != spec.owner))
            twice = DeclaredTwice(spec.owner, others)
            problems.append(PlanProblem(spec.pool, "", twice, spec.topic))
    return problems


def kept_back(
    desired: Desired, cluster: Cluster, records: Records, owners: TopicOwners
) -> list[PlanProblem]:
    """One problem for each topic that stays in its place because of a Topic, which is named."""
    claimants: dict[str, set[str]] = {}
    invalid = {claim.owner for claim in desired.held}
    for claim in desired.held:
        claimants.setdefault(claim.topic, set()).add(claim.owner)
    problems = []
    for name in sorted(owners.held.intersection(cluster.topics)):
        owner = _owner(records, name)
        named = claimants.get(name, set()) | ({owner} if owner in invalid else set())
        if named:
            held = TopicHeld(tuple(sorted(filter(None, named))))
            problems.append(PlanProblem("", "", held, name))
    for name in sorted(owners.stranded.intersection(cluster.topics)):
        stranded = TopicStranded(_owner(records, name) or "")
        problems.append(PlanProblem("", "", stranded, name))
    return problems


def topics_to_delete(
    desired: Desired, cluster: Cluster, records: Records, owners: TopicOwners, *, prune: bool
) -> tuple[str, ...]:
    """Existing topics to delete: their recorded owner asked for it, and no resource names them."""
    named = {spec.topic for spec in desired.topics} | owners.held | owners.stranded
    return tuple(
        name
        for name, record in sorted(records.topics.items())
        if name in cluster.topics
        and name not in named
        and (
            Claim(name, record.owner) in desired.doomed
            or (prune and record.deletion_policy is DeletionPolicy.DELETE)
        )
    )
