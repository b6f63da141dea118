"""What the faults of a rehearsal do to the copy, each at its time.

A broker, or all of a rack, is killed, and started again after `lasts_s` with what came meanwhile
missing. A directory fails and stays failed; a broker shuts down when its last one fails. A slow
broker has less network for a while. The controller resigns, and another broker is elected.
ZooKeeper answers nobody for a while: brokers neither read nor write there, and our session is lost.
Poolkeeper is killed at its next call, and somebody starts it again.
"""

from collections.abc import Callable

from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.rehearsal.driving import RehearsedSession
from poolkeeper.rehearsal.recorder import Recorder
from poolkeeper.rehearsal.values import FaultTarget, RehearsedFault, Settings
from poolkeeper.sandbox.clock import Clock
from poolkeeper.sandbox.fake_zookeeper import Call, FaultKind, Faults
from poolkeeper.sandbox.fake_zookeeper import Fault as CallFault
from poolkeeper.sandbox.simulation import Randomness
from poolkeeper.sandbox.simulation.codecs import CONTROLLER, Tp

_COMING_BACK = (FaultTarget.BROKER, FaultTarget.RACK, FaultTarget.ZOOKEEPER)


class Choices(Randomness):
    """Random choices, and brokers that do nothing while ZooKeeper is away."""

    def __init__(self, seed: int, clock: Clock) -> None:
        super().__init__(seed)
        self.away_until_ms = 0.0
        self._clock = clock

    def pause_ms(self) -> float:
        """Return how long a broker takes between two of its writes."""
        return super().pause_ms() + self._away_ms()

    def join_ms(self, tp: Tp, broker: int) -> float:
        """Return how long after its last byte, and after ZooKeeper is back, a replica is in sync.

        Asked again and again meanwhile, its leader would only do the same once for each time.
        """
        return super().join_ms(tp, broker) + self._away_ms()

    def _away_ms(self) -> float:
        return max(0.0, self.away_until_ms - self._clock.now_ms())


class Injection:
    """The faults of one rehearsal; `plans` and `open_session` are for the driver.

    `over_s`: when the last of those that struck so far is over by itself, as far as nobody copies
    because of it.
    """

    def __init__(self, copy: SimulatedCluster, settings: Settings) -> None:
        self.choices = Choices(copy.simulation.spec.seed, copy.clock)
        self.recorder: Recorder | None = None
        self._copy, self._faults = copy, settings.faults
        self._kills = 0
        self.over_s = 0.0

    def begin(self) -> None:
        """Let the faults come, counted from now."""
        for fault in self._faults:
            self._copy.clock.after(1000 * fault.begin_s, self._strike(fault))

    def plans(self, process: int) -> Faults:
        """The faults of the calls of the n-th process."""
        return lambda call: self._of_call(process, call)

    def open_session(self, plan: Faults) -> FakeSession:
        """Open a session for a process."""
        return RehearsedSession(self._copy.server, self._copy.clock, plan=plan)

    def _of_call(self, process: int, call: Call) -> CallFault | None:
        if self._kills > process:
            return CallFault(FaultKind.DIED)
        if self.choices.away_until_ms > self._copy.clock.now_ms():
            return CallFault(FaultKind.LOST)
        return None

    def _strike(self, fault: RehearsedFault) -> Callable[[], None]:
        do: dict[FaultTarget, Callable[[RehearsedFault], None]] = {
            FaultTarget.BROKER: self._kill_brokers,
            FaultTarget.RACK: self._kill_brokers,
            FaultTarget.DISK: self._fail_disk,
            FaultTarget.SLOW: self._slow,
            FaultTarget.CONTROLLER: self._fail_over,
            FaultTarget.ZOOKEEPER: self._lose_zookeeper,
            FaultTarget.POOLKEEPER: self._kill_poolkeeper,
        }

        def strike() -> None:
            assert self.recorder is not None, "set before the rehearsal begins"
            self.recorder.tell("Fault", fault.text)
            self.recorder.news += 1
            if fault.target in _COMING_BACK and fault.lasts_s is not None:
                self.over_s = max(self.over_s, self.recorder.now_s() + fault.lasts_s)
            do[fault.target](fault)

        return strike

    def _later(self, fault: RehearsedFault, action: Callable[[], None]) -> None:
        if fault.lasts_s is not None:
            self._copy.clock.after(1000 * fault.lasts_s, action)

    def _kill_brokers(self, fault: RehearsedFault) -> None:
        simulation, recorder = self._copy.simulation, self.recorder
        assert recorder is not None, "set before the rehearsal begins"
        struck = [id_ for id_ in fault.brokers if simulation.brokers[id_].alive]
        recorder.down.update(struck)
        for id_ in struck:
            simulation.kill(id_)

        def back() -> None:
            for id_ in struck:
                recorder.down.discard(id_)
                if not simulation.brokers[id_].alive:
                    simulation.start_broker(id_)

        self._later(fault, back)

    def _fail_disk(self, fault: RehearsedFault) -> None:
        (id_,) = fault.brokers
        broker = self._copy.simulation.brokers[id_]
        index = broker.disk.index(fault.log_dir)
        assert self.recorder is not None, "set before the rehearsal begins"
        lost = {tp for tp, log in broker.disk.logs.items() if log.directory == index}
        self.recorder.lost_dirs.setdefault(id_, set()).update(lost)
        self._copy.simulation.fail_log_dir(id_, index)

    def _slow(self, fault: RehearsedFault) -> None:
        simulation = self._copy.simulation
        for id_ in fault.brokers:
            simulation.surroundings.network[id_] = float(fault.rate_bytes_per_s)
        simulation.transfers.changed()

        def back() -> None:
            for id_ in fault.brokers:
                simulation.surroundings.network.pop(id_, None)
            simulation.transfers.changed()

        self._later(fault, back)

    def _fail_over(self, _: RehearsedFault) -> None:
        if self._copy.exists(CONTROLLER):
            self._copy.delete(CONTROLLER)

    def _lose_zookeeper(self, fault: RehearsedFault) -> None:
        until_ms = self._copy.clock.now_ms() + 1000 * (fault.lasts_s or 0.0)
        self.choices.away_until_ms = max(self.choices.away_until_ms, until_ms)

    def _kill_poolkeeper(self, _: RehearsedFault) -> None:
        self._kills += 1
