"""What people ask for every day copies no more than an exact solver finds necessary."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

import builders
from builders import MIB, pool_spec, topic_spec
from matrices import soak
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import Capacity, Goal, GoalKind
from poolkeeper.model.topology import Broker, Cluster, Partition, Topic
from poolkeeper.planning import planner
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.proposals.lower_bounds import certificate
from unit.planning.exact_layouts import REPLICA_MIB, copied, least_copied

COUNTS = (Goal(GoalKind.REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))
TOPICS = (COUNTS[0], Goal(GoalKind.TOPIC_REPLICAS, count=1), COUNTS[1])
SIZES = (*COUNTS, Goal(GoalKind.BYTES, percent=10.0))
SIZES_FIRST = (Goal(GoalKind.BYTES, percent=10.0), Goal(GoalKind.REPLICAS, percent=10.0))
PARTITIONS = 48


@dataclass
class Scene:
    """Brokers, racks, topics on 9 brokers in 3 racks or none, and what shall become of them."""

    racks: int
    lists: list[list[tuple[tuple[int, ...], int]]]
    live: list[Broker] = field(default_factory=list)
    factor: int = 3
    pool: dict[str, object] = field(default_factory=dict)

    def broker(self, id_: int) -> Broker:
        return Broker(id_, rack=f"r{id_ % self.racks}" if self.racks else None)


def scene(dice: random.Random) -> Scene:
    """Replicas placed at random, one in a rack; sizes with a long tail."""
    racks = dice.choice([0, 3])
    topics = dice.choice([2, 6, 16])
    lists = []
    for _ in range(topics):
        some = []
        for _ in range(PARTITIONS // topics):
            held: list[int] = []
            while len(held) < 3:
                broker = dice.randint(1, 9)
                if broker not in held and (not racks or broker % 3 not in [b % 3 for b in held]):
                    held.append(broker)
            some.append((tuple(held), int(dice.paretovariate(1.5) * 50 * MIB)))
        lists.append(some)
    found = Scene(racks, lists)
    found.live = [found.broker(id_) for id_ in range(1, 10)]
    return found


def joined(scene: Scene, dice: random.Random) -> None:
    scene.live += [scene.broker(id_) for id_ in range(10, 10 + dice.choice([1, 3]))]


def drained(scene: Scene, dice: random.Random) -> None:
    scene.pool["drain"] = frozenset({dice.randint(1, 9)})


def raised(scene: Scene, dice: random.Random) -> None:
    scene.lists = [[(held[:2], size) for held, size in some] for some in scene.lists]


def lowered(scene: Scene, dice: random.Random) -> None:
    scene.factor = dice.choice([1, 2])


def weightless(scene: Scene, dice: random.Random) -> None:
    """A lower factor, of partitions without a byte: what they copy counts replicas."""
    lowered(scene, dice)
    scene.lists = [[(held, 0) for held, _ in some] for some in scene.lists]


def weighed(scene: Scene, dice: random.Random) -> None:
    weights = {broker.id: Capacity(weight=1.0 + broker.id % 2) for broker in scene.live}
    scene.pool["capacity_of"] = weights


def in_racks(scene: Scene, dice: random.Random) -> None:
    scene.live = [replace(broker, rack=f"r{(broker.id - 1) // 3}") for broker in scene.live]


def topic_of(name: str, lists: Iterable[tuple[tuple[int, ...], int]]) -> Topic:
    """The topic of these replica lists and sizes, all in sync."""
    partitions = [
        Partition(number, held, leader=held[0], isr=held, size_bytes=size)
        for number, (held, size) in enumerate(lists)
    ]
    return Topic(name, partitions)


def declared(scene: Scene, goals: Sequence[Goal]) -> tuple[Desired, Cluster]:
    topics = [topic_of(f"t{number:02}", some) for number, some in enumerate(scene.lists)]
    specs = [topic_spec(each.name, "p", replication_factor=scene.factor) for each in topics]
    ids = [broker.id for broker in scene.live]
    pool = pool_spec("p", *ids, goals=tuple(goals), **scene.pool)
    return builders.desired(pool, *specs), builders.cluster(scene.live, *topics)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goals", "change", "beyond"),
    [
        *(
            pytest.param(COUNTS, change, 0.02, id=f"counts-{change.__name__}")
            for change in (joined, drained, raised, lowered, weighed, in_racks)
        ),
        pytest.param(TOPICS, joined, 0.02, id="topics-joined"),
        pytest.param(TOPICS, raised, 0.02, id="topics-raised"),
        pytest.param(TOPICS, in_racks, 0.02, id="topics-in-racks"),
        pytest.param(TOPICS, drained, 0.20, id="topics-drained"),
        pytest.param(TOPICS, weighed, 0.15, id="topics-weighed"),
        pytest.param(TOPICS, lowered, 1.0, id="topics-lowered"),
    ],
)
def test_a_change_copies_hardly_more_than_it_must(
    goals: tuple[Goal, ...],
    change: Callable[[Scene, random.Random], None],
    beyond: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, least = 0, 0
    for layout in layouts_of(goals, change, range(6), monkeypatch):
        ours += copied(layout, layout.lists.tolist())
        least += least_copied(layout)[0]
    assert least <= ours <= least * (1 + beyond) + REPLICA_MIB


@pytest.mark.slow
@pytest.mark.parametrize("goals", [SIZES, SIZES_FIRST], ids=["after-counts", "before-counts"])
@pytest.mark.parametrize("change", [weighed, *soak(joined)])
def test_bytes_cost_little_more_than_a_solver_finds(
    goals: tuple[Goal, ...],
    change: Callable[[Scene, random.Random], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, known = 0, 0
    for layout in layouts_of(goals, change, range(3), monkeypatch):
        ours += copied(layout, layout.lists.tolist())
        known += least_copied(layout)[1]
    assert ours <= known * 1.15


@pytest.mark.slow
@pytest.mark.parametrize("goals", [COUNTS, TOPICS], ids=["counts", "topics"])
def test_no_bound_of_a_lowered_factor_is_above_what_a_solver_finds(
    goals: tuple[Goal, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    bounds = []
    for layout in layouts_of(goals, weightless, range(8), monkeypatch):
        bounds.append(certificate(layout).replica_moves_lower_bound)
        assert bounds[-1] * REPLICA_MIB <= least_copied(layout)[1]
    assert any(bounds)


def layouts_of(
    goals: Sequence[Goal],
    change: Callable[[Scene, random.Random], None],
    seeds: Iterable[int],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Layout]:
    """The layouts that plans of a change are made of."""
    layouts: list[Layout] = []

    def kept(layout: Layout) -> object:
        layouts.append(layout)
        return certificate(layout)

    monkeypatch.setattr(planner, "certificate", kept)
    for seed in seeds:
        dice = random.Random(seed)
        found = scene(dice)
        change(found, dice)
        planner.make_plan(*declared(found, goals))
        yield layouts.pop()


def test_small_pools_copy_what_must_be_although_flows_move_one_replica_a_round() -> None:
    """Both replicas of the partition of 1000 MiB move; the flow's second one was of 5000."""
    weights = {broker: Capacity(weight=1.0 if broker in (4, 5) else 2.0) for broker in range(1, 7)}
    pool = pool_spec("p", *weights, drain=frozenset({3}), capacity_of=weights, goals=COUNTS)
    t0 = topic_of("t0", [((6, 2), 1 * MIB), ((5, 3), 1000 * MIB)])
    sizes = {(4, 5): 5000, (5, 4): 1000, (5, 3): 10, (2, 6): 100}
    t1 = topic_of("t1", [(held, mib * MIB) for held, mib in sizes.items()])
    wanted = builders.desired(pool, topic_spec("t0"), topic_spec("t1"))
    brokers = {1: "r1", 2: "r2", 3: "r0", 4: "r1", 5: "r2", 6: "r0"}
    plan = planner.make_plan(wanted, builders.cluster(brokers, t0, t1))
    assert sum(move.bytes for move in plan.moves) == 3020 * MIB


