import re
from dataclasses import replace

import pytest

import builders
from builders import desired, pool_spec, topic_spec
from poolkeeper.cli.output.ink import Ink
from poolkeeper.cli.output.plans import plan_text
from poolkeeper.cli.output.plans.brokers_table import brokers_table
from poolkeeper.model import plans, topology
from poolkeeper.model.problems import Recorded

MIB = 2**20


def topic(name: str, *lists: tuple[int, ...], mib: int | None = 1) -> topology.Topic:
    size = None if mib is None else mib * MIB
    config = {"retention.ms": "1000", "flush.ms": "5"}
    return builders.topic(name, *lists, config=config, size_bytes=size)


CLUSTER = builders.cluster(
    (1, 2, 3, 4),
    topic("events", *((1, 2),) * 9, mib=2),
    topic("old", (1, 2), (2, 1)),
    topic("payments", (1, 2)),
)
DESIRED = desired(
    (
        pool_spec("fast", 1, 2, 3, drain=frozenset({1})),
        pool_spec("slow", 4, 5),
    ),
    *(
        topic_spec(name, pool)
        for name, pool in (("events", "fast"), ("orders", "fast"), ("payments", "slow"))
    ),
)
MOVES = tuple(
    plans.Move("events", None, n, ((1, 2), (3, 2)), 2 * MIB, "broker 1 is drained", 1)
    for n in range(9)
)
PLAN = plans.Plan(
    "main",
    "sha256:" + "5" * 64,
    "sha256:f",
    steps=(
        plans.CreateTopic(
            "orders",
            "fast",
            ((2, 3), (3, 2), (2, 3), (3, 2), (2, 3)),
            {"cleanup.policy": "compact"},
            "declared by shop/orders",
        ),
        plans.AddPartitions("payments", 1, ((4,), (4,)), "partitions 1 → 3"),
        plans.SetConfig(
            "payments", {"retention.ms": "500"}, ("flush.ms",), ("retention.ms keeps less",)
        ),
        plans.MoveLogDir("payments", 0, 1, "/d1", "/d2", MIB, "/d1 is drained"),
        plans.ElectLeaders((("events", 0), ("events", 1)), "broker 1 is demoted"),
        plans.DeleteTopic("old", "id", "its Topic is gone"),
    ),
    moves=(
        *MOVES,
        plans.Move("payments", None, 0, ((1, 2), (4, 2), (4, 5)), 2 * MIB, "moves to pool slow", 2),
    ),
    certificates=(
        plans.PoolCertificate("fast", 9, 9, 18 * MIB, 18 * MIB, 0.0, "broker 1 must lose 9"),
        plans.PoolCertificate("slow", 2, 1, 2 * MIB, MIB, 50.0, "a; b; c; d"),
    ),
    stages=(plans.PlannedStage(tuple((n, 1) for n in range(10)), 19 * MIB, 125.0),),
    makespan=plans.Makespan(125.0, 120.0, MIB),
    problems=(
        plans.PlanProblem("fast", "racks", Recorded("two replicas in one rack"), "events"),
        plans.PlanProblem("slow", "", Recorded("broker 5 is not live")),
    ),
)
TEXT = """\
Cluster main

Pool fast
  → topic events: 9 replicas of 9 partitions, 18 MiB  # broker 1 is drained
      0: [1,2] → [3,2]   -1 +3
      1: [1,2] → [3,2]   -1 +3
      2: [1,2] → [3,2]   -1 +3
      3: [1,2] → [3,2]   -1 +3
      4: [1,2] → [3,2]   -1 +3
      … and 4 more; --output json shows all
  + topic orders: 5 partitions × 2 replicas  # declared by shop/orders
      replicas 0: [2,3] · 1: [3,2] · 2: [2,3] · 3: [3,2] · … 1 more
      cleanup.policy = compact

Pool slow
  + topic payments: 2 partitions more, 3 in all  # partitions 1 → 3
      replicas 1: [4] · 2: [4]
  ! topic payments: 2 configs
      flush.ms: 5 → (default)
      retention.ms: 1000 → 500
    ! retention.ms keeps less
  → topic payments: 2 replicas of 1 partition, 2 MiB  # moves to pool slow
      0: [1,2] → [4,2] → [4,5]   -1 -2 +4 +5
  → topic payments: 1 replica between log directories, 1 MiB  # /d1 is drained
      0 on broker 1: /d1 → /d2

Topics that no pool owns
  - topic old and all of its data, 2 partitions, 4 MiB  # its Topic is gone
    ! this cannot be undone

Leaders
  ~ preferred replicas lead 2 partitions (broker 1 is demoted): events-0, events-1

Not done, and why
  • topic events, pool fast: two replicas in one rack [racks]
  • pool slow: broker 5 is not live

Brokers
  POOL  BROKER        REPLICAS  then  LEADERS  then   BYTES    then
  fast  1 (drained)         12     0       11     0  21 MiB     0 B
  fast  2                   12    14        1     3  21 MiB  18 MiB
  fast  3                    0    14        0    11     0 B  18 MiB
  fast  all                 24    28       12    14  42 MiB  36 MiB

  slow  4                    0     3        0     3     0 B   1 MiB
  slow  5 (not live)         0     1        0     0     0 B   1 MiB
  slow  all                  0     4        0     3     0 B   2 MiB

Proof
  pool fast: 9 replicas to move, as few as possible; 18 MiB, as little as possible (broker 1
    must lose 9)
  pool slow: 2 replicas to move, at least 1 must; 2 MiB, at least 1 MiB must; gap 50 % (a;
    b; c; …)

Stages  1 stage, 19 MiB, about 2 min 5 s at 1 MiB/s per broker (at least 2 min at that rate)
Hash    sha256:5555555555555555555555555555555555555555555555555555555555555555

Plan: 1 topic to create, 2 partitions to add, 2 configs to change, 1 replica to move between
log directories (1 MiB), 2 leaders to elect, 11 replicas of 10 partitions to move (20 MiB),
1 topic to DELETE."""


