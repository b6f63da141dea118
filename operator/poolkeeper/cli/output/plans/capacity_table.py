"""A table of what fits into each pool after a plan: free now, and spare after failures."""

from collections.abc import Callable, Iterable, Sequence

from poolkeeper.cli.output.ink import Ink
from poolkeeper.model.specs import FailureDomain, Headroom
from poolkeeper.planning.diagnosis.remaining_capacity import RemainingCapacity, Utilization
from poolkeeper.planning.diagnosis.survivable_failures import Survival
from poolkeeper.text import count, size

_HEADING = ("POOL", "WHAT", "HELD", "MAY HOLD", "FREE", "SPARE")
_LOSSES = ("POOL", "WITHOUT", "REPLICAS", "BYTES")
_NAMED_MAX = 3


def capacity_table(rooms: Iterable[RemainingCapacity], ink: Ink) -> list[str]:
    """The table's lines without a heading, for pools with limits; empty if no pool has any."""
    lines: list[str] = []
    shown = [room for room in rooms if room.declared]
    rows: list[tuple[str, ...]] = [_HEADING]
    for room in shown:
        rows += _rows(room)
        rows.append(())
    if not shown:
        return []
    lines += ink.table(rows[:-1])
    failures = sorted({_lost(room.failures) for room in shown})
    lines.append(f"  SPARE: what is left with {' or '.join(failures)} lost")
    for room in shown:
        if room.unknown and room.bytes.most is not None:
            partitions = count(room.unknown, "partition")
            lines.append(
                f"  pool {room.pool}: the size of {partitions} is unknown, so bytes are more"
            )
    return [*lines, *_loss_table(shown, ink)]


def _loss_table(rooms: Iterable[RemainingCapacity], ink: Ink) -> list[str]:
    """What is spare or missing after the worst loss of a number of brokers or racks."""
    rows = [
        (room.pool, _without(domain, failures), *cells)
        for room in rooms
        for (domain, failures), cells in _losses(room)
    ]
    if not rows:
        return []
    legend = (
        "  WITHOUT: the worst such loss, with replicas spread evenly over the racks that are left"
    )
    return ["", *ink.table([_LOSSES, *rows]), legend]


def _losses(room: RemainingCapacity) -> Iterable[tuple[tuple[FailureDomain, int], tuple[str, str]]]:
    """The cells for replicas and bytes, by failure domain and number of failures."""
    counted = {(one.domain, one.failures): one for one in room.survived_replicas}
    stored = {(one.domain, one.failures): one for one in room.survived_bytes}
    for domain in FailureDomain:
        for failures in sorted(n for d, n in {*counted, *stored} if d is domain):
            name = domain, failures
            yield (
                name,
                (_survival(counted.get(name), _number), _survival(stored.get(name), _size)),
            )


def _survival(one: Survival | None, written: Callable[[float], str]) -> str:
    """`6 spare (worst: 3)`, or `9 too many without 1, 4`."""
    if one is None:
        return ""
    named = ", ".join(one.worst[:_NAMED_MAX])
    if one.spare < 0:
        return f"{written(-one.spare)} too much without {named}"
    bound = "" if one.exact else "at most "
    return f"{bound}{written(one.spare)} spare (worst: {named})"


def _without(domain: FailureDomain, failures: int) -> str:
    noun = "rack" if domain is FailureDomain.RACK else "broker"
    return f"any {noun}" if failures == 1 else f"any {failures} {noun}s"


def as_data(room: RemainingCapacity) -> dict[str, object]:
    """The remaining capacity of one pool as JSON values."""
    amounts = {
        "replicas": room.replicas,
        "bytes": room.bytes,
        "topics": room.topics,
        "partitions": room.partitions,
    }
    told = {
        name: {"held": amount.held, "most": amount.most, "free": amount.free, "spare": amount.spare}
        for name, amount in amounts.items()
    }
    failures = {"domain": room.failures.domain.value, "failures": room.failures.failures}
    return {
        "pool": room.pool,
        "failures": failures,
        **told,
        "partitionsOfUnknownSize": room.unknown,
        "survives": _survives(room),
    }


def _survives(room: RemainingCapacity) -> list[dict[str, object]]:
    """The worst losses, for replicas and for bytes; a negative `spare` is what does not fit."""
    return [
        {
            "what": what,
            "domain": one.domain.value,
            "failures": one.failures,
            "worst": list(one.worst),
            "spare": one.spare,
            "exact": one.exact,
        }
        for what, found in (("replicas", room.survived_replicas), ("bytes", room.survived_bytes))
        for one in found
    ]


def _rows(room: RemainingCapacity) -> Sequence[tuple[str, ...]]:
    kinds: tuple[tuple[str, Utilization, Callable[[float], str]], ...] = (
        ("replicas", room.replicas, _number),
        ("bytes", room.bytes, _size),
        ("topics", room.topics, _number),
        ("partitions", room.partitions, _number),
    )
    return [
        (room.pool, noun, *_cells(amount, written))
        for noun, amount, written in kinds
        if amount.most is not None
    ]


def _cells(amount: Utilization, written: Callable[[float], str]) -> tuple[str, ...]:
    numbers = (amount.held, amount.most, amount.free, amount.spare)
    return tuple("" if number is None else written(number) for number in numbers)


def _number(number: float) -> str:
    return f"{number:,.0f}"


def _size(number: float) -> str:
    return f"-{size(-number)}" if number < 0 else size(number)


def _lost(failures: Headroom) -> str:
    noun = "rack" if failures.domain is FailureDomain.RACK else "broker"
    if not failures.failures:
        return "nothing"
    many = failures.failures != 1
    return f"the {failures.failures} largest {noun}s" if many else f"the largest {noun}"
