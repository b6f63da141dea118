"""`poolkeeper simulate`."""

import sys

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing
from poolkeeper.errors import Refused
from poolkeeper.simulations import bounds, lines
from poolkeeper.simulations.kinds import KINDS
from poolkeeper.text import size

_SOME_REFUSED = 1


@click.command(
    epilog=f"""\b
    Kinds (docs/simulate.md has an example of each):
      replicas   assign_replicas, rack_alternated, add_partitions
      groups     range, roundrobin, sticky, cooperative_sticky, member_order, rack_aware_enabled
      producers  murmur2, key_partition, rr_partitioner, adaptive_cft
      names      topic_name, topic_collision
      moves      throttled_replica_list, throttles, reassign_to, leader_election

    A line may have {size(bounds.LINE_BYTES_MAX)}, a topic {bounds.PARTITIONS_MAX}
    partitions, a group as many in all ({bounds.STICKY_PARTITIONS_MAX} if sticky) and
    {bounds.MEMBERS_MAX} members, a cluster {bounds.BROKERS_MAX} brokers; a line may ask for
    {bounds.REPLICAS_MAX} replicas. Exit code: 0 if every line had an output, 1 if
    one had an error.
    """
)
@click.argument("kind", required=False, type=click.Choice(list(KINDS)), metavar="[KIND]")
@options.output()
def simulate(kind: str | None, output: str) -> int:
    """Ask Kafka's own algorithms: a JSON object a line in, a JSON object a line out.

    Without KIND a line is {"id": …, "kind": KIND, "input": …}. With KIND it is the input alone, and
    its id is the number of the line, from 1. Answers come in the same order, each as soon as its
    line is read: {"id": …, "output": …}, or {"id": …, "error": "…"} with all that is wrong with
    that line. They are the same with --output text and json. Connects to nothing.
    """
    printing.write_lines()
    if sys.stdin is None:
        raise Refused("standard input is closed (expected lines of JSON)")
    refused = 0
    for number, line in enumerate(lines.lines(sys.stdin.buffer), start=1):
        found = lines.answer(line, number, kind)
        refused += found.is_error
        click.echo(found.line)
    return _SOME_REFUSED if refused else 0
