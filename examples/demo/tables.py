"""The table of replicas by broker and pool, as plain text."""

from collections.abc import Callable, Mapping

from layouts import Partition, Pools

LABEL = 11
CELL = 4


def table(
    partitions: tuple[Partition, ...],
    homes: Mapping[str, str],
    pools: Pools,
    racks: Mapping[int, str],
) -> str:
    """Return a row for each topic with its replicas on each broker, and the sums.

    `homes` are the topics' pools; replicas that a topic has outside its own count as strays.
    """
    titles = "".join(f" |{pool:^{CELL * len(pools[pool])}}" for pool in pools)
    replicas = [broker for p in partitions for broker in p.replicas]
    leaders = [p.leader for p in partitions]
    lines = [
        f"{'':{LABEL}}{titles} |",
        _row("broker", pools, str, "strays"),
        _row("rack", pools, lambda broker: racks[broker]),
        ruler := "-" * LABEL + f"-+{'-' * CELL * 3}" * len(pools) + "-+-------",
    ]
    for topic, home in homes.items():
        held = [broker for p in partitions if p.topic == topic for broker in p.replicas]
        strays = sum(broker not in pools[home] for broker in held)
        lines.append(_row(f"{topic} {home:>8}", pools, _counted(held), str(strays or ".")))
    lines += [ruler, _row("replicas", pools, _counted(replicas))]
    lines.append(_row("leaders", pools, _counted(leaders)))
    return "\n".join(line.rstrip() for line in lines)


def _row(label: str, pools: Pools, cell: Callable[[int], str], last: str = "") -> str:
    groups = ("".join(f"{cell(broker):>{CELL - 1}} " for broker in pools[p]) for p in pools)
    return f"{label:{LABEL}}" + "".join(f" |{group}" for group in groups) + f" |{last:>7}"


def _counted(brokers: list[int]) -> Callable[[int], str]:
    return lambda broker: str(brokers.count(broker) or ".")
