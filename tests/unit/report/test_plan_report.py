from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import builders
from builders import pool_spec
from laws import examples
from poolkeeper.model import plans, specs, topology
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns
from poolkeeper.model.problems import ProblemReason, Recorded
from poolkeeper.report import changes, holdings, plan_report
from poolkeeper.report.html import page
from poolkeeper.report.html.markup import clean
from poolkeeper.report.markdown import COMMENT_MAX
from poolkeeper.report.plan_report import plan_markdown, plan_page

MIB = 2**20
HOSTILE = st.one_of(
    st.sampled_from(
        [
            "</title><script>alert(1)</script>",
            "</style><img src=x onerror=y>",
            "'\"><svg onload=x>",
            "a|b|`c`",
            "![x](http://e.x/y)",
            "[x](javascript:y)",
            "@team",
            "\n\n# heading\n\n- item",
            "|---|---|",
            "1. x",
            "~~x~~ *y* __z__ \\",
            "<!-- ",
            "]]>",
            "&lt;&#60;",
            "<details>",
            "\u202eabc\u2066",
            "\x00\x1b[31m",
            "\ud800",
            "```",
            "    code",
            "x" * 5000,
            "",
            " ",
        ]
    ),
    st.text(st.characters(), max_size=30),
)


def partition(number: int, *replicas: int, mib: int | None = 1) -> topology.Partition:
    size = None if mib is None else mib * MIB
    return builders.partition(number, *replicas, size_bytes=size)


def small(topic: str = "events", pool: str = "fast", rack: str = "a", said: str = "x"):
    """A cluster with one of everything that a plan can hold."""
    cluster = topology.Cluster(
        "main",
        {n: topology.Broker(n, rack if n % 2 else "b") for n in (1, 2, 3, 4)},
        {
            topic: topology.Topic(
                topic, tuple(partition(n, 1, 2, mib=200) for n in range(3)), config={"k": said}
            ),
            "old": topology.Topic("old", (partition(0, 1, 2), partition(1, 2, 1, mib=None))),
        },
    )
    desired = builders.desired(
        (
            pool_spec(pool, 1, 2, 3, drain=frozenset({1})),
            pool_spec(f"{pool}2", 4, 5),
        ),
        specs.TopicSpec("t", "shop", topic, pool),
        specs.TopicSpec("n", "shop", "new", pool),
    )
    plan = plans.Plan(
        "main",
        "sha256:" + "5" * 64,
        "sha256:f",
        steps=(
            plans.CreateTopic("new", pool, ((2, 3), (3, 2)), {"k": "v"}, "declared by shop/n"),
            plans.AddPartitions(topic, 3, ((2, 3),), "partitions 3 → 4"),
            plans.SetConfig(topic, {"k": said}, ("gone",), ("less is kept",), "declared"),
            plans.MoveLogDir(topic, 0, 2, "/d1", "/d2", 7 * MIB, "/d1 is drained"),
            plans.ElectLeaders((("old", 1),), "preferred"),
            plans.DeleteTopic("old", None, "declared no more"),
        ),
        moves=(
            plans.Move(topic, None, 0, ((1, 2), (3, 2)), 200 * MIB, "broker 1 is drained", 1),
            plans.Move(topic, None, 1, ((1, 2), (3, 2)), 200 * MIB, "broker 1 is drained", 1),
            plans.Move(topic, None, 2, ((1, 2), (2,)), 0, said, 3),
        ),
        certificates=(plans.PoolCertificate(pool, 2, 2, 400 * MIB, 300 * MIB, 0.0, said),),
        stages=(
            plans.PlannedStage(((0, 1), (1, 1)), 400 * MIB, 120.0),
            plans.PlannedStage(((2, 1),), 0, 0.0),
        ),
        makespan=plans.Makespan(120.0, 60.0, 100 * MIB),
        problems=(
            plans.PlanProblem(pool, "rack", Recorded(said), topic),
            plans.PlanProblem("", "", Recorded(said)),
        ),
    )
    return plan, desired, cluster


