"""How a run goes beside the prediction of its plan, as a value."""

from enum import StrEnum

from poolkeeper.frozen import frozen


class LateReason(StrEnum):
    """Why a run is later than its plan predicted, the first that holds."""

    HELD_UP = "HeldUp"
    """Something blocks it."""
    RATE_LOWERED = "RateLowered"
    """The throttle is lower than the plan assumed."""
    SLOWER = "Slower"
    """Neither: replicas are copied at less than the plan assumed, or more was written."""


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
