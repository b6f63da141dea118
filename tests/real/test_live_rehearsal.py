"""A rehearsal of a live cluster copies it by reading: nothing in its ZooKeeper changes."""

import pytest
from kazoo.client import KazooClient

from real.bare import GROWING, Bare
from real.support import run


def tree(zookeeper: KazooClient, path: str = "/") -> dict[str, tuple[bytes, object]]:
    """Every node's data and stat: that tells any write, of ACLs and children as well."""
    data, stat = zookeeper.get(path)
    found = {path: (data, stat)}
    for name in zookeeper.get_children(path):
        found |= tree(zookeeper, f"{path.rstrip('/')}/{name}")
    return found


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rehearse", "3 moves"),
        ("rehearse --fail broker=3@50%,for=1m --fail poolkeeper@20%", "Fault poolkeeper@20%"),
        ("rehearse --storm 2", "3 moves"),
        ("rehearse --suggest", "maxMoves: "),
        ("plan --rehearse", "Worst single fault: "),
    ],
)
def test_nothing_is_written_to_the_cluster(bare: Bare, words: str, told: str) -> None:
    bare.declare(GROWING)
    before = tree(bare.zookeeper)
    bare.settle()
    ran = run(*words.split(), "-f", bare.folder)
    assert ran.code in (0, 2, 4), ran.err
    assert told in ran.out
    assert bare.written() == ()
    assert tree(bare.zookeeper) == before