def test_the_page_of_a_small_plan(golden, read_page):
    written = plan_page(*small())
    read_page(written)
    golden("plan.html", written)


def test_the_markdown_of_a_small_plan(golden, read_markdown):
    written = plan_markdown(*small())
    read_markdown(written)
    golden("plan.md", written)


def test_a_plan_without_changes_is_told_as_such(read_page, read_markdown):
    _, desired, cluster = small()
    nothing = plans.Plan("main", "sha256:0", "sha256:f")
    said = "No changes. The cluster is as declared."
    assert plan_markdown(nothing, desired, cluster) == f"# Plan for cluster main\n\n{said}\n"
    assert said in read_page(plan_page(nothing, desired, cluster)).text


def test_what_is_held_before_and_after():
    found = {each.broker: each for each in holdings.holdings(*small())}
    of_one = found[1]
    assert of_one == holdings.Holding("fast", 1, "a", True, 0.0, 5, 0, 4, 0, 601 * MIB, 0)
    assert found[5].live is False
    assert [found[n].replicas_after for n in (1, 2, 3, 4, 5)] == [0, 6, 5, 0, 0]
    assert sum(each.leaders_after for each in found.values()) == 6


def test_the_sentence_names_everything():
    assert changes.summary(small()[0]) == (
        "1 topic to create, 1 partition to add, 2 configs to change, 1 replica to move between"
        " log directories, 1 leader to elect, 2 replicas of 2 partitions to move (400 MiB),"
        " 1 partition to lose replicas, 1 topic to delete."
    )


