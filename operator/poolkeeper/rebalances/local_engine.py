"""The operator itself answers: each cluster is read and planned in a thread, a few at a time.

Reading is what takes long and may hang, so every cluster has a deadline: a timer closes its session
then, and whatever waited on it fails. Planning of large clusters is done by the operator's worker
processes, one at a time each. What is wrong with a cluster is its problem in the answer.
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
    """One question under way, and what came of it."""

    question: RebalanceRequest
    digest: str
    dropped: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    answer: RebalanceResponse | None = None

    def is_of(self, question: RebalanceRequest) -> bool:
        """Whether it is that question; digests of large fleets take a while."""
        return self.question is question or self.digest == question.digest


class LocalEngine:
    """See `engines.Engine`. `finished` is called from a thread when an answer is there."""

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
        """Begin to answer, or give the answer; see `engines.Engine`."""
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
            raise Internal("planning ended without an answer: the operator's log says why")
        return work.answer

    def standing(self, name: str, question: RebalanceRequest) -> str:
        """Say nothing: it is worked on from the moment that it is asked."""
        return ""

    def forget(self, name: str) -> None:
        """Drop what is under way: clusters that are being read are read to their end."""
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
            # A defect of ours must not leave the question unanswered for ever.
            logger.exception("planning of a rebalance failed")
        finally:
            work.done.set()
            self._finished()

    def _part(
        self, work: _Work, asked: ClusterRequest, question: RebalanceRequest
    ) -> ClusterResponse:
        if work.dropped.is_set():
            return problem_of(asked, Unavailable("nobody wants to know any more"))
        try:
            seen = seen_through(self._access_of(asked.desired.cluster), asked, question)
            return part_of(asked, seen, question, self._planner)
        except PoolkeeperError as failed:
            return problem_of(asked, failed)
        except Exception as error:
            logger.exception("planning of cluster %s failed", asked.cluster)
            return problem_of(asked, Internal(f"internal error: {error!r}"))
