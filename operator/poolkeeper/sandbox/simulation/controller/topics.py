"""Topics and partitions that appear, and topics that go.

A new child of `/brokers/topics` gets (from 2.8 on) an id by a rewrite of its node, then a state for
each partition with a live replica. Partitions that appear in a known topic's node get theirs; what
the node says about known ones is not looked at.

Deletion does not wait for a move. Live replicas leave the ISR one by one, a write each, until the
last one stays listed without a leader, and delete their logs; when all replicas have done so, the
nodes go from below: states, partitions, the topic, its config, the marker. A replica on a dead
broker keeps all of that waiting, but not the deletion of the others' data.

A real controller sends each write of a creation as a transaction of its own, with the check of its
epoch. So does this one up to `MANY` partitions at once; more are created in the same order, but two
hundred writes share a transaction: 400,000 of them would take kazoo minutes.
"""

from collections.abc import Callable, Iterable, Sequence

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import (
    DELETIONS,
    TOPICS,
    PartitionState,
    Tp,
    state_path,
    topic_path,
)
from poolkeeper.sandbox.simulation.controller import election_rules, reassignment_steps
from poolkeeper.sandbox.simulation.controller.controller import ActiveController, ControllerTopic
from poolkeeper.sandbox.simulation.controller.event_queue import Steps
from poolkeeper.sandbox.simulation.controller.request_node import BROKEN
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode, Event, Happening

MANY = 100
"""Partitions that appear at once, from which on their nodes are written in bulk."""
MANY_TOPICS = 20
"""Topics that appear at once, from which on others act only after all of them have their ids."""


def watch_topics(controller: ActiveController) -> Callable[[Event], None]:
    """Return the watch on the list of topics."""

    def note(_: Event) -> None:
        controller.post(lambda: topics_changed(controller))

    return controller.world.once(("topics", controller.epoch), note)


def watch_topic(controller: ActiveController, name: str) -> Callable[[Event], None]:
    """Return the watch on a topic's node."""

    def note(event: Event) -> None:
        if event.happening is not Happening.DELETED:
            controller.post(lambda: topic_changed(controller, name))

    return controller.world.once(("topic", controller.epoch, name), note)


def watch_deletions(controller: ActiveController) -> Callable[[Event], None]:
    """Return the watch on the markers of deletion."""

    def note(_: Event) -> None:
        controller.post(lambda: deletions_changed(controller))

    return controller.world.once(("deletions", controller.epoch), note)


def topics_changed(controller: ActiveController) -> Steps:
    """Take in new topics, and forget those that are gone."""
    names = set(controller.client.children(TOPICS, watch_topics(controller)) or ())
    for gone in sorted(controller.topics.keys() - names):
        forget(controller, gone)
    # What cannot be read is known all the same: it spoils this batch of topics, not the next.
    new, controller.known = sorted(names - controller.known), names
    found = load(controller, new)
    controller.topics.update(found)
    yield from mint_ids(controller, list(found))
    yield from create_states(
        controller, [Tp(name, number) for name in found for number in found[name].partitions]
    )


def load(controller: ActiveController, names: Sequence[str]) -> dict[str, ControllerTopic]:
    """Read and watch topics; return those that are there."""
    bodies = controller.read_topics(names, [watch_topic(controller, name) for name in names])
    return {
        name: ControllerTopic(dict(body.partitions), body.topic_id)
        for name, body in zip(names, bodies, strict=True)
        if body is not None
    }


def forget(controller: ActiveController, name: str) -> None:
    """Forget a topic, though not what was asked for its partitions."""
    topic = controller.topics.pop(name, None)
    controller.deleted_logs.pop(name, None)
    controller.known.discard(name)
    for number in () if topic is None else topic.partitions:
        controller.states.pop(Tp(name, number), None)
        controller.moving.discard(Tp(name, number))


def mint_ids(controller: ActiveController, names: Iterable[str]) -> Steps:
    """Give each of the topics an id, if this release has ids and the topic has none."""
    without = [name for name in names if controller.topics[name].topic_id is None]
    if not controller.profile.has_topic_ids or not without:
        return
    for name in without:
        controller.topics[name].topic_id = controller.world.choices.topic_id()
        if len(without) < MANY_TOPICS:
            controller.write_topic(name)
            yield
    if len(without) >= MANY_TOPICS:
        controller.write_in_bulk([controller.rewritten(name) for name in without])
        yield


