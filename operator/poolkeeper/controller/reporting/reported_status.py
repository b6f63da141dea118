"""The status last reported of an object: whether it has to be reported again.

What a watch shows right after a write may be older than the write. If it still shows something else
when that cannot be, the status was changed by somebody, was refused, or went back with a store that
was restored from a backup. It is then written again.
"""

from collections.abc import Mapping
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.resources.kinds.custom_resource import Status

LOOK_AGAIN_S = 15.0
"""A watch shows what was written well within this time; what it shows then may be of others."""


@frozen
class ReportedStatus:
    """The status last reported of an object, with its live status and the time of the report."""

    uid: str
    status: Mapping[str, Any]
    live: Status | None
    at_s: float

    def tells(self, status: Mapping[str, Any], live: Status | None, now_s: float) -> bool:
        """Whether nothing is to be reported again, as nobody has changed anything since."""
        same = self.status == status and self.live == live
        return same and (live == status or now_s - self.at_s < LOOK_AGAIN_S)
