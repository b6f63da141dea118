"""Every odd value at every place of a resource; the unit suite tries some of them at each."""

import pytest

from poolkeeper.resources.parse import schemas
from unit.resources.test_odd_values import judged

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("kind", schemas.kinds())
def test_any_value_at_any_place_is_judged(kind: str) -> None:
    judged(kind, 1)
