"""Controllers that begin and brokers that come and go.

A new controller sets its watches, reads everything, and goes on with whatever was under way, in the
order in which Kafka does: elections, reassignments, deletions, preferred elections. If something
that it reads makes no sense it cannot begin at all, and gives the office up: so does the next one.
"""

from collections.abc import Callable

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import DELETIONS, IDS, ISR_CHANGES, TOPICS, Tp, state_path
from poolkeeper.sandbox.simulation.controller import (
    elections,
    reassignment_starts,
    reassignment_steps,
    topics,
)
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.controller.event_queue import Steps
from poolkeeper.sandbox.simulation.profiles import Era
from poolkeeper.sandbox.simulation.zookeeper.session import DeleteNode, Event


def watch_brokers(controller: ActiveController) -> Callable[[Event], None]:
    """Return the watch on the list of live brokers."""

    def note(_: Event) -> None:
        controller.post(lambda: brokers_changed(controller))

    return controller.world.once(("brokers", controller.epoch), note)


def watch_isr_changes(controller: ActiveController) -> Callable[[Event], None]:
    """Return the watch on leaders' notifications."""

    def note(_: Event) -> None:
        controller.post(lambda: isr_changes(controller))

    return controller.world.once(("isr changes", controller.epoch), note)


def begin(controller: ActiveController) -> Steps:
    """Take the office over; raises what bad nodes make of it."""
    client = controller.client
    controller.take_up = lambda: reassignment_starts.take_up(controller)
    controller.brokers = _live(controller)
    names = client.children(TOPICS, topics.watch_topics(controller)) or ()
    marked = client.children(DELETIONS, topics.watch_deletions(controller)) or ()
    notified = client.children(ISR_CHANGES, watch_isr_changes(controller)) or ()
    controller.write_many([DeleteNode(f"{ISR_CHANGES}/{name}") for name in notified])
    yield
    controller.known = set(names)
    controller.topics.update(topics.load(controller, names))
    for topic in controller.topics.values():
        for assignment in topic.partitions.values():
            codecs.require_numbers(assignment.replicas)
    yield from topics.mint_ids(controller, list(controller.topics))
    _read_states(controller)
    controller.deleting.update(name for name in marked if name in controller.topics)
    controller.announce_all(tp for tp, _ in controller.partitions())
    yield from elections.elect_leaderless(controller)
    yield from _shrink(controller)
    yield from reassignment_starts.resume(controller)
    yield from topics.deletions_changed(controller)
    yield from elections.take_up(controller, starting=True)


def _read_states(controller: ActiveController) -> None:
    partitions = [tp for tp, _ in controller.partitions()]
    found = controller.client.read_many([state_path(tp) for tp in partitions])
    for tp, node in zip(partitions, found, strict=True):
        if node is not None:
            controller.states[tp] = codecs.decode_state(node[0], node[1].version)


def _live(controller: ActiveController) -> dict[int, int]:
    """Return the live brokers and the creation of their registrations."""
    names = controller.client.children(IDS, watch_brokers(controller)) or ()
    stats = [(int(name), controller.client.exists(f"{IDS}/{name}")) for name in names]
    return {id_: stat.czxid for id_, stat in stats if stat is not None}


def _shrink(controller: ActiveController) -> Steps:
    """Take dead replicas out of the ISRs."""
    for tp, state in list(controller.states.items()):
        for replica in state.isr:
            if replica not in controller.live and tp.topic not in controller.deleting:
                yield from reassignment_steps.leave_isr(controller, tp, replica)


def brokers_changed(controller: ActiveController) -> Steps:
    """Take in brokers that came, went, or went and came."""
    before = controller.brokers
    now = _live(controller)
    died = {id_ for id_, czxid in before.items() if now.get(id_) != czxid}
    came = {id_ for id_, czxid in now.items() if before.get(id_) != czxid}
    if died:
        controller.brokers = {id_: czxid for id_, czxid in now.items() if id_ not in came}
        yield from _lost(controller, died)
    controller.brokers = now
    if came:
        yield from _joined(controller, came)


def _lost(controller: ActiveController, died: set[int]) -> Steps:
    hosted = [tp for tp in controller.hosted_by(died) if tp.topic not in controller.deleting]
    led = [tp for tp in hosted if tp in controller.states and controller.states[tp].leader in died]
    yield from elections.elect_leaderless(controller, led)
    for tp in hosted:
        state = controller.states.get(tp)
        for replica in () if state is None else state.isr:
            if replica in died:
                yield from reassignment_steps.leave_isr(controller, tp, replica)


def _joined(controller: ActiveController, came: set[int]) -> Steps:
    controller.announce_all(controller.hosted_by(came), came)
    yield from elections.elect_leaderless(controller)
    for tp in controller.order("resume", _waiting_for(controller, came)):
        yield from reassignment_steps.pursue(controller, tp)
    yield from topics.resume_deletions(controller)


def _waiting_for(controller: ActiveController, came: set[int]) -> list[Tp]:
    """Return the moves whose target includes one of these brokers."""
    if controller.profile.era is Era.RECORDED:
        return [tp for tp, a in controller.partitions() if a.moving and came & set(a.target)]
    return [tp for tp, target in controller.requests.items() if came & set(target)]


def isr_changes(controller: ActiveController) -> Steps:
    """Take in what leaders changed by themselves, and delete their notifications."""
    client = controller.client
    names = client.children(ISR_CHANGES, watch_isr_changes(controller)) or ()
    paths = [f"{ISR_CHANGES}/{name}" for name in names]
    for found in client.read_many(paths):
        for tp in () if found is None else codecs.decode_partitions(found[0]):
            if controller.assignment(tp) is not None:
                controller.read_state(tp)
    if paths:
        controller.write_many([DeleteNode(path) for path in paths])
        yield


def isr_asked(
    controller: ActiveController,
    tp: Tp,
    leader: tuple[int, int],
    replica: int,
    *,
    joins: bool,
) -> Steps:
    """Let a replica join or leave the ISR, as its leader asked (2.7 and later).

    `leader`: its id and its epoch.
    """
    state = controller.read_state(tp)
    assignment = controller.assignment(tp)
    if state is None or assignment is None or (state.leader, state.leader_epoch) != leader:
        return
    if (replica in state.isr) is joins or replica not in assignment.replicas:
        return
    if joins and replica not in controller.live:
        return
    change = codecs.with_in_sync if joins else codecs.without_in_sync
    controller.write_state(tp, change(state, replica, controller.epoch))
    yield
    yield from reassignment_steps.isr_changed(controller, tp)
