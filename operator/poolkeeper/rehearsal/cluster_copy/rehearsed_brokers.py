"""The brokers of a rehearsal, asked for their log directories as often as a run asks.

A run asks every fifteen seconds, and looks at a few of the ten thousand logs that a broker may
have. So an answer is a view: a log is looked up when somebody asks for it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from poolkeeper.brokers.sizes import BrokerLogs, Failure, ReplicaLog, Sizes
from poolkeeper.model.topology import LogDir, TopicPartition
from poolkeeper.rehearsal.cluster_copy.broker_client import SimulatedBrokerClient
from poolkeeper.sandbox.simulation.broker.log_dirs import Disk
from poolkeeper.sandbox.simulation.codecs import Tp


class _Logs(Mapping[TopicPartition, ReplicaLog]):
    """The current logs on a disk, as they are when they are looked at."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def __getitem__(self, name: TopicPartition) -> ReplicaLog:
        log = self._disk.logs[Tp(*name)]
        return ReplicaLog(int(log.bytes), self._disk.directories[log.directory])

    def __iter__(self) -> Iterator[TopicPartition]:
        return (TopicPartition(*tp) for tp in self._disk.logs)

    def __len__(self) -> int:
        return len(self._disk.logs)


@dataclass(frozen=True)
class RehearsedBrokers(SimulatedBrokerClient):
    """Brokers whose directories have the free space of the snapshot, less what was copied since."""

    before: Mapping[int, Mapping[str, LogDir]] = field(default_factory=dict)
    used_before: dict[tuple[int, str], float] = field(default_factory=dict)

    def note_used(self) -> None:
        """Remember the bytes used now: the free space of the snapshot comes on top of them."""
        for id_, broker in self.cluster.simulation.brokers.items():
            for path, used in zip(broker.disk.directories, broker.disk.used, strict=True):
                self.used_before[id_, path] = used

    def limit(self, id_: int, path: str) -> int | None:
        """Return the most bytes that a directory's replicas can have; None if it is not known."""
        known = self.before.get(id_, {}).get(path, LogDir())
        if known.usable_bytes is None:
            return None
        return round(known.usable_bytes + self.used_before.get((id_, path), 0.0))

    def sizes(self, brokers: Iterable[int], deadline_s: float = 10) -> Sizes:
        """Return what is in the log directories of live brokers."""
        simulated, asked = self.cluster.simulation.brokers, set(brokers)
        live = sorted(id_ for id_ in asked if id_ in simulated and simulated[id_].alive)
        self.cluster.simulation.transfers.settle()
        logs = {id_: self._logs(id_, simulated[id_].disk) for id_ in live}
        return Sizes(logs, dict.fromkeys(asked - logs.keys(), Failure("not live")))

    def _logs(self, id_: int, disk: Disk) -> BrokerLogs:
        working = [(n, path) for n, path in enumerate(disk.directories) if n not in disk.failed]
        future = {}
        for tp in disk.moving:
            log = disk.logs[tp]
            if log.future is not None:
                path = disk.directories[log.future]
                future[TopicPartition(*tp)] = ReplicaLog(int(log.future_bytes), path)
        return BrokerLogs(
            {path: self._space(id_, path, disk.used[n]) for n, path in working},
            _Logs(disk),
            future,
            {disk.directories[n]: "storage error" for n in sorted(disk.failed)},
        )

    def _space(self, id_: int, path: str, used: float) -> LogDir:
        known = self.before.get(id_, {}).get(path, LogDir())
        if known.usable_bytes is None:
            return known
        came = int(used - self.used_before.get((id_, path), used))
        return LogDir(known.total_bytes, max(0, known.usable_bytes - came))