def rendered(plan: plans.Plan = PLAN, width: int = 92, colour: bool = False) -> str:
    return plan_text.render(plan, DESIRED, CLUSTER, ink=Ink(width, colour, terminal=colour))


def test_a_plan_reads_like_this() -> None:
    assert rendered() == TEXT


def test_what_is_to_be_known_first_comes_first() -> None:
    note = "a run that is gone left throttles on broker 1"
    text = plan_text.render(PLAN, DESIRED, CLUSTER, ink=Ink(92), notes=[note])
    assert text.splitlines()[2] == f"! {note}"
    assert text.replace(f"! {note}\n\n", "") == TEXT
    nothing = plans.Plan("main", "sha256:0", "sha256:0")
    assert plan_text.summary(nothing) == "No changes. The cluster is as declared."
    assert "as declared; see the notes above" in plan_text.summary(nothing, noted=True)


@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_keep_to_the_width_and_say_the_same(width) -> None:
    text = rendered(width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text.split() == TEXT.split()


def test_colours_only_colour() -> None:
    text = rendered(colour=True)
    assert text != TEXT
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == TEXT


def test_no_changes_and_nothing_left_undone() -> None:
    empty = plans.Plan("main", "sha256:0", "sha256:f")
    assert rendered(empty) == "Cluster main\n\nNo changes. The cluster is as declared."


def test_no_changes_but_something_left_undone() -> None:
    stuck = plans.Plan("main", "sha256:0", "sha256:f", problems=PLAN.problems[1:])
    assert rendered(stuck) == (
        "Cluster main\n\nNot done, and why\n  • pool slow: broker 5 is not live\n\n"
        "No changes. 1 thing left undone, see above."
    )


@pytest.mark.parametrize(
    ("path", "head", "closing"),
    [
        pytest.param(
            ((1, 2), (2, 1)),
            "  → topic events: another order of replicas in 1 partition",
            "1 partition to reorder, nothing to delete.",
            id="reordered",
        ),
        pytest.param(
            ((1, 2), (1,)),
            "  ! topic events: 1 replica fewer of 1 partition",
            "1 partition to lose replicas, nothing to delete.",
            id="shrunk",
        ),
        pytest.param(
            ((1, 2), (1, 2, 3)),
            "  → topic events: 1 new replica of 1 partition, 2 MiB",
            "1 replica of 1 partition to move (2 MiB), nothing to delete.",
            id="grown",
        ),
    ],
)
def test_what_kind_of_move_it_is(path, head, closing) -> None:
    size = 2 * MIB if len(path[1]) > 2 else 0
    one = plans.Plan("main", "", "", moves=(plans.Move("events", None, 0, path, size, "why"),))
    lines = rendered(one).splitlines()
    assert f"{head}  # why" in lines
    assert lines[-1] == f"Plan: {closing}"


@pytest.mark.parametrize(
    ("paths", "told", "closing"),
    [
        pytest.param(
            [((1, 2), (3, 2)), ((1, 2), (2, 1)), ((1, 2), (2, 1))],
            "1 replica of 1 partition, 2 MiB, and another order of replicas in 2 partitions",
            "1 replica of 1 partition to move (2 MiB), 2 partitions to reorder",
            id="moved-and-reordered",
        ),
        pytest.param(
            [((1, 2), (1, 2, 3)), ((1, 2, 3), (1,))],
            "1 new replica of 1 partition, 2 MiB, and 2 replicas fewer of 1 partition",
            "1 replica of 1 partition to move (2 MiB), 1 partition to lose replicas",
            id="grown-and-shrunk",
        ),
    ],
)
def test_moves_of_several_kinds_are_counted_by_kind(paths, told, closing) -> None:
    sizes = [2 * MIB * bool(set(path[1]) - set(path[0])) for path in paths]
    moves = tuple(
        plans.Move("events", None, n, path, size, "why")
        for n, (path, size) in enumerate(zip(paths, sizes, strict=True))
    )
    text = " ".join(rendered(plans.Plan("main", "", "", moves=moves)).split())
    assert f"topic events: {told} # why" in text
    assert text.endswith(f"Plan: {closing}, nothing to delete.")


def test_many_topics_and_problems_are_cut_and_counted() -> None:
    steps = tuple(plans.SetConfig(f"t{n:03}", {"a": "b"}) for n in range(60))
    problems = tuple(plans.PlanProblem("fast", "pool", Recorded(f"no {n}")) for n in range(25))
    text = rendered(plans.Plan("main", "", "", steps=steps, problems=problems))
    assert "  … and 20 more topics; --output json shows all" in text.splitlines()
    assert "  … and 5 more problems; --output json shows all" in text.splitlines()
    assert text.splitlines()[-1] == "Plan: 60 configs to change, nothing to delete."


def test_a_plan_that_halts_says_how_much_waits() -> None:
    halted = replace(PLAN, makespan=None)
    assert "Stages  1 stage, 19 MiB; 1 of 11 steps cannot go yet" in rendered(halted).splitlines()


def test_values_that_a_terminal_would_obey_are_quoted() -> None:
    step = plans.SetConfig("payments", {"retention.ms": "\x1b[2J", "a": "", "b": " x"})
    text = rendered(plans.Plan("main", "", "", steps=(step,)))
    assert "\x1b" not in text
    assert '      retention.ms: 1000 → "\\u001b[2J"' in text.splitlines()
    assert '      a: (default) → ""' in text.splitlines()


def test_the_table_of_brokers_alone() -> None:
    cluster = replace(CLUSTER, topics={"payments": topic("payments", (1, 2), (9, 4), mib=None)})
    assert "\n".join(brokers_table(cluster, DESIRED)) == (
        "  POOL  BROKER        REPLICAS  LEADERS  BYTES\n"
        "  fast  1 (drained)          1        1  ≥ 0 B\n"
        "  fast  2                    1        0  ≥ 0 B\n"
        "  fast  3                    0        0    0 B\n"
        "  fast  all                  2        1  ≥ 0 B\n"
        "\n"
        "  slow  4                    1        0  ≥ 0 B\n"
        "\n"
        "  -     9 (not live)         1        1  ≥ 0 B"
    )


def many_moves(topics: int, reasons: int) -> plans.Plan:
    """A plan of ten moves a topic, for so many reasons."""
    moves = tuple(
        plans.Move(f"t{n // 10:05}", None, n % 10, ((1, 2), (3, 2)), MIB, f"reason {n % reasons}")
        for n in range(topics * 10)
    )
    return replace(PLAN, steps=(), moves=moves, problems=())


@pytest.mark.parametrize(
    ("topics", "reasons", "lines_max"),
    [
        pytest.param(1, 1, 40, id="10-moves"),
        pytest.param(100, 30, 90, id="1000-moves"),
        pytest.param(2_000, 300, 90, id="20000-moves"),
    ],
)
def test_a_plan_of_any_size_can_be_read(topics, reasons, lines_max) -> None:
    shown = rendered(many_moves(topics, reasons)).splitlines()
    assert len(shown) <= lines_max
    assert max(map(len, shown)) <= 92


def test_many_moves_are_grouped_by_their_main_reason() -> None:
    shown = rendered(many_moves(20, 40))
    assert "  → 5 replicas of 5 partitions, 5 MiB, in 5 topics  # reason 0\n" in shown
    assert "      t00000-0: [1,2] → [3,2]   -1 +3\n" in shown
    assert "  … and 140 replicas of 140 partitions, 140 MiB, for 28 more reasons\n" in shown


def test_topics_that_suffer_alike_stand_together() -> None:
    told = tuple(
        plans.PlanProblem("fast", "racks", Recorded("too few racks"), f"t{n}") for n in range(6)
    )
    shown = rendered(replace(PLAN, problems=told))
    assert "  • 6 topics (t0, t1, t2, t3, …), pool fast: too few racks [racks]\n" in shown
