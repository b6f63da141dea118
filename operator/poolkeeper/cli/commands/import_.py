"""`poolkeeper import`."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from poolkeeper import output_files
from poolkeeper.cli.input import options
from poolkeeper.cli.input.clusters import cluster_reading, targets
from poolkeeper.cli.input.files import snapshot_files
from poolkeeper.cli.output import printing
from poolkeeper.errors import InvalidInput, Problem
from poolkeeper.frozen import frozen
from poolkeeper.model import addresses
from poolkeeper.model.columns.move_columns import columns_of_moves
from poolkeeper.model.columns.partition_queries import led_by_others
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import RackPolicy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import PlanOptions, proposal
from poolkeeper.planning.problem.partitions import table_of
from poolkeeper.planning.run_state.progress.step_progress import due_elections
from poolkeeper.resources.checks import folder
from poolkeeper.resources.write import import_cluster
from poolkeeper.text import count, few, size


@click.command("import")
@click.argument("where", metavar="[CLUSTER]", required=False)
@options.address_options
@options.snapshot()
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write the manifests; files that exist are never overwritten.",
)
@options.output()
def import_(where: str | None, snapshot: Path | None, out: Path, output: str, **given: Any) -> None:
    """Write manifests for what exists: a KafkaCluster, a pool with all brokers, a Topic each.

    Nothing moves until somebody edits them: what was written is planned, and where replicas are not
    spread over racks, the pool has `rackPolicy: AsFound`. What may be left to do is to elect
    preferred leaders: how many there are is said. CLUSTER as for `status`.
    """
    if snapshot is not None:
        if where or any(given[key] for key in ("folders", "zookeeper", "cluster")):
            raise click.UsageError("--snapshot replaces the live cluster: give one of the two")
        cluster = snapshot_files.read(snapshot)
        printing.warn(snapshot_files.version_warnings(snapshot, cluster))
        found = imported(cluster)
    else:
        target = targets.target(options.address_of(where, **given))
        with cluster_reading.session(target) as session:
            observed = cluster_reading.read_cluster(session, target)
        printing.warn((*observed.warnings, *map(str, observed.notes)))
        cluster = observed.cluster
        found = imported(cluster, *declared_addresses(target.connect, target.bootstrap))
    printing.warn(cluster_reading.left_out(cluster))
    files = found.files
    write(out, files)
    if output == printing.JSON:
        printing.emit_json(
            {
                "files": [str(out / name) for name in sorted(files)],
                "rackPolicy": found.rack_policy.value,
                "moves": len(found.moves),
                "movesIfSpread": len(found.moves_if_spread),
                "elections": found.elections,
            }
        )
    else:
        printing.emit(f"wrote {count(len(files), 'file')} to {out}")
        for line in found.remarks():
            printing.emit(line)


@frozen
class Imported:
    """The manifests of a cluster, and what their plan moves.

    `moves_if_spread`: what it would move if replicas were spread over racks. `elections`: how many
    preferred leaders of declared topics it elects, as they are in sync and do not lead.
    """

    files: Mapping[str, str]
    rack_policy: RackPolicy
    moves: Sequence[Move]
    moves_if_spread: Sequence[Move]
    elections: int

    def remarks(self) -> Iterator[str]:
        """Sentences about what would move, and what keeps it still."""
        if self.rack_policy is RackPolicy.AS_FOUND:
            policy = "pools.yaml has rackPolicy: AsFound, which keeps replicas where they are"
            yield f"{policy}: Spread would {_moved(self.moves_if_spread)}"
        if self.moves:
            yield f"the plan of these manifests would {_moved(self.moves)}"
        if self.elections:
            led = count(self.elections, "preferred replica")
            yield f"{led} to elect as leader, with `apply`: in sync, and not leading"


def imported(
    cluster: Cluster, connect: str | None = None, bootstrap: Sequence[str] = ()
) -> Imported:
    """Write manifests and plan them; AsFound where spreading over racks would move more."""
    files = import_cluster.manifests_of(cluster, connect, bootstrap)
    desired = folder.load_texts(files).desired()
    options = PlanOptions(table=table_of(cluster))
    elections = _elections(desired, cluster)
    spread = proposal(desired, cluster, options=options).moves
    if not spread:
        return Imported(files, RackPolicy.SPREAD, spread, spread, elections)
    (pool,) = desired.pools
    still = replace(pool, rack_policy=RackPolicy.AS_FOUND)
    left = proposal(replace(desired, pools=(still,)), cluster, options=options).moves
    if len(left) == len(spread):
        return Imported(files, RackPolicy.SPREAD, spread, spread, elections)
    kept = {**files, import_cluster.POOLS: import_cluster.pool_text(still)}
    return Imported(kept, RackPolicy.AS_FOUND, left, spread, elections)


def declared_addresses(connect: str, bootstrap: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return both addresses as manifests have them; options may leave out what has a default."""
    from poolkeeper.brokers.connections import DEFAULT_PORT
    from poolkeeper.zk.client.connections import PORT, Address

    address = Address.parse(connect)
    servers = addresses.as_declared(address.servers.split(","), PORT)
    return ",".join(servers) + address.chroot, addresses.as_declared(bootstrap, DEFAULT_PORT)


def _moved(moves: Sequence[Move]) -> str:
    """What moves, how much of it, and the most frequent reasons."""
    columns = columns_of_moves(moves)
    added = int(columns.steps().copies.sum())
    copied = sum(columns.bytes.tolist())
    reasons = [columns.reasons[each] for each, _ in Counter(columns.reason.tolist()).most_common()]
    return (
        f"move {count(added, 'replica')} of {count(len(moves), 'partition')}"
        f"{f' ({size(copied)})' if copied else ''}: {few(reasons, 3)}"
    )


def _elections(desired: Desired, cluster: Cluster) -> int:
    """The elections of declared topics that are due: nobody elects leaders of the others."""
    topics = [found for spec in desired.topics if (found := cluster.topics.get(spec.topic))]
    partitions = ((t.name, number) for t in topics for number in led_by_others(t.partitions))
    return len(due_elections(partitions, cluster))


def write(out: Path, files: Mapping[str, str]) -> None:
    """Write all files, or none if one of them exists or cannot be written."""
    taken = [
        Problem(str(out / name), 0, "", "exists already")
        for name in files
        if os.path.exists(out / name)  # the method raises where the folder may not be looked into
    ]
    if taken:
        raise InvalidInput(taken)
    made = output_files.make_folder(out)
    written: list[Path] = []
    try:
        for name, text in files.items():
            output_files.write(out / name, text)
            written.append(out / name)
    except BaseException:  # an interrupt as well: half of the manifests pass for all of them
        for file in written:
            with contextlib.suppress(OSError):
                file.unlink()
        output_files.remove_folders(made)
        raise
