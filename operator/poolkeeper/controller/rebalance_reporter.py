"""Reports of Rebalances: their statuses, events and finalizer, written by the writer threads.

Events report transitions. The status before is the one last reported, or the live one.
"""

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from poolkeeper.controller.reporter import Guards
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.events import Recorder
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.model.rebalances import RebalanceSpec
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.rebalance import Saying, rebalance_events, rebalance_status
from poolkeeper.telemetry.logs import about

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    reference: Reference
    status: Mapping[str, Any]


class RebalanceReporter:
    """Reports Rebalances; called by one thread only."""

    def __init__(self, writer: StatusWriter, recorder: Recorder, guards: Guards) -> None:
        self._writer = writer
        self._recorder = recorder
        self._guards = guards
        self._told: dict[str, _Told] = {}

    def tell(
        self, each: CustomResource, said: Saying, spec: RebalanceSpec | None, *, guard: bool
    ) -> None:
        """Report a Rebalance's status; `guard`: whether it keeps our finalizer."""
        reference = reference_of(each)
        if guard != each.guarded and not (guard and each.deleting):
            self._guards.put(reference, guard)
        told = self._told.get(each.uid)
        before = each.status if told is None else told.status
        now_ms = time.time_ns() // 1_000_000
        status = rebalance_status(replace(each, status=before), said, spec, now_ms)
        self._told[each.uid] = _Told(reference, status)
        if told is not None and told.status == status:
            return
        self._writer.put(reference, status, dict(each.status or {}))
        for event in rebalance_events(before, status):
            warning = event.type == "Warning"
            if self._recorder.record(reference, event.reason, event.note, warning=warning):
                level = logging.WARNING if warning else logging.INFO
                extra = about(each.kind, each.name, each.namespace)
                logger.log(level, "%s: %s", event.reason, event.note, extra=extra)

    def retain(self, uids: Collection[str]) -> None:
        """Forget all Rebalances but these."""
        for uid in set(self._told) - set(uids):
            self._writer.forget(self._told.pop(uid).reference)


def reference_of(each: CustomResource) -> Reference:
    """The reference to exactly this object, by its uid."""
    return Reference(each.kind, each.namespace, each.name, each.uid)
