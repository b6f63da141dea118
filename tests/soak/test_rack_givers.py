"""Racks that are mended, more of them: hardly more moves than the exact flow."""

import pytest

from unit.planning.layout.test_rack_givers import mended

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("part", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("joined", [0, 4])
def test_mended_racks_take_hardly_more_moves_than_the_exact_flow(joined: int, part: float) -> None:
    for seed in range(3, 20):
        mended(seed, joined, part)
