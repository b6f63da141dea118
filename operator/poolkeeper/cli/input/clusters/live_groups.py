"""Consumer groups of a live cluster, as what a plan does to them is studied."""

from collections.abc import Sequence

from poolkeeper.cli.input import supposed_groups
from poolkeeper.cli.input.clusters import cluster_reading
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.errors import BrokersUnreachable, Refused, Unavailable
from poolkeeper.model.topology import Cluster
from poolkeeper.studies.group_events import StudiedGroup
from poolkeeper.studies.planned_groups import GroupBefore


def read_groups(
    target: Target, cluster: Cluster, names: Sequence[str]
) -> tuple[dict[str, GroupBefore], tuple[str, ...]]:
    """Ask the brokers for groups; return those that have members, and a warning for each other."""
    if not names:
        return {}, ()
    try:
        client = cluster_reading.known_brokers(target)
    except BrokersUnreachable as error:
        return {}, (f"consumer groups are not known: {error}",)
    found: dict[str, GroupBefore] = {}
    warnings = []
    with client:
        for name in dict.fromkeys(names):
            try:
                told = client.consumer_group(name)
            except (Refused, Unavailable) as error:
                warnings.append(str(error))
                continue
            if not told.members:
                warnings.append(f"consumer group {name} has no members now")
                continue
            topics = supposed_groups.topics_read(told.members, cluster)
            group = StudiedGroup(topics, told.members)
            found[name] = GroupBefore(group, told.assignors, told.assignment)
    return found, tuple(warnings)
