"""Topics that are spread by way of third brokers, against a search that tries every way."""

from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.planning.goals import topic_spread
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.problem.arrays import Bools
from unit.planning.instances import instances


class EveryWay(topic_spread._Spreading):
    """Tries every giver and every third broker, without looking at what they may give first."""

    def _receive(self, topic: int, taker: int, givers: Sequence[int]) -> bool:
        only = np.arange(len(self.problem.brokers)) == taker
        done = any(self._give(topic, giver, only, only) is not None for giver in givers)
        return done or self._relay(topic, givers, only)

    def _relay(self, topic: int, givers: Sequence[int], takers: Bools) -> bool:
        every = np.arange(len(takers))
        for giver in givers:
            between = np.flatnonzero(self.problem.eligible & ~takers & (every != giver))
            for broker in between[np.argsort(self.load[between], kind="stable")].tolist():
                first = self._give(topic, giver, every == broker, every == broker)
                if first is None:
                    continue
                if self._give(topic, broker, takers & (every != giver), takers) is not None:
                    return True
                self._move(topic, *first, broker, giver)
        return False


@examples(20)
@given(instances(), st.sampled_from([1, 40, 4_000_000]))
def test_only_ways_that_lead_nowhere_are_passed_over(instance, cells: int) -> None:
    wanted, seen, gone = instance
    with patch.object(topic_spread, "_CELLS", cells):
        found = make_plan(wanted, seen, gone=gone)
    with patch.object(topic_spread, "_Spreading", EveryWay):
        assert make_plan(wanted, seen, gone=gone) == found
