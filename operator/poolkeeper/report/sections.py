"""Sections that reports of one cluster and of a fleet share."""

from collections.abc import Iterable, Iterator, Sequence

from poolkeeper.model.plans import PlanProblem, PoolCertificate
from poolkeeper.model.problems import is_left_undone
from poolkeeper.report.balance import MEASURES, PoolBalance, heat
from poolkeeper.report.document import (
    Cell,
    ReportTable,
    Row,
    Tile,
    byte_count,
    name,
    number,
    share,
    table,
)
from poolkeeper.report.values import Holding
from poolkeeper.studies.planned_groups import PlannedGroup
from poolkeeper.studies.planned_leader_load import PlannedLeaderLoad
from poolkeeper.studies.study_names import shown_load
from poolkeeper.text import size


def moves_tile(proofs: Sequence[PoolCertificate]) -> Tile:
    """The number of replicas that pools move, beside the lower bound."""
    moves = sum(proof.replica_moves for proof in proofs)
    least = sum(proof.replica_moves_lower_bound for proof in proofs)
    if moves <= least:
        return Tile(f"{moves:,}", "replicas to move, as few as possible", "good")
    return Tile(f"{moves:,}", f"replicas to move, at least {least:,} must")


def left_undone(problems: Iterable[PlanProblem]) -> int:
    """How many problems are no mere remarks."""
    return sum(is_left_undone(problem.reason) for problem in problems)


def problems_tile(undone: int) -> Iterator[Tile]:
    """The number of things left undone; no tile without any."""
    if undone:
        yield Tile(f"{undone:,}", "left undone", "bad")


def certificates_table(
    proofs: Iterable[tuple[str, PoolCertificate]], rows_max: int, *, clusters: bool
) -> tuple[ReportTable, ...]:
    """The moves and bytes of each (cluster, certificate) beside the lower bounds."""
    rows = []
    for cluster, proof in proofs:
        cells: Row = (
            name(proof.pool),
            number(proof.replica_moves),
            number(proof.replica_moves_lower_bound),
            byte_count(proof.bytes),
            byte_count(proof.bytes_lower_bound),
            _gap(proof),
            Cell(_clauses(proof.witness)),
        )
        rows.append((name(cluster), *cells) if clusters else cells)
    heads = ("Pool", "Replicas", "At least", "Bytes", "At least", "Gap", "Why so many")
    columns = ("Cluster", *heads) if clusters else heads
    caption = "Replicas and bytes to copy, and what no plan can beat"
    return table(caption, columns, rows, rows_max, "pool", 0 if clusters else -1)


def _gap(proof: PoolCertificate) -> Cell:
    """The gap; none is known beside a bound of 0."""
    if proof.replica_moves and not proof.replica_moves_lower_bound:
        return number("-")
    return share(proof.gap_percent / 100, heat(proof.gap_percent / 100) if proof.gap_percent else 0)


def _clauses(witness: str, shown_max: int = 3) -> str:
    parts = witness.split("; ") if witness else []
    return "; ".join(parts[:shown_max]) + ("; …" if len(parts) > shown_max else "")


def problem_item(cluster: str, problem: PlanProblem) -> Row:
    """One problem that a plan leaves open, its place first; `cluster` may be empty."""
    places = (("cluster", cluster), ("pool", problem.pool), ("topic", problem.topic))
    place = [part for what, named in places if named for part in (Cell(what), name(named))]
    law = f" (law: {problem.law})" if problem.law else ""
    told = f"{'— ' if place else ''}{problem.message}{law}"
    return (*place, Cell(told))


def balances_table(
    pools: Sequence[PoolBalance], rows_max: int, *, clusters: bool
) -> tuple[ReportTable, ...]:
    """The imbalance of pools before and after, as numbers on their colour."""
    rows = []
    for pool in pools:
        known = 2 * len(pool.measures)
        values = [value for pair in pool.imbalances for value in pair]
        cells = [share(value, heat(value)) for value in values[:known]]
        cells += [number("unknown")] * (len(values) - known)
        whose = (name(pool.cluster),) if clusters else ()
        rows.append((*whose, name(pool.pool), number(len(pool.brokers)), *cells))
    heads = [head for measure in MEASURES for head in (measure.name, "then")]
    columns = (*(("Cluster",) if clusters else ()), "Pool", "Brokers", *heads)
    caption = "What is off the brokers' shares, before and then after"
    return table(caption, columns, rows, rows_max, "pool", 0 if clusters else -1)


def brokers_table(brokers: Iterable[Holding], rows_max: int) -> tuple[ReportTable, ...]:
    """A row of numbers for each broker."""
    rows = [
        (
            name(each.pool),
            number(str(each.broker)),
            name(each.rack or ""),
            Cell(_state(each)),
            number(each.replicas_before),
            number(each.replicas_after),
            number(each.leaders_before),
            number(each.leaders_after),
            byte_count(each.bytes_before if each.sized else None),
            byte_count(each.bytes_after if each.sized else None),
        )
        for each in brokers
    ]
    heads = ("Replicas", "then", "Leaders", "then", "Bytes", "then")
    columns = ("Pool", "Broker", "Rack", "State", *heads)
    return table("Brokers before and after", columns, rows, rows_max, "broker")


def leader_loads_table(
    loads: Sequence[PlannedLeaderLoad], rows_max: int
) -> tuple[ReportTable, ...]:
    """What producers write to each broker as a leader; a group that reads all reads it once."""
    rows = [
        (
            number(str(each.broker)),
            number(f"{size(each.before)}/s", order=each.before),
            number(f"{size(each.after)}/s", order=each.after),
        )
        for each in loads
    ]
    caption = "Written to what each broker leads, and read from there by each group"
    return table(caption, ("Broker", "Now", "Then"), rows, rows_max, "broker")


def groups_table(groups: Sequence[PlannedGroup], rows_max: int) -> tuple[ReportTable, ...]:
    """What each member of consumer groups reads; "?" where nobody can tell."""
    rows = [
        (
            name(group.name),
            Cell(member.label),
            number(f"{member.partitions:,}"),
            number("?" if member.partitions_then is None else f"{member.partitions_then:,}"),
            *(_load(load, group) for load in (member.load, member.load_then)),
        )
        for group in groups
        for member in group.members
    ]
    columns = ("Group", "Member", "Partitions", "Then", "Reads", "Then")
    return table("Members of consumer groups", columns, rows, rows_max, "member")


def _load(load: float | None, group: PlannedGroup) -> Cell:
    if load is None:
        return number("?")
    return number(shown_load(load, measured=True) if group.measured else "-", order=load)


def _state(each: Holding) -> str:
    if not each.live:
        return "not live"
    return "drained" if each.pool and not each.weight else ""
