"""How a broker becomes the controller, and how it stops being it.

The first to create the ephemeral `/controller` is it. Up to 2.0 the epoch is raised afterwards (and
created as 1); later both are one transaction, conditional on the epoch's version, so that two terms
never share an epoch, and the epoch's node is created as 0 before the first.
"""

from collections.abc import Callable

from kazoo.exceptions import BadVersionError, NodeExistsError

from poolkeeper.sandbox.clients import Create, Delete, Event, SetData
from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import CONTROLLER, EPOCH
from poolkeeper.sandbox.simulation.controllers import Controller, Host
from poolkeeper.sandbox.simulation.worlds import World


def run(host: Host, world: World, watch: Callable[[Event], None]) -> Controller | None:
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


def _fenced(host: Host, world: World) -> Controller:
    client = host.client
    found = client.get(EPOCH)
    if found is None:
        client.commit([Create(EPOCH, b"0")])
        found = client.get(EPOCH)
        assert found is not None, "just created"
    epoch, version = int(found[0]) + 1, int(found[1].version)
    data = codecs.controller(world.profile, host.id, world.clock.now_ms())
    client.commit(
        [Create(CONTROLLER, data, ephemeral=True), SetData(EPOCH, b"%d" % epoch, version)]
    )
    return Controller(host, world, epoch, version + 1)


def _plain(host: Host, world: World) -> Controller:
    client = host.client
    data = codecs.controller(world.profile, host.id, world.clock.now_ms())
    client.commit([Create(CONTROLLER, data, ephemeral=True)])
    found = client.get(EPOCH)
    if found is None:
        client.commit([Create(EPOCH, b"1")])
        return Controller(host, world, 1, 0)
    epoch, version = int(found[0]) + 1, int(found[1].version)
    client.commit([SetData(EPOCH, b"%d" % epoch, version)])
    return Controller(host, world, epoch, version + 1)


def give_up(term: Controller) -> None:
    """Leave the office, so that somebody else can try."""
    found = term.client.get(CONTROLLER)
    if found is not None and found[1].ephemeralOwner == term.client.session_id:
        term.write(Delete(CONTROLLER))
