"""How a run goes beside the prediction of its plan, as a value."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from poolkeeper.frozen import frozen


class LateReason(StrEnum):
    """Why a run is later than its plan predicted: what blocks it now, or else cost the most."""

    HELD_UP = "HeldUp"
    """Something blocks it."""
    STOOD_STILL = "StoodStill"
    """Something blocked it before, or nobody took it further: nothing was copied meanwhile."""
    RATE_LOWERED = "RateLowered"
    """The throttle was lower than the plan assumed."""
    SLOWER = "Slower"
    """Neither: replicas are copied at less than the plan assumed, or more was written."""


Lost = Annotated[int, Meta(ge=0, le=2**62, description="an integer of 0 or more")]


@frozen
class LostTime:
    """What made a run late so far, as it was noticed; milliseconds.

    `idle_ms`: nothing was copied. `lowered_ms`: replicas were copied under a throttle that was
    lower than the plan assumed. `slower_ms`: they were copied otherwise.
    """

    idle_ms: Lost = 0
    lowered_ms: Lost = 0
    slower_ms: Lost = 0

    @property
    def total_ms(self) -> int:
        """The time lost in all."""
        return self.idle_ms + self.lowered_ms + self.slower_ms


NOTHING_LOST = LostTime()


@frozen
class Punctuality:
    """How a run goes beside its prediction; seconds.

    `late_s`: negative if the run is ahead. `reason`: `None` unless it is late.
    `assumed_rate`: bytes per second and broker that the plan assumed.
    """

    predicted_s: float
    elapsed_s: float
    late_s: float
    assumed_rate: int
    reason: LateReason | None = None
