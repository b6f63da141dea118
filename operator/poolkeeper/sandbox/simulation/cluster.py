"""A whole simulated cluster: brokers, their network and disks, and what a test does to them."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.sandbox.clock import Clock
from poolkeeper.sandbox.servers.settings import BrokerSpec, spread
from poolkeeper.sandbox.simulation.broker import throttles
from poolkeeper.sandbox.simulation.broker.broker import SimulatedBroker
from poolkeeper.sandbox.simulation.broker.log_dirs import Disk, Log
from poolkeeper.sandbox.simulation.broker.transfers import ByteFlow, Resource, Transfers
from poolkeeper.sandbox.simulation.codecs import Ids, PartitionAssignment, Tp
from poolkeeper.sandbox.simulation.controller import elections, reassignment_starts
from poolkeeper.sandbox.simulation.controller.controller import ActiveController
from poolkeeper.sandbox.simulation.profiles import Era, Profile
from poolkeeper.sandbox.simulation.world import Randomness, World
from poolkeeper.sandbox.simulation.zookeeper.session import Client

MIB = 1024 * 1024
FIRST_PORT = 19092
STORAGE_ERROR = 56
LEFT_TO_COPIES = 0.05
"""The part of a network that copies get however much others want."""


@frozen
class SimulationSpec:
    """A cluster to simulate. Rates are bytes per second, of each broker's network and disk.

    `directories` is how many log directories each broker has, but for the brokers of
    `directories_of`, whose paths are given; `seed` decides what is chance. `throttled_part`: how
    much of the rate of a throttle brokers let through. `deletes_topics`: `delete.topic.enable`.
    """

    brokers: tuple[BrokerSpec, ...] = spread(3)
    kafka: str = "3.9.2"
    seed: int = 0
    network_bytes_per_s: int = 100 * MIB
    disk_bytes_per_s: int = 200 * MIB
    directories: int = 2
    directories_of: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    throttled_part: float = 1.0
    deletes_topics: bool = True


@dataclass(slots=True)
class Surroundings:
    """What goes on beside the copies. Rates are bytes per second.

    `ingest`: what producers write to a partition. `busy`: how much of a broker's network, "in" or
    "out", is taken by others than the copies. `network`: the network of brokers that are slower.
    """

    ingest: Callable[[Tp], float] = lambda tp: 0.0
    busy: Callable[[str, int], float] = lambda way, broker: 0.0
    network: dict[int, float] = field(default_factory=dict)


class Simulation:
    """Simulated brokers over whatever ZooKeeper `open_client` opens sessions with.

    All of it happens in actions of the clock; call its methods from there, or while the clock
    stands still.
    """

    def __init__(
        self,
        spec: SimulationSpec,
        open_client: Callable[[], Client],
        clock: Clock,
        choices: Randomness | None = None,
    ) -> None:
        self.spec = spec
        self.profile = Profile.of(spec.kafka)
        self.world = World(clock, self.profile, choices or Randomness(spec.seed))
        self.world.deletes_topics = spec.deletes_topics
        self.brokers: dict[int, SimulatedBroker] = {}
        self.surroundings = Surroundings()
        self.transfers = Transfers(clock, self)
        self._open_client = open_client
        self._down_ms: dict[int, int] = {}
        self.world.on_flow = self.transfers.changed
        self.world.on_deleted = self._log_deleted
        self.world.office = self._term
        for broker in spec.brokers:
            self._add(broker)

    # Life

    def start(self) -> None:
        """Start all brokers; nobody stands for election before all are registered.

        A controller that begins alone in a cluster that was there before would elect leaders for
        all of it and take everybody else out of the ISRs, with some writes for each partition.
        """
        self.world.gathering.update(self.brokers)
        for id_ in self.brokers:
            self.start_broker(id_)

    def start_broker(self, id_: int) -> None:
        """Start a broker that does not run; its disk is as it was, and lacks what came since.

        One whose log directories have failed ends at once, and stays down.
        """
        if not self._outlives(self.brokers[id_].disk):
            self.world.note(f"broker {id_} does not start: its log directories failed")
            return
        down_ms = self._down_ms.pop(id_, None)
        if down_ms is not None:
            disk, down_s = self.brokers[id_].disk, (self.world.clock.now_ms() - down_ms) / 1000
            for tp, log in disk.logs.items():
                missed = self.surroundings.ingest(tp) * down_s
                disk.hold(log, max(0.0, log.bytes - missed))
        self.brokers[id_].start()

    def add_broker(self, spec: BrokerSpec) -> None:
        """Add a broker and start it."""
        self._add(spec)
        self.start_broker(spec.id)

    def kill(self, id_: int) -> None:
        """Kill a broker; it stays registered until its session times out."""
        self.transfers.settle()
        self._down_ms[id_] = self.world.clock.now_ms()
        self.brokers[id_].kill()

    def stop_broker(self, id_: int) -> None:
        """Let a broker shut down in an orderly way; it takes a moment."""
        self.brokers[id_].stop()

    def close(self) -> None:
        """Kill all brokers."""
        for broker in self.brokers.values():
            if broker.alive:
                broker.kill()

    def _add(self, spec: BrokerSpec) -> None:
        made = (f"/sim/broker-{spec.id}/d{i}" for i in range(self.spec.directories))
        names = self.spec.directories_of.get(spec.id) or tuple(made)
        port = FIRST_PORT + len(self.brokers)
        broker = SimulatedBroker(spec, port, self.world, self._open_client, Disk(names))
        self.brokers[spec.id] = broker
        self.world.listeners[spec.id] = broker

    # What is to be seen

    @property
    def controller(self) -> int | None:
        """The id of the broker in office."""
        term = self._term()
        return None if term is None else term.host.id

    @property
    def notes(self) -> tuple[str, ...]:
        """What brokers would have logged as warnings and errors, oldest first."""
        return tuple(self.world.notes)

    @property
    def idle(self) -> bool:
        """Whether no broker has anything to do and nothing flows at this moment."""
        busy = any(broker.alive and not broker.idle for broker in self.brokers.values())
        return not busy and not self.transfers.rates

    def assignment(self, tp: Tp) -> PartitionAssignment | None:
        """Return a partition's assignment as the controller remembers it; None without one."""
        term = self._term()
        return None if term is None else term.assignment(tp)

    def begun_requests(self) -> Mapping[Tp, Ids]:
        """Return the targets of the entries that the controller has begun and not ended."""
        term = self._term()
        return {} if term is None else {**term.requests}

    def rates_of(self, id_: int) -> Mapping[str, int]:
        """Return the throttle rates in force on a broker, by config key."""
        return dict(self.brokers[id_].throttles.rates)

    def throttled(self, id_: int, key: str, topic: str, partition: int) -> bool:
        """Say whether a throttled-replicas list in force on a broker names one of its replicas."""
        lists = self.brokers[id_].throttles.lists[key]
        if topic not in lists:
            return False
        partitions = lists[topic]
        return partitions is None or partition in partitions

    def log(self, id_: int, topic: str, partition: int) -> Log | None:
        """Return a broker's log of a partition, stray or not."""
        self.transfers.settle()
        return self.brokers[id_].disk.logs.get(Tp(topic, partition))

    def strays(self, id_: int) -> tuple[Tp, ...]:
        """Return the logs on a broker's disk that nobody told it of in this life."""
        broker = self.brokers[id_]
        return tuple(sorted(broker.disk.logs.keys() - broker.roles.keys()))

    def flows(self) -> Mapping[Hashable, ByteFlow]:
        """Return what is to flow now (for `Transfers`)."""
        found: dict[Hashable, ByteFlow] = {}
        for leader in self.brokers.values():
            if leader.alive:
                for tp in leader.behind:
                    found |= self._fetches(leader, tp)
                for tp in leader.disk.copied():
                    move = self._directory_move(leader, leader.disk.logs[tp])
                    found["directory", leader.id, tp] = move
        return found

    # What a test does

    def set_size(self, topic: str, partition: int, bytes_: int) -> None:
        """Let all live replicas of a partition that are in sync hold that much."""
        self.transfers.settle()
        tp = Tp(topic, partition)
        for broker in self.brokers.values():
            role, log = broker.roles.get(tp), broker.disk.logs.get(tp)
            in_sync = role is not None and broker.id in role.state.isr
            if broker.alive and in_sync and log is not None:
                broker.disk.hold(log, bytes_)
        self.transfers.changed()

    def alter_log_dir(self, id_: int, topic: str, partition: int, directory: str) -> str:
        """Move a replica to another directory; return what the broker answers.

        A replica that is not there is refused, but the directory remembered for it. The directory
        that a replica is in already cancels its move to another.
        """
        broker, tp = self.brokers[id_], Tp(topic, partition)
        if directory not in broker.disk.directories:
            return "LOG_DIR_NOT_FOUND"
        index, log = broker.disk.index(directory), broker.disk.logs.get(tp)
        if tp in broker.disk.offline or index in broker.disk.failed:
            return "KAFKA_STORAGE_ERROR"
        if log is None:
            broker.disk.requested_dirs[tp] = index
            return "REPLICA_NOT_AVAILABLE"
        self.transfers.settle()
        if log.directory == index and log.future is not None:
            broker.disk.cancel_move(tp)
        elif log.directory != index and log.future != index:
            broker.disk.begin_move(tp, index)
        self.transfers.changed()
        return ""

    def fail_log_dir(self, id_: int, index: int) -> None:
        """Let a log directory of a broker fail; the broker lives on if it can without it."""
        self.transfers.settle()
        broker = self.brokers[id_]
        lost = broker.disk.fail(index)
        broker.log_dir_failed(lost)
        if not self._outlives(broker.disk):
            if broker.alive:
                self.kill(id_)
            return
        term = self._term()
        if term is not None:
            term.post(lambda: elections.take_offline(term, id_, lost))
        self.transfers.changed()

    def _outlives(self, disk: Disk) -> bool:
        """Whether a broker with that disk runs: one without a working directory shuts down."""
        return not disk.failed or (self.profile.outlives_log_dirs and disk.works)

    def log_dirs(self, id_: int) -> list[dict[str, Any]]:
        """Return what a broker answers when it is asked for its log directories."""
        self.transfers.settle()
        disk = self.brokers[id_].disk
        return [
            {
                "log_dir": path,
                "error_code": STORAGE_ERROR if index in disk.failed else 0,
                "topics": [] if index in disk.failed else _topics(disk, index),
            }
            for index, path in enumerate(disk.directories)
        ]

    def alter_reassignments(self, targets: Mapping[tuple[str, int], Ids | None]) -> str:
        """Ask the controller by the brokers' API (2.4 and later); None as a target cancels."""
        if self.profile.era is not Era.RECORDED:
            return "UNSUPPORTED_VERSION"
        term = self._term()
        if term is None:
            return "NOT_CONTROLLER"
        asked = {Tp(*name): target for name, target in targets.items()}
        term.post(lambda: reassignment_starts.alter(term, asked))
        return ""

    # Flows

    def capacity(self, resource: Resource) -> float:
        """Return a resource's bytes per second (for `Transfers`)."""
        assert isinstance(resource, tuple), "a resource is its kind, its broker, and its rate"
        kind, broker, rate = resource
        if kind not in ("in", "out"):
            return float(rate)
        beside = self.surroundings
        whole = float(beside.network.get(broker, rate) or 0.0)
        return max(whole * LEFT_TO_COPIES, whole - beside.busy(kind, broker))

    def arrived(self, name: Hashable, bytes_: float) -> None:
        """Take in bytes of a flow (for `Transfers`)."""
        assert isinstance(name, tuple), "a flow is its kind, its broker and its partition"
        kind, id_, tp = name[:3]
        disk = self.brokers[id_].disk
        log = disk.logs.get(tp)
        if log is not None and kind == "fetch":
            disk.hold(log, max(0.0, log.bytes + bytes_))
        elif log is not None:
            disk.hold_copy(log, max(0.0, log.future_bytes + bytes_))

    def ended(self, name: Hashable) -> None:
        """Take in that a flow has ended (for `Transfers`)."""
        assert isinstance(name, tuple), "a flow is its kind, its broker and its partition"
        kind, id_, tp = name[:3]
        if kind == "directory":
            self.brokers[id_].disk.end_move(tp)
            return
        disk = self.brokers[id_].disk
        leader = self.brokers[self.brokers[id_].roles[tp].state.leader]
        disk.hold(disk.logs[tp], leader.disk.logs[tp].bytes)
        leader.isr_expansion.caught_up(tp, id_)

    def _fetches(self, leader: SimulatedBroker, tp: Tp) -> dict[Hashable, ByteFlow]:
        role, source = leader.roles[tp], leader.disk.logs[tp]
        found: dict[Hashable, ByteFlow] = {}
        for id_ in role.replicas:
            follower = self.brokers.get(id_)
            if id_ in role.state.isr or follower is None or not follower.alive:
                continue
            told, log = follower.roles.get(tp), follower.disk.logs.get(tp)
            if told is None or log is None or told.state.leader != leader.id:
                continue
            if None not in (log.topic_id, source.topic_id) and log.topic_id != source.topic_id:
                self.world.note(f"broker {id_}: {tp}: INCONSISTENT_TOPIC_ID")
                continue
            missing = max(0.0, source.bytes - log.bytes)
            route, growth = self._route(leader, follower, log, tp), self.surroundings.ingest(tp)
            found["fetch", id_, tp, leader.id] = ByteFlow(missing, route, growth, source.bytes)
        return found

    def _route(
        self, leader: SimulatedBroker, follower: SimulatedBroker, log: Log, tp: Tp
    ) -> tuple[Resource, ...]:
        network, disk = self.spec.network_bytes_per_s, self.spec.disk_bytes_per_s
        route: list[Resource] = [
            ("out", leader.id, network),
            ("in", follower.id, network),
            ("disk", f"{follower.id}/{log.directory}", disk),
        ]
        for kind, broker, rate_key, list_key in (
            ("throttle out", leader, throttles.LEADER_RATE, throttles.LEADER_REPLICAS),
            ("throttle in", follower, throttles.FOLLOWER_RATE, throttles.FOLLOWER_REPLICAS),
        ):
            rate = broker.throttles.limit(rate_key, list_key, tp)
            if rate is not None:
                route.append((kind, broker.id, rate * self.spec.throttled_part))
        return tuple(route)

    def _directory_move(self, broker: SimulatedBroker, log: Log) -> ByteFlow:
        disk = self.spec.disk_bytes_per_s
        route: list[Resource] = [
            ("disk", f"{broker.id}/{i}", disk) for i in (log.directory, log.future)
        ]
        rate = broker.throttles.rates.get(throttles.DIRECTORY_RATE)
        if rate is not None:
            route.append(("directories", broker.id, rate))
        return ByteFlow(max(0.0, log.bytes - log.future_bytes), tuple(route))

    def _term(self) -> ActiveController | None:
        terms = self.world.in_office
        if len(terms) < 2:
            return next(iter(terms.values()), None)
        return next(terms[id_] for id_ in reversed(self.brokers) if id_ in terms)

    def _log_deleted(self, broker: int, tp: Tp) -> None:
        term = self._term()
        if term is not None:
            self.brokers[term.host.id].log_deleted(tp, broker)


def _topics(disk: Disk, index: int) -> list[dict[str, Any]]:
    """Return the logs in a directory, current and future ones."""
    sizes = [
        *((tp, int(log.bytes), False) for tp, log in disk.logs.items() if log.directory == index),
        *((tp, int(disk.logs[tp].future_bytes), True) for tp in disk.moving),
    ]
    return [
        {
            "name": tp.topic,
            "partitions": [
                {"partition_index": tp.partition, "partition_size": size, "is_future_key": future}
            ],
        }
        for tp, size, future in sizes
        if not future or disk.logs[tp].future == index
    ]
