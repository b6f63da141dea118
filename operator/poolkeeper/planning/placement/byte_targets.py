"""Which replicas of a class move, and to which broker of a cell, where bytes matter besides counts.

The flow fixes how many replicas go from where to where. It leaves open which ones, so bytes decide:

- Each broker should give the bytes above its band and get the bytes that it lacks. If one side has
  more than the other, the difference is divided among the other brokers by one common level.
- Every giving broker gives to all racks in proportion, as far as it may (`spread_over_cells`).
- A giving broker's replicas are sorted by size, and the ones that move are consecutive. The start
  is chosen such that their sum meets the bytes that the broker should give (`rounding`). So the
  replicas that move are of similar size, and a broker gets bytes in proportion to their number.
- Within a cell, the largest new replica goes to the broker that wants most bytes per replica still
  to come.

What remains is small, and single moves mend it (`local_search`).
"""

from collections.abc import Callable

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.planning.constraints.measures import LoadMeasure
from poolkeeper.planning.placement.network import Network
from poolkeeper.planning.problem.arrays import Bools, Floats, Ints

_HALVINGS = 40
_EVERYTHING = 1e9


@frozen
class Aim:
    """What each broker should give and get of a value that partitions have.

    `value`: by partition.
    `give`, `most`: what a broker should give, and what it may give.
    `get`: what it should get.
    `load`: what it has now.
    `low`, `high`: the bounds of what it should end with.
    """

    value: Ints
    give: Floats
    most: Floats
    get: Floats
    load: Floats
    low: Floats
    high: Floats


def aim_of(measure: LoadMeasure, lists: Ints, eligible: Bools) -> Aim:
    """What each broker must give and get until all brokers are inside the band."""
    load = measure.load(lists)
    band = measure.narrow if measure.outside(load, eligible) else measure.wide
    low, high = band.low.astype(float), band.high.astype(float)
    share = np.where(eligible, band.share, 0.0)

    def gives(level: float) -> Floats:
        given: Floats = np.maximum(load - np.clip(level * share, low, high), 0.0) * eligible
        return given

    def gets(level: float) -> Floats:
        got: Floats = np.maximum(np.clip(level * share, low, high) - load, 0.0) * eligible
        return got

    amount = max(gives(_EVERYTHING).sum(), gets(0.0).sum())
    give = gives(_least(lambda level: -gives(level).sum(), -amount))
    most = np.maximum(np.where(give > 0, load - low, 0.0), give)
    get = gets(_least(lambda level: gets(level).sum(), amount))
    return Aim(measure.value, give, most, get, load.astype(float), low, high)


def _least(rising: Callable[[float], float], wanted: float) -> float:
    """The least level from 0 to 4 at which the rising function reaches `wanted`; else 4."""
    low, high = 0.0, 4.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= wanted else (middle, high)
    return high


def spread_over_cells(chosen: Ints, sites: Ints) -> Ints:
    """The same flow by (class, cell), with the same sums, in which every class uses all its cells.

    Each class is divided over its cells in proportion. A flow of least cost may send all replicas
    of one broker to one rack, and then its bytes go there too.
    """
    gives, gets = chosen.sum(axis=1), chosen.sum(axis=0)
    wanted = np.minimum(-(-gives[:, None] * gets // max(int(gives.sum()), 1)), sites)
    network = Network()
    source, sink = network.add_nodes(len(gives)), network.add_nodes(len(gets))
    tail, head = np.nonzero(np.minimum(sites, gives[:, None]))
    most = np.minimum(sites, gives[:, None])[tail, head]
    likely = np.minimum(wanted[tail, head], most)
    first = network.add_arcs(source[tail], sink[head], likely, 0)
    more = network.add_arcs(source[tail], sink[head], most - likely, 1)
    flow = network.solve(np.concatenate([gives, -gets]))
    result = np.zeros_like(chosen)
    result[tail, head] = flow[first] + flow[more]
    return result


def turns_by_value(rows: Ints, members: Ints, quota: Ints, aim: Aim) -> Ints:
    """A broker for each new replica, the largest replicas first.

    A replica goes to the broker that still wants most bytes, up to the replica's size. Among equals
    it goes to the broker that wants most per replica still to come.
    """
    brokers: list[int] = [int(b) for b in members if quota[b] > 0]
    left = {broker: int(quota[broker]) for broker in brokers}
    want = {broker: float(aim.get[broker]) for broker in brokers}
    each = {broker: want[broker] / left[broker] for broker in brokers}
    turns = np.zeros(len(rows), dtype=np.int64)
    value = aim.value[rows]
    order = np.argsort(-value, kind="stable")
    for at, size in zip(order.tolist(), value[order].tolist(), strict=True):
        broker = brokers[0]
        most = want[broker] if want[broker] < size else size  # `min` would take most of the time
        for other in brokers[1:]:
            gets = want[other] if want[other] < size else size
            if gets > most or (gets == most and each[other] > each[broker]):
                broker, most = other, gets
        turns[at] = broker
        want[broker] -= size
        left[broker] -= 1
        if left[broker]:
            each[broker] = want[broker] / left[broker]
        else:
            brokers.remove(broker)
    return turns
