"""What a Rebalance requests of planners: which clusters, as declared, which pools, what budget.

A request is canonical text: equal requests have equal texts, and the digest names the Job that
plans it. A request holds the moment that it is about. So tomorrow's request is another one.
"""

from collections.abc import Mapping
from dataclasses import field, replace

from poolkeeper.fleet.schedule.budget import Budget
from poolkeeper.fleet.storage import codecs
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.rebalances.planning.text_chunks import digest_of


@frozen
class ClusterRequest:
    """One cluster as declared; `pools`: those in scope, sorted; empty for all."""

    desired: Desired
    pools: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.desired.cluster.name


@frozen
class PlanningDeadlines:
    """Deadlines of planners: to connect, for each reply, and for one cluster in all."""

    timeout_s: float = 10.0
    deadline_s: float = 300.0


@frozen
class RebalanceRequest:
    """The clusters to plan.

    `cluster_request`: sorted by cluster, each once.
    `now_ms`: the moment of the request.
    `budget`: if given, the response has waves, which begin at that moment.
    `sites`: by cluster.
    """

    asked: tuple[ClusterRequest, ...]
    now_ms: int
    budget: Budget | None = None
    sites: Mapping[str, str] = field(default_factory=dict)
    patience: PlanningDeadlines = PlanningDeadlines()

    @property
    def digest(self) -> str:
        """`sha256:` and the digest that identifies this request."""
        return digest_of(self.to_json())

    def for_cluster(self, cluster_request: ClusterRequest) -> "RebalanceRequest":
        """The same request for one of its clusters alone."""
        site = self.sites.get(cluster_request.cluster)
        sites = {} if site is None else {cluster_request.cluster: site}
        return replace(self, asked=(cluster_request,), sites=sites)

    def to_json(self) -> str:
        """The canonical text, without the places of documents in files."""
        return codecs.to_text(self)

    @classmethod
    def from_json(cls, text: str) -> "RebalanceRequest":
        """Return the request; raises `Refused` for another text, or one of another release."""
        return codecs.from_text(cls, text)
