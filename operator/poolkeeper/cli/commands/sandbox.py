"""`poolkeeper sandbox`: a real Kafka cluster on this machine, for trying things out.

With `--simulated` only ZooKeeper is real, and one process simulates all brokers. `up` leaves the
cluster running until `down`; with `--foreground` it ends with the command.
"""

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import click

from poolkeeper import sandbox as sandboxes
from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing
from poolkeeper.errors import Refused, wrong_field
from poolkeeper.frozen import frozen
from poolkeeper.model.versions import KafkaVersion, support_problem
from poolkeeper.sandbox.servers import artifacts

NAME = click.option(
    "--name", metavar="NAME", default="sandbox", show_default=True, help="Name of the sandbox."
)
ROOT = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for its data. [default: the cache's]",
)
NO_RACKS = "none"


@frozen
class Shape:
    """The options that describe the cluster to start."""

    brokers: int
    kafka: str
    simulated: bool
    speed: float
    racks: str
    heap: int
    zookeeper_heap: int
    name: str
    root: Path | None

    def _release_problem(self) -> str | None:
        """Why no brokers, simulated ones either, can have this release here."""
        if not self.simulated:
            known = artifacts.versions()
            expected = ", ".join(known)
            return None if self.kafka in known else f"{self.kafka!r} (expected one of {expected})"
        try:
            return support_problem(KafkaVersion.parse(self.kafka))
        except Refused as unread:
            return str(unread)

    def spec(self) -> sandboxes.SandboxSpec:
        """The sandbox to start; raises a usage error where options contradict each other.

        Raises Refused for a release that no brokers, simulated ones either, can have here.
        """
        if self.speed != 1 and not self.simulated:
            raise click.UsageError("--speed goes with --simulated: real brokers take their time")
        if problem := self._release_problem():
            raise wrong_field("--kafka", problem)
        racks = [] if self.racks == NO_RACKS else [r for r in self.racks.split(",") if r]
        return sandboxes.SandboxSpec(
            brokers=sandboxes.spread(self.brokers, racks),
            kafka=self.kafka,
            zookeeper_heap_mib=self.zookeeper_heap,
            broker_heap_mib=self.heap,
            name=self.name,
            root=self.root,
            simulated=self.simulated,
            speed=self.speed,
        )


@click.group()
def sandbox() -> None:
    """Run throw-away Kafka clusters on this machine."""


@sandbox.command()
@click.option(
    "--brokers",
    metavar="N",
    type=click.IntRange(0, 50),
    default=3,
    show_default=True,
    help="How many.",
)
@click.option(
    "--kafka",
    metavar="RELEASE",
    default=artifacts.LATEST,
    show_default=True,
    help=f"Real brokers: {', '.join(artifacts.versions())}.",
)
@click.option(
    "--simulated", is_flag=True, help="Simulated brokers (0.10.1 to 3.9) on a real ZooKeeper."
)
@click.option(
    "--speed",
    metavar="FACTOR",
    type=options.Number(0.01, 1000),
    default=1.0,
    show_default=True,
    help="Times as fast as real brokers; with --simulated.",
)
@click.option(
    "--racks", metavar="A,B,…", default="a,b,c", show_default=True, help="Racks in turn, or none."
)
@click.option(
    "--heap",
    metavar="MIB",
    type=click.IntRange(32),
    default=96,
    show_default=True,
    help="Of each broker.",
)
@click.option(
    "--zookeeper-heap",
    metavar="MIB",
    type=click.IntRange(64),
    default=128,
    show_default=True,
    help="Of ZooKeeper; 200,000 partitions take 2048.",
)
@click.option("--foreground", is_flag=True, help="Stay, and end the sandbox at Ctrl-C.")
@NAME
@ROOT
@options.output()
def up(*, foreground: bool, output: str, **given: Any) -> None:
    """Start ZooKeeper and brokers, and say where they are when they are ready."""
    running = sandboxes.Sandbox.start(Shape(**given).spec(), tied=foreground)
    if not foreground:
        running.detach()
        printing.emit_document(_render(_describe(running), output))
        return
    with running:
        _stay(_render(_describe(running), output))


@sandbox.command()
@click.option("--all", "everything", is_flag=True, help="All sandboxes, tests' included.")
@NAME
@ROOT
@options.output()
def down(everything: bool, name: str, root: Path | None, output: str) -> None:
    """End a sandbox and remove its data; it is no error if there is none."""
    if everything:
        ended = sandboxes.take_down_all(root)
    else:
        ended = (name,) if sandboxes.take_down(name, root) else ()
    if output == "json":
        printing.emit_document(json.dumps({"ended": ended}))
    else:
        click.echo(f"ended: {', '.join(ended)}" if ended else "nothing to end")


def _describe(running: sandboxes.Sandbox) -> dict[str, object]:
    state = running.state
    return {
        "name": state.name,
        "kafka": state.kafka,
        "zookeeper": state.zookeeper,
        "connect": state.connect,
        "bootstrap": state.bootstrap,
        "brokers": [
            {"id": b.id, "rack": b.rack, **({"port": b.port} if b.port else {})}
            for b in state.brokers
        ],
        "simulated": state.simulated,
        "folder": str(running.folder),
        "manifest": _manifest(state.name, state.kafka, state.connect, state.bootstrap),
    }


def _manifest(name: str, kafka: str, connect: str, bootstrap: str) -> str:
    # Before 1.0 a release line has three numbers.
    line = ".".join(kafka.split(".")[: 3 if kafka.startswith("0.") else 2])
    lines = [
        "apiVersion: poolkeeper.dev/v1alpha1",
        "kind: KafkaCluster",
        f"metadata: {{name: {name}}}",
        "spec:",
        f'  zookeeper: {{connect: "{connect}"}}',
        *([f'  brokers: {{bootstrapServers: "{bootstrap}"}}'] if bootstrap else []),
        f'  kafkaVersion: "{line}"',
    ]
    return "\n".join(lines)


def _render(found: Mapping[str, object], output: str) -> str:
    if output == "json":
        return json.dumps(found)
    brokers = "simulated; they listen nowhere" if found["simulated"] else found["bootstrap"]
    return (
        f"Kafka {found['kafka']} is up as {found['name']!r}.\n"
        f"ZooKeeper: {found['connect']}\n"
        f"Brokers:   {brokers}\n\n"
        f"{found['manifest']}"
    )


def _stay(announcement: str) -> None:
    """Print the announcement, then return at Ctrl-C or SIGTERM: both end the sandbox normally."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        printing.emit_document(announcement)
        sys.stdout.flush()
        signal.pause()
    except KeyboardInterrupt:
        click.echo("ending", err=True)
