"""What a rehearsal is told, and what it tells. Bytes, seconds from its start, rates per second."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.plans import Plan
from poolkeeper.text import percent

MIB = 1024 * 1024


@frozen
class Hardware:
    """What each broker can do: its network, each way, and each of its log directories."""

    network_bytes_per_s: int = 1024 * MIB
    disk_bytes_per_s: int = 512 * MIB


class FaultTarget(StrEnum):
    """What a fault strikes."""

    BROKER = "broker"
    RACK = "rack"
    DISK = "disk"
    SLOW = "slow"
    CONTROLLER = "controller"
    ZOOKEEPER = "zookeeper"
    POOLKEEPER = "poolkeeper"


@frozen
class RehearsedFault:
    """A fault, resolved: `begin_s` from the start; `lasts_s` None: to the end of the rehearsal.

    `text`: as it was asked for. `brokers`: those it strikes. `log_dir`: of a disk. `rate`: to which
    the network of a slow broker falls.
    """

    text: str
    target: FaultTarget
    begin_s: float
    lasts_s: float | None = None
    brokers: tuple[int, ...] = ()
    log_dir: str = ""
    rate_bytes_per_s: int = 0


@frozen
class Settings:
    """How to rehearse. `begin_ms`: the time at which the rehearsal begins, for windows.

    `longest_s`: how long a rehearsal may last in its own time. `new_zookeeper` gives the connect
    string of a real, empty ZooKeeper for each rehearsal; without it the copy is in process.
    """

    hardware: Hardware = Hardware()
    faults: tuple[RehearsedFault, ...] = ()
    begin_ms: int = 1_700_000_000_000
    longest_s: float = 60 * 86_400.0
    new_zookeeper: Callable[[], str] | None = None


class End(StrEnum):
    """How a rehearsal ended."""

    FINISHED = "Finished"
    STOPPED = "Stopped"
    NEVER_ENDS = "NeverEnds"
    REFUSED = "Refused"


class Cause(StrEnum):
    """Why a partition fell below its min.insync.replicas."""

    OWN = "Own"
    """The plan did it, or the plan with the fault: the fault alone would not have."""
    FAULT = "Fault"
    """The replicas before the plan would have fallen as low."""
    BEFORE = "Before"
    """It was as low before the rehearsal."""


@frozen
class StageTrace:
    """A stage as it went. `entries`: (topic, partition) of what was requested, sorted."""

    number: int
    begin_s: float
    end_s: float
    entries: tuple[tuple[str, int], ...]
    bytes: int
    predicted_s: float | None


@frozen
class LogDirTrace:
    """A log directory: bytes at the start, the most it held and when; what it can hold at most."""

    path: str
    before_bytes: int
    high_bytes: int
    high_s: float
    limit_bytes: int | None

    @property
    def least_free(self) -> float | None:
        """The part of the directory that stayed free, 0 to 1; below 0 it would have been full."""
        if not self.limit_bytes:
            return None
        return 1 - self.high_bytes / self.limit_bytes


@frozen
class BrokerTrace:
    """A broker: bytes that the plan copied in and out, peaks of all its traffic, its directories.

    `copied_in`, `copied_out`: whole bytes. Peaks count the producers' traffic too, and are means
    over 10 seconds (`peaks`).
    """

    broker: int
    rack: str | None
    copied_in: int
    copied_out: int
    peak_in_bytes_per_s: float
    peak_out_bytes_per_s: float
    log_dirs: tuple[LogDirTrace, ...]


@frozen
class BelowMinIsr:
    """A partition that was below its min.insync.replicas: since when, how long, why."""

    topic: str
    partition: int
    begin_s: float
    seconds: float
    cause: Cause


@frozen
class WaitTrace:
    """What the run waited for: the reason, the words, first seen, for how long in all."""

    reason: str
    text: str
    begin_s: float
    seconds: float


@frozen
class HappeningTrace:
    """Something that happened: a kind and words."""

    at_s: float
    kind: str
    text: str


@frozen
class FaultTrace:
    """What a fault did.

    `stopped_s`: how long no byte was copied after it. `later_s`: how much later the run ended than
    without faults; None if it did not end. `person`: what a person had to do.
    """

    text: str
    begin_s: float
    stopped: tuple[str, ...]
    stopped_s: float
    later_s: float | None
    below_min_isr: int
    own_below_min_isr: int
    person: tuple[str, ...]


@frozen
class Series:
    """Curves over bins of `width_s` seconds; each list has a value a bin.

    By broker, bytes per second: `copied_in`, `copied_out`, `busy_in`, `busy_out` (the producers').
    `used`: by broker and directory, the most bytes. `out_of_sync`: partitions, the most.
    """

    width_s: float
    copied_in: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    copied_out: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    busy_in: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    busy_out: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    used: Mapping[tuple[int, str], tuple[float, ...]] = field(default_factory=dict)
    out_of_sync: tuple[int, ...] = ()


@frozen
class Rehearsal:
    """All of a rehearsal. `least_margin`: the fewest replicas in sync above min.insync.replicas."""

    plan: Plan
    kafka: str
    settings: Settings
    end: End
    reason: str
    seconds: float
    stages: tuple[StageTrace, ...]
    brokers: tuple[BrokerTrace, ...]
    series: Series
    below_min_isr: tuple[BelowMinIsr, ...]
    least_margin: int | None
    out_of_sync_max: int
    leader_changes: int
    waits: tuple[WaitTrace, ...]
    happenings: tuple[HappeningTrace, ...]
    faults: tuple[FaultTrace, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def own_below_min_isr(self) -> int:
        """How many partitions fell below min ISR because of the plan."""
        return len({(b.topic, b.partition) for b in self.below_min_isr if b.cause is Cause.OWN})

    @property
    def bad(self) -> bool:
        """Whether it ended badly: not at its end, or with partitions below min ISR by the plan."""
        return self.end is not End.FINISHED or self.own_below_min_isr > 0

    @property
    def peak_network(self) -> float:
        """The largest part of any broker's network that was in use, 0 to 1."""
        most = [max(b.peak_in_bytes_per_s, b.peak_out_bytes_per_s) for b in self.brokers]
        return max(most, default=0.0) / self.settings.hardware.network_bytes_per_s

    @property
    def network_words(self) -> str:
        """The same in words: 5 %, or `over 100 %`, where producers write more than it carries."""
        return percent(100 * self.peak_network) if self.peak_network <= 1 else "over 100 %"

    @property
    def least_free(self) -> float | None:
        """The least part of any log directory that stayed free; None where no size is known."""
        known = [d.least_free for b in self.brokers for d in b.log_dirs]
        free = [each for each in known if each is not None]
        return min(free) if free else None
