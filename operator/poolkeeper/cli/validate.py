"""`poolkeeper validate`."""

from collections import Counter

import click

from poolkeeper.cli import options, printing, quantities
from poolkeeper.resources import folders


@click.command()
@options.folders(required=True)
@options.output()
def validate(filename: tuple[str, ...], output: str) -> None:
    """Check manifests offline and name every problem, with file, line and field."""
    counts = Counter(folders.load(filename).kinds())
    if output == printing.JSON:
        printing.emit_json({"errors": [], "documents": dict(sorted(counts.items()))})
    else:
        listed = ", ".join(quantities.count(n, kind) for kind, n in sorted(counts.items()))
        printing.emit(f"valid: {listed or 'no documents'}")
