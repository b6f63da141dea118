"""Which topics change hands in this pass, and which are asked about.

An approval names the hash of a request (`planning.problem.adoption_requests`), which is one
namespace's. It is followed wholly or not at all: every topic of the request gets its owner's
record, before anything is planned. The records of thousands of topics take several transactions,
and a process may die between two. What is left of the request then has another hash. So each record
notes the hash under which it was written, and what is left counts as approved if it makes the hash
again together with these.

A record of a topic that is gone is dropped once another topic has its name.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from operator import attrgetter

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.planning.problem.adoption_requests import (
    AdoptedTopic,
    AdoptionRequest,
    adoption_hash,
    adoption_requests,
)
from poolkeeper.planning.problem.topic_ownership import topic_owners
from poolkeeper.planning.problem.topic_rights import TopicsFound, namespace_of

TOPICS_NAMED = 5


@frozen
class HandOver:
    """The records to write, `None` to remove one; what was approved, and what is not.

    `approved` holds the hash under which each request was approved.
    """

    records: Mapping[str, TopicRecord | None]
    approved: tuple[AdoptionRequest, ...] = ()
    waiting: tuple[AdoptionRequest, ...] = ()

    def after(self, records: Records) -> Records:
        """The records once these are written."""
        topics = {**records.topics, **self.records}
        kept = {topic: record for topic, record in topics.items() if record is not None}
        return replace(records, topics=kept) if self.records else records

    @property
    def actions(self) -> tuple[Action, ...]:
        """What is reported of it."""
        kind = ActionKind.TOPICS_ADOPTED
        return tuple(
            Action(kind, namespace=each.namespace, count=len(each.topics), hash=each.hash)
            for each in self.approved
        )

    @property
    def waits(self) -> tuple[Wait, ...]:
        """What a person is asked."""
        return tuple(
            Wait(
                WaitReason.ADOPTION_REQUIRED,
                name=each.namespace,
                topics=tuple(named.topic for named in each.topics[:TOPICS_NAMED]),
                count=len(each.topics),
                hash=each.hash,
            )
            for each in self.waiting
        )


def hand_over(
    desired: Desired, cluster: Cluster, records: Records, approved: Collection[str]
) -> HandOver:
    """Decide on every request that is open; `approved`: the hashes that a person approved."""
    owners = topic_owners(desired, records, cluster)
    granted: list[AdoptionRequest] = []
    waiting: list[AdoptionRequest] = []
    for request in adoption_requests(desired, cluster, records, owners):
        hash_ = _approval_of(request, cluster, records, approved)
        if hash_ is None:
            waiting.append(request)
        else:
            granted.append(replace(request, hash=hash_))
    granted, contested = _without_contested(granted)
    written: dict[str, TopicRecord | None] = dict.fromkeys(_outdated(cluster, records))
    written.update(_records_of(granted, desired.topics, cluster))
    waiting = sorted((*waiting, *contested), key=attrgetter("namespace"))
    return HandOver(written, tuple(granted), tuple(waiting))


def known_hashes(desired: Desired, cluster: Cluster, records: Records) -> frozenset[str]:
    """The hashes of requests that are open, and of those that were granted."""
    requests = adoption_requests(desired, cluster, records, topic_owners(desired, records, cluster))
    granted = (record.adoption for record in records.topics.values())
    return frozenset((*(each.hash for each in requests), *filter(None, granted)))


def _without_contested(
    granted: Iterable[AdoptionRequest],
) -> tuple[list[AdoptionRequest], list[AdoptionRequest]]:
    """The requests without topics that were approved for two namespaces, and requests for these.

    Neither namespace gets them.
    """
    granted = tuple(granted)
    times = Counter(named.topic for each in granted for named in each.topics)
    kept, contested = [], []
    for each in granted:
        taken = tuple(named for named in each.topics if times[named.topic] == 1)
        left = tuple(named for named in each.topics if times[named.topic] > 1)
        kept += [replace(each, topics=taken)] if taken else []
        if left:
            hash_ = adoption_hash(each.namespace, left)
            contested.append(AdoptionRequest(each.namespace, left, hash_))
    return kept, contested


def _approval_of(
    request: AdoptionRequest, cluster: Cluster, records: Records, approved: Collection[str]
) -> str | None:
    """The hash under which the request was approved, itself or as the rest of a larger one."""
    if request.hash in approved:
        return request.hash
    done: dict[str, list[AdoptedTopic]] = {}
    for topic, record in records.topics.items():
        live = cluster.topics.get(topic)
        if (
            record.adoption in approved
            and namespace_of(record.owner) == request.namespace
            and live is not None
            and record.is_of(live)
        ):
            named = AdoptedTopic(topic, record.owner, live.identity)
            done.setdefault(record.adoption or "", []).append(named)
    whole = (
        hash_
        for hash_, topics in done.items()
        if adoption_hash(request.namespace, (*topics, *request.topics)) == hash_
    )
    return next(whole, None)


def _outdated(cluster: Cluster, records: Records) -> list[str]:
    found = TopicsFound(cluster, records)
    return [topic for topic, record in records.topics.items() if found.is_outdated(topic, record)]


def _records_of(
    granted: Iterable[AdoptionRequest], specs: Iterable[TopicSpec], cluster: Cluster
) -> dict[str, TopicRecord]:
    """The records of the new owners."""
    spec_of = {(spec.topic, spec.owner): spec for spec in specs}
    return {
        each.topic: _record_of(
            spec_of[each.topic, each.owner], cluster.topics[each.topic], request.hash
        )
        for request in granted
        for each in request.topics
    }


def _record_of(spec: TopicSpec, topic: Topic, hash_: str) -> TopicRecord:
    """The record of a topic that is not as declared yet: the keys are those that are in force."""
    live = topic.config or {}
    in_force = sorted(key for key, value in spec.config.items() if live.get(key) == value)
    return TopicRecord(
        spec.owner,
        tuple(in_force),
        spec.deletion_policy,
        topic.topic_id,
        topic.created_zxid,
        hash_,
    )
