"""The pages that a browser opens: written by commands, those of a fleet by what writes them."""

import io
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench import clusters
from poolkeeper.cli import main
from poolkeeper.cli.commands.plans.plan import audited_plan
from poolkeeper.model import snapshots
from poolkeeper.planning.planner import make_plan
from poolkeeper.rehearsal.results import page as rehearsal_page
from poolkeeper.rehearsal.results.outcomes import Rehearsed, Subject
from poolkeeper.report.fleet.fleet_report import fleet_page
from poolkeeper.report.plan_report import plan_page
from rehearsed import FIXED, SETTINGS, seven
from simulation.test_rehearse_command import CLUSTER, POOL
from unit.report import fleets

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "plans"
MEMBERS = tuple(f"--member=C{n}:orders,payments,clicks" for n in range(4))
MANY_PARTITIONS = 200_000
MANY_CLUSTERS = 1_000
REHEARSED_PARTITIONS = 3_000


def plan(folder: Path) -> str:
    """A migration between pools, with problems and stages."""
    given = GOLDEN / "migration"
    words = ("-f", given / "manifests.yaml", "--snapshot", given / "snapshot.json")
    return _printed("plan", *words, "--output", "html")


def rehearsal(folder: Path) -> str:
    """A broker is filled, and another one fails meanwhile."""
    manifests, snapshot, page = (folder / n for n in ("main.yaml", "cluster.json", "page.html"))
    manifests.write_text(CLUSTER + POOL)
    snapshots.write(snapshot, seven(1e6))
    words = ("-f", manifests, "--snapshot", snapshot, "--fail", "broker=7@40%,for=10m")
    _printed("rehearse", *words, "--out", page)
    return page.read_text(encoding="utf-8")


def consumers(folder: Path) -> str:
    """A member leaves and comes back, with every assignor."""
    topics = ("--topic=orders:12", "--topic=payments:6", "--topic=clicks:8")
    events = ("--leave=C1", "--return=C1")
    return _printed("whatif", "consumers", *topics, *MEMBERS, *events, "--output", "html")


def fleet(folder: Path) -> str:
    """A few clusters, with something in every section."""
    return fleet_page(fleets.small())


PAGES: Mapping[str, Callable[[Path], str]] = {
    "plan": plan,
    "rehearsal": rehearsal,
    "consumers": consumers,
    "fleet": fleet,
}


def large_plan() -> str:
    """The plan of `MANY_PARTITIONS` partitions on 60 brokers, which get six more."""
    seen = clusters.cluster(MANY_PARTITIONS, 60, 6)
    wanted = clusters.desired(66)
    return plan_page(make_plan(wanted, seen), wanted, seen)


def large_fleet() -> str:
    """The report of `MANY_CLUSTERS` clusters."""
    return fleet_page(fleets.many(MANY_CLUSTERS))


def large_rehearsal() -> str:
    """A rehearsal of `REHEARSED_PARTITIONS` partitions on 60 brokers, which get four more."""
    wanted = clusters.desired(64)
    throttled = replace(
        wanted.cluster.execution, throttle=FIXED.throttle, max_moves=200, max_moves_per_broker=33
    )
    wanted = replace(wanted, cluster=replace(wanted.cluster, execution=throttled))
    seen = clusters.cluster(REHEARSED_PARTITIONS, joined=4)
    subject = Subject(seen, wanted, partial(audited_plan, prune=False))
    return rehearsal_page.render(Rehearsed(subject.rehearse(SETTINGS)))


LARGE: Mapping[str, Callable[[], str]] = {
    "plan": large_plan,
    "fleet": large_fleet,
    "rehearsal": large_rehearsal,
}


def _printed(*words: object) -> str:
    with redirect_stdout(io.StringIO()) as out:
        code = main.main([str(word) for word in words])
    assert code in (0, 2), (words, code)
    return out.getvalue()
