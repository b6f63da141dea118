"""What planners respond: a plan for each cluster, or why there is none; waves, if requested.

The response is canonical text. So the operator's own plans and those of a Job's executors can be
compared byte by byte. A reader holds the whole response in memory, so its plans are bounded: a
cluster whose plan does not fit gets that as its problem, and the others are unaffected.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from poolkeeper.errors import OtherFormat, Refused
from poolkeeper.fleet.schedule.budget import Bound, ClusterWork, LeftOut, Schedule, Turn
from poolkeeper.fleet.schedule.schedule import schedule
from poolkeeper.fleet.storage import codecs
from poolkeeper.frozen import frozen
from poolkeeper.jsontext import canonical
from poolkeeper.model.plans import Plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.text import count, size

VERSION = 1
PLANS_BYTES_MAX = 448 * 1024**2
"""Of all plans of an answer, as text: about two million moves."""


@frozen
class ClusterPlan:
    """The result of one cluster: its plan, or `problem`, why there is none."""

    cluster: str
    plan: Plan | None = None
    problem: str = ""
    partitions: int = 0

    @property
    def moves(self) -> int:
        """How many partitions move."""
        return 0 if self.plan is None else len(self.plan.moves)

    @property
    def bytes(self) -> int:
        """What the moves copy."""
        return 0 if self.plan is None else sum(move.bytes for move in self.plan.moves)

    @property
    def bytes_lower_bound(self) -> int:
        """The least that any plan for these pools copies."""
        pools = () if self.plan is None else self.plan.certificates
        return sum(pool.bytes_lower_bound for pool in pools)


@frozen
class RebalanceResponse:
    """The results of all clusters, by name; `request`: the digest of the request.

    `waves` has no slices: people and loops need only turns, the clusters left out, and the bound.
    """

    question: str
    clusters: tuple[ClusterPlan, ...]
    waves: Schedule | None = None

    def to_json(self) -> str:
        """The canonical text."""
        return text_of(self.question, map(cluster_plan_text, self.clusters), self.waves)

    @classmethod
    def from_json(cls, text: str) -> "RebalanceResponse":
        """Return the response; raises `Refused` for another text, or for one with faults."""
        try:
            return cls.from_data(json.loads(text))
        except ValueError as wrong:
            raise Refused(f"the planners' response cannot be read: {wrong!r}") from wrong

    @classmethod
    def from_data(cls, data: Any) -> "RebalanceResponse":
        """Return the response that was parsed; raises `Refused` likewise."""
        try:
            if data["version"] != VERSION:
                found = data["version"]
                raise OtherFormat(
                    f"the answer has version {found} (expected {VERSION}): {codecs.ONE_RELEASE}"
                )
            clusters = tuple(map(_cluster_plan_of, data["clusters"]))
            waves = _waves_of(data["waves"]) if "waves" in data else None
            return cls(data["question"], clusters, waves)
        except (KeyError, TypeError, ValueError) as wrong:
            raise Refused(f"the planners' response cannot be read: {wrong!r}") from wrong


@frozen
class ClusterResponse:
    """One cluster of a response, and its work for the budget."""

    cluster_plan: ClusterPlan
    work: ClusterWork | None = None


def assemble_response(
    request: RebalanceRequest, parts: Iterable[ClusterResponse], bytes_max: int = PLANS_BYTES_MAX
) -> RebalanceResponse:
    """The response of all its parts, in any order; with waves, if requested."""
    found = sorted(parts, key=lambda part: part.cluster_plan.cluster)
    sizes = [len(cluster_plan_text(part.cluster_plan).encode()) for part in found]
    rooms = zip(found, with_room(sizes, bytes_max), strict=True)
    found = [
        part
        if room
        else without_room(part.cluster_plan.cluster, part.cluster_plan.moves, bytes_max)
        for part, room in rooms
    ]
    waves = waves_of(request, (part.work for part in found if part.work is not None))
    return RebalanceResponse(request.digest, tuple(part.cluster_plan for part in found), waves)


def with_room(sizes: Iterable[int], bytes_max: int) -> list[bool]:
    """Whether each of these texts, in their order, fits besides those before it."""
    found, total = [], 0
    for each in sizes:
        found.append(total + each <= bytes_max)
        total += each if found[-1] else 0
    return found


def without_room(cluster: str, moves: int, bytes_max: int) -> ClusterResponse:
    """The part of a cluster whose plan is too large for the response; `moves`: how many it has."""
    problem = (
        f"its plan of {count(moves, 'move')} is too large: all plans of a Rebalance together may"
        f" have {size(bytes_max)}; put the cluster into another Rebalance, if need be pool by pool"
        " (spec.clusters, spec.pools)"
    )
    return ClusterResponse(ClusterPlan(cluster, problem=problem))


def waves_of(request: RebalanceRequest, works: Iterable[ClusterWork]) -> Schedule | None:
    """The waves of all clusters' works; `None` without a budget."""
    if request.budget is None:
        return None
    begin = datetime.fromtimestamp(request.now_ms / 1000, UTC)
    made = schedule(works, request.budget, begin)
    return Schedule(made.begin, made.turns, (), made.left_out, made.bound)


def cluster_plan_text(cluster_plan: ClusterPlan) -> str:
    """The result of one cluster, as it is in the response's text."""
    outcome: dict[str, Any] = {"problem": cluster_plan.problem}
    if cluster_plan.plan is not None:
        outcome = {"plan": plan_json.to_json(cluster_plan.plan)}
    return canonical(
        {"cluster": cluster_plan.cluster, "partitions": cluster_plan.partitions, **outcome},
        ascii_only=False,
    )


def text_of(question: str, clusters: Iterable[str], waves: Schedule | None) -> str:
    """The response's text, from its clusters' texts in their order, without reading plans."""
    more = "" if waves is None else f',"waves":{canonical(_waves(waves), ascii_only=False)}'
    return (
        f'{{"clusters":[{",".join(clusters)}],"question":{canonical(question, ascii_only=False)},'
        f'"version":{VERSION}{more}}}'
    )


def _cluster_plan_of(data: Mapping[str, Any]) -> ClusterPlan:
    plan = plan_json.from_json(data["plan"]) if "plan" in data else None
    return ClusterPlan(data["cluster"], plan, data.get("problem", ""), data["partitions"])


def _waves(made: Schedule) -> dict[str, Any]:
    return {
        "beginMs": round(made.begin.timestamp() * 1000),
        "turns": [turn._asdict() for turn in made.turns],
        "leftOut": [each._asdict() for each in made.left_out],
        "bound": {"ms": made.bound.ms, "cause": made.bound.cause},
    }


def _waves_of(data: Mapping[str, Any]) -> Schedule:
    return Schedule(
        datetime.fromtimestamp(data["beginMs"] / 1000, UTC),
        tuple(Turn(**turn) for turn in data["turns"]),
        (),
        tuple(LeftOut(**each) for each in data["leftOut"]),
        Bound(**data["bound"]),
    )
