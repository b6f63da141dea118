"""Who answers a question: one interface for the operator itself and for a Job of executors.

Which of the two is taken where nobody says (`Auto`) depends on size: starting Spark takes longer
than planning some millions of partitions here (`fleet.engines.SPARK_FROM_PARTITIONS`, measured in
`docs/scaling.md`). Both give the same answer to the byte.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.engines import SPARK_FROM_PARTITIONS
from poolkeeper.model.rebalances import EngineChoice
from poolkeeper.rebalances.request import RebalanceRequest
from poolkeeper.rebalances.response import RebalanceResponse

LOCAL, SPARK = "Local", "Spark"


class PlanningEngine(Protocol):
    """Answers questions, each for as long as it takes; none of its methods waits."""

    def ask(self, name: str, question: RebalanceRequest) -> RebalanceResponse | None:
        """Return the answer, or `None` while it is under way: ask again.

        `name` is that of the Rebalance. The same question, by its digest, is worked on once;
        another one of that name takes its place. Raises `PoolkeeperError` if it failed; the next
        call then tries again.
        """

    def standing(self, name: str, question: RebalanceRequest) -> str:
        """Say what the answer waits for, in a sentence; empty where it is worked on."""

    def forget(self, name: str) -> None:
        """Drop what is under way or kept of that name."""


@dataclass(frozen=True, slots=True)
class ChosenEngine:
    """An engine by its name; `remark` where it is not the one that was asked for, or best."""

    name: str
    engine: PlanningEngine
    remark: str = ""


def chosen(
    wanted: EngineChoice, engines: Mapping[str, PlanningEngine], partitions: int
) -> ChosenEngine:
    """Who plans that many partitions; `Refused` where that one is not there.

    `engines` has LOCAL, and SPARK where an image for planning is configured.
    """
    spark = engines.get(SPARK)
    if wanted is EngineChoice.SPARK and spark is None:
        raise Refused(
            "engine Spark: the operator has no image for planning; set planner.image of its chart,"
            " or spec.engine: Local"
        )
    large = wanted is EngineChoice.AUTO and partitions >= SPARK_FROM_PARTITIONS
    if spark is not None and (large or wanted is EngineChoice.SPARK):
        return ChosenEngine(SPARK, spark)
    remark = ""
    if large:
        remark = f"{partitions} partitions are planned here: no image for planning is configured"
    return ChosenEngine(LOCAL, engines[LOCAL], remark)
