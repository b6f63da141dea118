"""How a broker becomes the controller, and how it resigns.

The first broker to create the ephemeral `/controller` becomes it. Up to 2.0 the epoch is raised
afterwards (and created as 1). Later both are one transaction, conditional on the epoch's version,
so that two terms never share an epoch, and the epoch's node is created as 0 before the first.
"""

from collections.abc import Callable

from kazoo.exceptions import BadVersionError, NodeExistsError

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import CONTROLLER, EPOCH
from poolkeeper.sandbox.simulation.controller.controller import ActiveController, Host
from poolkeeper.sandbox.simulation.world import World
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, DeleteNode, Event, WriteNode


def run(host: Host, world: World, watch: Callable[[Event], None]) -> ActiveController | None:
    """Stand for election; return the new term, or None if somebody else is in office."""
    if host.client.exists(CONTROLLER, watch) is not None:
        return None
    try:
        term = _fenced(host, world) if world.profile.fenced else _plain(host, world)
    except (NodeExistsError, BadVersionError):
        host.client.exists(CONTROLLER, watch)
        return None
    host.client.exists(CONTROLLER, watch)
    return term


def _fenced(host: Host, world: World) -> ActiveController:
    client = host.client
    found = client.get(EPOCH)
    if found is None:
        client.commit([CreateNode(EPOCH, b"0")])
        found = client.get(EPOCH)
        assert found is not None, "just created"
    epoch, version = int(found[0]) + 1, int(found[1].version)
    data = codecs.controller(world.profile, host.id, world.clock.now_ms())
    client.commit(
        [CreateNode(CONTROLLER, data, ephemeral=True), WriteNode(EPOCH, b"%d" % epoch, version)]
    )
    return ActiveController(host, world, epoch, version + 1)


def _plain(host: Host, world: World) -> ActiveController:
    client = host.client
    data = codecs.controller(world.profile, host.id, world.clock.now_ms())
    client.commit([CreateNode(CONTROLLER, data, ephemeral=True)])
    found = client.get(EPOCH)
    if found is None:
        client.commit([CreateNode(EPOCH, b"1")])
        return ActiveController(host, world, 1, 0)
    epoch, version = int(found[0]) + 1, int(found[1].version)
    client.commit([WriteNode(EPOCH, b"%d" % epoch, version)])
    return ActiveController(host, world, epoch, version + 1)


def give_up(term: ActiveController) -> None:
    """Resign as controller, so that another broker can be elected."""
    found = term.client.get(CONTROLLER)
    if found is not None and found[1].ephemeralOwner == term.client.session_id:
        term.write(DeleteNode(CONTROLLER))
