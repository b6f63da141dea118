"""How a leader lets a replica that caught up into the ISR, and takes out one that fell behind.

Up to 2.6 the leader writes the state itself, with the version that it read and the controller epoch
that it was last told, and some seconds later leaves a notification that makes the controller read
it. From 2.7 on it asks the controller, and asks again if nothing came of it.
"""

from dataclasses import replace
from typing import Protocol

from kazoo.exceptions import BadVersionError

from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.codecs import ISR_CHANGES, PartitionState, Tp, state_path
from poolkeeper.sandbox.simulation.controller import membership
from poolkeeper.sandbox.simulation.controller.event_queue import EventQueue, Steps
from poolkeeper.sandbox.simulation.world import World
from poolkeeper.sandbox.simulation.zookeeper.session import Client, CreateNode, WriteNode

AGAIN_MS = 1500
QUIET_MS = 5000
"""A notification is left when the ISRs of a leader have not changed for so long."""


class LeadingBroker(Protocol):
    """The broker that leads."""

    id: int
    side: EventQueue

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        ...

    @property
    def client(self) -> Client:
        """Its session."""
        ...

    def state_of(self, tp: Tp) -> PartitionState | None:
        """Return the state that it was last told, or wrote."""
        ...

    def is_replica(self, tp: Tp, broker: int) -> bool:
        """Whether a broker is among the replicas that it was last told of."""
        ...

    def isr_written(self, tp: Tp, state: PartitionState) -> None:
        """Act on the ISR that it wrote."""
        ...


class IsrExpansion:
    """The replicas that one broker is letting in."""

    def __init__(self, broker: LeadingBroker, world: World) -> None:
        self._broker = broker
        self._world = world
        self._asked: set[tuple[Tp, int]] = set()
        self._changed: set[Tp] = set()
        self._changed_ms = 0
        self._notifying = False

    def caught_up(self, tp: Tp, replica: int) -> None:
        """Let a replica in that has all the leader has."""
        if (tp, replica) in self._asked:
            return
        self._asked.add((tp, replica))
        delay_ms = self._world.choices.join_ms(tp, replica)
        self._world.clock.after(delay_ms, lambda: self._ask(tp, replica, joins=True))
        self._world.clock.after(delay_ms + AGAIN_MS, lambda: self._again(tp, replica))

    def fell_behind(self, tp: Tp, replica: int) -> None:
        """Take out a replica that runs and has not kept up."""
        self._ask(tp, replica, joins=False)

    def _again(self, tp: Tp, replica: int) -> None:
        self._asked.discard((tp, replica))
        self._world.on_flow()

    def _ask(self, tp: Tp, replica: int, *, joins: bool) -> None:
        state = self._broker.state_of(tp) if self._broker.alive else None
        if state is None or state.leader != self._broker.id:
            return
        if joins and not self._world.serves(replica):
            return
        if not self._world.profile.controller_writes_isr:
            self._broker.side.post(lambda: self._write(tp, replica, joins=joins))
            return
        term = self._world.office()
        if term is not None:
            leader = (self._broker.id, state.leader_epoch)
            term.post(lambda: membership.isr_asked(term, tp, leader, replica, joins=joins))

    def _write(self, tp: Tp, replica: int, *, joins: bool) -> Steps:
        known = self._broker.state_of(tp)
        found = self._broker.client.get(state_path(tp))
        if known is None or found is None:
            return
        state = codecs.decode_state(found[0], found[1].version)
        told = (state.leader, state.leader_epoch) == (self._broker.id, known.leader_epoch)
        in_isr = replica in state.isr
        if not told or in_isr is joins or not self._broker.is_replica(tp, replica):
            return
        change = codecs.with_in_sync if joins else codecs.without_in_sync
        after = change(state, replica, known.controller_epoch)
        write = WriteNode(state_path(tp), codecs.encode_state(after), state.version)
        try:
            self._broker.client.commit([write])
        except BadVersionError:
            return  # the controller was faster; what it wrote comes as a message
        self._broker.isr_written(tp, replace(after, version=state.version + 1))
        self._note_change(tp)
        yield

    def _note_change(self, tp: Tp) -> None:
        self._changed.add(tp)
        self._changed_ms = self._world.clock.now_ms()
        if not self._notifying:
            self._notifying = True
            self._world.clock.after(QUIET_MS, self._quiet)

    def _quiet(self) -> None:
        since_ms = self._world.clock.now_ms() - self._changed_ms
        if since_ms < QUIET_MS:
            self._world.clock.after(QUIET_MS - since_ms, self._quiet)
            return
        self._notifying = False
        if self._broker.alive:
            self._broker.side.post(self._notify)

    def _notify(self) -> Steps:
        changed, self._changed = sorted(self._changed), set()
        data = codecs.encode_partitions(changed)
        self._broker.client.commit([CreateNode(f"{ISR_CHANGES}/isr_change_", data, sequence=True)])
        yield
