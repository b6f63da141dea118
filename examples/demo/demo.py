"""The guided tour: a grown cluster of nine real brokers becomes three pools, while it is in use.

    make demo

A ZooKeeper and nine Kafka brokers start on this machine; topics are made and filled by ordinary
clients, and a producer and a consumer that notice every lost or reordered record never stop. Then
`poolkeeper plan` and `apply` run as anybody would run them. What came of it is read from ZooKeeper
by other means (`layouts`, `evidence`): exit code 0 says that every check held, 1 that one did not,
3 that something is missing on this machine. No process stays behind, also after Ctrl-C.
"""

import argparse
import difflib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from kafka import KafkaAdminClient
from kazoo.client import KazooClient

import evidence
import layouts
import traffic
from layouts import Check, Pools
from poolkeeper.cli.main import main as poolkeeper
from poolkeeper.errors import PoolkeeperError
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from poolkeeper.sandbox.servers import artifacts
from tables import table

MANIFESTS = Path(__file__).with_name("manifests")
KAFKA = "3.9.2"
POOLS: Pools = {"pool1": (1, 2, 3), "pool2": (4, 5, 6), "pool3": (7, 8, 9)}
HOMES = {f"t{n}": f"pool{(n + 2) // 3}" for n in range(1, 10)}
PARTITIONS = 9
REPLICATION_FACTOR = 2
BROKERS = spread(9)
READY_S = 120.0
CHANGES = 2
INTERRUPTED = 130


class Ended(Exception):
    """A check failed after which going on would show nothing."""


@dataclass(slots=True)
class Tour:
    """The servers, the folder of manifests, and what has been checked so far."""

    sandbox: Sandbox
    client: KazooClient
    started_s: float
    homes: dict[str, str] = field(default_factory=lambda: dict(HOMES))
    drained: tuple[int, ...] = ()
    checks: list[Check] = field(default_factory=list)
    chapter: int = 0

    def title(self, text: str) -> None:
        """Begin a chapter."""
        self.chapter += 1
        now_s = time.monotonic() - self.started_s
        print(f"\n=== {self.chapter}. {text}  [{now_s:.0f} s]\n")

    def check(self, *checks: Check) -> None:
        """Print what holds and what does not, and keep it for the end."""
        for check in checks:
            print(f"  {'ok  ' if check.holds else 'FAIL'}  {check.sentence}")
            for reason in check.against[:5]:
                print(f"          {reason}")
        self.checks += checks

    def show(self) -> None:
        """Print the table."""
        racks = {broker.id: broker.rack or "" for broker in BROKERS}
        print(table(layouts.read(self.client, self.homes), self.homes, POOLS, racks))

    def run(self, *words: str, code: int = 0) -> None:
        """Run one command as it would be typed; ends the tour if its exit code is another."""
        print(f"$ poolkeeper {' '.join(words)}\n")
        found = poolkeeper(words)
        print()
        if found == INTERRUPTED:
            raise KeyboardInterrupt
        if found != code:
            self.check(Check(f"exit code {code}", (f"it is {found}",)))
            raise Ended

    def apply(self, *words: str) -> None:
        """Run `apply`, print the table, and check all that must hold afterwards."""
        log, chroot = self.sandbox.transaction_log(), self.sandbox.spec.chroot
        before = evidence.position(log)
        self.run("apply", "-f", "manifests", *words, "--yes")
        found = evidence.read(log, chroot, before)
        print(f"ZooKeeper's own log of this: {found}\n")
        self.show()
        print()
        partitions = layouts.read(self.client, self.homes)
        self.check(
            layouts.places(partitions, self.homes, POOLS),
            layouts.balance(partitions, POOLS, self.drained),
            layouts.cleanliness(self.client, self.homes, [b.id for b in BROKERS]),
            found.check(),
        )


@dataclass(frozen=True, slots=True)
class Load:
    """How much data there is to move, and how busy the clients are meanwhile."""

    bytes_each: int
    records_per_s: int


def tour(sandbox: Sandbox, client: KazooClient, started_s: float, load: Load) -> int:
    """Show everything, chapter by chapter; return the exit code."""
    guide = Tour(sandbox, client, started_s)
    topics = dict.fromkeys(guide.homes, PARTITIONS)
    total = PARTITIONS * len(topics) * load.bytes_each / 1024**2
    print(
        f"Creating {len(topics)} topics with {PARTITIONS} partitions and "
        f"{REPLICATION_FACTOR} replicas each, and filling them with {total:.0f} MiB"
    )
    create(sandbox.bootstrap, topics)
    traffic.fill(sandbox.bootstrap, topics, load.bytes_each, compression="gzip")
    with traffic.Traffic(sandbox.bootstrap, topics, records_per_s=load.records_per_s) as clients:
        try:
            chapters(guide)
        except Ended:
            print("\nThe tour ends here.")
        tally = clients.finish()
    guide.title("Meanwhile, in the producer and the consumer")
    print(f"{tally.sent} records sent, {tally.acknowledged} acknowledged, {tally.received} read\n")
    lost = () if tally.sent == tally.acknowledged == tally.received else ("the numbers differ",)
    guide.check(Check("no record lost, none out of order", (*tally.problems, *lost)))
    return end(guide)


