"""Elections of leaders: after a loss (unclean where a topic allows it), preferred, at shutdowns."""

from collections.abc import Callable, Iterable

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import ELECTION, Tp
from poolkeeper.sandbox.simulation.controller import election_rules, reassignment_steps
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.controller.event_queue import Steps
from poolkeeper.sandbox.simulation.controller.request_node import BROKEN
from poolkeeper.sandbox.simulation.controller.topics import create_states
from poolkeeper.sandbox.simulation.zookeeper.session import DeleteNode, Event, Happening

UNCLEAN = "unclean.leader.election.enable"


def watch_request(controller: ActiveController) -> Callable[[Event], None]:
    """Return the watch on the request of preferred elections; only its creation counts."""

    def note(event: Event) -> None:
        if event.happening in (Happening.CREATED, Happening.DISCONNECTED):
            controller.post(lambda: take_up(controller))

    return controller.world.once(("election", controller.epoch), note)


def take_up(controller: ActiveController, *, starting: bool = False) -> Steps:
    """Elect preferred leaders where it was asked for, once, and delete the request.

    A controller that is `starting` passes unknown partitions over, in every release.
    """
    client = controller.client
    if client.exists(ELECTION, watch_request(controller)) is None:
        return
    found = client.get(ELECTION, watch_request(controller))
    try:
        wanted = () if found is None else codecs.decode_partitions(found[0])
    except BROKEN as damage:
        controller.note(f"ignoring the election: {damage}")
        wanted = ()
    unknown = [tp for tp in wanted if controller.assignment(tp) is None]
    for tp in wanted:
        yield from _elect_preferred(controller, tp)
    if unknown and not (starting or controller.profile.skips_elections):
        raise KeyError(f"{unknown[0]} does not exist")
    if client.exists(ELECTION) is not None:
        controller.write(DeleteNode(ELECTION))
    controller.post(lambda: take_up(controller))
    yield


def _elect_preferred(controller: ActiveController, tp: Tp) -> Steps:
    assignment = controller.assignment(tp)
    state = controller.read_state(tp)
    if assignment is None or state is None or tp.topic in controller.deleting:
        return
    if state.leader == assignment.replicas[0] and controller.profile.skips_elections:
        return
    after = election_rules.elect_preferred(assignment.replicas, state, controller.live)
    if controller.was_overtaken(tp, state):
        return
    if after is None:
        controller.note(f"the preferred leader of {tp} cannot lead")
    else:
        controller.write_state(tp, after)
        yield


def elect_leaderless(controller: ActiveController, partitions: Iterable[Tp] | None = None) -> Steps:
    """Elect leaders for partitions whose leader is not live, or that have no state yet."""
    chosen = [tp for tp, _ in controller.partitions()] if partitions is None else list(partitions)
    without: list[Tp] = []
    for tp in chosen:
        if tp.topic in controller.deleting:
            continue
        state = controller.states.get(tp)
        if state is None:
            without.append(tp)
        elif state.leader not in controller.live:
            yield from _elect_offline(controller, tp)
    yield from create_states(controller, without)


def _elect_offline(controller: ActiveController, tp: Tp) -> Steps:
    assignment = controller.assignment(tp)
    state = controller.read_state(tp)
    if assignment is None or state is None or controller.was_overtaken(tp, state):
        return
    after = election_rules.elect_offline(
        assignment.replicas, state, controller.live, unclean=_allows_unclean(controller, tp.topic)
    )
    if after is None:
        controller.note(f"no replica of {tp} can lead")
    else:
        controller.write_state(tp, after)
        yield


def _allows_unclean(controller: ActiveController, topic: str) -> bool:
    found = controller.client.get(f"/config/topics/{topic}")
    if found is None:
        return False
    try:
        return codecs.decode_config(found[0]).get(UNCLEAN, "").strip().lower() == "true"
    except BROKEN:
        return False


def take_offline(controller: ActiveController, broker: int, partitions: Iterable[Tp]) -> Steps:
    """Take replicas of a live broker, whose log directory failed, out of leaderships and ISRs."""
    others = [id_ for id_ in controller.live if id_ != broker]
    for tp in partitions:
        assignment, state = controller.assignment(tp), controller.read_state(tp)
        if assignment is None or state is None or controller.was_overtaken(tp, state):
            continue
        if state.leader == broker:
            after = election_rules.elect_offline(
                assignment.replicas, state, others, unclean=_allows_unclean(controller, tp.topic)
            )
            if after is not None:
                controller.write_state(tp, after)
                yield
        yield from reassignment_steps.leave_isr(controller, tp, broker)


def shut_down(controller: ActiveController, broker: int, done: Callable[[], None]) -> Steps:
    """Take a broker that is about to stop out of all leaderships and ISRs that allow it."""
    for tp in controller.hosted_by([broker]):
        assignment = controller.assignment(tp)
        state = controller.read_state(tp)
        if assignment is None or state is None or len(assignment.replicas) == 1:
            continue
        if controller.was_overtaken(tp, state):
            continue
        if state.leader == broker:
            after = election_rules.elect_for_shutdown(
                assignment.replicas, state, controller.live, broker
            )
            if after is not None:
                controller.write_state(tp, after)
                yield
        else:
            yield from reassignment_steps.leave_isr(controller, tp, broker)
    done()
