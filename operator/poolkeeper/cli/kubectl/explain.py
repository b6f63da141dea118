"""Why a Topic is where it is: what its own status says, its pool, its cluster, and the plan."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from poolkeeper.cli.kubectl import diff
from poolkeeper.cli.kubectl.operators import OperatorRelease
from poolkeeper.cli.kubectl.readiness import readiness
from poolkeeper.cli.output.printing import HASH_DIGITS
from poolkeeper.frozen import frozen
from poolkeeper.text import count, cut

MOVES_MAX = 20

Json = Mapping[str, Any]


@frozen
class Explanation:
    """The resources around a Topic, as far as they are there, and the plan if it can be read.

    `unread` says what this person may not read: it and what it names are None. `operators`: whether
    those lead that write the cluster's status.
    """

    topic: Json
    pool: Json | None
    cluster: Json | None
    plan: Json | None
    unread: str = ""
    operators: Sequence[OperatorRelease] = ()

    @property
    def kafka_topic(self) -> str:
        """The name in Kafka."""
        metadata, spec = self.topic["metadata"], self.topic.get("spec") or {}
        name: str = spec.get("topicName") or metadata["name"]
        return name

    @property
    def moves(self) -> list[Json]:
        """The moves of the topic in the plan."""
        return self._of_plan("moves")

    @property
    def steps(self) -> list[Json]:
        """The steps of the topic in the plan."""
        return self._of_plan("steps")

    @property
    def problems(self) -> list[str]:
        """What the plan will not do for the topic or its pool, in sentences."""
        pool = (self.topic.get("spec") or {}).get("poolRef", {}).get("name", "")
        found = (self.plan or {}).get("problems") or ()
        return [
            each["message"]
            for each in found
            if each.get("topic") == self.kafka_topic
            or (not each.get("topic") and each.get("pool") == pool)
        ]

    def _of_plan(self, what: str) -> list[Json]:
        found = (self.plan or {}).get(what) or ()
        return [each for each in found if each.get("topic") == self.kafka_topic]


def lines(why: Explanation) -> list[str]:
    """Return the explanation, from the Topic outwards."""
    return [line for part in (_unled(why), _own(why), _around(why), _planned(why)) for line in part]


def as_data(why: Explanation) -> dict[str, object]:
    """Return the explanation as JSON values."""
    return {
        "topic": why.kafka_topic,
        "namespace": why.topic["metadata"].get("namespace"),
        "ready": _ready(why.topic),
        "pool": None if why.pool is None else _ready(why.pool),
        "cluster": None if why.cluster is None else _ready(why.cluster),
        "moves": why.moves,
        "steps": why.steps,
        "problems": why.problems,
        "unread": why.unread or None,
        "operators": [each.document for each in why.operators],
    }


def _unled(why: Explanation) -> Iterator[str]:
    return (each.sentence for each in why.operators if not each.leads)


def _own(why: Explanation) -> Iterator[str]:
    spec, status = why.topic.get("spec") or {}, why.topic.get("status") or {}
    metadata = why.topic["metadata"]
    yield f"Topic {metadata.get('namespace', '')}/{metadata['name']}: {why.kafka_topic} in Kafka"
    declared = f"partitions {spec.get('partitions', 'any')}"
    factor = spec.get("replicationFactor", "any")
    pool = (spec.get("poolRef") or {}).get("name", "?")
    yield f"  declared: pool {pool}, {declared}, replication factor {factor}"
    if "partitions" in status:
        live = f"partitions {status['partitions']}"
        yield f"  live:     {live}, replication factor {status.get('replicationFactor', '?')}"
    yield f"  {_ready_text(why.topic)}"


def _around(why: Explanation) -> Iterator[str]:
    if why.pool is None and why.unread:
        return
    if why.pool is None:
        yield "Its pool is not there, and a pool alone tells of which cluster a Topic is."
        return
    for kind, body in (("pool", why.pool), ("cluster", why.cluster)):
        if body is None and not why.unread:
            yield f"Its {kind} is not there."
        elif body is not None:
            yield f"{body['kind']} {body['metadata']['name']}"
            yield f"  {_ready_text(body)}"


def _planned(why: Explanation) -> Iterator[str]:
    if why.unread:
        yield why.unread
        return
    if why.plan is None:
        yield "No plan waits or runs."
        return
    hash_ = str(why.plan.get("hash", ""))[:HASH_DIGITS]
    if not why.moves and not why.steps:
        yield f"The plan {hash_} does nothing with it."
    else:
        yield f"The plan {hash_} has of it:"
    for step in why.steps[:MOVES_MAX]:
        yield f"  {step['kind']}"
        yield from (f"    {line}" for line in cut(diff.step_lines(step), MOVES_MAX))
        yield from (f"    ! {effect}" for effect in step.get("destructive") or ())
    for move in why.moves[:MOVES_MAX]:
        reason = f"  # {move['reason']}" if move.get("reason") else ""
        yield f"  {move['partition']}: {_ids(move['from'])} → {_ids(move['to'])}{reason}"
    hidden = len(why.moves) - MOVES_MAX
    if hidden > 0:
        yield f"  … and {count(hidden, 'more move')}"
    for problem in why.problems[:MOVES_MAX]:
        yield f"  ! {problem}"


def _ready(body: Json) -> dict[str, object]:
    said = readiness(body)
    return {
        "name": body["metadata"]["name"],
        "status": said.status,
        "reason": said.reason,
        "message": said.message,
    }


def _ready_text(body: Json) -> str:
    said = readiness(body)
    return f"{said.reason}: {said.message}" if said.reason else said.message


def _ids(replicas: Sequence[int]) -> str:
    return json.dumps(list(replicas))
