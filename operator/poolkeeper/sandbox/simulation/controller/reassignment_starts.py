"""Reassignments taken up: from a new request, by the brokers' API, by a new controller.

What cannot be begun is taken out of the request again: unknown partitions, topics that are being
deleted, before 2.4 also what is as wanted already, and what breaks on the way.
"""

from collections.abc import Collection, Mapping

from poolkeeper.sandbox.simulation.codecs import Ids, Tp
from poolkeeper.sandbox.simulation.controller import reassignment_steps
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.controller.event_queue import Steps
from poolkeeper.sandbox.simulation.controller.request_node import (
    BROKEN,
    forget,
    forget_recorded,
    read,
)
from poolkeeper.sandbox.simulation.profiles import Era


def take_up(controller: ActiveController) -> Steps:
    """Begin what the request asks for."""
    entries = read(controller)
    if entries is None:
        return
    match controller.profile.era:
        case Era.RECORDED:
            yield from _take_up_recorded(controller, entries)
        case Era.REMEMBERED:
            controller.requests.update(entries)
            yield from begin(controller, entries)
        case Era.WATCHED:
            new = {tp: ids for tp, ids in entries.items() if tp not in controller.requests}
            controller.requests.update(new)
            yield from begin(controller, new)


def _take_up_recorded(controller: ActiveController, entries: Mapping[Tp, Ids]) -> Steps:
    failed: set[Tp] = set()
    for tp in controller.order("request", entries):
        assignment = controller.assignment(tp)
        if tp.topic in controller.deleting or assignment is None:
            controller.note(f"{tp} is not there to be reassigned")
            failed.add(tp)
            continue
        try:
            yield from reassignment_steps.pursue_recorded(
                controller, tp, assignment.towards(entries[tp])
            )
        except BROKEN as failure:
            controller.note(f"reassignment of {tp} failed: {failure}")
            failed.add(tp)
    if failed:
        yield from forget_recorded(controller, dict.fromkeys(failed))


def begin(controller: ActiveController, entries: Collection[Tp]) -> Steps:
    """Begin moves that are in `ActiveController.requests` (2.3 and earlier)."""
    failed: set[Tp] = set()
    for tp in controller.order("request", entries):
        assignment, target = controller.assignment(tp), controller.requests.get(tp)
        if target is None:
            continue
        if tp.topic in controller.deleting or assignment is None or assignment.replicas == target:
            failed.add(tp)
        else:
            try:
                yield from reassignment_steps.pursue_union(controller, tp, target)
            except BROKEN as failure:
                controller.note(f"reassignment of {tp} failed: {failure}")
                failed.add(tp)
        if failed and not controller.profile.rewrites_after_start:
            yield from forget(controller, failed)
            failed = set()
    if controller.profile.rewrites_after_start:
        yield from forget(controller, failed)


def resume(controller: ActiveController) -> Steps:
    """Go on with all moves, as a new controller."""
    entries = read(controller)
    if controller.profile.era is not Era.RECORDED:
        controller.requests.update(entries or {})
        yield from begin(controller, entries or {})
        return
    if entries is not None:
        yield from _take_up_recorded(controller, entries)
    for tp in controller.order("resume", [tp for tp, a in controller.partitions() if a.moving]):
        if entries is None or tp not in entries:
            yield from reassignment_steps.pursue(controller, tp)


def alter(controller: ActiveController, targets: Mapping[Tp, Ids | None]) -> Steps:
    """Do what a call of the brokers' API asks for: new targets, or None to cancel (2.4+)."""
    yield from forget_recorded(controller, dict.fromkeys(targets))
    for tp in controller.order("alter", targets):
        assignment, target = controller.assignment(tp), targets[tp]
        if tp.topic in controller.deleting:
            controller.note(f"{tp} is being deleted: not reassigned")
            continue
        if assignment is None or (target is None and not assignment.moving):
            continue
        wanted = assignment.towards(assignment.origin if target is None else target)
        yield from reassignment_steps.pursue_recorded(controller, tp, wanted)
