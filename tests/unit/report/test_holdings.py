"""What brokers hold, counted by columns, is what looking at every partition counts."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import pool_spec, topic
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.plans import DeleteTopic, Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.run_state.progress.after_plan import after_plan
from poolkeeper.report import pools_report
from poolkeeper.report.holdings import holdings
from poolkeeper.report.html.page import content
from poolkeeper.report.plan_report import plan_page
from unit.planning.instances import instances

Counts = dict[int, tuple[int, int, int]]


def counted(placed: Iterable[tuple[tuple[int, ...], int | None]]) -> Counts:
    replicas: Counter[int] = Counter()
    leaders: Counter[int] = Counter()
    held: Counter[int] = Counter()
    for brokers, size in placed:
        replicas.update(brokers)
        leaders.update(brokers[:1])
        for broker in brokers:
            held[broker] += size or 0
    return {broker: (replicas[broker], leaders[broker], held[broker]) for broker in replicas}


def now(cluster: Cluster) -> Counts:
    partitions = (p for topic in cluster.topics.values() for p in topic.partitions)
    return counted((p.replicas, p.size_bytes) for p in partitions)


def after(plan: Plan, cluster: Cluster) -> Counts:
    return counted(placed for _, partitions in after_plan(plan, cluster) for placed in partitions)


@given(instances(), st.data())
def test_by_columns_as_by_partitions(instance, data: st.DataObject) -> None:
    desired, cluster, gone = instance
    plan = make_plan(desired, cluster, Records(), gone)
    doomed = data.draw(st.sets(st.sampled_from(sorted(cluster.topics))))
    moves = tuple(move for move in plan.moves if move.topic not in doomed)
    plan = Plan(
        plan.cluster, "", "", (*plan.steps, *(DeleteTopic(name, 1) for name in doomed)), moves
    )
    before, later = now(cluster), after(plan, cluster)
    found = holdings(plan, desired, cluster)
    assert {each.broker for each in found} >= before.keys() | later.keys()
    nothing = (0, 0, 0)
    for each in found:
        assert (each.replicas_before, each.leaders_before, each.bytes_before) == before.get(
            each.broker, nothing
        )
        assert (each.replicas_after, each.leaders_after, each.bytes_after) == later.get(
            each.broker, nothing
        )


def test_bytes_are_unknown_where_no_size_is_known() -> None:
    """Zero bytes would read as empty brokers."""
    wanted, nothing = builders.desired(pool_spec("p", 1, 2)), builders.plan()
    unsized = builders.cluster((1, 2), topic("t", (1, 2), size_bytes=None))
    assert not any(each.sized for each in holdings(nothing, wanted, unsized))
    shown = content(pools_report.document(nothing, wanted, unsized))
    assert "Bytes are unknown." in shown
    assert "0 B" not in shown
    assert shown.count(">unknown<") == 2 + 2 * 2
    sized = builders.cluster((1, 2), topic("t", (1, 2)))
    assert ">unknown<" not in content(pools_report.document(nothing, wanted, sized))


def test_brokers_that_are_gone_have_the_rack_that_was_recorded() -> None:
    wanted = builders.desired(pool_spec("p", 1, 2, 3, racks={3: "c"}))
    seen = builders.cluster({1: "a"}, topic("t", (1, 2, 3, 4)))
    records = Records(brokers={n: BrokerRecord(rack=f"was-{n}") for n in (1, 2, 3)})
    found = holdings(builders.plan(), wanted, seen, records)
    assert [each.rack for each in found] == ["a", "was-2", "c", None]
    assert "was-2" in content(pools_report.document(builders.plan(), wanted, seen, records))
    moved = builders.plan(builders.move("t", 0, (1, 2), (1, 3)))
    assert "was-2" in plan_page(moved, wanted, seen, records=records)
