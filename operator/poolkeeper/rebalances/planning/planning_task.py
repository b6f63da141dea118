"""The planning of one Rebalance: what is requested, from which engine, and when it is again.

A request is made once, and its response then fetched. It is made again if the scope changes, or
what is declared of clusters and pools. While declarations still arrive, the task waits. If no
cluster at all could be planned, there is no plan yet: clusters that are away may return.
"""

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from poolkeeper.errors import PoolkeeperError, Refused, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.rebalances import RebalanceSpec, RebalanceState, RebalanceStep
from poolkeeper.rebalances.planning.engines import LOCAL, PlanningEngine, choose_engine
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse
from poolkeeper.rebalances.records import Record, record_of
from poolkeeper.rebalances.scope import Declarations, RebalanceScope, scope_of
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus
from poolkeeper.resources.status.wording import count, few

RETRY_S = 30.0
SETTLING_MS_MAX = 30_000
SHOWN_MAX = 3
CLUSTERS_MAX = 1000
"""A status is one object of the API server's, and tells of each of them."""


@frozen
class PlanningResult:
    """The state of the planning; with a `record` it is done, for the scope `scope`."""

    state: RebalanceState
    condition: ReadyCondition
    scope: RebalanceScope | None = None
    record: Record | None = None


class PlanningTask:
    """The planning of one Rebalance; see the module. One for each, while it is being planned."""

    def __init__(
        self,
        name: str,
        engines: Mapping[str, PlanningEngine],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._engines = engines
        self._clock = clock
        self._declarations = Declarations()
        self._request: RebalanceRequest | None = None
        self._retry_at_s = 0.0
        self._failure: ReadyCondition | None = None

    def poll(
        self,
        spec: RebalanceSpec,
        rebalance_state: RebalanceState,
        assemblies: Mapping[str, Assembly],
        settling: Collection[str],
        now_ms: int,
    ) -> PlanningResult:
        """Request plans, or fetch the response; `settling`: clusters that are being declared."""
        scope = scope_of(spec, assemblies, self._declarations)
        if hindrance := _scope_condition(scope):
            self.end()
            return PlanningResult(RebalanceState(), hindrance)
        if rebalance_state.scope != scope.digest or not rebalance_state.requested_ms:
            self.end()
            rebalance_state = RebalanceState(requested_ms=now_ms, scope=scope.digest)
        arriving = not {each.cluster for each in scope.cluster_requests}.isdisjoint(settling)
        # The request may be of a leader whose clock is ahead of this one's.
        waited_ms = now_ms - rebalance_state.requested_ms
        early = self._request is None and 0 <= waited_ms < SETTLING_MS_MAX
        if arriving and early:
            message = "what is declared changed a moment ago: planning waits for the settle time"
            return PlanningResult(
                rebalance_state, ReadyCondition(ReadyStatus.RECONCILING, "Planning", message)
            )
        if self._failure is not None:
            if self._clock() < self._retry_at_s:
                return PlanningResult(rebalance_state, self._failure)
            if self._request is None:
                rebalance_state = replace(rebalance_state, requested_ms=now_ms)
            self._failure = None
        return self._ask(spec, rebalance_state, scope)

    def is_outdated(
        self,
        spec: RebalanceSpec,
        rebalance_state: RebalanceState,
        assemblies: Mapping[str, Assembly],
    ) -> bool:
        """Whether the request would now differ from the one that has its response."""
        return scope_of(spec, assemblies, self._declarations).digest != rebalance_state.scope

    def end(self) -> None:
        """Drop the planning under way."""
        if self._request is not None:
            for engine in self._engines.values():
                # What cannot be deleted now goes with the Rebalance, or makes way for the next.
                with contextlib.suppress(PoolkeeperError):
                    engine.forget(self._name)
        self._request = None
        self._failure = None

    def forget(self) -> None:
        """Drop all that is kept, as the Rebalance has ended."""
        self.end()
        self._declarations.retain(())

    def hand_over(self) -> None:
        """Drop what this process keeps of the planning, because another instance leads now."""
        for engine in self._engines.values():
            engine.hand_over(self._name)

    def _ask(
        self, spec: RebalanceSpec, rebalance_state: RebalanceState, scope: RebalanceScope
    ) -> PlanningResult:
        try:
            choice = choose_engine(spec.engine, self._engines, scope.partitions)
            rebalance_state = replace(
                rebalance_state, step=RebalanceStep.PLANNING, engine=choice.name
            )
            request = self._request or scope.request(spec, rebalance_state.requested_ms)
            self._request = request
            response = choice.engine.request_plans(self._name, request)
            waits = choice.engine.pending_reason(self._name, request) if response is None else ""
        except PoolkeeperError as failed:
            return self._retry_later(rebalance_state, _error_condition(failed))
        if response is None:
            who = "the operator" if choice.name == LOCAL else "a Job with Spark"
            message = f"{who} reads and plans {count(len(scope.cluster_requests), 'cluster')}"
            told = "; ".join(filter(None, (message, choice.remark, waits)))
            return PlanningResult(
                rebalance_state, ReadyCondition(ReadyStatus.RECONCILING, "Planning", told)
            )
        if all(each.plan is None for each in response.clusters):
            self.end()
            return self._retry_later(rebalance_state, _no_plans_condition(response))
        said = ReadyCondition(ReadyStatus.RECONCILING, "Planning", "the plans are being stored")
        return PlanningResult(rebalance_state, said, scope, record_of(request, response))

    def _retry_later(
        self, rebalance_state: RebalanceState, condition: ReadyCondition
    ) -> PlanningResult:
        self._failure = condition
        self._retry_at_s = self._clock() + RETRY_S
        return PlanningResult(rebalance_state, condition)


def _scope_condition(scope: RebalanceScope) -> ReadyCondition | None:
    """What a person must change before plans can be requested."""
    if scope.missing:
        message = f"spec.pools: no cluster in scope has ResourcePool {few(scope.missing)}"
        return ReadyCondition(ReadyStatus.STALLED, "NoSuchPool", message)
    if len(scope.cluster_requests) + len(scope.unplanned) > CLUSTERS_MAX:
        message = f"more than {CLUSTERS_MAX} clusters are in scope; divide them by spec.clusters"
        return ReadyCondition(ReadyStatus.STALLED, "Impossible", message)
    if scope.cluster_requests:
        return None
    if not scope.unplanned:
        message = "spec.clusters: no KafkaCluster with a pool in scope exists"
        return ReadyCondition(ReadyStatus.STALLED, "NoSuchCluster", message)
    told = few((f"{part.cluster}: {part.message}" for part in scope.unplanned), SHOWN_MAX)
    return ReadyCondition(ReadyStatus.STALLED, "NoSuchCluster", told)


def _error_condition(failed: PoolkeeperError) -> ReadyCondition:
    match failed:
        case Refused():
            return ReadyCondition(ReadyStatus.STALLED, "Impossible", str(failed))
        case Unavailable():
            return ReadyCondition(ReadyStatus.UNKNOWN, "Unreachable", str(failed))
        case _:
            return ReadyCondition(ReadyStatus.UNKNOWN, "Planning", str(failed))


def _no_plans_condition(response: RebalanceResponse) -> ReadyCondition:
    told = few((f"{each.cluster}: {each.problem}" for each in response.clusters), SHOWN_MAX)
    message = f"no cluster could be planned, retrying: {told}"
    return ReadyCondition(ReadyStatus.UNKNOWN, "Unreachable", message)
