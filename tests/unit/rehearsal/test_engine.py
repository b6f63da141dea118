"""What a rehearsal does to the process that it runs in."""

import gc

import pytest

from poolkeeper.rehearsal import engine


@pytest.mark.slow
def test_the_collector_is_as_it_was_after_the_last_of_several_rehearsals() -> None:
    before = gc.get_threshold()
    seldom = engine._SeldomCollecting()
    with seldom:
        rare = gc.get_threshold()
        with seldom:
            assert gc.get_threshold() == rare
        assert gc.get_threshold() == rare
    assert rare[0] == engine.YOUNG_OBJECTS
    assert gc.get_threshold() == before
