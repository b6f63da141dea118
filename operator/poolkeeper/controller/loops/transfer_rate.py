"""How fast the bytes of a run come, and when it will be done."""

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import pairwise

from poolkeeper.model.execution.outcomes import Outcome, Progress

RATE_OVER_S = 300.0
STILL_S = 30.0
"""What has not grown for so long counts as still, or later if it grows in longer steps."""


@dataclass(slots=True)
class TransferRate:
    """The bytes per second and the time left of a run, measured over the last minutes.

    A replica may count as a whole once it is in sync, so bytes come in steps. The rate is taken
    over several of them. Where nothing has come for longer than ever before, none is known.
    """

    steps: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=120))
    """The times (seconds) at which the bytes grew, and the bytes since."""

    def with_rate(self, outcome: Outcome, now_s: float) -> Outcome:
        """Return the outcome with transfer rate and time left filled in."""
        return replace(outcome, progress=self.rated(outcome.progress, now_s))

    def rated(self, progress: Progress | None, now_s: float) -> Progress | None:
        """Return the progress with transfer rate and time left; `None` begins a new measurement."""
        if progress is None:
            self.steps.clear()
            return None
        grown = not self.steps or progress.bytes_done != self.steps[-1][1]
        if self.steps and progress.bytes_done < self.steps[-1][1]:
            self.steps.clear()
        if grown or not progress.moves_in_flight:
            self.steps.append((now_s, progress.bytes_done))
        while len(self.steps) > 2 and now_s - self.steps[0][0] > RATE_OVER_S:
            self.steps.popleft()
        return self._progress_with_rate(progress, now_s)

    def _progress_with_rate(self, progress: Progress, now_s: float) -> Progress:
        (since_s, before), (last_s, _) = self.steps[0], self.steps[-1]
        if now_s - last_s >= max(STILL_S, 3 * self._longest_pause_s()):
            return replace(progress, still_s=now_s - last_s)
        bytes_left = progress.bytes_total - progress.bytes_given_up - progress.bytes_done
        if now_s - since_s < 1 or progress.bytes_done <= before or bytes_left <= 0:
            return progress
        rate = (progress.bytes_done - before) / (now_s - since_s)
        return replace(progress, rate_bytes_per_s=rate, seconds_left=bytes_left / rate)

    def _longest_pause_s(self) -> float:
        times = [time_s for time_s, _ in self.steps]
        return max((b - a for a, b in pairwise(times)), default=0.0)
