"""What the servers were found to take bounds a stage, for a while."""

from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS, FORGET_MS, ServerLimits


def test_what_servers_do_not_take_bounds_stages_until_it_is_forgotten() -> None:
    limits = ServerLimits(60_000, 50_000, learned_ms=1000)
    bounds = limits.bounds(1000 + FORGET_MS)
    assert (bounds.request_bytes, bounds.topic_node_bytes) == (50_000, 50_000)
    assert (bounds.transaction_bytes, bounds.record_bytes) == (60_000, 60_000)
    assert limits.bounds(1001 + FORGET_MS) == DEFAULT_BOUNDS


def test_servers_that_take_more_than_we_write_change_nothing() -> None:
    assert ServerLimits(10**9, 10**9, learned_ms=1000).bounds(1000) == DEFAULT_BOUNDS
