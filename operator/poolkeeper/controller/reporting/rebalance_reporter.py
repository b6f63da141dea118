"""Reports of Rebalances: their statuses, events and finalizer, written by the writer threads.

Events report transitions. The status before is the one last reported, or the live one.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from poolkeeper.controller.reporting import event_records
from poolkeeper.controller.reporting.background_writer import BackgroundWriter
from poolkeeper.controller.reporting.event_records import reference_of
from poolkeeper.controller.reporting.reported_status import ReportedStatus
from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.kube.objects.status_writer import StatusWriter
from poolkeeper.model.rebalances import RebalanceSpec
from poolkeeper.resources.kinds.custom_resource import CustomResource, Status
from poolkeeper.resources.status.rebalance import (
    RebalanceStatusInputs,
    rebalance_events,
    rebalance_status,
    unreadable_event,
)


@frozen
class _ReportedRebalance:
    reference: Reference
    reported: ReportedStatus


class RebalanceReporter:
    """Reports Rebalances; called by one thread only."""

    def __init__(
        self,
        writer: StatusWriter,
        recorder: EventRecorder,
        finalizers: BackgroundWriter[bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._writer = writer
        self._recorder = recorder
        self._finalizers = finalizers
        self._reported: dict[str, _ReportedRebalance] = {}
        self._unreadable: set[str] = set()

    def report(
        self,
        resource: CustomResource,
        inputs: RebalanceStatusInputs,
        spec: RebalanceSpec | None,
        *,
        needs_finalizer: bool,
    ) -> None:
        """Report a Rebalance's status; `needs_finalizer`: whether it keeps our finalizer."""
        reference = reference_of(resource)
        if needs_finalizer != resource.has_finalizer and not (
            needs_finalizer and resource.deleting
        ):
            self._finalizers.put(reference, needs_finalizer)
        known = self._reported.get(resource.uid)
        before = resource.status if known is None else known.reported.status
        now_ms = time.time_ns() // 1_000_000
        status = rebalance_status(replace(resource, status=before), inputs, spec, now_ms)
        if not self._put(resource, status):
            return
        for event in rebalance_events(before, status):
            event_records.record(self._recorder, resource, event)

    def repeat_end(self, resource: CustomResource) -> None:
        """Write once more what was reported of a Rebalance that has ended, where it is not there.

        Its status may have been refused or changed, and the removal of its finalizer have failed.
        """
        if resource.has_finalizer:
            self._finalizers.put(reference_of(resource), False)
        if (known := self._reported.get(resource.uid)) is not None:
            self._put(resource, known.reported.status)

    def _put(self, resource: CustomResource, status: Status) -> bool:
        """Have a status written; false if that was reported already."""
        known, now_s = self._reported.get(resource.uid), self._clock()
        if known is not None and known.reported.tells(status, resource.status, now_s):
            return False
        reference = reference_of(resource)
        reported = ReportedStatus(resource.uid, status, resource.status, now_s)
        self._reported[resource.uid] = _ReportedRebalance(reference, reported)
        self._writer.put(reference, dict(status), dict(resource.status or {}))
        return True

    def finalizer_hindrance(self, resource: CustomResource) -> str:
        """Why a Rebalance lacks our finalizer, which a person must see to; may be empty."""
        lacks = not resource.has_finalizer and not resource.deleting
        return self._finalizers.hindrance(reference_of(resource)) if lacks else ""

    def report_unreadable(self, resource: CustomResource, unreadable: Refused) -> None:
        """Report once, by an event alone, that a status cannot be read: it is left as it is."""
        if resource.uid not in self._unreadable:
            self._unreadable.add(resource.uid)
            event_records.record(self._recorder, resource, unreadable_event(unreadable))

    def retain(self, uids: Collection[str]) -> None:
        """Forget all Rebalances but these."""
        for uid in set(self._reported) - set(uids):
            reference = self._reported.pop(uid).reference
            self._writer.forget(reference)
            self._finalizers.forget_object(reference)
        self._unreadable &= set(uids)
