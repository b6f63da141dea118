"""The planner's laws on thousands of random clusters, other ones in every run."""

import pytest
from hypothesis import assume, given, settings

from poolkeeper.model.records import Records
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import check_plan
from poolkeeper.planning.making import make_plan
from unit.planning.instances import after, instances
from unit.planning.test_goals import check_bounds, check_bounds_of_topics, tiny, tiny_topics
from unit.planning.test_making_laws import WAITING, Instance

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@settings(max_examples=3000, derandomize=False)
@given(instances())
def test_plans_of_random_clusters_are_lawful_and_final(instance: Instance) -> None:
    desired, cluster, gone = instance
    plan = make_plan(desired, cluster, gone=gone)
    assert check_plan(plan, desired, cluster, Records(), gone) == ()
    assume(not any(problem.message.startswith(WAITING) for problem in plan.problems))
    assert make_plan(desired, after(plan, cluster), gone=gone).moves == ()


@settings(max_examples=3000, derandomize=False)
@given(tiny())
def test_no_layout_of_a_tiny_cluster_beats_the_bounds(seen: Cluster) -> None:
    check_bounds(seen)


@settings(max_examples=3000, derandomize=False)
@given(tiny_topics())
def test_no_layout_of_two_tiny_topics_beats_the_bounds(seen: Cluster) -> None:
    check_bounds_of_topics(seen)
