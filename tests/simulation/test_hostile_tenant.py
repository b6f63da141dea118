"""A tenant who edits Topics at random, as malign as the API server lets them, among others.

The others' topics keep their data and configs, come to where they are declared in a bounded number
of passes, and are told so; nothing that is told grows without bound or breaks its definition.
"""

import functools
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from jsonschema import Draft4Validator

import manifests
from matrices import soak
from poolkeeper.controller.settle_time import SettleTime
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.reconcile.authority import authority_of
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey, read_object
from poolkeeper.resources.parse import schemas
from poolkeeper.resources.status.all_resources import statuses
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

STATUS_BYTES_MAX = 32 * 1024
OURS = ("a.b", "orders", "audit", "shop-1", "shop-2")
NAMES = (*OURS, "a_b", "a-b", "evil", "_schemas", "__consumer_offsets", "stray", "..", "x" * 249)
NUMBERS = ("-1", "-0", "1e3", "9" * 30, "٣", " 5 ", "\n", "", "1\x00", "0.5", "NaN", "1_000")
WORDS = ("ZSTD", "zstd", "compact,delete", "true", "*", "0:1", "9.9-IV9", "a" * 8192)
KEYS = (
    *("retention.ms", "retention.bytes", "Retention.ms", "cleanup.policy", "compression.type"),
    *("segment.bytes", "min.insync.replicas", "message.format.version", "max.message.bytes"),
    *("unclean.leader.election.enable", "remote.storage.enable", "local.retention.ms", "k" * 2000),
    *("leader.replication.throttled.replicas", "follower.replication.throttled.replicas "),
    *("min.cleanable.dirty.ratio", "preallocate", "message.timestamp.type", ""),
)


