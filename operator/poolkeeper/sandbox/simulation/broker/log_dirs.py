"""A broker's disk: which replicas lie in which directory, and how many bytes each has.

What is here survives the death of the broker, and its memory does not know of it: a replica that
was moved away meanwhile stays as a stray, and a copy between directories goes on where it was.

A directory that fails takes its logs with it, and copies from it and to it; the broker goes on with
the others, and ends with the last. The replicas of a failed directory are *offline*: they are not
made anew, not moved, and cannot be brought back from another broker, until the directory is there
again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from poolkeeper.sandbox.simulation.codecs import Tp


@dataclass(slots=True)
class Log:
    """One replica's log: its directory (an index) and bytes; `future` while it moves to another.

    `stalled`: whether the broker has ceased to copy it.
    """

    directory: int
    bytes: float = 0.0
    future: int | None = None
    future_bytes: float = 0.0
    stalled: bool = False
    topic_id: str | None = None


@dataclass(slots=True)
class Disk:
    """The logs in a broker's directories; `requested_dirs`: those of logs still to come.

    `failed` are the directories that failed, and `offline` the replicas that were in them.

    `moving` are those on their way to another directory: kept, and counts of logs too, because
    nobody can look through a hundred thousand logs each time that something flows. `used` is how
    many bytes lie in each directory, copies on their way included.
    """

    directories: tuple[str, ...]
    logs: dict[Tp, Log] = field(default_factory=dict)
    requested_dirs: dict[Tp, int] = field(default_factory=dict)
    moving: set[Tp] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    offline: set[Tp] = field(default_factory=set)
    used: list[float] = field(init=False)
    _counts: list[int] = field(init=False)
    _on_placed: Callable[[Tp], None] = lambda tp: None

    def __post_init__(self) -> None:
        self._counts = [0] * len(self.directories)
        self.used = [0.0] * len(self.directories)

    def watch(self, on_placed: Callable[[Tp], None]) -> None:
        """Tell of every log that comes, goes, or lies in another directory from now on."""
        self._on_placed = on_placed

    def put(self, tp: Tp, log: Log) -> None:
        """Have a log that was there before."""
        self.logs[tp] = log
        self._counts[log.directory] += 1
        self.used[log.directory] += log.bytes
        self._on_placed(tp)

    def hold(self, log: Log, bytes_: float) -> None:
        """Let a log have that many bytes."""
        self.used[log.directory] += bytes_ - log.bytes
        log.bytes = bytes_

    def hold_copy(self, log: Log, bytes_: float) -> None:
        """Let the copy of a log in another directory have that many bytes."""
        if log.future is not None:
            self.used[log.future] += bytes_ - log.future_bytes
            log.future_bytes = bytes_

    def ensure(self, tp: Tp, topic_id: str | None) -> Log:
        """Return the log of a replica, made where it was wanted or where fewest logs are."""
        log = self.logs.get(tp)
        if log is None:
            log = Log(self.requested_dirs.pop(tp, self._emptiest()), topic_id=topic_id)
            self.logs[tp] = log
            self._counts[log.directory] += 1
            self._on_placed(tp)
        elif log.topic_id is None:
            log.topic_id = topic_id
        return log

    def delete(self, tp: Tp) -> None:
        """Delete a replica's log, wherever it lies."""
        log = self.logs.pop(tp, None)
        self.moving.discard(tp)
        if log is not None:
            self.hold_copy(log, 0.0)
            self.hold(log, 0.0)
            self._counts[log.directory] -= 1
            self._on_placed(tp)

    def fail(self, directory: int) -> tuple[Tp, ...]:
        """Let a directory fail; its logs are offline, copies to it are dropped.

        Returns the replicas that are offline.
        """
        self.failed.add(directory)
        lost = tuple(tp for tp, log in self.logs.items() if log.directory == directory)
        for tp in lost:
            self.delete(tp)
            self.offline.add(tp)
        for tp in [tp for tp in self.moving if self.logs[tp].future == directory]:
            self.cancel_move(tp)
        return lost

    @property
    def works(self) -> bool:
        """Whether a directory is left that has not failed."""
        return len(self.failed) < len(self.directories)

    def replace_failed(self) -> None:
        """Put empty directories in the place of failed ones."""
        self.failed.clear()
        self.offline.clear()

    def cancel_move(self, tp: Tp) -> None:
        """Drop the copy of a replica in another directory."""
        self.hold_copy(self.logs[tp], 0.0)
        self.logs[tp].future, self.logs[tp].stalled = None, False
        self.moving.discard(tp)

    def begin_move(self, tp: Tp, directory: int) -> None:
        """Let a replica begin to move to another directory, from its first byte on."""
        log = self.logs[tp]
        self.hold_copy(log, 0.0)
        log.future, log.future_bytes, log.stalled = directory, 0.0, False
        self.moving.add(tp)

    def stall_move(self, tp: Tp) -> None:
        """Let the broker cease to copy a replica, until somebody cancels that."""
        self.logs[tp].stalled = True

    def copied(self) -> list[Tp]:
        """Return the replicas that are being copied to another directory, in order."""
        return sorted(tp for tp in self.moving if not self.logs[tp].stalled)

    def end_move(self, tp: Tp) -> None:
        """Put a replica that moved where it was to go."""
        log = self.logs[tp]
        assert log.future is not None, "it moves only then"
        self._counts[log.directory] -= 1
        self._counts[log.future] += 1
        self.hold_copy(log, log.bytes)
        self.used[log.directory] -= log.bytes
        log.directory, log.future, log.future_bytes = log.future, None, 0.0
        self.moving.discard(tp)
        self._on_placed(tp)

    def index(self, directory: str) -> int:
        """Return the number of a directory; ValueError if it is none of this broker's."""
        return self.directories.index(directory)

    def _emptiest(self) -> int:
        working = [n for n in range(len(self.directories)) if n not in self.failed]
        return min(working, key=lambda n: (self._counts[n], n))
