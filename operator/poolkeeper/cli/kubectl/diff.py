"""A plan as a unified diff of what Kafka would say: replicas, partitions, configs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]


def lines(plan: Json) -> list[str]:
    """Return the diff of a plan.json, topic by topic; empty for a plan that changes nothing."""
    found: dict[str, list[str]] = {}
    for step in plan.get("steps") or ():
        if "topic" in step:
            found.setdefault(step["topic"], []).extend(step_lines(step))
    for move in plan.get("moves") or ():
        found.setdefault(move["topic"], []).extend(_move(move))
    changed = {topic: each for topic, each in sorted(found.items()) if each}
    return [
        line for topic, each in changed.items() for line in (f"--- {topic}", f"+++ {topic}", *each)
    ]


def step_lines(step: Json) -> Iterator[str]:
    """Return what a step adds and removes, as lines of a diff."""
    match step["kind"]:
        case "CreateTopic":
            yield from _partitions(0, step["replicas"])
            for key, value in sorted((step.get("config") or {}).items()):
                yield f"+{key}={value}"
        case "AddPartitions":
            yield from _partitions(step["first"], step["replicas"])
        case "SetConfig":
            for key, value in sorted((step.get("set") or {}).items()):
                yield f"+{key}={value}"
            for key in sorted(step.get("unset") or ()):
                yield f"-{key}"
        case "DeleteTopic":
            yield "-(the topic, with all of its data)"
        case "MoveLogDir":
            yield f"-{step['partition']} on {step['broker']}: {step.get('from') or 'elsewhere'}"
            yield f"+{step['partition']} on {step['broker']}: {step['to']}"
        case _:
            return


def _partitions(begin: int, lists: Sequence[Sequence[int]]) -> Iterator[str]:
    for number, replicas in enumerate(lists, begin):
        yield f"+{number}: {json.dumps(list(replicas))}"


def _move(move: Json) -> Iterator[str]:
    yield f"-{move['partition']}: {json.dumps(list(move['from']))}"
    yield f"+{move['partition']}: {json.dumps(list(move['to']))}"