def topic_changed(controller: ActiveController, name: str) -> Steps:
    """Take in partitions that were added to a topic."""
    body = controller.read_topic(name, watch_topic(controller, name))
    known = controller.topics.get(name)
    if body is None or known is None:
        return
    added = {p: a for p, a in body.partitions.items() if p not in known.partitions}
    if not added:
        return
    if name in controller.deleting:
        controller.write_topic(name)
        yield
        return
    known.partitions.update(added)
    yield from create_states(controller, [Tp(name, number) for number in added])


def create_states(controller: ActiveController, partitions: Iterable[Tp]) -> Steps:
    """Write the first state of each partition that has a live replica."""
    wanted: list[tuple[Tp, PartitionState]] = []
    for tp in partitions:
        assignment = controller.assignment(tp)
        replicas = () if assignment is None else assignment.replicas
        state = election_rules.first_state(replicas, controller.live)
        if state is None:
            controller.note(f"no live replica for {tp}")
        else:
            wanted.append((tp, PartitionState(state.leader, state.isr, 0, controller.epoch)))
    if not wanted:
        return
    write = controller.write_many if len(wanted) < MANY else controller.write_in_bulk
    topics = dict.fromkeys(tp.topic for tp, _ in wanted)
    write([CreateNode(f"{topic_path(topic)}/partitions") for topic in topics])
    write([CreateNode(state_path(tp).removesuffix("/state")) for tp, _ in wanted])
    created = write(
        [CreateNode(state_path(tp), codecs.encode_state(state)) for tp, state in wanted]
    )
    new = {tp: state for (tp, state), done in zip(wanted, created, strict=True) if done}
    controller.states.update(new)
    controller.announce_all(new)
    yield


def deletions_changed(controller: ActiveController) -> Steps:
    """Begin to delete the topics that are marked."""
    marked = controller.client.children(DELETIONS, watch_deletions(controller)) or ()
    for name in marked:
        if name not in controller.topics or not controller.world.deletes_topics:
            controller.write_many([DeleteNode(f"{DELETIONS}/{name}")])
            yield
        elif name not in controller.deleting:
            controller.deleting.add(name)
    yield from resume_deletions(controller)


def resume_deletions(controller: ActiveController) -> Steps:
    """Take each deletion as far as it can go now."""
    for name in sorted(controller.deleting):
        if name in controller.topics:
            try:
                yield from _delete(controller, name)
            except BROKEN as failure:
                controller.note(f"deletion of {name} failed: {failure}")


def _delete(controller: ActiveController, name: str) -> Steps:
    done = controller.deleted_logs.setdefault(name, set())
    for number, assignment in sorted(controller.topics[name].partitions.items()):
        tp = Tp(name, number)
        for replica in assignment.replicas:
            if replica in controller.live and (tp, replica) not in done:
                yield from _take_off(controller, tp, replica)
                controller.drop_log(tp, replica)


def _take_off(controller: ActiveController, tp: Tp, replica: int) -> Steps:
    state = controller.read_state(tp)
    if state is None or replica not in state.isr:
        return
    yield from reassignment_steps.leave_isr(controller, tp, replica)


def log_deleted(controller: ActiveController, tp: Tp, broker: int) -> Steps:
    """Note that a broker deleted a replica; when all have, remove the topic's nodes."""
    topic = controller.topics.get(tp.topic)
    if topic is None or tp.topic not in controller.deleting:
        return
    done = controller.deleted_logs.setdefault(tp.topic, set())
    done.add((tp, broker))
    wanted = {
        (Tp(tp.topic, number), replica)
        for number, assignment in topic.partitions.items()
        for replica in assignment.replicas
    }
    if wanted <= done:
        yield from _remove_nodes(controller, tp.topic)


def _remove_nodes(controller: ActiveController, name: str) -> Steps:
    path = topic_path(name)
    for number in sorted(controller.topics[name].partitions):
        state = state_path(Tp(name, number))
        controller.write_many([DeleteNode(state), DeleteNode(state.removesuffix("/state"))])
        yield
    controller.write_many([DeleteNode(f"{path}/partitions"), DeleteNode(path)])
    yield
    controller.write_many([DeleteNode(f"/config/topics/{name}")])
    yield
    controller.write_many([DeleteNode(f"{DELETIONS}/{name}")])
    controller.deleting.discard(name)
    forget(controller, name)
    yield
