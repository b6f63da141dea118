"""Planning in the operator itself: each cluster is read and planned in a thread, a few at a time.

Reading takes long and may hang, so every cluster has a deadline. At the deadline a timer closes the
cluster's session, and whatever waits on it fails. The operator's worker processes plan large
clusters, one at a time each. A fault of a cluster becomes its problem in the response.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.errors import Internal, PoolkeeperError, Unavailable
from poolkeeper.model.specs import KafkaClusterSpec
from poolkeeper.planning.planner import Planner
from poolkeeper.rebalances.plan_cluster import plan_cluster, response_of_error
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.planning.response import (
    ClusterResponse,
    RebalanceResponse,
    assemble_response,
)
from poolkeeper.rebalances.planning.task_runner import observe_through

AT_A_TIME = 4

ConnectionsOf = Callable[[KafkaClusterSpec], ClusterConnections]
"""Returns the ways to a cluster, as it is declared."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Planning:
    """One request being planned, and its response."""

    request: RebalanceRequest
    digest: str
    dropped: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    response: RebalanceResponse | None = None

    def is_for(self, request: RebalanceRequest) -> bool:
        """Whether it is the work of that request; digests of large fleets take a while."""
        return self.request is request or self.digest == request.digest


class LocalEngine:
    """See `engines.PlanningEngine`. `on_finished` is called in a thread for each response."""

    def __init__(
        self,
        connections_of: ConnectionsOf,
        planner: Planner,
        on_finished: Callable[[], None] = lambda: None,
        at_a_time: int = AT_A_TIME,
    ) -> None:
        self._connections_of = connections_of
        self._planner = planner
        self._on_finished = on_finished
        self._at_a_time = at_a_time
        self._plannings: dict[str, _Planning] = {}
        self._lock = Lock()

    def request_plans(self, name: str, request: RebalanceRequest) -> RebalanceResponse | None:
        """Begin to plan, or return the response; see `engines.PlanningEngine`."""
        with self._lock:
            planning = self._plannings.get(name)
            if planning is None or not planning.is_for(request):
                if planning is not None:
                    planning.dropped.set()
                planning = self._plannings[name] = _Planning(request, request.digest)
                Thread(
                    target=self._plan_all,
                    args=(planning, request),
                    name=f"planning of rebalance {name}",
                    daemon=True,
                ).start()
        if not planning.done.is_set():
            return None
        if planning.response is None:
            self.forget(name)
            raise Internal("planning ended without a response: see the operator's log")
        return planning.response

    def pending_reason(self, name: str, request: RebalanceRequest) -> str:
        """Return an empty text: planning begins at the first request."""
        return ""

    def forget(self, name: str) -> None:
        """Drop the planning under way; clusters that are being read are read to their end."""
        with self._lock:
            planning = self._plannings.pop(name, None)
        if planning is not None:
            planning.dropped.set()

    def hand_over(self, name: str) -> None:
        """Drop the planning under way: the next leader plans anew."""
        self.forget(name)

    def _plan_all(self, planning: _Planning, request: RebalanceRequest) -> None:
        try:
            parts = _side_by_side(
                lambda cluster_request: self._plan_one(planning, cluster_request, request),
                request.asked,
                self._at_a_time,
            )
            planning.response = assemble_response(request, parts)
        except Exception:
            # A bug of ours must not leave the request without a response for ever.
            logger.exception("planning of a rebalance failed")
        finally:
            planning.done.set()
            self._on_finished()

    def _plan_one(
        self, planning: _Planning, cluster_request: ClusterRequest, request: RebalanceRequest
    ) -> ClusterResponse:
        if planning.dropped.is_set():
            return response_of_error(cluster_request, Unavailable("planning was cancelled"))
        try:
            seen = observe_through(
                self._connections_of(cluster_request.desired.cluster), cluster_request, request
            )
            return plan_cluster(cluster_request, seen, request, self._planner)
        except PoolkeeperError as failed:
            return response_of_error(cluster_request, failed)
        except Exception as error:
            logger.exception("planning of cluster %s failed", cluster_request.cluster)
            return response_of_error(cluster_request, Internal(f"internal error: {error!r}"))


def _side_by_side(
    plan: Callable[[ClusterRequest], ClusterResponse],
    asked: Sequence[ClusterRequest],
    at_a_time: int,
) -> list[ClusterResponse]:
    """The plans of clusters, in their order, made by threads that keep no process from ending.

    Those of an executor are waited for when the process ends, with all that they have yet to do.
    """
    left = SimpleQueue[int]()
    for place in range(len(asked)):
        left.put(place)
    found: dict[int, ClusterResponse] = {}

    def work() -> None:
        with suppress(Empty):
            while True:
                place = left.get_nowait()
                found[place] = plan(asked[place])

    threads = [Thread(target=work, name="planning", daemon=True) for _ in asked[:at_a_time]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[place] for place in range(len(asked))]