@dataclass(slots=True)
class Tenant:
    """Somebody who may create, edit and delete Topics of a namespace."""

    chance: random.Random
    namespace: str = "evil"
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    edits: int = 0

    def act(self) -> None:
        """Do a few things at once."""
        for _ in range(self.chance.randint(1, 4)):
            self.edits += 1
            name = f"t{self.chance.randrange(12)}"
            if name in self.topics and self.chance.random() < 0.3:
                self._delete(name)
            else:
                self._apply(name)

    def _delete(self, name: str) -> None:
        body = self.topics[name]
        if body["spec"].get("deletionPolicy") == "Delete" and self.chance.random() < 0.5:
            body["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            del self.topics[name]  # with the finalizer removed by hand, perhaps

    def _apply(self, name: str) -> None:
        before = self.topics.get(name)
        spec = self._spec()
        if before is not None:
            if "topicName" in before["spec"]:
                spec["topicName"] = before["spec"]["topicName"]
            if self.chance.random() < 0.7:
                field_ = self.chance.choice(sorted(spec))
                spec = {**before["spec"], field_: spec[field_]}
        body = manifests.topic(name, "p", self.namespace, **spec)
        generation = self.edits
        body["metadata"] |= {"uid": f"{self.namespace}-{name}", "generation": generation}
        body["metadata"]["annotations"] = {"poolkeeper.dev/request": "stop"}
        body["metadata"]["labels"] = {"poolkeeper.dev/protected-topics": "allowed"}
        body["spec"] = spec
        self.topics[name] = body

    def _spec(self) -> dict[str, Any]:
        pick = self.chance.choice
        spec: dict[str, Any] = {
            "poolRef": {"name": pick(("p", "p", "q", "q", "nowhere", "closed"))},
            "topicName": pick(NAMES),
            "deletionPolicy": pick(("Retain", "Delete")),
            "paused": self.chance.random() < 0.1,
            "keyed": self.chance.random() < 0.1,
        }
        if self.chance.random() < 0.6:
            spec["partitions"] = pick((1, 2, 3, 3, 30, 100_000))
        if self.chance.random() < 0.6:
            spec["replicationFactor"] = pick((1, 2, 2, 3, 1000))
        if self.chance.random() < 0.3:
            lists = [
                [pick((1, 2, 3, 4, 5, 6, 99, 2**31 - 1)) for _ in range(pick((1, 2, 3)))]
                for _ in range(pick((1, 2, 3, 50)))
            ]
            spec["placement"] = {"strategy": "Manual", "assignment": lists}
        if self.chance.random() < 0.3:
            spec["config"] = {"retention.ms": str(self.chance.randrange(10**9))}
        elif self.chance.random() < 0.4:
            spec["config"] = {pick(KEYS): pick(NUMBERS + WORDS) for _ in range(pick((1, 3)))}
        return spec


def others() -> list[dict[str, Any]]:
    return [
        identified(
            manifests.topic(
                name, "q" if number % 2 else "p", "shop", config={"retention.ms": "777000"}
            )
        )
        for number, name in enumerate(OURS)
    ]


def platform() -> list[dict[str, Any]]:
    spec = {
        "mode": "Apply",
        "approval": {"policy": "Auto"},
        "execution": {"throttle": {"mode": "None"}},
    }
    return [
        identified(manifests.kafka_cluster("main", "fake:2181", **spec)),
        identified(manifests.resource_pool("p", 1, 2, 3)),
        identified(manifests.resource_pool("q", 4, 5, 6)),
        identified(manifests.resource_pool("closed", 7, 8, allowedNamespaces={"names": ["shop"]})),
    ]


def identified(body: dict[str, Any], generation: int = 1) -> dict[str, Any]:
    body["metadata"] |= {"uid": body["metadata"]["name"], "generation": generation}
    return body


@dataclass(slots=True)
class Operated(Executor):
    """A loop of the operator: what is declared changes before every pass, and statuses are told."""

    declare: Callable[[], list[dict[str, Any]]] = list
    told: dict[ObjectKey, dict[str, Any]] = field(default_factory=dict)
    settle_time: SettleTime | None = None

    def ready(self, key: ObjectKey) -> dict[str, Any]:
        """The Ready condition that was told last."""
        conditions: list[dict[str, Any]] = self.told[key]["conditions"]
        return next(each for each in conditions if each["type"] == "Ready")

    def _pass(self, context: PassContext) -> Outcome:
        if self.settle_time is None:
            self.settle_time = SettleTime(5.0, lambda: self.cluster.clock.now_ms() / 1000)
            self.settle_time.begin()
        objects = [self._with_status(read_object(body)) for body in self.declare()]
        assembly = assemble(objects, own_namespace="ops")["main"]
        wanted = assembly.desired
        assert wanted is not None, assembly.hold
        if wanted != self.desired:
            self.settle_time.note(self.desired, wanted)
            self.desired = wanted
        now, settling = self.settle_time.begin_pass(self.desired)
        authority = replace(authority_of(now), settling=settling)
        outcome = reconcile_cluster(context, now, authority)
        self._tell(assembly, outcome)
        return outcome

    def _with_status(self, each: CustomResource) -> CustomResource:
        return replace(each, status=self.told.get(each.key))

    def _tell(self, assembly: Assembly, outcome: Outcome) -> None:
        seen = outcome.last_observation
        before = self.told
        self.told = dict(statuses(assembly, seen, outcome, self.cluster.clock.now_ms()))
        for key, status in self.told.items():
            if status == before.get(key):
                continue
            assert list(_schema(key.kind).iter_errors(status)) == [], (key, status)
            assert len(json.dumps(status)) <= STATUS_BYTES_MAX, (key, status)


@functools.cache
def _schema(kind: str) -> Draft4Validator:
    whole = schemas.definition(f"{kind.lower()}s")["spec"]["versions"][0]["schema"]
    return Draft4Validator(schemas.prepare_schema(whole["openAPIV3Schema"]["properties"]["status"]))


@dataclass(slots=True)
class Site:
    """A cluster whose topics are owned and on the wrong brokers, and what is declared for it."""

    cluster: SimulatedCluster
    fixed: list[dict[str, Any]]
    desired: Desired

    def operated(
        self, hostile: Callable[[], list[dict[str, Any]]], at_rest: Callable[[Outcome], bool]
    ) -> Operated:
        """An operator whose tenant declares something else before each pass."""
        return Operated(
            self.cluster,
            self.desired,
            declare=lambda: [*self.fixed, *others(), *hostile()],
            at_rest=at_rest,
        )


def site(kafka: str) -> Site:
    cluster = SimulatedCluster(SimulationSpec(spread(8), kafka=kafka))
    cluster.start()
    for name in OURS:
        cluster.create_topic(name, (1, 4), (5, 2))
    cluster.create_topic("stray", (7, 8))
    cluster.create_topic("_schemas", (7, 8))
    fixed = platform()
    desired = assemble([read_object(body) for body in [*fixed, *others()]])["main"].desired
    assert desired is not None
    Executor(cluster, replace(desired, topics=()), at_rest=lambda _: True).finish()
    for name in OURS:
        body = {"version": 1, "owner": f"shop/{name}", "declared": [], "deletion_policy": "Retain"}
        cluster.create(f"/poolkeeper/records/topics/{name}", body)
    return Site(cluster, fixed, desired)


def in_place(cluster: SimulatedCluster) -> bool:
    for number, name in enumerate(OURS):
        pool = {4, 5, 6} if number % 2 else {1, 2, 3}
        body = cluster.read(f"/brokers/topics/{name}")
        lists = body["partitions"].values()
        if not all({*ids} <= pool for ids in lists) or body.get("adding_replicas"):
            return False
    return True


SOME = [(seed, 80) for seed in range(3)]


@pytest.mark.parametrize(("seed", "edits_min"), [*SOME, *soak(*((seed, 200) for seed in range(3)))])
def test_whatever_a_tenant_declares_hurts_nobody(seed: int, edits_min: int) -> None:
    at = site(("2.0.1", "2.8.2", "3.9.2")[seed])
    tenant = Tenant(random.Random(seed))

    def declare() -> list[dict[str, Any]]:
        tenant.act()
        return list(tenant.topics.values())

    def rest(_: Outcome) -> bool:
        return in_place(at.cluster) and tenant.edits > edits_min and are_told_so()

    def are_told_so() -> bool:
        ready = [executor.ready(ObjectKey("Topic", "shop", name)) for name in OURS]
        return all(each["status"] == "True" for each in ready)

    executor = at.operated(declare, rest)
    executor.finish(passes_max=400)
    for name in OURS:
        assert len(at.cluster.replicas(name)) == 2
        assert at.cluster.read(f"/config/topics/{name}")["config"] == {"retention.ms": "777000"}
    for name in ("stray", "_schemas"):
        assert at.cluster.replicas(name) == {"0": [7, 8]}
        assert not (at.cluster.read(f"/config/topics/{name}") or {}).get("config")


EDITS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "a config": lambda n: {"config": {"retention.ms": str(10**9 + n)}},
    "a config that loses records": lambda n: {"config": {"retention.ms": str(10**9 - n)}},
    "more partitions": lambda n: {"partitions": 1 + n},
    "another pool": lambda n: {"poolRef": {"name": "pq"[n % 2]}},
    "more and fewer replicas": lambda n: {"replicationFactor": 1 + n % 2},
    "a Topic in place of another": lambda n: {"topicName": f"evil-{n}"},
}


AT_LENGTH = ("a config", "a Topic in place of another")


@pytest.mark.parametrize("name", [*(n for n in EDITS if n not in AT_LENGTH), *soak(*AT_LENGTH)])
def test_who_edits_before_every_pass_holds_nobody_up(name: str) -> None:
    """Passes of a large cluster take seconds, and each finds something to write at once."""
    edit = EDITS[name]
    at, edits = site("2.8.2"), 0

    def declare() -> list[dict[str, Any]]:
        nonlocal edits
        edits += 1
        spec = {"partitions": 1, "replicationFactor": 1, **edit(edits)}
        name = spec.get("topicName", "evil")
        return [identified(manifests.topic(name, "p", "evil", **spec), edits)]

    executor = at.operated(declare, lambda _: in_place(at.cluster))
    executor.finish(passes_max=200)
    begun = {a.kind for outcome in executor.seen for a in outcome.did}
    assert ActionKind.RUN_BEGUN in begun