def chapters(guide: Tour) -> None:
    """Migrate, drain, move: every chapter is one edit of the manifests and one `apply`."""
    guide.title("Before: nine topics, spread by Kafka over all nine brokers")
    guide.show()
    print("\nReplicas by broker, as ZooKeeper has them; strays are outside the topic's pool.")
    print("From now on a producer (acks=all) and a consumer work on all partitions.")
    guide.title("Declared: three pools of three brokers, and a pool for each topic")
    for name, lines in (("pool1.yaml", 6), ("topics.yaml", 6)):
        print(f"  manifests/{name}")
        text = Path("manifests", name).read_text(encoding="utf-8").splitlines()
        print("".join(f"    {line}\n" for line in text[:lines]))
    guide.run("plan", "-f", "manifests", "--out", "plan.json", code=CHANGES)
    guide.title("Applied, exactly as planned, while producer and consumer go on")
    guide.apply("--plan", "plan.json")

    guide.title("One line: broker 3 is drained")
    edit(
        "pool1.yaml", "  brokers: {ids: [1, 2, 3]}\n", "  brokers: {ids: [1, 2, 3]}\n  drain: [3]\n"
    )
    guide.drained = (3,)
    guide.apply()
    guide.check(layouts.emptiness(layouts.read(guide.client, guide.homes), 3))

    guide.title("One line: topic t9 moves to pool2")
    topic = "metadata: {name: t9, namespace: demo}\nspec:\n  poolRef: {name: %s}\n"
    edit("topics.yaml", topic % "pool3", topic % "pool2")
    guide.homes["t9"] = "pool2"
    guide.apply()

    guide.title("Once more: nothing is left to do")
    guide.run("plan", "-f", "manifests")
    guide.check(Check("a cluster that is as declared needs no plan"))


def end(guide: Tour) -> int:
    """Print the verdict and return the exit code."""
    failed = [check for check in guide.checks if not check.holds]
    took_s = time.monotonic() - guide.started_s
    if failed:
        print(f"\nFAILED in {took_s:.0f} s: {len(failed)} of {len(guide.checks)} checks")
        for check in failed:
            print(f"  not so: {check.sentence}: {check.against[0]}")
        return 1
    print(f"\nAll {len(guide.checks)} checks hold. {took_s:.0f} s in all.")
    print("On your own: source .venv/bin/activate, and then the tour of README.md.")
    return 0


def create(bootstrap: str, topics: dict[str, int]) -> None:
    """Create the topics as any tool would: Kafka itself chooses the brokers."""
    admin = KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
    try:
        wanted = {
            name: {"num_partitions": count, "replication_factor": REPLICATION_FACTOR}
            for name, count in topics.items()
        }
        admin.create_topics(wanted, wait_for_metadata=True)
    finally:
        admin.close()


def edit(name: str, old: str, new: str) -> None:
    """Change a manifest as an editor would, and show the difference."""
    file = Path("manifests", name)
    before = file.read_text(encoding="utf-8")
    after = before.replace(old, new)
    file.write_text(after, encoding="utf-8")
    lines = before.splitlines(), after.splitlines()
    difference = list(difflib.unified_diff(*lines, f"manifests/{name}", "", n=2, lineterm=""))
    print(f"  {difference[0]}")
    print("".join(f"  {line}\n" for line in difference[3:]))


@contextmanager
def manifests(sandbox: Sandbox) -> Iterator[None]:
    """Work in a temporary folder that holds the manifests with the sandbox's addresses."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="poolkeeper-demo-") as folder:
        shutil.copytree(MANIFESTS, Path(folder, "manifests"))
        cluster = Path(folder, "manifests", "cluster.yaml")
        text = cluster.read_text(encoding="utf-8")
        text = text.replace("127.0.0.1:2181/kafka", sandbox.connect)
        cluster.write_text(text.replace("127.0.0.1:9092", sandbox.bootstrap), encoding="utf-8")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


@contextmanager
def zookeeper(connect: str) -> Iterator[KazooClient]:
    """Open a session of the demo's own, to look with."""
    client = KazooClient(connect)
    client.start(timeout=READY_S)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def show(started_s: float, load: Load) -> int:
    """Start the servers, show everything, take them down."""
    cache = artifacts.cache_folder()
    print(f"Starting ZooKeeper and {len(BROKERS)} Kafka {KAFKA} brokers on this machine", end="")
    first = not any((cache / "kafka").glob(f"{KAFKA}-*/"))
    print("; the first time Maven brings them, that takes a minute" if first else "")
    # Data is sent compressed, which spares this process, and written out in full by the brokers.
    settings = (("compression.type", "uncompressed"),)
    spec = SandboxSpec(brokers=BROKERS, kafka=KAFKA, settings=settings)
    with (
        Sandbox.start(spec, ready_s=READY_S) as sandbox,
        zookeeper(sandbox.connect) as client,
        manifests(sandbox),
    ):
        return tour(sandbox, client, started_s, load)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM like Ctrl-C: both must take the servers down."""
    raise KeyboardInterrupt


def main(arguments: Sequence[str]) -> int:
    """Read the options and run the tour."""
    parser = argparse.ArgumentParser(description="Poolkeeper's guided tour on real brokers.")
    parser.add_argument("--kib", type=int, default=2048, help="data in each partition, KiB")
    parser.add_argument("--records", type=int, default=150, help="records sent a second")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    # Lines as they come, in order with those on standard error; any terminal's characters will do.
    sys.stdout.reconfigure(line_buffering=True, errors="replace")
    try:
        return show(time.monotonic(), Load(options.kib * 1024, options.records))
    except PoolkeeperError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\ninterrupted; all servers are taken down", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
