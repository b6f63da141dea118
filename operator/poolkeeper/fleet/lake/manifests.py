"""What is declared of clusters: one small object, put anew when anything of it changes."""

import io
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from poolkeeper.errors import Refused
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.storage import codecs, parquet, schemas
from poolkeeper.model.specs import Desired

_FOLDER = schemas.MANIFESTS.name


@dataclass(frozen=True, slots=True)
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
    """What is declared, by cluster; empty where nothing ever was."""
    names = [each.path for each in lake.objects.children(_FOLDER) if not each.is_folder]
    if not names:
        return {}
    body = lake.objects.read(names[-1])
    try:
        content = pq.read_table(io.BytesIO(body or b""))
        columns = [content.column(name).to_pylist() for name in ("cluster", "desired", "digest")]
    except (OSError, pa.ArrowException, KeyError) as wrong:
        raise Refused(f"{lake.root}/{names[-1]}: cannot be read: {wrong}") from wrong
    return {row[0]: Manifest(*row) for row in zip(*columns, strict=True)}


def write(lake: Lake, desired_states: Iterable[Desired]) -> None:
    """Add what is declared of these clusters, over what was."""
    before = read(lake)
    texts = {desired.cluster.name: codecs.to_text(desired) for desired in desired_states}
    declared = {name: Manifest(name, text, codecs.digest(text)) for name, text in texts.items()}
    after = {**before, **declared}
    if after == before:
        return
    old = lake.objects.children(_FOLDER)
    last = int(old[-1].name.partition(".")[0]) if old else 0
    published = max(lake.now_ms(), last + 1)
    rows = [
        {"cluster": m.cluster, "published": published, "desired": m.text, "digest": m.digest}
        for _, m in sorted(after.items())
    ]
    sink = io.BytesIO()
    content = pa.Table.from_pylist(rows, schema=parquet.stored(schemas.MANIFESTS))
    pq.write_table(content, sink, compression="zstd")
    lake.objects.put(f"{_FOLDER}/{published:015d}.parquet", sink.getvalue())
    for replaced in old[:-1]:  # who reads the last one may still be at it
        lake.objects.delete(replaced.path)
