import pytest

from poolkeeper.errors import Refused
from poolkeeper.zk.client.operations import (
    Check,
    Create,
    Delete,
    SetData,
    require_bounds,
    size_bytes,
)


def test_the_size_counts_paths_bodies_and_an_overhead_each() -> None:
    operations = (Check("/a", 0), Create("/é", b"123"), SetData("/c", b"", 1), Delete("/d", 2))
    assert size_bytes(operations) == 4 * 64 + (2 + 3 + 2 + 2) + 3


def test_five_hundred_operations_are_the_most() -> None:
    require_bounds([Check("/a", 0)] * 500)
    with pytest.raises(Refused, match="a transaction of 501 operations is too long"):
        require_bounds([Check("/a", 0)] * 501)


def test_a_quarter_of_a_mebibyte_is_the_most_and_the_largest_node_is_named() -> None:
    fits = 256 * 1024 - 2 * 64 - 4
    require_bounds([Check("/a", 0), Create("/b", bytes(fits))])
    with pytest.raises(Refused, match=r"262145 bytes is too large .* most of it is /b"):
        require_bounds([Check("/a", 0), Create("/b", bytes(fits + 1))])
