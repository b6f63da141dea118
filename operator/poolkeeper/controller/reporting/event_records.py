"""The events of a resource, recorded on the API server and told in the log."""

import logging

from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.events import NOTE_MAX, StatusEvent
from poolkeeper.telemetry.logs import log_extra

logger = logging.getLogger(__name__)


def record(recorder: EventRecorder, resource: CustomResource, event: StatusEvent) -> None:
    """Record an event, and log what is recorded: what is held back is no news in the log either."""
    _record(recorder, reference_of(resource), event)


def record_refused_status(recorder: EventRecorder, reference: Reference, reason: str) -> None:
    """Record that the API server does not take the status of an object, which stays as it was."""
    note = f"the status of this resource is not written and stays as it was: {reason}"
    _record(recorder, reference, StatusEvent("Warning", "StatusRefused", note[:NOTE_MAX]))


def _record(recorder: EventRecorder, reference: Reference, event: StatusEvent) -> None:
    warning = event.type == "Warning"
    if recorder.record(reference, event.reason, event.note, warning=warning):
        level = logging.WARNING if warning else logging.INFO
        extra = log_extra(reference.kind, reference.name, reference.namespace)
        logger.log(level, "%s: %s", event.reason, event.note, extra=extra)


def reference_of(resource: CustomResource) -> Reference:
    """The reference to exactly this object, by its uid."""
    return Reference(resource.kind, resource.namespace, resource.name, resource.uid)