@examples(18, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
def test_hostile_names_stay_text(read_page, read_markdown, topic, pool, rack, said):
    made = small(topic, pool, rack, said)
    page = read_page(plan_page(*made))
    assert clean(topic) in page.text
    markdown = read_markdown(plan_markdown(*made))
    assert " ".join(clean(topic).split()) in " ".join(markdown.text.split())


@pytest.mark.slow
@pytest.mark.parametrize(("topics", "page_max"), [(3, 120_000), (1_500, 1_200_000)])
def test_size_is_bounded(topics, page_max):
    """Names as long as they come, in a cluster of 300 brokers."""
    plan, desired, cluster = small()
    names = [f"{n:05d}" + "<" * 244 for n in range(topics)]
    live = {n: topology.Broker(n, f"rack-{n % 7}") for n in range(1, 301)}
    pool = pool_spec("fast", *live)
    moves = [plans.Move(name, None, 0, ((1, 2), (3, 2)), MIB, "&" * 2000, 4) for name in names]
    many = replace(
        plan,
        moves=tuple(moves),
        steps=(),
        stages=tuple(plans.PlannedStage(((n, 1),), MIB, 1.0) for n in range(topics)),
        problems=tuple(
            plans.PlanProblem("fast", "rack", Recorded("<" * 900), name) for name in names
        ),
    )
    desired = replace(desired, pools=(pool,))
    cluster = replace(cluster, brokers=live)
    page = plan_page(many, desired, cluster)
    assert len(page) <= page_max
    markdown = plan_markdown(many, desired, cluster)
    assert len(markdown) <= COMMENT_MAX
    if topics > 1000:
        assert "and 1,440 more topics" in page


def test_moves_in_columns_give_the_same_page():
    plan, desired, cluster = small()
    in_columns = replace(plan, moves=ColumnMoves(MoveColumns.of(plan.moves)))
    assert plan_page(in_columns, desired, cluster) == plan_page(plan, desired, cluster)
    assert plan_markdown(in_columns, desired, cluster) == plan_markdown(plan, desired, cluster)


@given(st.lists(st.lists(st.integers(1, 5), max_size=4).map(tuple), min_size=2, max_size=12))
def test_what_moves_add_and_remove_is_counted_by_column(lists):
    moves = [
        plans.Move(f"t{at % 2}", None, at, (source, target), 7, "why")
        for at, (source, target) in enumerate(pairwise(lists))
    ]
    found = changes.PlannedMoves.of(plans.Plan("c", "", "", moves=tuple(moves)))
    assert found.added.tolist() == [len({*m.target} - {*m.source}) for m in moves]
    assert found.removed.tolist() == [len({*m.source} - {*m.target}) for m in moves]
    shorter = [m.topic for m in moves if len(m.target) < len(m.source)]
    assert found.shrunk() == Counter(shorter)
    assert found.bytes == 7 * len(moves)


REMARK = Recorded("1 partition is under-replicated", ProblemReason.UNDER_REPLICATED)
OFFLINE = Recorded("1 partition is offline", ProblemReason.PARTITIONS_OFFLINE)


@pytest.mark.parametrize(
    ("told", "undone"),
    [
        pytest.param((REMARK,), None, id="a remark"),
        pytest.param((REMARK, OFFLINE), "**1** left undone", id="a remark beside what is wrong"),
    ],
)
def test_remarks_are_not_counted_as_left_undone(told, undone) -> None:
    plan, desired, cluster = small()
    problems = tuple(plans.PlanProblem("", "", each) for each in told)
    page = plan_markdown(replace(plan, problems=problems), desired, cluster)
    assert ("left undone" in page) == (undone is not None)
    assert undone is None or undone in page
    assert all(each.message in page for each in told)


def test_what_changes_of_a_topic_is_counted_by_kind():
    paths = (((1, 2), (3, 2)), ((1, 2), (2, 1)), ((1, 2), (2, 1)), ((1, 2), (1,)))
    moves = tuple(plans.Move("t", None, n, path, 0, "") for n, path in enumerate(paths))
    plan = plans.Plan("c", "", "", moves=moves)
    moved = changes.PlannedMoves.of(plan)
    what, *_ = changes.TopicChanges(plan, topology.Cluster("c", {}, {}), moved).row("t")
    assert what.text == (
        "1 replica of 1 partition move; 1 replica fewer of 1 partition;"
        " another order of replicas in 2 partitions"
    )
    assert "2 partitions to reorder" in changes.summary(plan, moved)


def moved_once(*sizes: int | None) -> tuple[plans.Plan, topology.Cluster]:
    """A plan that moves each partition of these sizes, and reorders one more."""
    held = [partition(n, 1, 2, mib=size) for n, size in enumerate((*sizes, None))]
    cluster = topology.Cluster("c", {}, {"t": topology.Topic("t", tuple(held))})
    paths = [((1, 2), (3, 2))] * len(sizes) + [((1, 2), (2, 1))]
    moves = (plans.Move("t", None, n, path, MIB, "") for n, path in enumerate(paths))
    return plans.Plan("c", "sha256:1", "sha256:2", moves=tuple(moves)), cluster


@pytest.mark.parametrize(
    ("sizes", "unknown", "copied"),
    [((1, None, None), 2, 3), ((None,), 1, 1), ((1, 1), 0, 2)],
)
def test_sizes_that_are_guessed_are_told(sizes, unknown, copied):
    plan, cluster = moved_once(*sizes)
    found = changes.UnknownSizes.of(plan, cluster)
    assert found == changes.UnknownSizes(unknown, copied)
    tile = f"<b>{unknown}</b><span>partition{'s' * (unknown != 1)} to copy of unknown size</span>"
    shown = plan_report.page_document(plan, builders.desired(()), cluster)
    assert (tile in page.render(shown)) is bool(unknown)
    stored = plan_report.page_document(plan, builders.desired(()), cluster, stored=True)
    assert "of unknown size" not in page.render(stored)


def test_a_cluster_of_known_sizes_is_not_looked_through():
    _, cluster = moved_once()
    known = replace(cluster, topics={"t": topology.Topic("t", (partition(0, 1, 2),))})
    move = plans.Move("t", None, 0, ((1, 2), (3, 2)), MIB, "")
    plan = plans.Plan("c", "", "", moves=(move,))
    assert changes.UnknownSizes.of(plan, known) == changes.UnknownSizes(0, 0)
