"""Java consumers of real groups, who joins and leaves as a test says, and what they said.

`GroupExperiment` runs them all in one JVM, with a producer that writes to every partition alike.
Consumers of the latest release say as well when they compute an assignment.
"""

import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from conditions import until
from java_classes import compiled_folder, pom_of
from kafka_oracle.jvm import RELEASES
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.servers import artifacts

SOURCES = Path(__file__).parents[1] / "java"
MAIN, WRAPPER = "GroupExperiment", "TellingAssignor"
END_S = 60
RECORDS_PER_S = 20
"""Of each partition."""


@dataclass(frozen=True)
class Said:
    """One line of a consumer: `partitions` as names, `records` of a second."""

    what: str
    time_ms: int
    client: str
    partitions: frozenset[str]
    records: int = 0

    @classmethod
    def of(cls, line: str) -> "Said":
        what, time_ms, client, *rest = line.split()
        records = int(rest.pop(0)) if what == "second" else 0
        named = frozenset(() if rest == ["-"] else rest[0].split(","))
        return cls(what, int(time_ms), client, named, records)


@dataclass
class Experiment:
    """The consumers, of a release of Kafka's clients; use as a context manager."""

    sandbox: Sandbox
    topics: Mapping[str, int]
    release: str = artifacts.LATEST
    lines: list[Said] = field(default_factory=list)

    def __enter__(self) -> Self:
        tools, jars = artifacts.find_tools(), self._jars()
        names = (MAIN, WRAPPER) if self._tells else (MAIN,)
        sources = [SOURCES / f"{name}.java" for name in names]
        path = f"{compiled_folder(MAIN, sources, [jars])}:{jars}/*"
        topics = [f"{name}:{partitions}" for name, partitions in self.topics.items()]
        options = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path)
        main = (MAIN, self.sandbox.bootstrap, str(RECORDS_PER_S), *topics)
        self._process = subprocess.Popen(
            [tools.java, *options, *main],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._tell("end")
        else:
            self._process.kill()
        self._process.wait(END_S)
        self._reader.join(END_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    @property
    def _tells(self) -> bool:
        return self.release == artifacts.LATEST

    def _jars(self) -> Path:
        tools, cache = artifacts.find_tools(), artifacts.cache_folder()
        if self.release in artifacts.versions():
            return artifacts.class_path(self.release, cache, tools)
        pom = pom_of(RELEASES[self.release])
        return artifacts.jars(f"oracle-{self.release}", pom, cache, tools)

    def join(self, group: str, assignor: str, client: str, topics: Sequence[str]) -> None:
        name = f"org.apache.kafka.clients.consumer.{assignor}"
        classes = f"{WRAPPER}/{name}" if self._tells else name
        self._tell(f"join {group} {classes} {client} {','.join(topics)}")

    def leave(self, client: str) -> None:
        before = len(self.lines)
        self._tell(f"leave {client}")
        until(lambda: self._has_left(client, before), f"{client} has left", END_S)

    def leads(self) -> str | None:
        """The client that computed the last assignment."""
        return next((s.client for s in reversed(self.lines) if s.what == "leads"), None)

    def _has_left(self, client: str, since: int) -> bool:
        return any((said.what, said.client) == ("left", client) for said in self.lines[since:])

    def _tell(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(Said.of(line))

    def seconds_since(self, place: int, clients: Iterable[str]) -> dict[str, list[Said]]:
        """The seconds of each client from that line on."""
        found: defaultdict[str, list[Said]] = defaultdict(list)
        for said in self.lines[place:]:
            if said.what == "second" and said.client in clients:
                found[said.client].append(said)
        return found

    def settled(self, clients: Sequence[str], wanted: int, seconds: int) -> dict[str, list[Said]]:
        """Wait until these have owned `wanted` partitions without a change; return the seconds."""

        def stable() -> dict[str, list[Said]] | None:
            changes = [n for n, said in enumerate(self.lines) if said.what != "second"]
            found = self.seconds_since(changes[-1] + 1 if changes else 0, clients)
            owned = [each for client in clients for each in found[client][:1]]
            enough = all(len(found[client]) >= seconds for client in clients)
            named = frozenset().union(*(said.partitions for said in owned))
            return found if enough and len(named) == wanted else None

        return until(stable, f"{clients} read {wanted} partitions", END_S) or {}


def unowned_ms(lines: Sequence[Said]) -> dict[str, int]:
    """How long nobody had each partition, between having had somebody and having somebody again."""
    free_since: dict[str, int] = {}
    lost: defaultdict[str, int] = defaultdict(int)
    for said in lines:
        for name in said.partitions if said.what in ("revoked", "assigned") else ():
            if said.what == "revoked":
                free_since[name] = said.time_ms
            elif name in free_since:
                lost[name] += said.time_ms - free_since.pop(name)
    assert not free_since, "partitions without an owner at the end"
    return dict(lost)
