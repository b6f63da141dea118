"""What is told of keys whose topic gets more partitions."""

import pytest

from poolkeeper.cli.output.ink import Ink
from poolkeeper.cli.output.studies import keys_text
from poolkeeper.studies.key_growth import PartitionGrowth, count_keys


@pytest.mark.parametrize(
    ("keys", "stale"),
    [
        pytest.param([b"a", b"b", b"c"], "3 keys", id="all-move"),
        pytest.param([b"e"], "each such key", id="none-of-the-file-moves"),
        pytest.param(None, "each such key", id="no-file"),
    ],
)
def test_a_compacted_topic_keeps_old_values(keys: list[bytes] | None, stale: str) -> None:
    counts = None if keys is None else count_keys([keys], 4, 6)
    growth = PartitionGrowth("t", 4, 6, compacted=True)
    told = " ".join(" ".join(keys_text.lines(growth, counts, "keys.txt", Ink(width=80))).split())
    assert f"The topic is compacted: the last value of {stale} stays in its old partition" in told
