"""`poolkeeper apply` at work in a rehearsal, and a trace of what it reports.

A loop over a real cluster looks every second, and at each sign of news. Here nothing can happen
between two events of the simulation, so the looks are spaced out while a request is in flight: from
`first_pause_s` up to `longest_pause_s`. The end of a request, a broker that comes or goes and a new
controller end a pause at once. Where a look could change nothing, because no fault is to come and
the throttle is not adapted, it is `calm_pause_s` until the next one. While no window is open the
next look is when one opens. While ZooKeeper is away for long the next try is shortly before it is
back.

A run in which nothing arrives for `quiet_max_s` never ends; the time until the known end of a fault
does not count. None lasts longer than `longest_s`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from poolkeeper import wording
from poolkeeper.controller.loops.wake_ups import WakeUpBudget
from poolkeeper.errors import PoolkeeperError
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Window
from poolkeeper.planning.run_state.gates import windows
from poolkeeper.planning.run_state.progress.staying_moves import STAYING_ACTIONS
from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.rehearsal.executor import AWAY_MS, Executor, NeverEnds
from poolkeeper.rehearsal.recorder import Recorder
from poolkeeper.sandbox.fake_zookeeper import Faults
from poolkeeper.text import count, duration
from poolkeeper.zk.client.nodes import Node

PAUSE_S = 1.0
TRIED_MS = 300_000.0
"""How long before ZooKeeper is back it is tried every second again, as a loop does all the time."""
PASSES_IN_VAIN_MAX = 1000
"""So many passes without an action or a replica that arrives end a rehearsal.

