"""The words and bounds of `status.plan`, for those who write it and those who read it."""

from enum import StrEnum

PARTS_MAX = 50
"""How many parts of a plan its status names."""


class PlanApproval(StrEnum):
    """Whether a plan, or a part of one, has the approval that it needs."""

    NOT_NEEDED = "NotNeeded"
    WAITING = "Waiting"
    APPROVED = "Approved"
