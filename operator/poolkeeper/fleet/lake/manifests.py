"""What is declared of clusters: one small object, put anew when anything of it changes."""

import io
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import PART, StoredObject
from poolkeeper.fleet.storage import codecs, parquet, schemas, table_schema
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired

_FOLDER = schemas.MANIFESTS.name


@frozen
class Manifest:
    """All specs of a cluster, as canonical JSON, and the digest of that."""

    cluster: str
    text: str
    digest: str

    @property
    def desired(self) -> Desired:
        """The specs."""
        return codecs.from_text(Desired, self.text)


def read(lake: Lake) -> dict[str, Manifest]:
    """What is declared, by cluster; empty where nothing ever was.

    Raises `DamagedFile` where that cannot be read.
    """
    versions = _versions(lake)
    return _read(lake, versions[-1].path) if versions else {}


def _versions(lake: Lake) -> list[StoredObject]:
    return [each for each in lake.objects.children(_FOLDER) if each.name.endswith(".parquet")]


def _read(lake: Lake, path: str) -> dict[str, Manifest]:
    body = lake.objects.read(path)
    try:
        content = pq.read_table(io.BytesIO(body or b""), page_checksum_verification=True)
        names = [column.name for column in schemas.MANIFESTS.columns]
        rows = parquet.completed(content, schemas.MANIFESTS, names, path).to_pylist()
        clusters = content.column(table_schema.CLUSTER.name).to_pylist()
    except (OSError, ValueError, KeyError, pa.ArrowException, Refused) as wrong:
        raise DamagedFile(path, str(wrong).partition("\n")[0]) from wrong
    return {
        name: Manifest(name, row["desired"], row["digest"])
        for name, row in zip(clusters, rows, strict=True)
    }


def _before(lake: Lake, versions: Sequence[StoredObject]) -> tuple[dict[str, Manifest], bool]:
    """The last version that can be read, and whether it is the last one."""
    for version in reversed(versions):
        with suppress(DamagedFile):
            return _read(lake, version.path), version is versions[-1]
    return {}, False


def write(lake: Lake, desired_states: Iterable[Desired]) -> None:
    """Add what is declared of these clusters, over what was.

    Where the last version is damaged, the one before it says what was.
    """
    old = _versions(lake)
    before, is_last = _before(lake, old)
    texts = {desired.cluster.name: codecs.to_text(desired) for desired in desired_states}
    declared = {name: Manifest(name, text, codecs.digest(text)) for name, text in texts.items()}
    after = {**before, **declared}
    if after != before or not is_last:
        _put(lake, after, old)


def remove(lake: Lake, names: Container[str]) -> None:
    """Remove what is declared of these clusters."""
    before = read(lake)
    after = {name: each for name, each in before.items() if name not in names}
    if after != before:
        _put(lake, after, _versions(lake))


def _put(lake: Lake, after: Mapping[str, Manifest], old: Sequence[StoredObject]) -> None:
    """Put a version after all others, and keep the one before it."""
    last = int(old[-1].name.partition(".")[0]) if old else 0
    published = max(lake.now_ms(), last + 1)
    rows = [
        {"cluster": m.cluster, "published": published, "desired": m.text, "digest": m.digest}
        for _, m in sorted(after.items())
    ]
    sink = io.BytesIO()
    content = pa.Table.from_pylist(rows, schema=parquet.stored(schemas.MANIFESTS))
    parquet.dump(content, sink)
    lake.objects.put(f"{_FOLDER}/{published:015d}.parquet", sink.getvalue())
    for replaced in old[:-1]:  # who reads the last one may still be at it
        lake.objects.delete(replaced.path)
    for each in lake.objects.children(_FOLDER):  # of processes that were killed
        if each.name.endswith(PART) and each.modified_ms < lake.now_ms() - lake.grace_s * 1000:
            lake.objects.delete(each.path)
