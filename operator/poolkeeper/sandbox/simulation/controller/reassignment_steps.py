"""The twelve steps of a reassignment, each visible one a write.

RAR is the target, OAR the origin, AR the current list. Not in sync yet: (1) AR := RAR + OAR in the
topic node, (2) the leader epoch grows by one and all of RAR + OAR are told, (3) new replicas begin
to fetch. In sync: (5) RAR online, (6) AR := RAR in memory, (7) a leader from RAR, the epoch grows
even if it stays, (8) each of OAR - RAR leaves the ISR with a write and an epoch of its own, (9) its
data is deleted, (10) the topic node := RAR, (11) the request node. The caller repeats this whenever
the ISR grows or a broker of the target comes (4).

From 2.4 on, (1) records what is added and removed, and is left out if the node says so already;
earlier releases write the union again. A pure change of order is written at (1) and at (10) there,
but only at (10) before.
"""

from collections.abc import Callable
from zlib import crc32

from poolkeeper.algorithms.reassignments import union
from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import Ids, PartitionAssignment, Tp
from poolkeeper.sandbox.simulation.controller import election_rules, request_node
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.controller.event_queue import Steps
from poolkeeper.sandbox.simulation.profiles import Era
from poolkeeper.sandbox.simulation.zookeeper.session import Event, Happening

UNION_ORDER_MAX = 4
"""Up to here a set keeps the order in which it was filled."""


def pursue(controller: ActiveController, tp: Tp) -> Steps:
    """Take a move that is remembered as far as it can go now."""
    if controller.profile.era is Era.RECORDED:
        assignment = controller.assignment(tp)
        if assignment is not None:
            yield from pursue_recorded(controller, tp, assignment)
    elif tp in controller.requests and controller.assignment(tp) is not None:
        yield from pursue_union(controller, tp, controller.requests[tp])


def pursue_recorded(controller: ActiveController, tp: Tp, wanted: PartitionAssignment) -> Steps:
    """Begin, replace, or go on with a move (2.4 and later)."""
    current = controller.topics[tp.topic].partitions[tp.partition]
    if current != wanted:
        controller.remember(tp, wanted)
        controller.write_topic(tp.topic)
        yield
        for replica in current.replicas:
            if replica not in wanted.replicas:
                yield from _remove(controller, tp, replica)
    codecs.require_numbers(wanted.replicas)
    controller.moving.add(tp)
    watched = None if controller.profile.controller_writes_isr else _on_isr(controller, tp)
    state = controller.read_state(tp, watched)
    in_sync = () if state is None else state.isr
    if wanted.moving and not set(wanted.target) <= set(in_sync):
        yield from _bump(controller, tp)
        return
    yield from _complete(controller, tp, wanted.target, wanted.removing)
    controller.moving.discard(tp)
    yield from request_node.forget_recorded(controller, {tp: wanted.target})


def pursue_union(controller: ActiveController, tp: Tp, target: Ids) -> Steps:
    """Begin or go on with a move (2.3 and earlier)."""
    current = controller.topics[tp.topic].partitions[tp.partition].replicas
    state = controller.read_state(tp, _on_isr(controller, tp))
    if not set(target) <= set(() if state is None else state.isr):
        controller.remember(tp, PartitionAssignment(_union(target, current)))
        controller.write_topic(tp.topic)
        yield
        codecs.require_numbers(target)
        yield from _bump(controller, tp)
        return
    removed = tuple(id_ for id_ in current if id_ not in target)
    yield from _complete(controller, tp, target, removed)
    yield from request_node.forget(controller, {tp})


def isr_changed(controller: ActiveController, tp: Tp) -> Steps:
    """See whether a move can be completed now (step 4)."""
    if controller.profile.era is Era.RECORDED:
        assignment = controller.assignment(tp) if tp in controller.moving else None
        target: Ids | None = None if assignment is None else assignment.target
    else:
        target = controller.requests.get(tp)
    if target is None:
        return
    state = controller.read_state(tp, _on_isr(controller, tp))
    if state is not None and set(target) <= set(state.isr):
        yield from pursue(controller, tp)


def _on_isr(controller: ActiveController, tp: Tp) -> Callable[[Event], None]:
    def note(event: Event) -> None:
        if event.happening is not Happening.DELETED:
            controller.post(lambda: isr_changed(controller, tp))

    return controller.world.once(("isr", controller.epoch, tp), note)


def _bump(controller: ActiveController, tp: Tp) -> Steps:
    state = controller.read_state(tp)
    if state is not None:
        controller.write_state(tp, state.led_by(state.leader))
        yield


def _complete(controller: ActiveController, tp: Tp, target: Ids, removed: Ids) -> Steps:
    """Do steps 5 to 10."""
    if controller.profile.era is Era.RECORDED and not target:
        controller.remember(tp, PartitionAssignment(()))
        raise IndexError("head of empty list")
    old = controller.topics[tp.topic].partitions[tp.partition].replicas
    controller.remember(tp, PartitionAssignment(target))
    state = controller.read_state(tp)
    if state is not None:
        stays = state.leader in target and state.leader in controller.live
        after = (
            state.led_by(state.leader)
            if stays
            else election_rules.elect_for_target(target, state, controller.live)
        )
        if after is None:
            controller.note(f"no leader for {tp} among {target}")
        else:
            controller.write_state(tp, after)
            yield
    for replica in controller.world.choices.order(f"removed {tp.topic}-{tp.partition}", removed):
        yield from _remove(controller, tp, replica)
    controller.write_topic(tp.topic)
    controller.announce(tp, [id_ for id_ in old if id_ in target])
    yield


def _remove(controller: ActiveController, tp: Tp, replica: int) -> Steps:
    """Take a replica out of the ISR and delete its data (steps 8 and 9)."""
    yield from leave_isr(controller, tp, replica)
    controller.drop_log(tp, replica)


def leave_isr(controller: ActiveController, tp: Tp, replica: int) -> Steps:
    """Take a replica out of the ISR, if it is in it; the last one stays listed."""
    state = controller.read_state(tp)
    if state is not None and replica in state.isr and not controller.was_overtaken(tp, state):
        controller.write_state(tp, state.without(replica))
        yield


def _union(target: Ids, current: Ids) -> Ids:
    found = union(current, target)
    if len(found) <= UNION_ORDER_MAX:
        return found
    return tuple(sorted(found, key=lambda id_: crc32(str(id_).encode())))
