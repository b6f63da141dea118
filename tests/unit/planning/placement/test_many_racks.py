"""Hundreds of racks, as where each broker is one: few moves, in networks of the usual size."""

from dataclasses import replace

import pytest

from bench import clusters
from bench.exact_flow import exact_moves
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.placement import flow
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.planner import make_plan
from unit.planning import byhand

DRAINED = frozenset(range(1, 6))


class CountedNetwork(Network):
    """A network that notes how many arcs it has when it is solved."""

    solved: list[int]

    def solve(self, supply):
        self.solved.append(self.arcs)
        return super().solve(supply)


@pytest.fixture
def arcs(monkeypatch) -> list[int]:
    """The arcs of every network of placements that is solved."""
    CountedNetwork.solved = []
    monkeypatch.setattr(flow, "Network", CountedNetwork)
    return CountedNetwork.solved


def in_racks(found: Cluster, racks: int) -> Cluster:
    """The cluster with its brokers in turn in so many racks."""
    brokers = found.brokers.values()
    return replace(found, brokers={b.id: replace(b, rack=f"r{b.id % racks}") for b in brokers})


@pytest.mark.parametrize("racks", [52, 65, 104])
def test_brokers_that_join_take_their_shares(racks: int, arcs: list[int]) -> None:
    seen = in_racks(clusters.cluster(1_500, 100, joined=4), racks)
    wanted = clusters.desired(104)
    plan = byhand.lawful(wanted, seen)
    (proof,) = plan.certificates
    assert proof.replica_moves_lower_bound <= proof.replica_moves
    assert proof.replica_moves <= 1.01 * proof.replica_moves_lower_bound
    assert max(arcs) < 30_000


@pytest.mark.slow
@pytest.mark.parametrize("racks", [65, 130])
def test_moves_are_hardly_more_than_those_of_the_exact_flow(racks: int) -> None:
    seen = in_racks(clusters.cluster(500, 120, joined=10), racks)
    plan = make_plan(clusters.desired(130), seen)
    (proof,) = plan.certificates
    fewest = exact_moves(seen)
    assert fewest <= proof.replica_moves <= fewest + max(1, 0.002 * fewest)


@pytest.mark.slow
def test_what_leaves_drained_brokers_is_spread_within_a_network_of_bounded_size(
    arcs: list[int],
) -> None:
    seen = in_racks(clusters.cluster(6_000, 100), 100)
    wanted = clusters.desired(100, drain=DRAINED)
    plan = byhand.lawful(wanted, seen)
    (proof,) = plan.certificates
    assert proof.replica_moves == proof.replica_moves_lower_bound > 0
    assert 100_000 < max(arcs) < 300_000
