"""A broker's disk: which replicas lie in which directory, and how many bytes each has.

What is here survives the death of the broker, and its memory does not know of it: a replica that
was moved away meanwhile stays as a stray.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.sandbox.simulation.codecs import Tp


@dataclass(slots=True)
class Log:
    """One replica's log: its directory (an index) and bytes; `future` while it moves to another."""

    directory: int
    bytes: float = 0.0
    future: int | None = None
    future_bytes: float = 0.0
    topic_id: str | None = None


@dataclass(slots=True)
class Disk:
    """The logs in a broker's directories; `wanted` remembers directories for logs still to come."""

    directories: tuple[str, ...]
    logs: dict[Tp, Log] = field(default_factory=dict)
    wanted: dict[Tp, int] = field(default_factory=dict)

    def ensure(self, tp: Tp, topic_id: str | None) -> Log:
        """Return the log of a replica, made where it was wanted or where fewest logs are."""
        log = self.logs.get(tp)
        if log is None:
            log = Log(self.wanted.pop(tp, self._emptiest()), topic_id=topic_id)
            self.logs[tp] = log
        elif log.topic_id is None:
            log.topic_id = topic_id
        return log

    def delete(self, tp: Tp) -> None:
        """Delete a replica's log, wherever it lies."""
        self.logs.pop(tp, None)

    def index(self, directory: str) -> int:
        """Return the number of a directory; ValueError if it is none of this broker's."""
        return self.directories.index(directory)

    def used_bytes(self) -> Mapping[str, float]:
        """Return the bytes in each directory."""
        used = dict.fromkeys(self.directories, 0.0)
        for log in self.logs.values():
            used[self.directories[log.directory]] += log.bytes
            if log.future is not None:
                used[self.directories[log.future]] += log.future_bytes
        return used

    def _emptiest(self) -> int:
        counts = [0] * len(self.directories)
        for log in self.logs.values():
            counts[log.directory] += 1
        return counts.index(min(counts))
