"""Bounds that bytes give: moves of large partitions are needed to carry them."""

import pytest

from builders import GIB, cluster, desired, partition, pool_spec, topic, topic_spec
from poolkeeper.model.plans import PoolCertificate
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.proposals.lower_bounds import with_moves
from poolkeeper.report.sections import certificates_table
from unit.planning.byhand import lawful


def test_replicas_are_needed_to_carry_the_bytes_that_must_move() -> None:
    sizes = [(1, 10 * GIB)] * 4 + [(2, GIB)] * 4
    parts = [partition(n, broker, size_bytes=size) for n, (broker, size) in enumerate(sizes)]
    pool = pool_spec("p", 1, 2, goals=(Goal(GoalKind.BYTES, percent=10),))
    plan = lawful(desired(pool, topic_spec("t")), cluster((1, 2), topic("t", *parts)))
    (proof,) = plan.certificates
    assert proof.bytes_lower_bound > 10 * GIB
    assert (proof.replica_moves, proof.replica_moves_lower_bound) == (3, 2)
    assert proof.gap_percent == 50.0


def test_a_new_partition_gives_a_broker_one_replica_at_most() -> None:
    parts = [partition(n, 1) for n in range(6)]
    pool = pool_spec("p", 1, 2, goals=(Goal(GoalKind.REPLICAS, count=1),))
    new = topic_spec("new", partitions=3, replication_factor=2)
    plan = lawful(desired(pool, topic_spec("t"), new), cluster((1, 2), topic("t", *parts)))
    (proof,) = plan.certificates
    assert (proof.replica_moves, proof.replica_moves_lower_bound) == (3, 3)


@pytest.mark.parametrize("kind", [GoalKind.REPLICAS, GoalKind.TOPIC_REPLICAS])
def test_brokers_keep_no_more_of_lowered_factors_than_they_end_with(kind: GoalKind) -> None:
    parts = [partition(n, 1, 2) for n in range(3)]
    pool = pool_spec("p", *range(1, 7), goals=(Goal(kind, count=1),))
    lowered = desired(pool, topic_spec("t", replication_factor=1))
    plan = lawful(lowered, cluster(range(1, 7), topic("t", *parts)))
    (proof,) = plan.certificates
    assert (proof.replica_moves, proof.replica_moves_lower_bound) == (1, 1)


@pytest.mark.parametrize(
    ("moves", "bound", "gap_percent", "said"),
    [(4, 0, 0.0, "-"), (4, 4, 0.0, "0 %"), (3, 2, 50.0, "50 %"), (0, 0, 0.0, "0 %")],
)
def test_no_gap_is_told_beside_a_bound_of_nothing(moves, bound, gap_percent, said) -> None:
    proof = PoolCertificate("p", moves, bound, 1, 1, gap_percent, "")
    (shown,) = certificates_table([("", proof)], 9, clusters=False)
    assert shown.rows[0][5].text == said


def test_what_is_above_its_bound_has_a_gap() -> None:
    exact = PoolCertificate("p", 200_000, 200_000, 1, 1, 0.0, "")
    assert with_moves(exact, 200_000, 1).gap_percent == 0.0
    assert with_moves(exact, 200_001, 1).gap_percent == 0.01
