"""Plans and forecasts of many odd clusters; the unit suite has few and small ones."""

import pytest

from unit.planning.test_odd_clusters import check

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("first", range(1000, 1400, 50))
def test_odd_clusters_have_lawful_plans_and_stages(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed, 400, brokers=(3, 6, 10, 20, 60, 200))
