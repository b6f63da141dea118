"""What is declared of clusters: one small object, put anew when anything of it changes."""

import io
from collections.abc import Callable, Container, Iterable, Mapping

import pyarrow as pa

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import PART
from poolkeeper.fleet.lake.versions import RowVersions, list_versions
from poolkeeper.fleet.storage import codecs, parquet, schemas, table_schema
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.text import first_line

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
    return _versions(lake).current()


def write(lake: Lake, desired_states: Iterable[Desired]) -> None:
    """Add what is declared of these clusters, over what was.

    Where the last version is damaged, the one before it says what was.
    """
    texts = {desired.cluster.name: codecs.to_text(desired) for desired in desired_states}
    declared = {name: Manifest(name, text, codecs.digest(text)) for name, text in texts.items()}
    _change(lake, lambda before: {**before, **declared})


def remove(lake: Lake, names: Container[str]) -> None:
    """Remove what is declared of these clusters."""
    if any(name in names for name in read(lake)):
        _change(lake, lambda old: {name: each for name, each in old.items() if name not in names})


def _versions(lake: Lake) -> RowVersions[Manifest]:
    return RowVersions(lake.objects, _FOLDER, _from_bytes, _to_bytes, lake.now_ms)


def _change(lake: Lake, changed: Callable[[Mapping[str, Manifest]], dict[str, Manifest]]) -> None:
    """Publish a change, and keep the version before it."""
    before = list_versions(lake.objects, _FOLDER)
    _versions(lake).change(changed)
    after = list_versions(lake.objects, _FOLDER)
    if after == before:
        return
    for replaced in after[:-2]:  # who reads the last one may still be at it
        lake.objects.delete(replaced.path)
    for each in lake.objects.children(_FOLDER):  # of processes that were killed
        if each.name.endswith(PART) and each.modified_ms < lake.now_ms() - lake.grace_s * 1000:
            lake.objects.delete(each.path)


def _from_bytes(body: bytes, path: str) -> dict[str, Manifest]:
    try:
        content = parquet.parse(body)
        names = [column.name for column in schemas.MANIFESTS.columns]
        rows = parquet.complete_columns(content, schemas.MANIFESTS, names, path).to_pylist()
        clusters = content.column(table_schema.CLUSTER.name).to_pylist()
    except (OSError, ValueError, KeyError, pa.ArrowException, Refused) as wrong:
        raise DamagedFile(path, first_line(wrong)) from wrong
    found = {
        name: Manifest(name, row["desired"], row["digest"])
        for name, row in zip(clusters, rows, strict=True)
    }
    if len(found) != len(rows):
        raise DamagedFile(path, "a cluster is declared twice")
    for each in found.values():
        if codecs.digest(each.text) != each.digest:
            raise DamagedFile(path, f"what is declared of {each.cluster} has another digest")
    return found


def _to_bytes(declared: Mapping[str, Manifest], published: int) -> bytes:
    rows = [
        {"cluster": m.cluster, "published": published, "desired": m.text, "digest": m.digest}
        for _, m in sorted(declared.items())
    ]
    sink = io.BytesIO()
    content = pa.Table.from_pylist(rows, schema=parquet.stored_schema(schemas.MANIFESTS))
    parquet.dump(content, sink)
    return sink.getvalue()
