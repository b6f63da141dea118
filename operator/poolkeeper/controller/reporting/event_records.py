"""The events of a resource, recorded on the API server and told in the log."""

import logging

from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.objects.events import EventRecorder
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.events import StatusEvent
from poolkeeper.telemetry.logs import about

logger = logging.getLogger(__name__)


def record(recorder: EventRecorder, resource: CustomResource, event: StatusEvent) -> None:
    """Record an event, and log what is recorded: what is held back is no news in the log either."""
    warning = event.type == "Warning"
    if recorder.record(reference_of(resource), event.reason, event.note, warning=warning):
        level = logging.WARNING if warning else logging.INFO
        extra = about(resource.kind, resource.name, resource.namespace)
        logger.log(level, "%s: %s", event.reason, event.note, extra=extra)


def reference_of(resource: CustomResource) -> Reference:
    """The reference to exactly this object, by its uid."""
    return Reference(resource.kind, resource.namespace, resource.name, resource.uid)
