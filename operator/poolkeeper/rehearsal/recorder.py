"""What happens to a rehearsed cluster, watched at its ZooKeeper and at the bytes that flow.

Leaders and ISRs are read from the states that are written: they are the truth, whoever wrote them.
From them follow what producers cost each broker (a leader takes a partition's ingest in, and sends
it to each follower in sync), which partitions are out of sync, and which are below their
min.insync.replicas, and why.
"""

import re
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from poolkeeper.model.topic_config.min_insync import default_min_insync, min_insync
from poolkeeper.model.topology import Cluster
from poolkeeper.rehearsal.cluster_copy.loading import leader_and_isr
from poolkeeper.rehearsal.curves import Curves, Floats
from poolkeeper.rehearsal.peaks import Peaks
from poolkeeper.rehearsal.values import BelowMinIsr, Cause, HappeningTrace, Series
from poolkeeper.sandbox.clock import Clock
from poolkeeper.sandbox.fake_zookeeper.transactions import Operation, Transaction, TransactionKind
from poolkeeper.sandbox.simulation import Simulation, codecs
from poolkeeper.sandbox.simulation.broker.transfers import Copied
from poolkeeper.sandbox.simulation.codecs import Tp

HAPPENINGS_MAX = 10_000
_STATE = re.compile(r"/brokers/topics/([^/]+)/partitions/([0-9]+)/state")
IN, OUT, BUSY_IN, BUSY_OUT = range(4)


@dataclass(slots=True)
class Watched:
    """A partition: its replicas and ISR before the plan, and what its state says now.

    `isr_before` has live brokers alone, and none where nobody led: what is wrong already is not the
    plan's doing.
    """

    before: tuple[int, ...]
    min_isr: int
    ingest: float
    leader: int
    isr: tuple[int, ...]
    isr_before: tuple[int, ...] = ()
    arriving: frozenset[int] = frozenset()
    """Replicas that were requested and have not been in sync since."""
    since_s: float = 0.0
    cause: Cause | None = None
    """Why it is below its min.insync.replicas; None: it is not."""


