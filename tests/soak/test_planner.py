"""Bounds of plans on thousands of tiny clusters, other ones in every run."""

import pytest
from hypothesis import given, settings

from poolkeeper.model.topology import Cluster
from unit.planning.test_goals import check_bounds, check_bounds_of_topics, tiny, tiny_topics

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@settings(max_examples=3000, derandomize=False)
@given(tiny())
def test_no_layout_of_a_tiny_cluster_beats_the_bounds(seen: Cluster) -> None:
    check_bounds(seen)


@settings(max_examples=3000, derandomize=False)
@given(tiny_topics())
def test_no_layout_of_two_tiny_topics_beats_the_bounds(seen: Cluster) -> None:
    check_bounds_of_topics(seen)
