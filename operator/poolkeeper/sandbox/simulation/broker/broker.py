"""A simulated broker: its life, its session, its term as controller, and its replicas.

It may be killed at any moment. Its work ends where it is, its session lasts until ZooKeeper ends
it, its disk stays. After a new start it knows only its disk and what the controller tells it.
"""

from collections.abc import Callable

from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    SessionExpiredError,
)

from poolkeeper.frozen import frozen
from poolkeeper.sandbox.servers.settings import BrokerSpec
from poolkeeper.sandbox.simulation import codecs
from poolkeeper.sandbox.simulation.broker.configs import ConfigReader
from poolkeeper.sandbox.simulation.broker.isr_joining import IsrExpansion
from poolkeeper.sandbox.simulation.broker.log_dirs import Disk
from poolkeeper.sandbox.simulation.broker.throttles import Throttles
from poolkeeper.sandbox.simulation.codecs import Ids, PartitionState, Tp
from poolkeeper.sandbox.simulation.controller import candidate, elections, membership, topics
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.controller.event_queue import EventQueue, Steps, Work
from poolkeeper.sandbox.simulation.controller.request_node import BROKEN
from poolkeeper.sandbox.simulation.profiles import Era
from poolkeeper.sandbox.simulation.world import World
from poolkeeper.sandbox.simulation.zookeeper.session import Client, CreateNode, Event, WriteNode

REGISTERED_STILL_MS = 500
SHUTDOWN_MS = 5000
GATHER_MS = 10
_ENDED = (SessionExpiredError, ConnectionClosedError)


@frozen
class ReplicaRole:
    """What a broker was told of a partition that it hosts."""

    state: PartitionState
    replicas: Ids