Where one controller after the other dies there are news without an end, and time hardly passes.
"""
QUANTA = 600
"""How many times in a run, at least, the network may be divided anew among those that copy."""
STAGE_QUANTA = 25
"""The same in each stage."""
READ_NODE_MS = 0.005
"""What each node of a bulk read adds to one round trip."""


class RehearsedSession(FakeSession):
    """A session whose bulk reads take the time of bulk reads.

    A node that was not written since it was read before is the same object.
    """

    def __init__(self, *asked: Any, **options: Any) -> None:
        super().__init__(*asked, **options)
        self._groups: dict[str, tuple[tuple[str, ...], int, tuple[bytes | None, ...]]] = {}

    def read_many(
        self, paths: Sequence[str], *, unreadable: Node | None = None
    ) -> list[Node | None]:
        """Return each node, or None where there is none."""
        self.sync()  # one round trip, which faults may strike as any other
        self.reads += len(paths)
        self.clock.advance(READ_NODE_MS * len(paths))
        return self._read_now(paths)

    def read_bodies(
        self, groups: Sequence[tuple[str, ...]], *, unreadable: bytes | None = None
    ) -> list[tuple[bytes | None, ...]]:
        """Return the data of each group, whose paths belong to one topic.

        A group of which nothing was written since is the same tuple.
        """
        self.sync()
        count = sum(map(len, groups))
        self.reads += count
        self.clock.advance(READ_NODE_MS * count)
        return [self._read_group(group) for group in groups]

    def _read_now(self, paths: Sequence[str]) -> list[Node | None]:
        found: Any = self.fake.server.tree.read_many(paths)  # tuples of what a Node has
        nodes: list[Node | None] = found
        return nodes

    def _read_group(self, group: tuple[str, ...]) -> tuple[bytes | None, ...]:
        if not group:
            return ()
        tree, known = self.fake.server.tree, self._groups.get(group[0])
        changed = tree.changed(group[0])
        if known is not None and known[0] is group and known[1] == changed:
            return known[2]
        nodes = self._read_now(group)
        found = tuple([None if node is None else node[0] for node in nodes])
        self._groups[group[0]] = group, changed, found
        return found


@dataclass(slots=True)
class Waiting:
    """What was waited for: first seen, the words, and the seconds so far."""

    begin_s: float
    text: str
    seconds: float = 0.0


@dataclass(slots=True)
class StageTimes:
    """A stage as it was requested, and when it was found finished."""

    number: int
    begin_s: float
    end_s: float | None = None


@frozen
class Quanta:
    """How often the network is divided anew, by the predicted seconds of a run and of its stages.

    A copy ends when the network is divided. So a stage that is short beside the run needs more of
    that than the run's part for it.
    """

    run_s: float
    stages_s: tuple[float, ...]

    def of_stage_ms(self, number: int) -> float:
        """Return the time between two divisions in a stage, counted from 1."""
        stage_s = self.stages_s[number - 1] if number <= len(self.stages_s) else self.run_s
        return max(10.0, 1000 * min(self.run_s / QUANTA, stage_s / STAGE_QUANTA))


@dataclass(slots=True)
class Driver(Executor):
    """Works until the plan is carried out; keeps what the passes did and waited for."""

    recorder: Recorder = field(kw_only=True)
    open_session: Callable[[Faults], FakeSession] = field(kw_only=True)
    zookeeper_back_ms: Callable[[], float] = field(kw_only=True)
    faults_over_s: Callable[[], float] = field(kw_only=True)
    quanta: Quanta = field(kw_only=True)
    first_pause_s: float = PAUSE_S
    longest_pause_s: float = 30.0
    calm_pause_s: float = 0.0
    quiet_max_s: float = 6 * 3600.0
    longest_s: float = 60 * 86_400.0
    stages: list[StageTimes] = field(default_factory=list)
    waited: dict[str, Waiting] = field(default_factory=dict)
    last: Outcome | None = None
    staying: Action | None = None
    """Which moves stay, and why; the run of all others ends without them."""
    _pause_s: float = PAUSE_S
    _news: tuple[int, int] = (0, 0)
    _looked_s: float = 0.0
    _lively_s: float = 0.0
    _passes_in_vain: int = 0

    def _open(self, plan: Faults) -> FakeSession:
        return self.open_session(plan)

    def wait_for_zookeeper(self) -> None:
        """Let time pass until shortly before ZooKeeper is back, or until something else happens."""
        self._require_life(": ZooKeeper answers nobody")
        recorder, clock = self.recorder, self.cluster.clock
        seen, now_s = recorder.news, recorder.now_s()
        away_ms = self.zookeeper_back_ms() - clock.now_ms() - TRIED_MS
        if away_ms <= AWAY_MS:
            clock.advance(AWAY_MS)
        else:
            bound_ms = 1000 * (self.longest_s - now_s) + AWAY_MS
            clock.run_until(lambda: recorder.news != seen, min(away_ms, bound_ms))

    def note(self, outcome: Outcome) -> None:
        """Take in what a pass did, and what it waits for."""
        now_s = self.recorder.now_s()
        for action in outcome.did:
            if action.kind is ActionKind.STAGE_REQUESTED:
                self.stages.append(StageTimes(action.stage, now_s))
                transfers = self.cluster.simulation.transfers
                transfers.quantum_ms = self.quanta.of_stage_ms(action.stage)
            elif action.kind is ActionKind.STAGE_FINISHED and self.stages:
                self.stages[-1].end_s = now_s
            elif action.kind in STAYING_ACTIONS:
                self.staying = action
            self.recorder.tell(action.kind.value, self.words_of(action))
        self._passes_in_vain += 1
        if outcome.did or any(w.reason is WaitReason.OUTSIDE_WINDOW for w in outcome.waits):
            self._lively_s, self._passes_in_vain = now_s, 0
        for reason in _reasons(self.last):
            self.waited[reason.value].seconds += now_s - self._looked_s
        for wait in outcome.waits:
            words = wording.sentence(wait)
            self.waited.setdefault(wait.reason.value, Waiting(now_s, words)).text = words
        self._looked_s = now_s
        self.last = outcome

    @staticmethod
    def words_of(action: Action) -> str:
        """What a pass did, as the rehearsal tells it."""
        return wording.sentence(action)

    def waits_now(self) -> list[Waiting]:
        """What the last pass waits for."""
        last = () if self.last is None else self.last.waits
        return [self.waited[wait.reason.value] for wait in last]

    def pause(self, session: FakeSession, news: WakeUpBudget) -> None:
        """Let time pass until something happens, for a second at first and then for longer."""
        recorder, clock = self.recorder, self.cluster.clock
        seen = (recorder.news, recorder.arrived)
        if seen[0] != self._news[0]:
            self._pause_s = self.first_pause_s
        if seen[1] != self._news[1]:
            self._passes_in_vain = 0
        if seen != self._news:
            self._news, self._lively_s = seen, recorder.now_s()
        self._require_life()
        clock.run_until(lambda: recorder.news != seen[0], 1000 * self._length_s())
        quiet_s = recorder.now_s() - self._lively_s
        self._pause_s = min(2 * self._pause_s, max(self.longest_pause_s, quiet_s / 20))

    def _length_s(self) -> float:
        """How long to pause: shortly while throttles settle, long while only copies go on."""
        progress = None if self.last is None else self.last.progress
        if progress is not None and progress.phase is Phase.THROTTLING:
            return PAUSE_S / 5
        waits = _reasons(self.last)
        if waits == {WaitReason.OUTSIDE_WINDOW}:
            declared = self.desired.cluster.execution.windows
            return until_window_s(declared, self.cluster.clock.now_ms())
        calm = self.calm_pause_s if waits == {WaitReason.STAGE_IN_FLIGHT} else 0.0
        return max(self._pause_s, calm)

    def _require_life(self, why: str = "") -> None:
        now_s = self.recorder.now_s()
        quiet_s = now_s - max(self._lively_s, self.faults_over_s())
        if quiet_s > self.quiet_max_s:
            raise NeverEnds(f"no replica arrived for {duration(now_s - self._lively_s)}{why}")
        if self._passes_in_vain > PASSES_IN_VAIN_MAX:
            looks = count(PASSES_IN_VAIN_MAX, "look")
            raise NeverEnds(f"no replica arrived, and nothing was done, in {looks}{why}")
        if now_s > self.longest_s:
            raise NeverEnds(f"the run is not done after {duration(now_s)}{why}")


def _reasons(outcome: Outcome | None) -> set[WaitReason]:
    """Why a pass waits; nothing is waited for before the first."""
    return set() if outcome is None else {wait.reason for wait in outcome.waits}


def until_window_s(declared: Sequence[Window], now_ms: int) -> float:
    """Return the time until the next window opens: nothing but news begins anything before."""
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    opening = windows.opening_time(declared, now)
    return max(PAUSE_S, (opening - now).total_seconds())


def error_message(error: PoolkeeperError) -> str:
    """The message of an error that ends a rehearsal."""
    return wording.error_text(error)
