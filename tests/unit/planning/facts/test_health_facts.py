"""The troubles of a live cluster, as people read them."""

import pytest

from poolkeeper.planning.facts.health import MinIsrUnreachable


@pytest.mark.parametrize(
    ("factor", "said"), [(1, "1 replica is fewer than"), (2, "2 replicas are fewer than")]
)
def test_a_factor_below_what_producers_need_is_counted_in_good_english(
    factor: int, said: str
) -> None:
    assert str(MinIsrUnreachable(factor, 3)).startswith(said)
