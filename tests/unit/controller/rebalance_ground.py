"""A RebalanceController on fakes of the API server, of loops and of a planner."""

from dataclasses import dataclass, field, replace
from typing import Any

from prometheus_client import CollectorRegistry

import builders
from poolkeeper.controller.rebalance_controller import RebalanceController
from poolkeeper.controller.reporting.rebalance_reporter import RebalanceReporter
from poolkeeper.controller.resource_cache import ResourceCache
from poolkeeper.errors import Forbidden, RefusalReason, Unavailable
from poolkeeper.fleet.schedule.budget import ClusterWork, ScheduledStage
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.execution.outcomes import (
    ExternalPlanStatus,
    LastObservation,
    Outcome,
    Progress,
    State,
)
from poolkeeper.model.execution.records import NOTHING_RECORDED
from poolkeeper.model.execution.refusals import Refusal
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.plans import Move, Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.rebalances.planning.engines import LOCAL
from poolkeeper.rebalances.planning.response import ClusterPlan, ClusterResponse, assemble_response
from poolkeeper.rebalances.record_store import RecordStore
from poolkeeper.rebalances.text_store import TextStore
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.status.conditions import condition_of
from poolkeeper.telemetry.metrics import Metrics
from unit.resources.bodies import body

HOUR_MS = 3_600_000
MOVES = (Move("t", None, 0, ((1, 2), (2, 3)), 100, "balance"),)
PLAN = Plan("", plan_json.plan_hash(MOVES, ()), "f", moves=MOVES)
STALE = Refusal(RefusalReason.STALE_PLAN, "the plan is outdated")
SEEN_NOTHING = Outcome(
    State.CONVERGED, last_observation=LastObservation(builders.cluster((1,)), NOTHING_RECORDED)
)


@dataclass
class Server:
    """ConfigMaps by path; it may be away, or forbid everything."""

    objects: dict[str, Any] = field(default_factory=dict)
    away: bool = False
    forbids: bool = False

    def _here(self):
        if self.away:
            raise Unavailable("the API server is away")
        if self.forbids:
            raise Forbidden("reading a ConfigMap is not allowed")

    def get(self, path):
        self._here()
        return self.objects.get(path)

    def apply(self, path, body, manager):
        self._here()
        self.objects[path] = body
        return body

    def delete(self, path, uid=None):
        self._here()
        return self.objects.pop(path, None) is not None


@dataclass
class Loops:
    """The part of ClusterLoops that is asked; outcomes are what the test says."""

    assemblies: Any = None
    offers: dict[str, ExternalPlan] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    abandoned: str = ""
    let_go: int = 0

    def set_external_plans(self, offers):
        self.offers = dict(offers)

    def outcome(self, name):
        return self.outcomes.get(name)

    def names(self):
        return frozenset(self.outcomes)

    def settling(self):
        return frozenset()

    def forget_external_plans(self):
        self.offers, self.let_go = {}, self.let_go + 1


class Planner:
    """Answers at once: the same plan for every cluster; `kept` are the Rebalances it works for."""

    def __init__(self):
        self.kept = set()

    def request_plans(self, name, question):
        self.kept.add(name)
        return assemble_response(
            question,
            (
                ClusterResponse(
                    ClusterPlan(each.cluster, replace(PLAN, cluster=each.cluster)),
                    ClusterWork(each.cluster, (ScheduledStage(100, 1000),)),
                )
                for each in question.asked
            ),
        )

    def pending_reason(self, name, question):
        return ""

    def forget(self, name):
        self.kept.discard(name)

    def hand_over(self, name):
        self.kept.discard(name)


class Said:
    """Writer, recorder and guards in one."""

    def __init__(self):
        self.statuses, self.events, self.guarded = {}, [], {}
        self.may_guard = True

    def put(self, reference, said, known=None):
        if isinstance(said, bool):
            self.guarded[reference.name] = said
        else:
            self.statuses[reference.name] = said

    def forget(self, reference):
        self.statuses.pop(reference.name, None)

    def forget_object(self, reference):
        self.guarded.pop(reference.name, None)

    def hindrance(self, reference):
        return "RBAC" if reference.name in self.guarded and not self.may_guard else ""

    def record(self, reference, reason, note, *, warning):
        self.events.append((reference.name, reason))
        return True


class Ground:
    """Clusters `a` and `b` with a Rebalance `r` over both, and one operator after the other."""

    def __init__(self):
        self.server, self.said, self.loops = Server(), Said(), Loops()
        self.declared, self.role, self.now_ms = ResourceCache(), LeaderRole.HELD, 9 * HOUR_MS
        self.clock_s = 0.0
        self.bodies = {}
        for name in ("a", "b"):
            spec = {"zookeeper": {"connect": f"{name}:2181"}, "mode": "Apply"}
            self.put("KafkaCluster", name, spec)
            self.put("ResourcePool", f"{name}-p", pool_of(name, 1, 2, 3))
            self.loops.outcomes[name] = SEEN_NOTHING
        self.put("Rebalance", "r", {})
        self.restart()

    def put(self, kind, name, spec, **more):
        """Declare, or declare otherwise; the live status stays."""
        before = self.bodies.get(name, {"metadata": {"generation": 0}})
        status = self.said.statuses.get(name, before.get("status"))
        generation = before["metadata"]["generation"] + 1
        told = {"status": status, "generation": generation, **more}
        self.bodies[name] = body(kind, name, {**before.get("spec", {}), **spec}, **told)
        self.declared.put(self.bodies[name])

    def restart(self):
        """Another process begins, from what the API server has."""
        for name, status in self.said.statuses.items():
            self.bodies[name] = {**self.bodies[name], "status": status}
            self.declared.put(self.bodies[name])
        self.registry, self.planner = CollectorRegistry(), Planner()
        self.operator = RebalanceController(
            cache=self.declared,
            cluster_loops=self.loops,
            engines={LOCAL: self.planner},
            records=RecordStore(self.server, "ours", TextStore(self.server, "ours")),
            reporter=RebalanceReporter(self.said, self.said, self.said, lambda: self.clock_s),
            metrics=Metrics(self.registry),
            role=lambda: self.role,
            now_ms=lambda: self.now_ms,
        )

    def look(self, name="r"):
        """Look once; return the reason that is told."""
        objects = (each for each in self.declared.contents()[0] if each.kind != "Rebalance")
        self.loops.assemblies = assemble(objects)
        self.operator.reconcile()
        return condition_of(self.said.statuses.get(name), "Ready").get("reason")

    def approve(self, name="r", **more):
        """Approve what it waits for; it has the finalizer by then."""
        plan = self.said.statuses[name]["plan"]["hash"]
        self.put("Rebalance", name, {"approval": {"plans": [plan]}}, guarded=True, **more)

    def executing(self):
        """Go to where the plans are offered."""
        assert self.look() == "WaitingForApproval"
        self.approve()
        assert self.look() == "Moving"
        return self

    def states(self, name="r"):
        return {e["name"]: e["state"] for e in self.said.statuses[name]["clusters"]}

    def metric(self, name, **labels):
        return self.registry.get_sample_value(f"poolkeeper_{name}", labels)

    def desired(self, name):
        return self.loops.assemblies[name].desired


def pool_of(cluster, *ids):
    return {"clusterRef": {"name": cluster}, "brokers": {"ids": list(ids)}}


def errand(state, *why):
    return Outcome(State.WAITING, external=ExternalPlanStatus(PLAN.hash, state, why))


RUNNING = Outcome(State.WAITING, progress=Progress(PLAN.hash, Phase.MOVING, 1, 0, 1, 1, 0, 100))
