"""Where a command may write what it was asked for: over nothing that it reads.

A file that is written replaces the one that was there. So an output that is one of the inputs would
cost the input; and one that lies where manifests are looked for would be read as a manifest the
next time, and refused.
"""

import os
from pathlib import Path

from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.errors import Refused
from poolkeeper.resources.parse import files


def refuse_inputs(out: Path | None, address: ClusterSelection, *read: Path | None) -> None:
    """Raise Refused if `out` is one of the files that are read, or would be a manifest."""
    if out is None:
        return
    real = os.path.realpath(out)
    for path in (*read, address.client_config):
        if path is not None and os.path.realpath(path) == real:
            raise Refused(f"--out {out}: this file is read (expected another one)")
    if files.is_among(out, address.folders):
        raise Refused(f"--out {out}: -f reads this as a manifest (expected another place)")