class SimulatedBroker:
    """One broker; `open_client` opens a session with ZooKeeper."""

    def __init__(
        self,
        spec: BrokerSpec,
        port: int,
        world: World,
        open_client: Callable[[], Client],
        disk: Disk,
    ) -> None:
        self.id = spec.id
        self.disk = disk
        self.roles: dict[Tp, ReplicaRole] = {}
        self.behind: set[Tp] = set()
        self.throttles = Throttles(spec.id)
        self.term: ActiveController | None = None
        self._registration = codecs.Registration(spec.id, port, spec.rack)
        self._world = world
        self._open_client = open_client
        self._client: Client | None = None
        self._alive = False
        self._begin_memory()

    @property
    def alive(self) -> bool:
        """Whether the broker runs."""
        return self._alive

    @property
    def serves(self) -> bool:
        """Whether it runs and answers requests: no broker does before it is registered."""
        return self._alive and self._serves

    @property
    def client(self) -> Client:
        """The broker's session with ZooKeeper."""
        assert self._client is not None, "asked for only while it runs"
        return self._client

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do at this moment."""
        return self._office.idle and self.side.idle

    def post(self, work: Work) -> None:
        """Let its controller do this after all it was asked before."""
        self._office.post(work)

    # Life

    def start(self) -> None:
        """Begin to run, with an empty memory."""
        assert not self._alive, f"broker {self.id} runs already"
        self._alive = True
        self._begin_memory()
        self._connect()

    def kill(self) -> None:
        """End at once; the session lasts until its timeout."""
        self._end()
        self.client.drop()

    def stop(self) -> None:
        """End as asked: first hand over what it leads."""
        term = self._world.office()
        if term is None or term.host is self:
            self._close()
            return
        term.post(lambda: elections.shut_down(term, self.id, self._close))
        self._world.clock.after(SHUTDOWN_MS, self._close)

    def _close(self) -> None:
        if self._alive:
            self._end()
            self.client.close()

    def _end(self) -> None:
        self._alive = False
        self._world.gathering.discard(self.id)
        self._resign()
        self._office.close()
        self.side.close()
        self._world.on_flow()

    def _begin_memory(self) -> None:
        pause = self._world.choices.pause_ms
        troubles = (*BROKEN, KazooException)
        self._office = EventQueue(self._world.clock, pause, troubles, self._on_failure)
        self.side = EventQueue(self._world.clock, pause, troubles, self._on_side_failure)
        self._serves = False
        self.roles = {}
        self.behind = set()
        self.throttles = Throttles(self.id)
        self.configs = ConfigReader(self, self._world)
        self.isr_expansion = IsrExpansion(self, self._world)

    # Session

    def _connect(self) -> None:
        self._client = self._open_client()
        self._client.on_expired(self._expired)
        self._office.post(self._register)

    def _expired(self) -> None:
        if self._alive:
            self._resign()
            self._office.clear()
            self._connect()

    def _register(self) -> Steps:
        client, profile = self.client, self._world.profile
        for path in codecs.persistent(profile):
            _ensure(client, path)
        _ensure(client, codecs.CLUSTER_ID, codecs.cluster_id(self._world.choices.topic_id()))
        path = f"{codecs.IDS}/{self.id}"
        if client.exists(path) is not None:
            # That of a life before; it goes when ZooKeeper gives that session up.
            self._office.post(self._register, REGISTERED_STILL_MS)
            return
        data = codecs.registration(profile, self._registration, self._world.clock.now_ms())
        if profile.registers_twice:
            client.commit([CreateNode(path, ephemeral=True), WriteNode(path, data, 0)])
        else:
            client.commit([CreateNode(path, data, ephemeral=True)])
        self._serves = True
        yield
        self.side.post(self.configs.begin)
        self._world.gathering.discard(self.id)
        yield from self._gather()

    def _gather(self) -> Steps:
        if self._world.gathering:
            self._office.post(self._gather, GATHER_MS)
        else:
            yield from self._stand_for_controller()

    # Office

    def _on_office(self, _: Event) -> None:
        self._office.post(self._office_changed, self._world.choices.notice_ms(self.id))

    def _office_changed(self) -> Steps:
        found = self.client.get(codecs.CONTROLLER)
        ours = found is not None and found[1].ephemeralOwner == self.client.session_id
        if self.term is not None and not ours:
            self._resign()
            self._office.post(self._stand_for_controller)
        else:
            yield from self._stand_for_controller()

    def _stand_for_controller(self) -> Steps:
        term = candidate.run(self, self._world, self._on_office)
        if term is None:
            return
        self.term = self._world.in_office[self.id] = term
        yield
        try:
            yield from membership.begin(term)
        except BROKEN as failure:
            self._world.note(f"controller {self.id} cannot begin: {failure!r}")
            self._resign()
            candidate.give_up(term)

    def _resign(self) -> None:
        """Leave the office; what its controller still had to do is not done, by nobody."""
        if self.term is not None:
            self.term.active = False
            self.term = None
            self._world.in_office.pop(self.id, None)
            self._office.clear()

    def _on_failure(self, failure: Exception) -> None:
        if isinstance(failure, BadVersionError) and self.term is not None:
            self._resign()
            self._office.post(self._office_changed)
        elif isinstance(failure, ConnectionLoss):
            self._world.note(f"controller {self.id}: ZooKeeper closed the connection")
        elif not isinstance(failure, _ENDED):
            self._world.note(f"controller {self.id}: {failure!r}")

    def _on_side_failure(self, failure: Exception) -> None:
        if not isinstance(failure, _ENDED):
            self._world.note(f"broker {self.id}: {failure!r}")

    # What it is told

    def hear_leader(
        self, tp: Tp, state: PartitionState, replicas: Ids, topic_id: str | None
    ) -> None:
        """Take in who leads a partition that it hosts, and who is in sync."""
        known = self.roles.get(tp)
        if known is not None and _age(state) < _age(known.state):
            return
        if tp not in self.disk.logs and not self.configs.loads(tp.topic):
            self._world.note(f"broker {self.id}: {tp} has a config that cannot be loaded")
            return
        if not self._has_place(tp, new=state.leader_epoch == 0):
            self._world.note(f"broker {self.id}: {tp} is in a log directory that failed")
            return
        self.disk.ensure(tp, topic_id)
        self.take_role(tp, ReplicaRole(state, replicas))

    def _has_place(self, tp: Tp, *, new: bool) -> bool:
        """Whether it makes the log of a replica, or has it.

        While a directory has failed, nothing is made anew that was in it. Up to 2.3 a broker does
        not tell a replica that is moved to it from one that it had, and makes new ones of new
        partitions alone.
        """
        if tp in self.disk.logs or not self.disk.failed:
            return True
        told = new or self._world.profile.era is Era.RECORDED
        return told and tp not in self.disk.offline

    def log_dir_failed(self, lost: tuple[Tp, ...]) -> None:
        """Go on without the replicas of a log directory that failed."""
        for tp in lost:
            self.roles.pop(tp, None)
            self.behind.discard(tp)
        self._world.on_flow()

    def take_role(self, tp: Tp, role: ReplicaRole) -> None:
        """Act as told for a partition."""
        self.roles[tp] = role
        if role.state.leader == self.id and not set(role.replicas) <= set(role.state.isr):
            self.behind.add(tp)
        else:
            self.behind.discard(tp)
        self._world.on_flow()

    def state_of(self, tp: Tp) -> PartitionState | None:
        """Return the state that it was last told, or wrote."""
        role = self.roles.get(tp)
        return None if role is None else role.state

    def is_replica(self, tp: Tp, broker: int) -> bool:
        """Whether a broker is among the replicas that it was last told of."""
        role = self.roles.get(tp)
        return role is not None and broker in role.replicas

    def isr_written(self, tp: Tp, state: PartitionState) -> None:
        """Act on the ISR that it wrote."""
        self.take_role(tp, ReplicaRole(state, self.roles[tp].replicas))

    def hear_stop(self, tp: Tp) -> None:
        """Stop a replica and delete its log, as the controller asks."""
        self.roles.pop(tp, None)
        self.behind.discard(tp)
        self.disk.delete(tp)
        self._world.on_flow()

    def config_changed(self, topic: str) -> None:
        """Let its controller, if it is one, act on a topic's new config."""
        term = self.term
        if not self._world.profile.elects_by_topic_config:
            return
        if term is not None and topic in term.topics:
            partitions = [Tp(topic, number) for number in term.topics[topic].partitions]
            term.post(lambda: elections.elect_leaderless(term, partitions))

    def log_deleted(self, tp: Tp, broker: int) -> None:
        """Let its controller know that a broker deleted a replica."""
        term = self.term
        if term is not None:
            term.post(lambda: topics.log_deleted(term, tp, broker))


def _age(state: PartitionState) -> tuple[int, int]:
    """Return what grows with each write: leaders change ISRs within their epoch (up to 2.6)."""
    return state.leader_epoch, state.version


def _ensure(client: Client, path: str, data: bytes = b"") -> None:
    if client.exists(path) is not None:
        return
    above = path.rpartition("/")[0]
    if above:
        _ensure(client, above)
    try:
        client.commit([CreateNode(path, data)])
    except NodeExistsError:
        return  # another broker was faster
