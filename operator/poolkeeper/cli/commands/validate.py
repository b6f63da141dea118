"""`poolkeeper validate`."""

from pathlib import Path

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.output import left_alone, printing
from poolkeeper.resources.checks import cross_checks
from poolkeeper.resources.checks import folder as loading
from poolkeeper.text import count, cut

DOUBTS_MAX = 20


@click.command()
@options.folders(required=True)
@options.output()
def validate(folders: tuple[Path, ...], output: str) -> None:
    """Check manifests offline and name every problem, with file, line and field.

    Documents of other API groups are left alone, and counted. Where a KafkaCluster declares no
    version, configs that only some releases of Kafka take are warnings.
    """
    found = loading.load(folders)
    undeclared = {each.name for each in found.clusters if each.kafka_version is None}
    doubts = list(cross_checks.doubtful_configs(found.topics, found.pools, undeclared))
    printing.warn(cut(doubts, DOUBTS_MAX, grouped=False))
    counts = {
        "KafkaCluster": len(found.clusters),
        "ResourcePool": len(found.pools),
        "Topic": len(found.topics),
        "Rebalance": found.rebalances,
    }
    if output == printing.JSON:
        clusters = sorted(each.name for each in found.clusters)
        body = {
            "errors": [],
            "documents": counts,
            "clusters": clusters,
            "ignored": len(found.others),
            "others": sorted(set(found.others)),
        }
        printing.emit_json(body)
        return
    listed = ", ".join(count(n, kind) for kind, n in counts.items() if n)
    aside = f" ({left_alone.sentence(found.others)})" if found.others else ""
    printing.emit(f"valid: {listed or 'no resources'}{aside}")
