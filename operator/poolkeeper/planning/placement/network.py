"""A minimum-cost flow over some thousand arcs, solved by OR-tools.

SciPy is not used: it has maximum flow but no minimum-cost flow, and takes longer to import. Costs
and capacities are integers, so an optimal flow is integral. The solver is deterministic.
"""

from dataclasses import dataclass, field

import numpy as np

from poolkeeper.planning.problem.arrays import Ints


class CostsTooLarge(Exception):
    """The solver cannot add up costs along a path in 64 bits."""


@dataclass(slots=True)
class Network:
    """A network under construction; `add_arcs` returns the slice that names a block of arcs."""

    nodes: int = 0
    arcs: int = 0
    _columns: list[tuple[Ints, Ints, Ints, Ints]] = field(default_factory=list)

    def add_nodes(self, count: int) -> Ints:
        """Add nodes; return their numbers."""
        first = self.nodes
        self.nodes += count
        return np.arange(first, self.nodes)

    def add_arcs(self, tails: Ints, heads: Ints, capacity: Ints | int, cost: Ints | int) -> slice:
        """Add arcs; a single capacity or cost applies to all of them."""
        count = len(tails)
        whole = np.ones(count, dtype=np.int64)
        self._columns.append((tails, heads, whole * capacity, whole * cost))
        self.arcs += count
        return slice(self.arcs - count, self.arcs)

    def solve(self, supply: Ints) -> Ints:
        """The flow by arc, of minimal cost; `supply` by node must sum to zero and be routable.

        Raises `CostsTooLarge`.
        """
        from ortools.graph.python import min_cost_flow  # a large library, and many plans need none

        solver = min_cost_flow.SimpleMinCostFlow()
        tails, heads, capacity, cost = (
            np.concatenate(column) for column in zip(*self._columns, strict=True)
        )
        arcs = solver.add_arcs_with_capacity_and_unit_cost(
            tails.astype(np.int32), heads.astype(np.int32), capacity, cost
        )
        solver.set_nodes_supplies(np.arange(self.nodes, dtype=np.int32), supply)
        status = solver.solve()
        if status == solver.BAD_COST_RANGE:
            raise CostsTooLarge
        if status != solver.OPTIMAL:
            raise AssertionError(f"the flow network must be feasible, the solver says {status}")
        return np.asarray(solver.flows(arcs), dtype=np.int64)
