"""The fewest moves of a plan, by a flow with a node per partition and rack, at its own cost."""

import numpy as np
from ortools.graph.python import min_cost_flow

from poolkeeper.model.topology import Cluster

_FULL = 1_000


def exact_moves(cluster: Cluster) -> int:
    """Fewest moves to floor and ceiling under strict racks: a node per partition and rack.

    What fills a broker up to the floor earns more than any move costs.
    """
    brokers = sorted(cluster.brokers)
    racks = sorted({broker.rack or "" for broker in cluster.brokers.values()})
    rack_of = {b: racks.index(cluster.brokers[b].rack or "") for b in brokers}
    lists = [p.replicas for topic in cluster.topics.values() for p in topic.partitions]
    total = sum(map(len, lists))
    place = {broker: len(lists) * (1 + len(racks)) + i for i, broker in enumerate(brokers)}
    sink = len(lists) * (1 + len(racks)) + len(brokers)
    rows, slots = np.arange(len(lists)), np.arange(len(lists) * len(racks))
    held = np.zeros((len(lists), len(brokers)), dtype=np.int64)
    for row, replicas in enumerate(lists):
        held[row, [brokers.index(broker) for broker in replicas]] = 1
    rack = np.array([rack_of[broker] for broker in brokers])
    within = len(lists) + rows[:, None] * len(racks) + rack
    places = np.broadcast_to(np.array(list(place.values())), held.shape)
    arcs = [
        (slots // len(racks), len(lists) + slots, np.ones_like(slots), np.zeros_like(slots)),
        (within.ravel(), places.ravel(), np.ones(held.size, dtype=np.int64), 1 - held.ravel()),
    ]
    floor = total // len(brokers)
    out = [(place[b], sink, floor, -_FULL) for b in brokers]
    out += [(place[b], sink, 1, 0) for b in brokers] if total % len(brokers) else []
    arcs.append(tuple(np.array(out, dtype=np.int64).T))
    solver = min_cost_flow.SimpleMinCostFlow()
    columns = [np.concatenate(parts) for parts in zip(*arcs, strict=True)]
    solver.add_arcs_with_capacity_and_unit_cost(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], columns[3]
    )
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[: len(lists)] = [len(replicas) for replicas in lists]
    supply[sink] = -total
    solver.set_nodes_supplies(np.arange(sink + 1, dtype=np.int32), supply)
    if solver.solve() != solver.OPTIMAL:
        raise SystemExit("the exact flow has no solution")
    return int(solver.optimal_cost()) + _FULL * floor * len(brokers)
