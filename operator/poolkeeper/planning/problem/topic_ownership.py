"""Which Topic resource is followed for a Kafka topic, if any.

The recorded owner is followed, else the only resource that has a right to the topic
(`topic_rights`). A topic is *held*, and nothing is done to it, in three cases: a resource that
cannot be acted on is its owner or could be; several resources have a right to it and none is its
recorded owner; or the record of its owner cannot be read.
A held topic is not treated as unmanaged, so a faulty resource moves nothing.

A resource without a right changes nothing at all. What it names is held for nobody, lives where it
would live without it, and is deleted when its owner wants that.

A resource that names a pool that is not there, or that does not take it, is *astray*. It holds
nothing: whoever may create one could stop a pool's drain otherwise. If it is the recorded owner of
a topic, that topic is *stranded*: nobody else gets it, and it only leaves drained and gone brokers.

A topic is stranded, too, whose recorded owner is in a namespace that is not *watched*: whether that
Topic is still there, and what it declares, is not known. Another namespace gets the topic if a
person approves, also where it would get others without a question. A record that says that the
owner has released the topic strands nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import DeletionPolicy, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.facts.topic_owners import (
    AdoptionRefused,
    DeclaredTwice,
    DeletedWithItsOwner,
    NameNotAllowed,
    OwnerNotWatched,
    TopicHeld,
    TopicStranded,
)
from poolkeeper.planning.problem.topic_rights import (
    Right,
    TopicsFound,
    doomed_owner,
    namespace_of,
    prefix_of,
    right_of,
)
from poolkeeper.text import few_others


@frozen
class TopicOwners:
    """Which Topic resource is followed for each Kafka topic.

    `specs`: the resource that is followed, by topic.
    `held`: topics that nothing is done to.
    `stranded`: topics whose recorded owner is astray or not watched; `unwatched`: the latter alone.
    `without_right`: what the resources lack that have no right to the topic that they name.
    """

    specs: Mapping[str, TopicSpec]
    held: frozenset[str]
    stranded: frozenset[str] = frozenset()
    without_right: Mapping[Claim, Right] = field(default_factory=dict)
    unwatched: frozenset[str] = frozenset()

    def has_speaker(self, topic: str) -> bool:
        """Whether a Topic that is seen is followed for it, or keeps it where it is."""
        return (
            topic in self.specs
            or topic in self.held
            or (topic in self.stranded and topic not in self.unwatched)
        )


def topic_owners(desired: Desired, records: Records, cluster: Cluster | None = None) -> TopicOwners:
    """One resource per Kafka topic: the recorded owner, else the only one with a right to it.

    Without `cluster` every topic counts as existing, as it was when it was recorded.
    """
    found = TopicsFound(cluster, records)
    unwatched = _unwatched(desired, found)
    claimed: dict[str, list[tuple[TopicSpec, Right]]] = {}
    pools = {pool.name for pool in desired.pools}
    astray = {claim.owner for claim in desired.astray}
    for spec in desired.topics:
        if spec.pool in pools:
            right = right_of(desired.cluster, found, spec.topic, spec.owner)
            if right is Right.ALLOWED and spec.topic in unwatched:
                right = Right.UNAPPROVED
            claimed.setdefault(spec.topic, []).append((spec, right))
        else:
            astray.add(spec.owner)
    best = {name: _best(rivals) for name, rivals in claimed.items()}
    held = _held(desired, found, {name for name, specs in best.items() if specs})
    held |= {name for name, specs in best.items() if len(specs) > 1}
    unwatched -= held
    stranded = _owned_by(found, astray) - held | unwatched
    followed = {
        name: specs[0]
        for name, specs in sorted(best.items())
        if specs and name not in held | stranded
    }
    without = {
        Claim(name, spec.owner): right
        for name, rivals in claimed.items()
        for spec, right in rivals
        if not right.enough
    }
    return TopicOwners(
        followed, frozenset(held), frozenset(stranded), without, frozenset(unwatched)
    )


def _held(desired: Desired, found: TopicsFound, claimed: Iterable[str]) -> set[str]:
    """The topics that a resource which cannot be acted on owns or could own, or with such a record.

    One that has no right to what it names holds nothing. `claimed`: topics that others may get.
    """
    unusable = {claim.owner for claim in desired.held}
    held = {
        claim.topic
        for claim in desired.held
        if claim.topic and right_of(desired.cluster, found, *claim).enough
    }
    held.difference_update(claimed)
    return held | _owned_by(found, unusable) | found.records.damaged_topics.keys()


def _owned_by(found: TopicsFound, owners: Collection[str]) -> set[str]:
    """The topics whose recorded owner is one of these."""
    topics = found.records.topics
    owned = (topic for topic, record in topics.items() if record.owner in owners)
    return {topic for topic in owned if found.record_of(topic) is not None}


def _unwatched(desired: Desired, found: TopicsFound) -> set[str]:
    """The existing topics whose recorded owner may be a Topic that is not seen."""
    watched = desired.watched
    if watched is None:
        return set()
    return {
        topic
        for topic, record in found.records.topics.items()
        if not record.released
        and namespace_of(record.owner) not in watched
        and found.exists(topic)
        and not found.is_outdated(topic, record)
    }


def _best(rivals: Sequence[tuple[TopicSpec, Right]]) -> tuple[TopicSpec, ...]:
    """The resources with the best right to the topic that all of them name; one alone gets it."""
    for better in ((Right.OWNER,), (Right.NAMESPACE,), (Right.NEW, Right.ALLOWED)):
        if found := tuple(spec for spec, right in rivals if right in better):
            return found
    return ()


def resolve_conflicts(
    desired: Desired, records: Records, cluster: Cluster | None = None
) -> Desired:
    """The declaration without the resources that lose a conflict or have no right."""
    return without_unfollowed(desired, topic_owners(desired, records, cluster))


def without_unfollowed(desired: Desired, owners: TopicOwners) -> Desired:
    """What is declared, without the resources that are not followed (`owners`).

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


