"""`poolkeeper whatif lose`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolkeeper.algorithms.groups import offsets_partition
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, studied_cluster
from poolkeeper.cli.input.clusters.studied_cluster import StudiedCluster
from poolkeeper.cli.output import ink, printing
from poolkeeper.cli.output.studies import loss_text
from poolkeeper.errors import BrokersUnreachable, InvalidInput, Problem, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Cluster
from poolkeeper.studies import broker_loss, group_coordinators, loss_settings
from poolkeeper.studies.group_coordinators import OFFSETS_TOPIC, GroupLoss, ListedGroup
from poolkeeper.text import count, few, one_of

if TYPE_CHECKING:
    from poolkeeper.brokers.requests import BrokerClient

_NAMES_MAX = 20
_ASKED_MAX = 3
"""The most brokers that are asked for their settings, one after the other."""


@frozen
class LostBrokers:
    """What the command line says is lost."""

    brokers: tuple[int, ...] = ()
    racks: tuple[str, ...] = ()
    controller: bool = False


@click.command()
@studied_cluster.by_cluster_or_snapshot
@click.option(
    "--broker",
    "brokers",
    metavar="ID",
    type=click.IntRange(min=0),
    multiple=True,
    help="Suppose that this broker is lost. Repeatable.",
)
@click.option(
    "--rack",
    "racks",
    metavar="NAME",
    multiple=True,
    help="Suppose that all brokers of this rack are lost. Repeatable.",
)
@click.option("--controller", is_flag=True, help="Suppose that the controller is lost.")
@click.option(
    "--group",
    "groups",
    metavar="NAME",
    multiple=True,
    help="Tell what becomes of this consumer group. Repeatable. [default: all that brokers list]",
)
@options.output()
def lose(
    where: str | None,
    snapshot: Path | None,
    brokers: Sequence[int],
    racks: Sequence[str],
    output: str,
    **given: Any,
) -> None:
    """Say what becomes of partitions, brokers and groups if brokers are lost. Changes nothing.

    All that is named is lost at once. Leaders are elected as Kafka's controller elects them.
    Brokers that can be asked (spec.brokers, or --bootstrap) tell their own settings, list the
    consumer groups, and hold the records that say who leads each.
    """
    named = LostBrokers(tuple(brokers), tuple(racks), given.pop("controller"))
    groups = given.pop("groups")
    if named == LostBrokers():
        raise click.UsageError("nothing is lost: give --broker, --rack or --controller")
    found = studied_cluster.read(where, snapshot, given)
    lost = _lost(named, found.cluster, groups)
    told, listed, warnings = _asked(found, groups)
    settings = loss_settings.settings_of(found.cluster, told)
    study = broker_loss.lose(found.cluster, lost, settings)
    coordinated: tuple[GroupLoss, ...] = ()
    if OFFSETS_TOPIC in found.cluster.topics:
        coordinated = group_coordinators.groups_after(study, found.cluster, listed)
    printing.warn((*found.warnings, *warnings))
    if output == printing.JSON:
        printing.emit_json(loss_text.as_data(study, coordinated))
    else:
        printing.emit("\n".join(loss_text.lines(study, coordinated, ink.of_output())))


def _lost(named: LostBrokers, cluster: Cluster, groups: Sequence[str]) -> frozenset[int]:
    """The brokers that are lost; raises InvalidInput with all that is wrong."""
    live = cluster.brokers
    racks = sorted({broker.rack for broker in live.values() if broker.rack is not None})
    problems = [
        Problem("", 0, "--broker", f"{id_} is not live ({one_of(live, _NAMES_MAX)})")
        for id_ in named.brokers
        if id_ not in live
    ]
    problems += [
        Problem(
            "",
            0,
            "--rack",
            f"{rack!r} has no live broker ({one_of(racks, _NAMES_MAX)})",
        )
        for rack in named.racks
        if rack not in racks
    ]
    controller = cluster.controller.broker
    if named.controller and controller not in live:
        said = (
            "nobody knows who it is" if controller is None else f"broker {controller} is not live"
        )
        problems.append(Problem("", 0, "--controller", f"{said} (expected --broker)"))
    if groups and not (
        OFFSETS_TOPIC in cluster.topics and cluster.topics[OFFSETS_TOPIC].partitions
    ):
        message = f"topic {OFFSETS_TOPIC} is not there, so that no group has a coordinator"
        problems.append(Problem("", 0, "--group", message))
    if problems:
        raise InvalidInput(problems)
    lost = set(named.brokers) | {id_ for id_, each in live.items() if each.rack in named.racks}
    if named.controller and controller is not None:
        lost.add(controller)
    return frozenset(lost)


def _asked(
    found: StudiedCluster, groups: Sequence[str]
) -> tuple[Mapping[str, str], Mapping[str, ListedGroup], tuple[str, ...]]:
    """What brokers tell of their settings, the groups to study, and warnings."""
    named = dict.fromkeys(groups, ListedGroup())
    try:
        client = None if found.target is None else cluster_reading.brokers(found.target)
    except BrokersUnreachable as error:
        return {}, named, (f"the brokers are not asked: {error}",)
    if client is None:
        return {}, named, ()
    with client:
        warnings = []
        told: Mapping[str, str] = {}
        try:
            told = _settings(client, found.cluster)
        except Unavailable as error:
            warnings.append(f"the brokers' settings are not known: {error}")
        try:
            told_groups = client.group_members(groups or None)
            named |= {name: ListedGroup(each) for name, each in told_groups.members.items()}
            warnings += [
                f"broker {broker} tells of no consumer groups: {why}"
                for broker, why in told_groups.failures.items()
            ]
        except Unavailable as error:
            warnings.append(f"consumer groups are not known: {error}")
        try:
            named, unknown = _with_leaders(client, found.cluster, named)
            if unknown:
                warnings.append(
                    f"who leads {count(len(unknown), 'consumer group')} was not found in time"
                    f" ({few(sorted(unknown), _NAMES_MAX)})"
                )
        except Unavailable as error:
            warnings.append(f"who leads consumer groups is not known: {error}")
    return told, named, tuple(warnings)


def _with_leaders(
    client: "BrokerClient", cluster: Cluster, groups: Mapping[str, ListedGroup]
) -> tuple[dict[str, ListedGroup], frozenset[str]]:
    """The groups with the member that leads each, and those of which it was not found in time.

    A group whose coordinator is away is in a partition that cannot be read, and stays unknown.
    """
    topic = cluster.topics.get(OFFSETS_TOPIC)
    live = (None, *cluster.brokers)
    readable = {p.partition for p in topic.partitions if p.leader in live} if topic else set()
    asked: defaultdict[int, list[str]] = defaultdict(list)
    for name, group in groups.items():
        if topic is not None and group.members:
            asked[offsets_partition(name, len(topic.partitions))].append(name)
    found = client.group_leaders({n: names for n, names in asked.items() if n in readable})
    return {
        name: replace(group, leader_id=found.leaders.get(name)) for name, group in groups.items()
    }, found.unknown


def _settings(client: "BrokerClient", cluster: Cluster) -> Mapping[str, str]:
    """The settings of the first broker that tells them: brokers are configured alike.

    Raises Unavailable where none of the first few does.
    """
    failed = Unavailable("no broker is live")
    for broker in sorted(cluster.brokers)[:_ASKED_MAX]:
        try:
            config = client.broker_config(broker)
        except Unavailable as error:
            failed = error
            continue
        told = {key: config[key].value for key in loss_settings.BROKER_KEYS if key in config}
        return {key: value for key, value in told.items() if value}
    raise failed
