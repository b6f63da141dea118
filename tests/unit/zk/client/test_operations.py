import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.zk.client.operations import (
    BATCH_BYTES,
    BATCH_OPERATIONS,
    Check,
    Create,
    Delete,
    SetData,
    batches,
    request_bytes_bound,
    require_bounds,
)


def test_the_size_counts_paths_bodies_and_an_overhead_each() -> None:
    operations = (Check("/a", 0), Create("/é", b"123"), SetData("/c", b"", 1), Delete("/d", 2))
    assert request_bytes_bound(operations) == 4 * 64 + (2 + 3 + 2 + 2) + 3


def test_five_hundred_operations_are_the_most() -> None:
    require_bounds([Check("/a", 0)] * 500)
    with pytest.raises(Refused, match="a transaction of 501 operations is too long"):
        require_bounds([Check("/a", 0)] * 501)


def test_a_quarter_of_a_mebibyte_is_the_most_and_the_largest_node_is_named() -> None:
    fits = 256 * 1024 - 2 * 64 - 4
    require_bounds([Check("/a", 0), Create("/b", bytes(fits))])
    with pytest.raises(Refused, match=r"262145 bytes is too large .* most of it is /b"):
        require_bounds([Check("/a", 0), Create("/b", bytes(fits + 1))])


@given(st.lists(st.integers(0, 2 * BATCH_BYTES), max_size=30), st.integers(0, 500))
def test_batches_hold_all_in_order_and_are_bounded(sizes: list[int], small: int) -> None:
    wanted = [Create(f"/{n}", bytes(size)) for n, size in enumerate([*sizes, *[0] * small])]
    found = list(batches(wanted))
    assert [operation for batch in found for operation in batch] == wanted
    for batch in found:
        assert 1 <= len(batch) <= BATCH_OPERATIONS
        assert request_bytes_bound(batch) <= BATCH_BYTES or len(batch) == 1