class Recorder:
    """Takes a fake ZooKeeper's transactions in the place of its log.

    `down`: brokers that faults keep down. `news` counts what a loop would wake up for.
    """

    def __init__(self, cluster: Cluster, simulation: Simulation, clock: Clock) -> None:
        self.down: set[int] = set()
        self.lost_dirs: dict[int, set[Tp]] = {}
        self.news = 0
        self.arrived = 0
        self.requests: list[tuple[float, tuple[tuple[str, int], ...]]] = []
        self.leader_changes = 0
        self.out_of_sync: set[Tp] = set()
        self.out_of_sync_max = 0
        self.below: list[BelowMinIsr] = []
        self.least_margin: int | None = None
        self.happenings: list[HappeningTrace] = []
        self._clock, self._simulation = clock, simulation
        self._begin_ms = float(clock.now_ms())
        self._watched = _watched(cluster)
        self.ids = sorted(simulation.brokers)
        self._row = {id_: row for row, id_ in enumerate(self.ids)}
        self.dirs = [
            (id_, path) for id_ in self.ids for path in simulation.brokers[id_].disk.directories
        ]
        self._curves = Curves(4, len(self.ids), len(self.dirs) + 1)
        self._busy: Floats = np.zeros((2, len(self.ids)))
        self.copied: Floats = np.zeros((2, len(self.ids)))
        self._peaks = Peaks(self._busy)
        self._pieces: list[tuple[float, Floats]] = []
        """Since bytes were last delivered, until when producers cost brokers how much."""
        self.used_before = self._used()
        self.used_high, self.used_high_s = self.used_before.copy(), np.zeros(len(self.dirs))
        self._recording = False

    def begin(self) -> None:
        """Record from now on; this is second 0."""
        self._begin_ms, self._recording = float(self._clock.now_ms()), True
        for tp, each in self._watched.items():
            live = (broker for broker in each.isr if broker in self._row)
            each.isr_before = tuple(live) if each.leader >= 0 else ()
            self._judge(tp, each)
            self._carry(each, 1)
        self._peaks, self._pieces = Peaks(self._busy), []
        self.used_before = self._used()
        self.used_high = self.used_before.copy()
        self._reach()

    def now_s(self) -> float:
        """Seconds since the rehearsal began."""
        return (self._clock.now_ms() - self._begin_ms) / 1000

    # For the simulation

    def ingest(self, tp: Tp) -> float:
        """What producers write to a partition; nothing while it has no leader."""
        found = self._watched.get(tp)
        return found.ingest if found is not None and found.leader >= 0 else 0.0

    def busy(self, way: str, broker: int) -> float:
        """What producers and the followers in sync take of a broker's network."""
        return float(self._busy[0 if way == "in" else 1, self._row[broker]])

    def overloaded_brokers(self, brokers: Collection[int]) -> dict[int, tuple[float, float]]:
        """Brokers whose network carries less than producers and followers in sync take of it now.

        Each with the bytes per second that these take, and that it carries.
        """
        whole = self._simulation.spec.network_bytes_per_s
        slower = self._simulation.surroundings.network
        found = {}
        for id_ in sorted(self._row.keys() & set(brokers)):
            taken, carries = float(self._busy[:, self._row[id_]].max()), slower.get(id_, whole)
            if taken > carries:
                found[id_] = (taken, carries)
        return found

    def flowed(self, copied: Mapping[Hashable, Copied], seconds: float) -> None:
        """Take in what was copied, by flow: what was missing, and what came meanwhile.

        A replica that falls behind further makes nothing up.
        """
        if not self._recording:
            return
        amounts = np.zeros((2, len(self.ids)))
        for name, (missing, came) in copied.items():
            assert isinstance(name, tuple), "a flow is its kind, its broker and its partition"
            if name[0] == "fetch":
                to, source = self._row[name[1]], self._row[name[3]]
                amounts[IN, to] += missing + came
                amounts[OUT, source] += missing + came
                made_up = max(0.0, missing)
                self.copied[0, to] += made_up
                self.copied[1, source] += made_up
        self._flowed_until_now(amounts / seconds, seconds)
        self._reach()

    def _flowed_until_now(self, rates: Floats, seconds: float) -> None:
        """Take in what copies took of the brokers' networks, beside what producers took then."""
        now_s = self.now_s()
        begin_s = max(0.0, now_s - seconds)
        for end_s, busy in (*self._pieces, (now_s, self._busy)):
            if end_s > begin_s:
                held = np.concatenate([rates, busy])
                self._curves.add(begin_s, end_s, held * (end_s - begin_s))
                self._peaks.add(end_s, rates + busy)
                begin_s = end_s
        self._pieces = []

    # For the ZooKeeper

    def append(self, transaction: Transaction, /) -> None:
        """Take in a transaction."""
        for change in transaction.changes:
            path = change.path
            if path.endswith("/state") and change.data is not None:
                found = _STATE.fullmatch(path)
                if found is not None:
                    self._state(Tp(found[1], int(found[2])), change.data)
            elif self._recording:
                self._other(path, change)

    def _other(self, path: str, change: Operation) -> None:
        gone = change.kind is TransactionKind.DELETE
        if path == codecs.REQUEST:
            if change.kind.creates and change.data is not None:
                self._requested(change.data)
            if gone or change.kind.creates:
                self.news += 1
        elif path == codecs.CONTROLLER:
            self.news += 1
            if not gone:
                self.tell("Controller", "another controller was elected")
        elif path.startswith(f"{codecs.IDS}/"):
            if not (gone or change.kind.creates):
                return
            self.news += 1
            id_ = path.rpartition("/")[2]
            self.tell("Broker", f"broker {id_} {'is gone' if gone else 'is registered'}")

    def _requested(self, data: bytes) -> None:
        entries = codecs.decode_request(self._simulation.profile, data)
        self.requests.append((self.now_s(), tuple(sorted((t, p) for t, p in entries))))
        for tp, target in entries.items():
            each = self._watched.get(tp)
            if each is not None:
                each.arriving = frozenset(target) - frozenset(each.isr)

    def tell(self, kind: str, text: str) -> None:
        """Record an event, as words of a kind."""
        if len(self.happenings) < HAPPENINGS_MAX:
            self.happenings.append(HappeningTrace(self.now_s(), kind, text))

    def _state(self, tp: Tp, data: bytes) -> None:
        each = self._watched.get(tp)
        state = codecs.decode_state(data, 0)
        if each is None:
            return  # a topic that the plan creates: nothing is measured before it is there
        if self._recording:
            self._keep_piece()
            self._carry(each, -1)
            self.leader_changes += state.leader != each.leader
            self.arrived += len(set(state.isr) - set(each.isr))
        each.leader, each.isr = state.leader, state.isr
        each.arriving -= frozenset(state.isr)
        if self._recording:
            self._carry(each, 1)
            self._judge(tp, each)

    def _carry(self, each: Watched, sign: int) -> None:
        """Add what a partition's producers cost the brokers, or take it off."""
        rate = each.ingest * sign
        if not rate or each.leader not in self._row:
            return
        self._busy[0, self._row[each.leader]] += rate
        for follower in each.isr:
            if follower != each.leader and follower in self._row:
                self._busy[0, self._row[follower]] += rate
                self._busy[1, self._row[each.leader]] += rate

    def _keep_piece(self) -> None:
        """Keep what producers cost until now: it is about to change."""
        now_s = self.now_s()
        if not self._pieces or self._pieces[-1][0] < now_s:
            self._pieces.append((now_s, self._busy.copy()))

    def _judge(self, tp: Tp, each: Watched) -> None:
        """Note whether a partition is out of sync, and whether it is below its min ISR."""
        origin = self._origin(tp, each)
        if set(origin) <= set(each.isr):
            self.out_of_sync.discard(tp)
        else:
            self.out_of_sync.add(tp)
            self.out_of_sync_max = max(self.out_of_sync_max, len(self.out_of_sync))
        in_sync = len(each.isr) if each.leader >= 0 else 0
        margin = in_sync - each.min_isr
        if len(each.isr_before) >= each.min_isr:
            least = self.least_margin
            self.least_margin = margin if least is None else min(least, margin)
        if margin < 0 and each.cause is None:
            each.since_s, each.cause = self.now_s(), self._cause(tp, each)
        elif margin >= 0 and each.cause is not None:
            self._end_below(tp, each)

    def _end_below(self, tp: Tp, each: Watched) -> None:
        assert each.cause is not None, "asked for only while it is below"
        now_s = self.now_s()
        self.below.append(BelowMinIsr(*tp, each.since_s, now_s - each.since_s, each.cause))
        each.cause = None

    def _cause(self, tp: Tp, each: Watched) -> Cause:
        """Why: whether the replicas before the plan, without what faults took, would be enough."""
        if len(each.isr_before) < each.min_isr:
            return Cause.BEFORE
        left = [
            b for b in each.isr_before if b not in self.down and tp not in self.lost_dirs.get(b, ())
        ]
        return Cause.FAULT if len(left) < each.min_isr else Cause.OWN

    def _origin(self, tp: Tp, each: Watched) -> tuple[int, ...]:
        """The replicas that should be in sync: those of the assignment that are not arriving.

        Up to 2.3 an assignment does not tell which are.
        """
        known = self._simulation.assignment(tp)
        if known is None:
            return each.before
        return known.origin if known.moving else tuple(set(known.replicas) - each.arriving)

    # At the end

    def end(self) -> float:
        """Take in all until now; return the seconds that passed."""
        self._simulation.transfers.settle()
        for tp, each in self._watched.items():
            if each.cause is not None:
                self._end_below(tp, each)
        self._peaks.end(self._busy)
        self._recording = False
        return self.now_s()

    @property
    def peaks(self) -> Floats:
        """By way and broker: the most bytes per second of all traffic; see `peaks`."""
        return self._peaks.highest

    def _used(self) -> Floats:
        disks = self._simulation.brokers
        return np.array([used for id_ in self.ids for used in disks[id_].disk.used])

    def _reach(self) -> None:
        used, now_s = self._used(), self.now_s()
        higher = used > self.used_high
        self.used_high[higher], self.used_high_s[higher] = used[higher], now_s
        self._curves.reach(now_s, [*used.tolist(), len(self.out_of_sync)])

    def series(self) -> Series:
        """The curves."""
        curves = self._curves
        rates = curves.sums[: curves.bins] / curves.width_s
        highs = curves.highs[: curves.bins]

        def of(kind: int) -> dict[int, tuple[float, ...]]:
            return {id_: tuple(rates[:, kind, row].tolist()) for id_, row in self._row.items()}

        return Series(
            curves.width_s,
            of(IN),
            of(OUT),
            of(BUSY_IN),
            of(BUSY_OUT),
            {each: tuple(highs[:, n].tolist()) for n, each in enumerate(self.dirs)},
            tuple(int(value) for value in highs[:, -1].tolist()),
        )


def _watched(cluster: Cluster) -> dict[Tp, Watched]:
    found: dict[Tp, Watched] = {}
    default = default_min_insync(cluster)
    for name, topic in cluster.topics.items():
        least = min_insync(topic, default)
        for p in topic.partitions:
            leader, isr = leader_and_isr(p, cluster)
            rate = p.in_bytes_per_s or 0.0
            found[Tp(name, p.partition)] = Watched(p.replicas, least, rate, leader, isr)
    return found
