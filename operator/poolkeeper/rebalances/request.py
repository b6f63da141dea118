"""What a Rebalance asks planners: which clusters, as declared, which pools of them, what budget.

A question is canonical text: equal questions give equal texts, and its digest names the Job that
answers it. So it holds the moment that it is about: asked again tomorrow, it is another question.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from poolkeeper.fleet.schedule.budget import Budget
from poolkeeper.fleet.storage import codecs
from poolkeeper.model.specs import Desired
from poolkeeper.rebalances.text_chunks import digest_of


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    """One cluster, as it is declared; `pools`: those in scope, sorted; without any, all."""

    desired: Desired
    pools: tuple[str, ...] = ()

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.desired.cluster.name


@dataclass(frozen=True, slots=True)
class PlanningDeadlines:
    """How long planners wait: to connect and for each answer, and for one cluster in all."""

    timeout_s: float = 10.0
    deadline_s: float = 300.0


@dataclass(frozen=True, slots=True)
class RebalanceRequest:
    """`asked` is sorted by cluster, each once; `now_ms` is the moment of the question.

    With a `budget`, the answer has waves, which begin at that moment. `sites`: by cluster.
    """

    asked: tuple[ClusterRequest, ...]
    now_ms: int
    budget: Budget | None = None
    sites: Mapping[str, str] = field(default_factory=dict)
    patience: PlanningDeadlines = PlanningDeadlines()

    @property
    def digest(self) -> str:
        """`sha256:` and what names this question among all."""
        return digest_of(self.to_json())

    def about(self, asked: ClusterRequest) -> "RebalanceRequest":
        """The same question about one of its clusters alone."""
        site = self.sites.get(asked.cluster)
        sites = {} if site is None else {asked.cluster: site}
        return replace(self, asked=(asked,), sites=sites)

    def to_json(self) -> str:
        """The canonical text. Places in somebody's files are left out."""
        return codecs.to_text(self)

    @classmethod
    def from_json(cls, text: str) -> "RebalanceRequest":
        """Return the question; raises `Refused` for what is none, or one of another release."""
        return codecs.from_text(cls, text)
