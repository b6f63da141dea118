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
    over several of them. Where nothing has come for longer than ever before, none is known, and the
    measurement begins anew with what comes next: a rate over an outage or a closed window would say
    nothing of how fast the rest will come.
    """

    steps: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=120))
    """The times (seconds) at which the bytes grew, and the bytes since."""
    expected_since_s: float = 0.0
    """Since when nothing has come, no byte and no empty replica, while a stage is in flight."""
    moves_done: int = 0

    def with_rate(self, outcome: Outcome, now_s: float) -> Outcome:
        """Return the outcome with transfer rate and time left filled in."""
        return replace(outcome, progress=self.measure(outcome.progress, now_s))

    def measure(self, progress: Progress | None, now_s: float) -> Progress | None:
        """Return the progress with its rate and time left; None begins a new measurement."""
        if progress is None:
            self.steps.clear()
            return None
        self._note(progress, now_s)
        return self._progress_with_rate(progress, now_s)

    def _note(self, progress: Progress, now_s: float) -> None:
        steps, done = self.steps, progress.bytes_done
        if steps and done < steps[-1][1]:
            steps.clear()
        grown = not steps or done != steps[-1][1]
        if grown and len(steps) > 1 and self._is_silence(now_s - steps[-1][0]):
            steps.clear()
        if len(steps) == 1 and not grown and not progress.moves_in_flight:
            # What is not requested yet is not slow.
            steps.clear()
            grown = True
        if grown:
            steps.append((now_s, done))
        arrived, self.moves_done = progress.moves_done != self.moves_done, progress.moves_done
        if grown or arrived or not progress.moves_in_flight:
            self.expected_since_s = now_s
        while len(steps) > 2 and now_s - steps[0][0] > RATE_OVER_S:
            steps.popleft()

    def _progress_with_rate(self, progress: Progress, now_s: float) -> Progress:
        (since_s, before), (last_s, _) = self.steps[0], self.steps[-1]
        if self._is_silence(now_s - self.expected_since_s):
            return replace(progress, still_s=now_s - self.expected_since_s)
        if self._is_silence(now_s - last_s):
            return progress
        bytes_left = progress.bytes_total - progress.bytes_given_up - progress.bytes_done
        if now_s - since_s < 1 or progress.bytes_done <= before or bytes_left <= 0:
            return progress
        rate = (progress.bytes_done - before) / (now_s - since_s)
        return replace(progress, rate_bytes_per_s=rate, seconds_left=bytes_left / rate)

    def _is_silence(self, pause_s: float) -> bool:
        """Whether a pause is longer than those between the steps let expect."""
        times = [time_s for time_s, _ in self.steps]
        longest_s = max((b - a for a, b in pairwise(times)), default=0.0)
        return pause_s >= max(STILL_S, 3 * longest_s)
