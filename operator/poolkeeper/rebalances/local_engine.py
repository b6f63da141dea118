"""Planning in the operator itself: each cluster is read and planned in a thread, a few at a time.

Reading takes long and may hang, so every cluster has a deadline. At the deadline a timer closes the
cluster's session, and whatever waits on it fails. The operator's worker processes plan large
clusters, one at a time each. A fault of a cluster becomes its problem in the response.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from poolkeeper.connections import ClusterConnections
from poolkeeper.errors import Internal, PoolkeeperError, Unavailable
from poolkeeper.model.specs import KafkaClusterSpec
from poolkeeper.rebalances.plan_cluster import part_of, problem_of
from poolkeeper.rebalances.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.response import ClusterResponse, RebalanceResponse, assembled
from poolkeeper.rebalances.task_runner import seen_through
from poolkeeper.reconcile.context import Planner

AT_A_TIME = 4

AccessOf = Callable[[KafkaClusterSpec], ClusterConnections]
"""Returns the ways to a cluster, as it is declared."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Work:
    """One request being planned, and its response."""

    question: RebalanceRequest
    digest: str
    dropped: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    answer: RebalanceResponse | None = None

    def is_of(self, question: RebalanceRequest) -> bool:
        """Whether it is the work of that request; digests of large fleets take a while."""
        return self.question is question or self.digest == question.digest


class LocalEngine:
    """See `engines.PlanningEngine`. `finished` is called from a thread when a response is ready."""

    def __init__(
        self,
        access_of: AccessOf,
        planner: Planner,
        finished: Callable[[], None] = lambda: None,
        at_a_time: int = AT_A_TIME,
    ) -> None:
        self._access_of = access_of
        self._planner = planner
        self._finished = finished
        self._at_a_time = at_a_time
        self._works: dict[str, _Work] = {}
        self._lock = Lock()

    def ask(self, name: str, question: RebalanceRequest) -> RebalanceResponse | None:
        """Begin to plan, or return the response; see `engines.PlanningEngine`."""
        with self._lock:
            work = self._works.get(name)
            if work is None or not work.is_of(question):
                if work is not None:
                    work.dropped.set()
                work = self._works[name] = _Work(question, question.digest)
                Thread(
                    target=self._work,
                    args=(work, question),
                    name=f"planning of rebalance {name}",
                    daemon=True,
                ).start()
        if not work.done.is_set():
            return None
        if work.answer is None:
            self.forget(name)
            raise Internal("planning ended without a response: see the operator's log")
        return work.answer

    def standing(self, name: str, question: RebalanceRequest) -> str:
        """Return an empty text: planning begins at the first request."""
        return ""

    def forget(self, name: str) -> None:
        """Drop the planning under way; clusters that are being read are read to their end."""
        with self._lock:
            work = self._works.pop(name, None)
        if work is not None:
            work.dropped.set()

    def _work(self, work: _Work, question: RebalanceRequest) -> None:
        try:
            with ThreadPoolExecutor(self._at_a_time, "planning") as threads:
                parts = threads.map(lambda asked: self._part(work, asked, question), question.asked)
                work.answer = assembled(question, parts)
        except Exception:
            # A bug of ours must not leave the request without a response for ever.
            logger.exception("planning of a rebalance failed")
        finally:
            work.done.set()
            self._finished()

    def _part(
        self, work: _Work, asked: ClusterRequest, question: RebalanceRequest
    ) -> ClusterResponse:
        if work.dropped.is_set():
            return problem_of(asked, Unavailable("planning was cancelled"))
        try:
            seen = seen_through(self._access_of(asked.desired.cluster), asked, question)
            return part_of(asked, seen, question, self._planner)
        except PoolkeeperError as failed:
            return problem_of(asked, failed)
        except Exception as error:
            logger.exception("planning of cluster %s failed", asked.cluster)
            return problem_of(asked, Internal(f"internal error: {error!r}"))