def test_a_partition_that_drops_a_replica_keeps_the_one_that_saves_another_a_copy() -> None:
    """Broker 4 keeps t2-1, so that t2-0 stays on broker 5: it was copied to broker 4."""
    t0 = topic_of("t0", [((1,), 300 * MIB), ((4,), 1000 * MIB)])
    sizes = {(1, 6, 3): 5000, (2, 1, 3): 50, (4, 6, 3): 1, (3, 6, 5): 100}
    sizes |= {(5, 4, 3): 1000, (1, 2, 5): 100}
    t1 = topic_of("t1", [(held, mib * MIB) for held, mib in sizes.items()])
    t2 = topic_of("t2", [((5, 1), 50 * MIB), ((5, 4), 5000 * MIB)])
    goals = tuple(replace(goal, count=None, percent=5.0) for goal in COUNTS)
    pool = pool_spec("p", *range(1, 7), drain=frozenset({2}), goals=goals)
    specs = topic_spec("t0"), topic_spec("t1"), topic_spec("t2", replication_factor=1)
    brokers = {1: "r1", 2: "r2", 3: "r0", 4: "r1", 5: "r2", 6: None}
    plan = planner.make_plan(builders.desired(pool, *specs), builders.cluster(brokers, t0, t1, t2))
    assert sum(proof.replica_moves for proof in plan.certificates) == 2
