"""A reporter, what it reports to, and a small cluster to report on."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry

from poolkeeper.controller.reporting.reporter import (
    Reporter,
)
from poolkeeper.errors import Forbidden, PoolkeeperError, Unavailable
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.finalizers import FinalizerApi
from poolkeeper.model.execution.outcomes import (
    Outcome,
    State,
)
from poolkeeper.model.execution.waits import after_error
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.telemetry.metrics import Metrics
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.stages import seen

AUTO = kafka_cluster(mode="Apply", approval={"policy": "Auto"})
WANTED = topic("orders", "fast", partitions=2, replicationFactor=1)
OBJECTS = (AUTO, pool("fast", 1, 2), pool("slow", 4, 5), WANTED)
SEEN = seen(kafka([kafka_topic("orders", (4,), (5,))]))
AWAY = Unavailable("no server of zk:2181 answers")
OUTAGE = Outcome(State.WAITING, waits=(after_error(AWAY),), error=AWAY)


class Writer:
    def __init__(self) -> None:
        self.written: dict[str, dict[str, Any]] = {}

    def put(self, reference: Reference, status: dict[str, Any], known: object) -> None:
        self.written[reference.name] = status

    def forget(self, reference: Reference) -> None:
        self.written.pop(reference.name, None)

    def said(self) -> dict[str, tuple[str, str]]:
        """Status and reason of Ready, by name; what was said is then over."""
        ready = {name: condition_of(status, "Ready") for name, status in self.written.items()}
        self.written = {}
        return {name: (each["status"], each["reason"]) for name, each in ready.items()}


class Recorder:
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def record(self, reference: Reference, reason: str, note: str, *, warning: bool) -> bool:
        self.events.append((reference.name, reason))
        return True

    def forget(self) -> None:
        self.events = []


class NoServer:
    def get(self, path: str) -> None:
        return None

    def patch_json(self, path: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
        raise AssertionError("nothing is there to be patched")


_DENIAL = Forbidden("it is not allowed")


class Guarded:
    """A server that has every object, and lets them be patched only if that is allowed."""

    def __init__(self, denial: PoolkeeperError = _DENIAL) -> None:
        self.allowed, self._denial = False, denial
        self.status: dict[str, Any] = {}
        self.asked: Counter[str] = Counter()

    def get(self, path: str) -> dict[str, Any]:
        return {"metadata": {"uid": "", "resourceVersion": "1"}, "status": self.status}

    def patch_json(self, path: str, operations: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked[path.rpartition("/")[2]] += 1
        if not self.allowed:
            raise self._denial
        return {}


class Room:
    """A reporter, what it reports to, and a clock."""

    def __init__(self, operator: str = "", api: FinalizerApi | None = None) -> None:
        self.writer, self.recorder, self.now_s = Writer(), Recorder(), 1000.0
        self.registry = CollectorRegistry()
        self.reporter = Reporter(
            api or NoServer(),
            self.writer,  # type: ignore[arg-type]
            self.recorder,  # type: ignore[arg-type]
            Metrics(self.registry),
            operator=operator,
            clock=lambda: self.now_s,
        )

    def report(self, assembly: Assembly, outcome: Outcome) -> dict[str, tuple[str, str]]:
        self.reporter.report(assembly, outcome)
        return self.writer.said()


def main(objects: Sequence[CustomResource] = OBJECTS) -> Assembly:
    return assemble(objects)["main"]


MOVING = ("False", "Moving")
AWAY_NOW = ("Unknown", "Unreachable")
