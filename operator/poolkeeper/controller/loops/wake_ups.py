"""What wakes a loop between passes: which znodes end a wait early, and how often.

Between passes a loop watches the znodes that show progress (`WATCHED`). It waits at most `POLL_S`
while a request is in flight, because a replica that joins the ISR changes none of those znodes, and
at most `RESYNC_S` otherwise. How often a change ends that wait is bounded (`WakeUpBudget`).

A pass reads and plans all topics, however few changed. So while thousands of them arrive a loop
rests after each pass in proportion to its length (`rest_s`): what arrives meanwhile is one pass.
"""

from dataclasses import dataclass

from poolkeeper.zk import znodes

POLL_S = 1.0
RESYNC_S = 30.0
WAKE_UPS_AT_ONCE = 20
WAKE_UP_EVERY_S = 0.2
REST = 3
"""How long a loop without a run rests after a pass, in lengths of the pass."""
REST_S_MAX = 2.0
WATCHED = (
    znodes.REASSIGNMENT,
    znodes.PREFERRED_ELECTION,
    znodes.BROKER_IDS,
    znodes.TOPICS,
    znodes.CONTROLLER,
    znodes.RUN_STOP,
)


@dataclass(slots=True)
class WakeUpBudget:
    """How often a change may end a wait: some times at once, then once every `WAKE_UP_EVERY_S`.

    Controllers that cannot start are elected tens of times a second, and each of them is a change.
    So is each partition that completes.
    """

    left: float = WAKE_UPS_AT_ONCE
    counted_s: float = 0.0

    def pause_s(self, now_s: float) -> float:
        """Count a wait; return how long it lasts whatever happens."""
        earned = (now_s - self.counted_s) / WAKE_UP_EVERY_S
        self.left = min(WAKE_UPS_AT_ONCE, self.left + earned) - 1
        self.counted_s = now_s
        return max(0.0, -self.left) * WAKE_UP_EVERY_S


def rest_s(pass_s: float) -> float:
    """Return how long a loop rests after a pass that took so long, if no run is under way.

    The thread that assembles what is declared rests so as well.
    """
    return min(REST * pass_s, REST_S_MAX)
