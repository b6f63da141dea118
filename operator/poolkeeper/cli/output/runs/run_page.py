"""The page of a run under way, and that of the finished ones, as reports. Pure.

They tell what `status` and `history` tell, in the same words.
"""

from collections.abc import Iterator, Sequence

from poolkeeper import wording
from poolkeeper.cli.output import printing
from poolkeeper.cli.output.runs import history_table, status_text
from poolkeeper.cli.output.runs.status_values import RunStatus, Status
from poolkeeper.errors import NodeDamage
from poolkeeper.frozen import frozen
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.waits import Wait, blocks, in_order
from poolkeeper.report.document import (
    Cell,
    CellKind,
    Picture,
    Report,
    Row,
    Section,
    Tile,
    name,
    number,
    table,
)
from poolkeeper.report.html import pictures
from poolkeeper.text import count, more, part_of, size

MOVES_MAX = 100
ITEMS_MAX = 50
BAR = 18.0
TOLD_ABOVE = ("damaged", "blocked by", "moving", "waits for")
"""Lines of `status` that have a section of their own here."""


@frozen
class RunSeen:
    """What the page of a run shows; `leaderless`: why nobody acts on what is declared."""

    status: Status
    leaderless: tuple[str, ...] = ()


def report(seen: RunSeen) -> Report:
    """The page of a run: what blocks it, how far it is, what moves, what it waits for."""
    status = seen.status
    waits = in_order(status.waits)
    return Report(
        f"Cluster {status.cluster}",
        f"{_begun(line(seen))}.",
        tuple(_tiles(status)),
        tuple(
            section
            for section in (
                _items("Nobody leads", [_begun(each) for each in seen.leaderless]),
                _damage(status.damage),
                _sentences("Blocked by", [wait for wait in waits if blocks(wait)]),
                _run(status.run),
                _sentences("What it waits for", [wait for wait in waits if not blocks(wait)]),
                _in_flight(status.run),
                _facts(status),
            )
            if section
        ),
        "This page changes nothing, and nothing can be approved here.",
    )


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def line(seen: RunSeen) -> str:
    """The state of a cluster in one line."""
    leaderless = ["no operator leads"] if seen.leaderless else []
    return "; ".join([_progress(seen.status), *leaderless, *_hindrances(seen.status)])


def _progress(status: Status) -> str:
    run = status.run
    if run is None:
        return "No run is under way"
    what = "taking back" if run.rolling_back else run.phase
    where = f"{what}, stage {run.stage}" if run.stage else what
    moves = f"{part_of(_done(run), run.moves_total, 'move')} done"
    moved = f"{size(run.bytes_done)} of {size(run.bytes_total)}"
    return f"{where}: {moves}, {moved}{', stops after this stage' if run.stopping else ''}"


def _hindrances(status: Status) -> Iterator[str]:
    """What somebody should look at: what blocks, what cannot be read, partitions that are sick."""
    if blocking := wording.sentences(wait for wait in status.waits if blocks(wait)):
        yield f"blocked for {count(len(blocking), 'reason')}"
    if status.damage:
        yield f"{count(len(status.damage), 'node')} cannot be read"
    sick = (
        (status.offline, "{} without a leader"),
        (status.under_replicated, "{} under-replicated"),
        (status.state_unknown, "state of {} is not known"),
    )
    yield from (told.format(count(len(which), "partition")) for which, told in sick if which)


def _done(run: RunStatus) -> int:
    return run.moves.get("done", 0)


def _tiles(status: Status) -> Iterator[Tile]:
    run = status.run
    if run is not None:
        yield Tile(run.phase, f"stage {run.stage}" if run.stage else "before the first stage")
        yield Tile(f"{_done(run):,} of {run.moves_total:,}", "moves done")
        yield Tile(size(run.bytes_done), f"of {size(run.bytes_total)} copied")
        if run.throttle_bytes_per_s is not None:
            yield Tile(f"{size(run.throttle_bytes_per_s)}/s", "throttle of each broker")
    yield Tile(f"{status.brokers:,}", "live broker" if status.brokers == 1 else "live brokers")
    yield _sick(len(status.under_replicated), "under-replicated")
    if status.offline:
        yield _sick(len(status.offline), "without a leader")
    if status.state_unknown:
        yield _sick(len(status.state_unknown), "of unknown state")


