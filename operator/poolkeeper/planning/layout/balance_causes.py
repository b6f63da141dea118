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

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import GoalKind
from poolkeeper.planning.constraints.measures import LoadMeasure, laws
from poolkeeper.planning.goals.local_search import Bounded
from poolkeeper.planning.goals.topic_counts import TopicCounts, replicas_by_topic
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import MIB, NONE, Bools, Floats, Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem
from poolkeeper.text import count, decimal, size, sizes_of_mib

# What may be told, in the order above. Least numbers are of what most replicas leave for.
_ABOVE_BOUNDS, _ABOVE_TOPIC, _ABOVE_SHARE, _BELOW_BAND, _BELOW_TOPIC, _BELOW_SHARE, _MAKES_ROOM = (
    range(7)
)


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
    """Finds why balance takes replicas off brokers.

    A cause is a number, so that those of many partitions are found at once, and `text` says it:

        (what × topics + topic) × brokers + broker

    `what` is one of the constants above; the topic is 0 where the cause is of a broker alone.
    """

    def __init__(self, layout: Layout) -> None:
        self._problem = problem = layout.problem
        self._lists = existing_lists(problem)
        goals = layout.optimization.goals
        self._goals = [_Load.of_goal(aim, self._lists) for aim in goals if isinstance(aim, Bounded)]
        self._laws = [_Load.of_law(law, self._lists) for law in laws(problem, layout.capacity)]
        self._topics = next((aim for aim in goals if isinstance(aim, TopicCounts)), None)

    def of(self, removed: Ints, added: Ints, rows: Ints) -> Ints:
        """Why each of these replicas leaves its broker, rows × slots; NONE where none leaves.

        `removed`, `added`: the replicas of these rows that leave and come, rows × slots.
        """
        causes = removed.copy()  # above bounds, as most are
        bounded = self._any([load.held > load.high for load in (*self._laws, *self._goals)])
        at, slot = np.nonzero((removed >= 0) & ~bounded[removed])
        if len(at):
            topic = self._problem.topic[rows[at]]
            causes[at, slot] = self._told_later(topic, removed[at, slot], added[at])
        return causes

    def text(self, cause: int) -> str:
        """The cause as a sentence."""
        rest, broker = divmod(cause, len(self._problem.brokers))
        what, topic = divmod(rest, len(self._problem.topics))
        name = f"broker {self._problem.brokers.ids[broker]}"
        if what == _MAKES_ROOM:
            return f"{name} makes room for other replicas"
        if what == _ABOVE_TOPIC and self._topics is not None:
            most = int(self._topics.high[topic, broker])
            return f"{name} {self._holds_of(topic, broker)}, its share is at most {most}"
        if what == _BELOW_TOPIC and self._topics is not None:
            least = int(self._topics.low[topic, broker])
            return f"{name} {self._holds_of(topic, broker)}, its share is at least {least}"
        return f"{name} {self._of_broker(what, broker)}"

    def _told_later(self, topic: Ints, broker: Ints, added: Ints) -> Ints:
        """Causes of replicas whose broker is above no bound; `added`: replicas × slots."""
        number = np.full(len(broker), NONE)

        def tell(what: int, holds: Bools, named: Ints, of: Ints | int = 0) -> None:
            coded = (what * len(self._problem.topics) + of) * len(self._problem.brokers) + named
            np.copyto(number, coded, where=holds & (number == NONE))

        above = self._any([goal.held > goal.share for goal in self._goals])
        low = self._any([goal.held < goal.low for goal in self._goals])
        below = self._any([goal.held < goal.share for goal in self._goals])
        if self._topics is not None:
            held, most = self._of_topics[topic, broker], self._topics.high[topic, broker]
            tell(_ABOVE_TOPIC, held > most, broker, topic)
        tell(_ABOVE_SHARE, above[broker], broker)
        for taker in added.T:
            there = taker >= 0
            tell(_BELOW_BAND, there & low[taker], taker)
            if self._topics is not None:
                held, least = self._of_topics[topic, taker], self._topics.low[topic, taker]
                tell(_BELOW_TOPIC, there & (held < least), taker, topic)
            tell(_BELOW_SHARE, there & below[taker], taker)
        tell(_MAKES_ROOM, np.ones(len(broker), dtype=bool), broker)
        return number

    def _any(self, holds: Sequence[Bools]) -> Bools:
        """By broker, whether one of these holds."""
        none = np.zeros(len(self._problem.brokers), dtype=bool)
        found: Bools = np.any([none, *holds], axis=0)
        return found

    def _of_broker(self, what: int, broker: int) -> str:
        """The first of what makes it true, in the order of laws and goals."""
        broken = (law for law in self._laws if law.held[broker] > law.high[broker])
        if what == _ABOVE_BOUNDS and (law := next(broken, None)) is not None:
            return law.than_allowed(broker)
        holds: dict[int, Callable[[_Load], bool]] = {
            _ABOVE_BOUNDS: lambda goal: bool(goal.held[broker] > goal.high[broker]),
            _ABOVE_SHARE: lambda goal: bool(goal.held[broker] > goal.share[broker]),
            _BELOW_BAND: lambda goal: bool(goal.held[broker] < goal.low[broker]),
            _BELOW_SHARE: lambda goal: bool(goal.held[broker] < goal.share[broker]),
        }
        return next(filter(holds[what], self._goals)).than_its_share(broker)

    @cached_property
    def _of_topics(self) -> Ints:
        """Replicas by (topic, broker)."""
        return replicas_by_topic(self._problem, self._lists)

    def _holds_of(self, topic: int, broker: int) -> str:
        held = int(self._of_topics[topic, broker])
        return f"holds {_replicas(held)} of topic {self._problem.topics[topic]}"
