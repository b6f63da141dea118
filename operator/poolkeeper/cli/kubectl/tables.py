"""The tables of `kubectl poolkeeper`, from bodies of the API server."""

from collections.abc import Mapping, Sequence
from typing import Any

from poolkeeper.cli.kubectl.access import status_of
from poolkeeper.cli.kubectl.operators import OperatorRelease
from poolkeeper.cli.kubectl.readiness import readiness
from poolkeeper.cli.output.ink import Ink
from poolkeeper.cli.output.printing import HASH_DIGITS
from poolkeeper.text import count, more, size

TOPICS_MAX = 20

Json = Mapping[str, Any]


def clusters(bodies: Sequence[Json], ink: Ink) -> list[str]:
    """Return a line for each KafkaCluster."""
    heading = ("CLUSTER", "MODE", "READY", "REASON", "PLAN", "APPROVAL", "BROKERS", "MOVES")
    return ink.table([heading, *map(_cluster, bodies)], names=6)


def without_leader(known: Sequence[OperatorRelease], ink: Ink) -> list[str]:
    """Return what is said of releases without a leader, with a blank line; none where all have."""
    told = [line for each in known if not each.leads for line in ink.fold(each.sentence, 2)]
    return [*told, ""] if told else []


def adoptions(body: Json) -> list[str]:
    """Return a line for each namespace that asks for existing topics, with what lets it."""
    name = body["metadata"]["name"]
    return [
        f"{name}: namespace {each['namespace']} asks to take over"
        f" {count(each['topics'], 'existing topic')}: `kubectl poolkeeper approve"
        f" adoption/{each['namespace']} -c {name}`"
        for each in status_of(body).get("adoptions") or ()
    ]


def pools(bodies: Sequence[Json], ink: Ink) -> list[str]:
    """Return a line for each ResourcePool."""
    heading = ("POOL", "CLUSTER", "READY", "REASON", "BROKERS", "TOPICS")
    rows = [
        (
            body["metadata"]["name"],
            ((body.get("spec") or {}).get("clusterRef") or {}).get("name", ""),
            *_ready(body),
            _brokers(status_of(body)),
            _text(status_of(body).get("topics")),
        )
        for body in bodies
    ]
    return ink.table([heading, *rows], names=4)


def topics(bodies: Sequence[Json], ink: Ink) -> list[str]:
    """Return a line for each Topic that is not as declared, the first of them."""
    heading = ("NAMESPACE", "TOPIC", "READY", "REASON")
    rows = [
        (body["metadata"].get("namespace", ""), body["metadata"]["name"], *_ready(body))
        for body in bodies[:TOPICS_MAX]
    ]
    rest = more(len(bodies) - TOPICS_MAX, "Topic")
    return [*ink.table([heading, *rows], names=4), *([f"  … {rest}"] if rest else [])]


def runs(bodies: Sequence[Json], ink: Ink) -> list[str]:
    """Return a line for each run that has ended, the latest first."""
    if not bodies:
        return ["no run has ended yet"]
    heading = ("ENDED", "PLAN", "HOW", "APPROVAL", "EXECUTOR", "STAGES", "MOVES", "DATA")
    rows = [
        (
            str(run.get("ended", "")),
            str(run.get("plan", ""))[:HASH_DIGITS],
            str(run.get("ending", "")),
            str(run.get("approvedBy", "")),
            str(run.get("executor", "")),
            _text(run.get("stages")),
            _of(run.get("movesDone", 0), run.get("moves", 0)),
            size(run.get("bytes", 0)),
        )
        for run in bodies
    ]
    return ink.table([heading, *rows], names=5)


def _cluster(body: Json) -> tuple[str, ...]:
    status = status_of(body)
    plan = status.get("plan") or {}
    moves = "" if "moves" not in plan else _of(plan.get("movesDone", 0), plan["moves"])
    return (
        body["metadata"]["name"],
        (body.get("spec") or {}).get("mode", ""),
        *_ready(body),
        plan.get("hash", "")[:HASH_DIGITS],
        plan.get("approval", ""),
        _brokers(status),
        moves,
    )


def _ready(body: Json) -> tuple[str, str]:
    said = readiness(body)
    return said.status, said.reason


def _brokers(status: Json) -> str:
    """Return how many brokers are live, of how many: a number alone would hide a dead one."""
    return _text(status.get("brokersUp") or status.get("brokers"))


def _text(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


def _of(done: int, total: int) -> str:
    return f"{done:,} of {total:,}"