def conflicts(desired: Desired, found: TopicsFound, owners: TopicOwners) -> list[PlanProblem]:
    """One problem for each resource that names a topic and is not followed.

    What awaits approval is told by namespace (`adoptions`).
    """
    claimants: dict[str, set[str]] = {}
    for spec in desired.topics:
        claimants.setdefault(spec.topic, set()).add(spec.owner)
    rivals = {topic: sorted(names) for topic, names in claimants.items()}
    problems = []
    for spec in sorted(desired.topics, key=lambda spec: (spec.topic, spec.owner)):
        if owners.specs.get(spec.topic) is spec:
            continue
        lacking = owners.without_right.get(Claim(spec.topic, spec.owner))
        others = few_others(rivals[spec.topic], spec.owner)
        if lacking in (Right.SYSTEM_NAME, Right.FOREIGN_NAME):
            prefix = prefix_of(desired.cluster, spec.namespace)
            systems = lacking is Right.SYSTEM_NAME
            said: Facts = NameNotAllowed(spec.owner, "" if systems else prefix)
        elif others:
            said = DeclaredTwice(spec.owner, others, deleted_with(owners, spec))
        elif lacking and (going := doomed_owner(desired, found, spec.topic)):
            said = DeletedWithItsOwner(spec.owner, going)
        elif lacking is Right.CLOSED:
            said = AdoptionRefused(spec.owner)
        else:
            continue
        problems.append(PlanProblem(spec.pool, "", said, spec.topic))
    return problems


def deleted_with(owners: TopicOwners, loser: TopicSpec) -> str:
    """The Topic with which the Kafka topic of a conflict would be deleted, or empty.

    A loser that has a right to the topic itself keeps it from that.
    """
    winner = owners.specs.get(loser.topic)
    if winner is None or winner.deletion_policy is not DeletionPolicy.DELETE:
        return ""
    return winner.owner if Claim(loser.topic, loser.owner) in owners.without_right else ""


def problems_of_kept_topics(
    desired: Desired, cluster: Cluster, records: Records, owners: TopicOwners
) -> list[PlanProblem]:
    """One problem for each topic that stays where it is because of a Topic: it names that Topic."""
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
        owner = _owner(records, name) or ""
        unseen = name in owners.unwatched
        why: Facts = OwnerNotWatched(namespace_of(owner)) if unseen else TopicStranded(owner)
        problems.append(PlanProblem("", "", why, name))
    return problems


def topics_to_delete(
    desired: Desired, cluster: Cluster, records: Records, owners: TopicOwners, *, prune: bool
) -> tuple[str, ...]:
    """Existing topics to delete: their recorded owner asked for it, and no resource follows.

    A topic that was created again since it was recorded is nobody's to delete.
    """
    named = owners.specs.keys() | owners.held | owners.stranded
    found = TopicsFound(cluster, records)
    return tuple(
        name
        for name, record in sorted(records.topics.items())
        if name in cluster.topics
        and name not in named
        and not found.is_outdated(name, record)
        and (
            Claim(name, record.owner) in desired.doomed
            or (prune and record.deletion_policy is DeletionPolicy.DELETE)
        )
    )