def _sick(partitions: int, how: str) -> Tile:
    what = "partition" if partitions == 1 else "partitions"
    return Tile(f"{partitions:,}", f"{what} {how}", "bad" if partitions else "good")


def _damage(damage: Sequence[NodeDamage]) -> Section | None:
    return _items("Cannot be read", [str(each) for each in damage])


def _sentences(title: str, waits: Sequence[Wait]) -> Section | None:
    return _items(title, wording.sentences(waits))


def _items(title: str, sentences: Sequence[str]) -> Section | None:
    if not sentences:
        return None
    items: tuple[Row, ...] = tuple((Cell(each),) for each in sentences[:ITEMS_MAX])
    return Section(title, items=items, more=more(len(sentences) - ITEMS_MAX, "other"))


def _run(run: RunStatus | None) -> Section | None:
    if run is None:
        return None
    return Section("How far the run is", pictures=(_bar(run),))


def _bar(run: RunStatus) -> Picture:
    """The bytes that have arrived; moves that only reorder replicas have none, and count alone."""
    done, total = (
        (run.bytes_done, run.bytes_total) if run.bytes_total else (_done(run), run.moves_total)
    )
    width = pictures.WIDTH * min(1.0, done / total) if total else 0.0
    tells = f"{size(run.bytes_done)} of {size(run.bytes_total)} have arrived."
    bars = [f'<path d="{pictures.box(0, 2, pictures.WIDTH, BAR)}" class="before"></path>']
    if width:
        bars.append(f'<path d="{pictures.box(0, 2, width, BAR)}" class="after"></path>')
    title = f"Plan {run.plan[: printing.HASH_DIGITS]}:"
    return Picture(pictures.svg(BAR + 4, title, tells, *bars), title, tells)


def _in_flight(run: RunStatus | None) -> Section | None:
    if run is None or not run.in_flight:
        return None
    rows = (
        (
            name(move.topic),
            number(str(move.partition)),
            Cell(f"{_ids(move.source)} → {_ids(move.target)}"),
            number(size(move.bytes), order=move.bytes),
            Cell(move.reason),
        )
        for move in run.in_flight
    )
    columns = ("Topic", "Partition", "Replicas", "Bytes", "Why")
    tables = table("Requested and not yet done", columns, rows, MOVES_MAX, "move")
    return Section("Moving now", tables=tables)


def _ids(replicas: Sequence[int]) -> str:
    return " ".join(map(str, replicas))


def _facts(status: Status) -> Section:
    rows, before = [], ""
    for what, said in status_text.facts_of(status):
        before = what or before
        if before not in TOLD_ABOVE:
            rows.append((Cell(what), Cell(said)))
    tables = table("As poolkeeper status tells it", ("What", "Now"), rows, 200, "line")
    return Section("The cluster", tables=tables)


def history(cluster: str, runs: Sequence[FinishedRun], damage: Sequence[NodeDamage]) -> Report:
    """The page of the runs that ended last, the latest first."""
    heads = tuple(head.capitalize() for head in history_table.HEADING)
    kinds = [CellKind.NAME if head == "plan" else CellKind.TEXT for head in history_table.HEADING]
    rows = (tuple(map(Cell, history_table.row(run), kinds)) for run in reversed(runs))
    tables = table("The latest first", heads, rows, len(runs) or 1, "run")
    lead = f"The last {count(len(runs), 'run')} that ended." if runs else "No run has ended yet."
    known = Section("Finished runs", tables=tables) if tables else None
    sections = tuple(each for each in (_damage(damage), known) if each)
    return Report(f"History of cluster {cluster}", lead, sections=sections)
