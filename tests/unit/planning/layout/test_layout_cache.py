"""Layouts that are known: the same answers, and no pool laid out twice for the same question."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, desired, pool_spec, topic, topic_spec
from laws import examples
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.layout import layout_cache
from poolkeeper.planning.layout.layout_cache import LayoutCache
from poolkeeper.planning.planner import PlanOptions, make_plan
from unit.planning.instances import instances

POOLS = [pool_spec("p", 1, 2, 3), pool_spec("q", 4, 5, 6)]
SPECS = (topic_spec("t", "p"), topic_spec("u", "q"))


def seen(t: list[list[int]], u: list[list[int]]) -> Cluster:
    return cluster(range(1, 7), topic("t", *t), topic("u", *u))


@pytest.mark.slow
@examples(8)
@given(st.lists(instances(), min_size=1, max_size=3))
def test_plans_are_the_same_whatever_was_planned_before(found: list[tuple]) -> None:
    known = LayoutCache()
    for wanted, now, gone in (*found, *found):
        answer = make_plan(wanted, now, gone=gone, options=PlanOptions(lay_out=known))
        assert answer == make_plan(wanted, now, gone=gone)


def test_only_a_pool_in_which_something_changed_is_laid_out(monkeypatch) -> None:
    laid, lay_out = [], layout_cache.lay_out

    def counted(problem, *rest, **more):
        laid.append(problem.pool.name)
        return lay_out(problem, *rest, **more)

    monkeypatch.setattr(layout_cache, "lay_out", counted)
    known, wanted = LayoutCache(), desired(POOLS, *SPECS)
    first = seen([[1, 2]], [[4, 1]])
    make_plan(wanted, first, options=PlanOptions(lay_out=known))
    assert laid == ["p", "q"]
    throttled = replace(first.topics["t"], config={"leader.replication.throttled.replicas": "0:1"})
    edited = replace(first, topics={**first.topics, "t": throttled})
    make_plan(wanted, edited, options=PlanOptions(lay_out=known))
    assert laid == ["p", "q"]
    make_plan(wanted, seen([[1, 2]], [[4, 5]]), options=PlanOptions(lay_out=known))
    assert laid == ["p", "q", "q"]
