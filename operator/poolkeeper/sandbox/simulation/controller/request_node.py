"""The request node: how it is taken up, rewritten and deleted, and how its watch gets lost.

The watch is one-shot and set by every look at the node (`exists`, and `get` where it is there). In
1.1 and later only creation does anything: a change or a deletion by others, and the controller's
own rewriting, spend the watch for nothing. It is set again when the controller looks the next time,
at a completion or an API call; if there is none to come, later requests are not noticed. Up to 1.0
every change is looked at.
"""

from collections.abc import Callable, Collection, Mapping

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import REQUEST, Ids, RequestEntries, Tp
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.controller.event_queue import Steps
from poolkeeper.sandbox.simulation.profiles import Era
from poolkeeper.sandbox.simulation.zookeeper.session import (
    CreateNode,
    DeleteNode,
    Event,
    Happening,
    WriteNode,
)

BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError)
"""What bad input makes of a controller's work; Kafka catches the like of it."""


def watch(controller: ActiveController) -> Callable[[Event], None]:
    """Return the controller's watch on the request node."""

    def note(event: Event) -> None:
        always = controller.profile.era is Era.WATCHED
        lost = event.happening is Happening.DISCONNECTED
        if event.happening is Happening.CREATED or always or lost:
            controller.post(controller.take_up)

    return controller.world.once(("request", controller.epoch), note)


def read(controller: ActiveController) -> Mapping[Tp, Ids] | None:
    """Read the request, and watch it; None if there is none, empty if it makes no sense."""
    if controller.client.exists(REQUEST, watch(controller)) is None:
        return None
    found = controller.client.get(REQUEST, watch(controller))
    if found is None:
        return None
    try:
        return codecs.decode_request(controller.profile, found[0])
    except BROKEN as damage:
        controller.note(f"ignoring the reassignment: invalid json: {damage}")
        return {}


def forget(controller: ActiveController, done: Collection[Tp]) -> Steps:
    """Take entries out of the request (2.3 and earlier)."""
    if controller.profile.era is Era.WATCHED:
        yield from _subtract(controller, done)
        return
    rest = {tp: ids for tp, ids in controller.requests.items() if tp not in done}
    if rest:
        _put(controller, rest)
    else:
        _delete(controller)
    for tp in done:
        controller.requests.pop(tp, None)
    yield


def _subtract(controller: ActiveController, done: Collection[Tp]) -> Steps:
    found = read(controller)
    rest = {tp: ids for tp, ids in (found or {}).items() if tp not in done}
    if rest:
        _put(controller, rest)
    elif found is not None:
        _delete(controller)
    for tp in done:
        controller.requests.pop(tp, None)
    yield


def forget_recorded(controller: ActiveController, done: Mapping[Tp, Ids | None]) -> Steps:
    """Take entries out of the request (2.4 and later); an unreadable one is deleted.

    `done`: the target with which an entry goes; None for any.
    """
    found = read(controller)
    if found is None:
        return
    gone = {tp for tp, target in done.items() if tp in found and target in (None, found[tp])}
    if isinstance(found, RequestEntries):
        rest: Mapping[Tp, Ids] = found.without(gone)
    else:
        rest = {tp: ids for tp, ids in found.items() if tp not in gone}
    if rest:
        _put(controller, rest)
    else:
        _delete(controller)
    yield


def _put(controller: ActiveController, entries: Mapping[Tp, Ids]) -> None:
    """Set the request, or create it: whatever somebody else did to it meanwhile."""
    data = codecs.encode_request(entries)
    if controller.client.exists(REQUEST) is None:
        controller.write(CreateNode(REQUEST, data))
    else:
        controller.write(WriteNode(REQUEST, data))


def _delete(controller: ActiveController) -> None:
    """Delete the request, and look for another."""
    if controller.client.exists(REQUEST) is not None:
        controller.write(DeleteNode(REQUEST))
    controller.post(controller.take_up)
