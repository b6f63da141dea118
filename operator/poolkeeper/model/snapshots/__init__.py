"""A cluster as a file: `snapshot.json`, to plan, rehearse and study without the cluster.

In comes a Cluster, out goes its document, and the other way round.

Read `snapshot_json` (the format, written and read) and `snapshot_fields` (its keys, as types).
"""

from poolkeeper.model.snapshots.snapshot_json import (
    decode,
    from_json,
    read,
    require_kind,
    to_json,
    write,
)

__all__ = ["decode", "from_json", "read", "require_kind", "to_json", "write"]
