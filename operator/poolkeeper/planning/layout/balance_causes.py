"""Why balance moves a replica: what is too much on its broker, or too little on the one it goes to.

Told of a broker that gives a replica away is the first of

    it is above its cap of replicas, or above its disk
    it is above the band that a goal aims at, in the order of the goals
    it holds more of the topic than the topic's band allows
    it is above its share of a goal
    the broker that takes the replica is below the band, then the share, of a goal
    it makes room, as other replicas come to it

What brokers hold is what exists: partitions that the plan creates are held by nobody yet.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import GoalKind
from poolkeeper.planning.constraints.measures import LoadMeasure, laws
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import MIB, NONE, Bools, Floats, Ints, any_slot
from poolkeeper.planning.problem.pool_problem import PoolProblem
from poolkeeper.text import count, decimal, size, sizes_of_mib


def existing_lists(problem: PoolProblem) -> Ints:
    """The replica lists found, without those of partitions that do not exist yet."""
    return np.where(problem.fresh[:, None], NONE, problem.lists)


def _replicas(number: int) -> str:
    return count(number, "replica", grouped=False)


@frozen
class _Load:
    """What brokers hold of one measure, and its bounds, by broker."""

    kind: GoalKind
    held: Ints
    low: Ints
    high: Ints
    share: Floats

    @classmethod
    def of_law(cls, measure: LoadMeasure, lists: Ints) -> "_Load":
        bounds = measure.wide
        return cls(measure.kind, measure.load(lists), bounds.low, bounds.high, bounds.share)

    @classmethod
    def of_goal(cls, aim: Bounded, lists: Ints) -> "_Load":
        bounds, measure = aim.band, aim.measure
        return cls(measure.kind, measure.load(lists), bounds.low, bounds.high, bounds.share)

    def than_allowed(self, broker: int) -> str:
        """`holds 72 replicas, it may hold 36`; of a law, whose bytes are MiB."""
        held, high = int(self.held[broker]), int(self.high[broker])
        if self.kind is GoalKind.REPLICAS:
            return f"holds {_replicas(held)}, it may hold {high}"
        return "holds {}, it may hold {}".format(*sizes_of_mib(held, high))

    def than_its_share(self, broker: int) -> str:
        """`holds 72 replicas, its share is 36`; of a goal."""
        held, share = int(self.held[broker]), float(self.share[broker])
        if self.kind is GoalKind.REPLICAS:
            return f"holds {_replicas(held)}, its share is {decimal(share, grouped=False)}"
        if self.kind is GoalKind.BYTES:
            sizes = sizes_of_mib(held // MIB, round(share / MIB))
            return "holds {}, its share is {}".format(*sizes)
        return f"is written {size(1024 * held)}/s, its share is {size(1024 * share)}/s"


class BalanceCauses:
    """Finds why balance takes a replica off a broker."""

    def __init__(self, layout: Layout) -> None:
        self._problem = problem = layout.problem
        self._lists = existing_lists(problem)
        capacity = layout.capacity
        self._laws = [
            _Load.of_law(law, self._lists) for law in laws(problem, capacity.replicas, capacity.mib)
        ]
        goals = layout.optimization.goals
        self._goals = [_Load.of_goal(aim, self._lists) for aim in goals if isinstance(aim, Bounded)]
        self._topics = next((aim for aim in goals if isinstance(aim, TopicCounts)), None)
        self._told: dict[int, str | None] = {}

    def needed(self, removed: Ints, added: Ints, rows: Ints) -> list[Ints]:
        """What else tells the causes of rows apart, by row, beside the brokers that give.

        `removed`, `added`: the replicas that leave and come, rows × slots.
        """
        plain: Bools = np.append(self._is_explained(), True)  # NONE is the last one
        open_ = any_slot(~plain[removed])
        keys = list(np.where(open_[:, None], added, NONE).T)
        if self._topics is not None:
            keys.append(np.where(open_, self._problem.topic[rows], NONE))
        return keys

    def _is_explained(self) -> Bools:
        """By broker, whether it is cause enough itself, whatever moves from it to where."""
        above = [load.held > load.high for load in (*self._laws, *self._goals)]
        if self._topics is None:
            above += [load.held > load.share for load in self._goals]
        found: Bools = np.any(above, axis=0)
        return found

    def cause(self, row: int, broker: int, added: Sequence[int]) -> str:
        """Why a replica of this row leaves the broker, while others come to `added`."""
        name = self._name(broker)
        if broker not in self._told:
            self._told[broker] = next(self._above_bounds(broker), None)
        if (told := self._told[broker]) is not None:
            return f"{name} {told}"
        if (told := next(self._above(row, broker), None)) is not None:
            return f"{name} {told}"
        below = ((each, told) for each in added for told in self._below(row, each))
        if (found := next(below, None)) is not None:
            return f"{self._name(found[0])} {found[1]}"
        return f"{name} makes room for other replicas"

    def _name(self, broker: int) -> str:
        return f"broker {self._problem.brokers.ids[broker]}"

    def _above_bounds(self, broker: int) -> Iterator[str]:
        yield from (
            law.than_allowed(broker) for law in self._laws if law.held[broker] > law.high[broker]
        )
        yield from (
            goal.than_its_share(broker)
            for goal in self._goals
            if goal.held[broker] > goal.high[broker]
        )

    def _above(self, row: int, broker: int) -> Iterator[str]:
        topic = int(self._problem.topic[row])
        if self._topics is not None and self._of_topics[topic, broker] > (
            most := int(self._topics.high[topic, broker])
        ):
            yield f"{self._holds_of(topic, broker)}, its share is at most {most}"
        yield from (
            goal.than_its_share(broker)
            for goal in self._goals
            if goal.held[broker] > goal.share[broker]
        )

    def _below(self, row: int, broker: int) -> Iterator[str]:
        topic = int(self._problem.topic[row])
        yield from (
            goal.than_its_share(broker)
            for goal in self._goals
            if goal.held[broker] < goal.low[broker]
        )
        if self._topics is not None and self._of_topics[topic, broker] < (
            least := int(self._topics.low[topic, broker])
        ):
            yield f"{self._holds_of(topic, broker)}, its share is at least {least}"
        yield from (
            goal.than_its_share(broker)
            for goal in self._goals
            if goal.held[broker] < goal.share[broker]
        )

    @cached_property
    def _of_topics(self) -> Ints:
        """Replicas by (topic, broker)."""
        return replicas_by_topic(self._problem, self._lists)

    def _holds_of(self, topic: int, broker: int) -> str:
        held = int(self._of_topics[topic, broker])
        return f"holds {_replicas(held)} of topic {self._problem.topics[topic]}"
