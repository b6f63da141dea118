"""Whether the plan that waits for approval stays when a fresh one is a little different."""

from dataclasses import replace

import pytest

import builders
from builders import topic
from poolkeeper.model.plans import (
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    Move,
    MoveLogDir,
    Plan,
    PlanProblem,
    SetConfig,
)
from poolkeeper.model.problems import Recorded
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.proposals.reuse import renew

SIZE = 100
HEAL, BALANCE = 0, 4


def cluster(size: int | None = SIZE, **lists: tuple[int, ...]) -> Cluster:
    """A topic `t` of eight partitions on brokers 1 and 2; `p3=(1, 4)`: partition 3 is elsewhere."""
    found = (lists.get(f"p{n}", (1, 2)) for n in range(8))
    healthy = {"leader": 1, "isr": (1, 2), "log_dirs": {1: "/a", 2: "/a"}}
    return builders.cluster((1, 2, 3, 4), topic("t", *found, size_bytes=size, **healthy))


def move(partition: int, target: tuple[int, ...] = (1, 3), urgency: int = BALANCE) -> Move:
    return builders.move("t", partition, (1, 2), target, bytes=SIZE, urgency=urgency)


def plan(*parts: object, fingerprint: str = "f", bytes_each: int = SIZE) -> Plan:
    moves = tuple(p._replace(bytes=bytes_each) for p in parts if isinstance(p, Move))
    steps = tuple(p for p in parts if not isinstance(p, Move | PlanProblem))
    problems = tuple(p for p in parts if isinstance(p, PlanProblem))
    return builders.plan(*moves, steps=steps, fingerprint=fingerprint, problems=problems)


CREATE = CreateTopic("u", "p", ((1, 2),))
DELETE = DeleteTopic("gone", "id")
SHORTER = SetConfig("t", {"retention.ms": "1"}, destructive=("retention.ms: shorter",))
ELECT, ELECT_OTHERS = ElectLeaders((("t", 0),)), ElectLeaders((("t", 1),))
BETWEEN = MoveLogDir("t", 0, 1, "/a", "/b", SIZE)
BETWEEN_OTHERS = replace(BETWEEN, partition=1)


@pytest.mark.parametrize(
    ("shown", "fresh", "seen", "stays"),
    [
        pytest.param(plan(move(0)), plan(move(1)), cluster(), True, id="another-of-equal-ones"),
        pytest.param(plan(move(0)), plan(move(0)), cluster(), False, id="the-very-same"),
        pytest.param(
            plan(move(0)), plan(move(1), fingerprint="g"), cluster(), False, id="other-specs"
        ),
        pytest.param(plan(move(0)), plan(), cluster(), False, id="nothing-to-do-any-more"),
        pytest.param(
            plan(move(0)), plan(move(1)), cluster(p0=(1, 3)), False, id="done-by-somebody"
        ),
        pytest.param(plan(move(0)), plan(move(1)), cluster(p0=(2, 4)), False, id="moved-elsewhere"),
        pytest.param(
            plan(move(0, urgency=HEAL), move(1)),
            plan(move(0, (2, 4), urgency=HEAL), move(2)),
            cluster(),
            True,
            id="the-same-must-be-healed-to-other-brokers",
        ),
        pytest.param(
            plan(move(0), move(1)),
            plan(move(0), move(2, urgency=HEAL)),
            cluster(),
            False,
            id="something-must-be-healed-by-now",
        ),
        pytest.param(
            plan(move(0, urgency=HEAL), move(1)),
            plan(move(1), move(2)),
            cluster(),
            False,
            id="nothing-must-be-healed-any-more",
        ),
        pytest.param(
            plan(*map(move, range(4))),
            plan(*map(move, range(2, 8))),
            cluster(),
            True,
            id="a-fresh-one-would-do-more",
        ),
        pytest.param(
            plan(*map(move, range(3))),
            plan(*map(move, range(7))),
            cluster(),
            False,
            id="a-fresh-one-would-do-more-than-twice-as-much",
        ),
        pytest.param(
            plan(*map(move, range(6))),
            plan(*map(move, range(2, 6))),
            cluster(),
            False,
            id="a-fresh-one-needs-a-quarter-less",
        ),
        pytest.param(
            plan(move(0)),
            plan(move(1), bytes_each=79),
            cluster(),
            False,
            id="a-fresh-one-copies-a-quarter-less",
        ),
        pytest.param(
            plan(move(0), bytes_each=49),
            plan(move(1)),
            cluster(),
            False,
            id="it-grew-to-more-than-twice-what-was-said",
        ),
        pytest.param(
            plan(move(0), bytes_each=0),
            plan(move(1)),
            cluster(),
            False,
            id="sizes-were-not-known-and-are-now",
        ),
        pytest.param(
            plan(move(0)),
            plan(move(1), bytes_each=0),
            cluster(size=None),
            True,
            id="sizes-are-not-known-for-the-moment",
        ),
        pytest.param(
            plan(move(0), DELETE), plan(move(1), DELETE), cluster(), True, id="the-same-deletion"
        ),
        pytest.param(plan(move(0)), plan(move(1), DELETE), cluster(), False, id="another-deletion"),
        pytest.param(
            plan(move(0), SHORTER), plan(move(1)), cluster(), False, id="a-config-that-is-set"
        ),
        pytest.param(
            plan(BETWEEN), plan(BETWEEN_OTHERS), cluster(), True, id="another-between-directories"
        ),
        pytest.param(
            plan(move(0), BETWEEN), plan(move(1)), cluster(), False, id="directories-are-even"
        ),
        pytest.param(
            plan(replace(BETWEEN, source="/b", target="/a")),
            plan(BETWEEN_OTHERS),
            cluster(),
            False,
            id="moved-between-directories-by-somebody",
        ),
    ],
)
def test_whether_the_plan_that_was_shown_stays(shown, fresh, seen, stays) -> None:
    found = renew(shown, fresh, seen)
    assert (None if found is None else (found.hash, found.moves)) == (
        (shown.hash, shown.moves) if stays else None
    )


def test_what_needs_no_approval_is_that_of_the_fresh_plan() -> None:
    old, new = (PlanProblem("p", "", Recorded(said)) for said in ("old", "new"))
    shown = plan(move(0), ELECT, DELETE, old)
    fresh = plan(move(1), CREATE, ELECT_OTHERS, DELETE, new)
    found = renew(shown, fresh, cluster())
    assert found == replace(shown, steps=(CREATE, ELECT, DELETE), problems=(new,))
