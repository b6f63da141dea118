"""Adoptions: the existing topics that Topics of a namespace ask to take over, as one question each.

All topics that one namespace asks for are one request with one hash, so that 3,000 imported topics
are approved at once. The hash covers the namespace and the name and identity of every topic: a
topic that is created again under the same name is another one, and is asked about anew.

A topic is asked about if nobody else may speak for it now. While its owner's Topic is there, even
while it is being deleted with its topic, there is a conflict instead, and no question. Of an owner
that is not watched only a person can know whether it is there: it is asked about.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.jsontext import canonical
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.topic_ownership import TopicOwners
from poolkeeper.planning.problem.topic_rights import (
    Right,
    TopicsFound,
    doomed_owner,
    namespace_of,
)


class AdoptedTopic(NamedTuple):
    """A topic that exists, the Topic that asks for it, and what tells it from a later one."""

    topic: str
    owner: str
    identity: str | None


@frozen
class AdoptionRequest:
    """What a namespace asks to take over; `topics` by name."""

    namespace: str
    topics: tuple[AdoptedTopic, ...]
    hash: str


def adoption_requests(
    desired: Desired, cluster: Cluster, records: Records, owners: TopicOwners
) -> tuple[AdoptionRequest, ...]:
    """The requests that are open, by namespace."""
    found = TopicsFound(cluster, records)
    open_claims = [
        claim
        for claim, right in owners.without_right.items()
        if right is Right.UNAPPROVED and _is_open(desired, found, owners, claim)
    ]
    asking = Counter((namespace_of(owner), topic) for topic, owner in open_claims)
    by_namespace: dict[str, list[AdoptedTopic]] = {}
    for topic, owner in sorted(open_claims):
        namespace = namespace_of(owner)
        if asking[namespace, topic] == 1:  # two Topics of one namespace are a conflict of its own
            named = AdoptedTopic(topic, owner, cluster.topics[topic].identity)
            by_namespace.setdefault(namespace, []).append(named)
    return tuple(
        AdoptionRequest(namespace, tuple(topics), adoption_hash(namespace, topics))
        for namespace, topics in sorted(by_namespace.items())
    )


def _is_open(desired: Desired, found: TopicsFound, owners: TopicOwners, claim: Claim) -> bool:
    """Whether the topic can be read, and nobody else speaks for it."""
    topic, cluster = claim.topic, found.cluster
    assert cluster is not None, "adoptions are of observed topics"
    if topic not in cluster.topics or topic in cluster.deleting or topic in cluster.torn:
        return False
    return not owners.has_speaker(topic) and not doomed_owner(desired, found, topic)


def adoption_hash(namespace: str, topics: Iterable[AdoptedTopic]) -> str:
    """`sha256:` and the hexadecimal digest of the namespace and its topics, in any order."""
    named = sorted([each.topic, each.identity or ""] for each in topics)
    text = canonical({"adoption": namespace, "topics": named})
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
