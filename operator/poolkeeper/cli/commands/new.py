"""`poolkeeper new topic`."""

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing
from poolkeeper.resources.parse import yaml_documents
from poolkeeper.resources.write import new_topic


@click.group()
def new() -> None:
    """Print a new manifest, to be put into a file."""


@new.command()
@click.argument("name")
@click.option("--pool", metavar="POOL", required=True, help="The ResourcePool of the topic.")
@click.option(
    "--replica-assignment",
    "assignment",
    metavar="LISTS",
    help="Brokers of each partition, pinned: 1:2:3,2:3:4 is two partitions of three replicas.",
)
@click.option("--partitions", metavar="N", type=int, help="How many it has. [default: the pool's]")
@click.option(
    "--replication-factor",
    metavar="N",
    type=int,
    help="Replicas of each partition. [default: the pool's]",
)
@options.output()
def topic(
    name: str,
    pool: str,
    assignment: str | None,
    partitions: int | None,
    replication_factor: int | None,
    output: str,
) -> None:
    """Print the manifest of the Kafka topic NAME. Connects to nothing."""
    text = new_topic.manifest(name, pool, assignment, partitions, replication_factor)
    if output == printing.JSON:
        [[document], _] = yaml_documents.parse(text, "")
        printing.emit_json(document.body)
    else:
        printing.emit(text)
