"""Runs a request: one task per cluster reads its ZooKeeper and plans it, on any machine.

Only the request for one cluster and its compressed plan are sent. Partitions never are: they are
read where they are planned. A cluster that cannot be read in time has its reason instead of a plan,
and the others are unaffected. Nothing is written to any cluster.

Credentials are never sent: a task finds the Secrets that its KafkaCluster names as folders of
files, as pods mount them.
"""

import base64
import gzip
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from poolkeeper.brokers import enrich
from poolkeeper.cluster_connections import ClusterConnections, ClusterConnector, ReadSecret
from poolkeeper.errors import BrokersUnreachable, PoolkeeperError, Unavailable
from poolkeeper.fleet.engines import deadlines
from poolkeeper.fleet.engines.engines import TaskEngine
from poolkeeper.fleet.schedule.budget import ClusterWork
from poolkeeper.fleet.storage import codecs
from poolkeeper.frozen import frozen
from poolkeeper.load.refresh import with_load_history
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import Planner, make_plan
from poolkeeper.rebalances.plan_cluster import (
    ObservedCluster,
    plan_cluster,
    response_of_error,
)
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.rebalances.planning.response import (
    PLANS_BYTES_MAX,
    ClusterResponse,
    cluster_plan_text,
    text_of,
    waves_of,
    with_room,
    without_room,
)
from poolkeeper.reconcile.observe.observation import observe_cluster
from poolkeeper.temporary_folders import temporary_folder
from poolkeeper.zk.client.gc_pause import collector_paused
from poolkeeper.zk.cluster_access import ZooKeeperView


@frozen
class PlanClusterTask:
    """The task for one cluster: its request as text, and a folder with a folder per Secret."""

    request: str
    secrets: str = ""


@frozen
class ClusterResult:
    """The result of one cluster: its text in the response, compressed, in base64; and its work.

    `bytes`: the length of the text.
    """

    cluster: str
    planned: str
    work: str
    problem: str
    moves: int
    bytes: int

    @classmethod
    def of(cls, part: ClusterResponse) -> "ClusterResult":
        """Pack one cluster's part of a response."""
        planned = part.cluster_plan
        body = cluster_plan_text(planned).encode()
        packed = base64.b64encode(gzip.compress(body, compresslevel=1, mtime=0)).decode()
        work = "" if part.work is None else codecs.to_text(part.work)
        return cls(planned.cluster, packed, work, planned.problem, planned.moves, len(body))

    @classmethod
    def without_room(cls, result: "ClusterResult", bytes_max: int) -> "ClusterResult":
        """The result that replaces a plan that does not fit into the response."""
        return cls.of(without_room(result.cluster, result.moves, bytes_max))

    @property
    def text(self) -> str:
        """The cluster's text in the response."""
        return gzip.decompress(base64.b64decode(self.planned)).decode()


@frozen
class WrittenResponse:
    """A response as text, its problems by cluster, and the moves of all plans."""

    text: str
    clusters: int
    problems: Mapping[str, str]
    moves: int


def write_response(
    request: RebalanceRequest,
    engine: TaskEngine,
    secrets: str = "",
    bytes_max: int = PLANS_BYTES_MAX,
) -> WrittenResponse:
    """The text of the whole response; `bytes_max`: of all its plans together.

    Raises `Unavailable` if the engine gave up, and nothing for faults of a cluster. The plans are
    not parsed, which would take longer than making them.
    """
    tasks = [
        PlanClusterTask(request.for_cluster(cluster_request).to_json(), secrets)
        for cluster_request in request.asked
    ]
    weights = [1 + len(cluster_request.desired.topics) for cluster_request in request.asked]
    done = sorted(engine.do(tasks, perform, ClusterResult, weights), key=lambda each: each.cluster)
    rooms = zip(done, with_room((each.bytes for each in done), bytes_max), strict=True)
    done = [each if room else ClusterResult.without_room(each, bytes_max) for each, room in rooms]
    works = [codecs.from_text(ClusterWork, each.work) for each in done if each.work]
    return WrittenResponse(
        text_of(request.digest, (each.text for each in done), waves_of(request, works)),
        len(done),
        {each.cluster: each.problem for each in done if each.problem},
        sum(each.moves for each in done),
    )


def perform(task: PlanClusterTask) -> ClusterResult:
    """Do one task; a fault of the cluster is in its part and never raised."""
    request = RebalanceRequest.from_json(task.request)
    (cluster_request,) = request.asked
    patience = request.patience
    try:
        with temporary_folder() as folder, collector_paused():
            connector = ClusterConnector(
                secrets_in(task.secrets), folder, patience.timeout_s, patience.timeout_s
            )
            part = plan_through(
                connector.connections(cluster_request.desired.cluster), cluster_request, request
            )
    except PoolkeeperError as failed:
        part = response_of_error(cluster_request, failed)
    return ClusterResult.of(part)


def plan_through(
    connections: ClusterConnections,
    cluster_request: ClusterRequest,
    request: RebalanceRequest,
    plan: Planner = make_plan,
) -> ClusterResponse:
    """Read a cluster and plan it; a fault of it becomes its problem and is never raised."""
    try:
        observed = observe_through(connections, cluster_request, request)
    except PoolkeeperError as failed:
        return response_of_error(cluster_request, failed)
    return plan_cluster(cluster_request, observed, request, plan)


def observe_through(
    connections: ClusterConnections, cluster_request: ClusterRequest, request: RebalanceRequest
) -> ObservedCluster:
    """Read a cluster once, within the request's deadlines; with sizes if brokers report them."""
    patience = request.patience
    brokers = None

    def enriched(cluster: Cluster) -> Cluster:
        if brokers is not None:
            cluster = enrich.enrich_cluster(cluster, brokers, patience.timeout_s).cluster
        return with_load_history(cluster, cluster_request.desired.cluster.load, request.now_ms)[0]

    with (
        connections.session() as session,
        deadlines.close_at_deadline(session, patience.deadline_s),
    ):
        with suppress(BrokersUnreachable):
            brokers = connections.brokers()
        try:
            observed = observe_cluster(
                ZooKeeperView(session), cluster_request.desired, request.now_ms, enriched
            )
        finally:
            if brokers is not None:
                brokers.close()
    return ObservedCluster(observed.cluster, observed.records, observed.gone)


def secrets_in(folder: str) -> ReadSecret:
    """Read Secrets as pods mount them: `folder/NAME/KEY`."""

    def read(name: str) -> Mapping[str, bytes]:
        place = Path(folder) / name
        try:
            files = [each for each in sorted(place.iterdir()) if each.is_file()]
            found = {each.name: each.read_bytes() for each in files}
        except OSError:
            found = {}
        if not folder or not found:
            raise Unavailable(f"there is no Secret {name} for planners")
        return found

    return read
