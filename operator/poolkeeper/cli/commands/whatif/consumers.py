"""`poolkeeper whatif consumers`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from poolkeeper import output_files
from poolkeeper.algorithms.assignors.group import Assignor
from poolkeeper.brokers.consumer_groups import ObservedGroup
from poolkeeper.cli.input import options, supposed_groups
from poolkeeper.cli.input.clusters import cluster_reading, studied_cluster
from poolkeeper.cli.input.clusters.studied_cluster import StudiedCluster
from poolkeeper.cli.input.output_options import OutputOption
from poolkeeper.cli.input.supposed_groups import GroupWords, OrderedEvents
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.studies import consumers_text
from poolkeeper.errors import wrong_field
from poolkeeper.report import consumer_page
from poolkeeper.studies import consumer_study
from poolkeeper.studies.consumer_study import ConsumerStudy, StudyInput
from poolkeeper.studies.pool_moves import racks_in_pool

HTML = "html"


PAGES = {".html": consumer_page.consumer_page, ".svg": consumer_page.consumer_pictures}
"""What --out writes, by the end of the file's name."""


def _file(_: click.Context, __: click.Parameter, file: Path | None) -> Path | None:
    if file is not None and file.suffix not in PAGES:
        raise click.BadParameter(f"{file} (expected a name that ends in .html or .svg)")
    return file


def _event(option: str, name: str, metavar: str, told: str) -> options.Decorator:
    return click.option(option, name, metavar=metavar, multiple=True, help=f"{told} Repeatable.")


@click.command(cls=OrderedEvents)
@studied_cluster.by_cluster_or_snapshot
@click.option(
    "--topic",
    "topics",
    metavar="NAME:PARTITIONS",
    multiple=True,
    help="A topic; @RACKS may follow. Repeatable. With a cluster NAME is enough, or nothing.",
)
@click.option(
    "--member",
    "members",
    metavar="ID:TOPICS",
    multiple=True,
    help="A consumer and what it subscribes to; @RACK may follow the id. Repeatable.",
)
@click.option("--group", metavar="NAME", help="A live group instead, which the brokers tell of.")
@_event("--leave", "leave", "ID", "A member stops.")
@_event("--return", "back", "ID", "A member that left comes back.")
@_event("--add-partitions", "add_partitions", "TOPIC:N", "A topic has N partitions then.")
@_event("--move-topic", "move_topic", "TOPIC:RACKS", "A topic's replicas are in other racks then.")
@_event("--move-to-pool", "move_to_pool", "TOPIC:POOL", "A topic moves to another pool (-f).")
@click.option(
    "--assignor",
    "assignors",
    type=click.Choice([each.value for each in Assignor]),
    multiple=True,
    help="Study this assignor. Repeatable. [default: all]",
)
@click.option(
    "--out",
    cls=OutputOption,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_file,
    help="Also write a page with pictures there (.html), or the pictures alone (.svg).",
)
@options.output(HTML)
def consumers(
    where: str | None,
    snapshot: Path | None,
    out: Path | None,
    output: str,
    **given: Any,
) -> None:
    """Say what members and partitions that come and go do to a consumer group. Changes nothing.

    Events happen in the order in which they are written. Manifests (-f) without any event: topics
    get the partitions that are declared. RACKS are those of partition 0, 1, … by commas, several of
    one partition joined by `+`, and repeat.
    """
    words, group, assignors = _own_words(given)
    found = studied_cluster.read_declared(where, snapshot, given)
    observed = None if group is None else _observed(found, group)
    cluster = None if found is None else found.cluster
    to_pool = None
    if found is not None and found.desired is not None:
        to_pool = partial(racks_in_pool, found.desired, found.cluster)
    members = () if observed is None else observed.members
    asked, events = supposed_groups.read(words, cluster, members, to_pool)
    if found is not None and not events:
        events = supposed_groups.declared_growth(found.desired, asked)
    start = None
    if observed is not None and observed.assignment and not words.members:
        start = (observed.assignors, observed.assignment)
    rates = {} if cluster is None else consumer_study.measured_rates(cluster)
    own = None if observed is None else observed.assignors
    study = consumer_study.study(StudyInput(asked, events, assignors, rates, start, own))
    printing.warn(() if found is None else found.warnings)
    _show(study, output, out)


def _own_words(given: dict[str, Any]) -> tuple[GroupWords, str | None, Sequence[Assignor]]:
    """Take the options of this command out of `given`."""
    events = supposed_groups.events_in_order(given)
    for name in supposed_groups.EVENTS:
        given.pop(name)
    chosen = {Assignor(value) for value in given.pop("assignors")}
    words = GroupWords(given.pop("topics"), given.pop("members"), events)
    return words, given.pop("group"), [each for each in Assignor if not chosen or each in chosen]


def _observed(found: StudiedCluster | None, name: str) -> ObservedGroup:
    """Ask the brokers for a group; raises Refused for one without members."""
    if found is None or found.target is None:
        raise click.UsageError("--group is a live group: give a live cluster (-f, or --zookeeper)")
    with cluster_reading.known_brokers(found.target) as client:
        group = client.consumer_group(name)
    if not group.members:
        raise wrong_field("--group", f"group {name} has no members now (expected --member)")
    return group


def _show(study: ConsumerStudy, output: str, out: Path | None) -> None:
    if out is not None:
        output_files.write(out, PAGES[out.suffix](study))
    if output == HTML:
        printing.emit(consumer_page.consumer_page(study))
    elif output == printing.JSON:
        printing.emit_json(consumers_text.as_data(study))
    else:
        printing.emit("\n".join(consumers_text.lines(study, ink.of_output())))
