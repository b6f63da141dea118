"""Planning engines: one interface for the operator itself and for a Job of executors.

`Auto` chooses between the two by size: starting Spark takes longer than planning some millions of
partitions here (`fleet.engines.engines.SPARK_FROM_PARTITIONS`, measured in `docs/scaling.md`). Both
give the same response to the byte.
"""

from collections.abc import Mapping
from typing import Protocol

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.engines import SPARK_FROM_PARTITIONS
from poolkeeper.frozen import frozen
from poolkeeper.model.rebalances import EngineChoice
from poolkeeper.rebalances.planning.request import RebalanceRequest
from poolkeeper.rebalances.planning.response import RebalanceResponse

LOCAL, SPARK = "Local", "Spark"


class PlanningEngine(Protocol):
    """Plans the clusters of requests, each for as long as it takes; none of its methods waits."""

    def request_plans(self, name: str, request: RebalanceRequest) -> RebalanceResponse | None:
        """Return the response, or `None` while planning is under way: ask again.

        `name` is that of the Rebalance. Equal requests, by their digest, are planned once. Another
        request of that name replaces the one before. Raises `PoolkeeperError` if planning failed;
        the next call then tries again.
        """

    def pending_reason(self, name: str, request: RebalanceRequest) -> str:
        """What the planning waits for, in a sentence; empty while it is being done."""

    def forget(self, name: str) -> None:
        """Drop the planning under way and the response kept under that name."""

    def hand_over(self, name: str) -> None:
        """Drop what this process keeps under that name; the next leader goes on with the rest."""


@frozen
class ChosenEngine:
    """An engine by its name; `remark` if it is not the one that was requested, or the best."""

    name: str
    engine: PlanningEngine
    remark: str = ""


def choose_engine(
    choice: EngineChoice, engines: Mapping[str, PlanningEngine], partitions: int
) -> ChosenEngine:
    """The engine for that many partitions; raises `Refused` if that engine is not configured.

    `engines` has LOCAL, and SPARK if an image for planning is configured.
    """
    spark = engines.get(SPARK)
    if choice is EngineChoice.SPARK and spark is None:
        raise Refused(
            "engine Spark: the operator has no image for planning; set planner.image of its chart,"
            " or spec.engine: Local"
        )
    large = choice is EngineChoice.AUTO and partitions >= SPARK_FROM_PARTITIONS
    if spark is not None and (large or choice is EngineChoice.SPARK):
        return ChosenEngine(SPARK, spark)
    remark = ""
    if large:
        remark = f"{partitions} partitions are planned here: no image for planning is configured"
    return ChosenEngine(LOCAL, engines[LOCAL], remark)
