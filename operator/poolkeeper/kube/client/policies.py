"""Whether the API server makes sure that `spec.approval.by` names who approved.

It does while the shipped policy and its binding are there. That is asked again after a minute, and
is not so while it cannot be found out.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from poolkeeper.errors import PoolkeeperError

NAME = "poolkeeper-plan-approver"
_PATH = "/apis/admissionregistration.k8s.io/v1"
POLICY = f"{_PATH}/validatingadmissionpolicies/{NAME}"
BINDING = f"{_PATH}/validatingadmissionpolicybindings/{NAME}"
ASK_EVERY_S = 60.0
DEADLINE_S = 5.0


class PolicyApi(Protocol):
    """The methods of `client.Api` that this module needs."""

    def get(self, path: str, *, deadline_s: float | None = None) -> dict[str, Any] | None:
        """Return an object."""


@dataclass(slots=True)
class ApproverPolicy:
    """The shipped policy on `spec.approval.by`, as last seen; any thread may ask."""

    api: PolicyApi
    clock_s: Callable[[], float] = time.monotonic
    _seen: tuple[float, bool] | None = None

    def in_force(self) -> bool:
        """Whether who approves is made sure of; asks the API server at most once in a while."""
        now_s, seen = self.clock_s(), self._seen
        if seen is None or now_s - seen[0] >= ASK_EVERY_S:
            seen = self._seen = (now_s, self._ask())
        return seen[1]

    def _ask(self) -> bool:
        try:
            policy = self.api.get(POLICY, deadline_s=DEADLINE_S)
            binding = self.api.get(BINDING, deadline_s=DEADLINE_S)
        except PoolkeeperError:
            return False
        if policy is None or binding is None:
            return False
        spec = binding.get("spec") or {}
        everywhere = not spec.get("matchResources") and not spec.get("paramRef")
        bound = spec.get("policyName") == NAME and "Deny" in (spec.get("validationActions") or ())
        strict = (policy.get("spec") or {}).get("failurePolicy", "Fail") == "Fail"
        return bound and everywhere and strict
