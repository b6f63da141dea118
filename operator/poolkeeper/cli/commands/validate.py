"""`poolkeeper validate`."""

from pathlib import Path

import click

from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing
from poolkeeper.resources.checks import folder as loading
from poolkeeper.text import count


@click.command()
@options.folders(required=True)
@options.output()
def validate(folders: tuple[Path, ...], output: str) -> None:
    """Check manifests offline and name every problem, with file, line and field.

    Documents of other API groups are left alone, and counted.
    """
    found = loading.load(folders)
    counts = {
        "KafkaCluster": len(found.clusters),
        "ResourcePool": len(found.pools),
        "Topic": len(found.topics),
    }
    if output == printing.JSON:
        printing.emit_json({"errors": [], "documents": counts, "ignored": found.ignored})
        return
    listed = ", ".join(count(n, kind) for kind, n in counts.items() if n)
    ignored = count(found.ignored, "other document")
    aside = f" ({ignored} left alone)" if found.ignored else ""
    printing.emit(f"valid: {listed or 'no resources'}{aside}")
