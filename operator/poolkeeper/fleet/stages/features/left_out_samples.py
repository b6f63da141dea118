"""Samples that are left out, counted by why, so that none vanish without a word.

Files of months hold samples of other times than a window's, which is as it should be: that alone is
told only where nothing is left. Anything else is told as soon as there is one of it.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from poolkeeper.load.time_series import VALUE_MAX
from poolkeeper.text import few, part_of

METRICS_MAX = 5
NAME_MAX = 40
"""Letters of a metric's name that are told."""


class LeftOutReason(StrEnum):
    """Why a sample is left out; of several reasons the first."""

    METRIC = "metric"
    PARTITION = "partition"
    VALUE = "value"
    EARLIER = "earlier"
    LATER = "later"


@dataclass(slots=True)
class LeftOutSamples:
    """How many samples are left out, and some names of metrics that nobody asks for.

    `taken`: how many are not, of those that somebody has sampled: sizes of snapshots do not count.
    """

    taken: int = 0
    counts: Counter[LeftOutReason] = field(default_factory=Counter)
    metrics: set[str] = field(default_factory=set)

    def add(self, why: LeftOutReason, samples: int) -> None:
        """Count some more."""
        if samples:
            self.counts[why] += samples

    def name(self, metrics: Iterable[str]) -> None:
        """Keep the first of these names."""
        self.metrics = set(sorted(self.metrics.union(metrics))[: METRICS_MAX + 1])

    def merge(self, other: "LeftOutSamples") -> None:
        """Add what another source left out."""
        self.taken += other.taken
        self.counts += other.counts
        self.name(other.metrics)

    def told(self) -> str:
        """The sentence, if there is one to say."""
        left, taken = self.counts.total(), self.taken
        if not left or (
            taken and self.counts.keys() <= {LeftOutReason.EARLIER, LeftOutReason.LATER}
        ):
            return ""
        why = ", ".join(
            f"{self.counts[each]:,} {self._words(each)}"
            for each in LeftOutReason
            if self.counts[each]
        )
        units = {LeftOutReason.EARLIER, LeftOutReason.LATER}.intersection(self.counts)
        hint = "; at_ms is milliseconds since 1970" if units and not taken else ""
        return f"{part_of(left, left + taken, 'sample')} left out: {why}{hint}"

    def _words(self, why: LeftOutReason) -> str:
        if why is LeftOutReason.METRIC:
            more = ", …" if len(self.metrics) > METRICS_MAX else ""
            names = few(repr(name[:NAME_MAX]) for name in sorted(self.metrics)[:METRICS_MAX])
            return f"of metrics that are not used ({names}{more})"
        return {
            LeftOutReason.PARTITION: "of partitions below -1",
            LeftOutReason.VALUE: f"with a value that is none, negative or above {VALUE_MAX:,.0f}",
            LeftOutReason.EARLIER: "from before the window",
            LeftOutReason.LATER: "from after the snapshot",
        }[why]
