"""In which order tests run, which share a worker process and its servers, what a worker tells.

What takes longest begins first, so that no worker is left alone with it in the end; the many small
files of `unit` come last and even that out. Tests on brokers mostly work, those on a Kubernetes
mostly wait: their files are mixed, as soon as the first `AHEAD` on brokers have begun, for where
there is no Kubernetes yet, it is built meanwhile.

A file's tests run in one worker, one after the other. So do the files of a line of `TOGETHER`,
which ask for the same brokers: these start once. The tests of a file of `APART`, which share
nothing, are given away one by one.
"""

from functools import lru_cache
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

HERE = Path(__file__).parent
ROOMS = (
    *("real", "kubernetes", "fleet", "simulation", "contracts", "oracle", "unit", "soak", "bench"),
)
AHEAD = 3
AT_ONCE_S = 0.01
"""A setup or teardown that takes longer is told: `--durations` names it."""
SERVERS = ROOMS.index("fleet")
"""The last room whose tests share servers."""
TOGETHER = {
    "real/three brokers": (
        *("execution", "brokers", "cli_reading", "logdirs", "loop"),
        *("observe", "resume", "sandbox_ready", "usable_topics", "throttles", "hangs", "outages"),
        *("config_checks", "orphans", "mixed_plans", "ui"),
    ),
    "real/four brokers": ("simulation", "source_d3"),
    "kubernetes/four brokers": ("outages", "failover"),
    "fleet/one session": ("spark", "s3", "fleet_on_s3"),
}
APART = (
    "tests/real/test_composite.py",
    "tests/real/test_faults.py",
    "tests/simulation/test_campaign.py",
)
GROUPS = {
    f"tests/{group.partition('/')[0]}/test_{name}.py": group
    for group, names in TOGETHER.items()
    for name in names
}


def is_last_of_unit(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Return whether what comes next is not given to the worker together with this."""
    return nextitem is None or _unit(item) != _unit(nextitem)


def is_last_of_servers(nextitem: pytest.Item | None) -> bool:
    """Return whether this worker has no test that shares servers before it any more."""
    return nextitem is None or ROOMS.index(_room(nextitem)) > SERVERS


class Scheduling(LoadScopeScheduling):
    """Gives a worker a file at a time, or a line of `TOGETHER`, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file in APART:
            return nodeid
        return GROUPS.get(file, file)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Forget what is done whole: xdist counts what is left of all units after each test."""
        super().mark_test_complete(node, item_index, duration)
        unit = self._split_scope(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][unit].values()):
            del self.assigned_work[node][unit]


def run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a test as pytest does, and tell no more of it than what somebody looks at."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        at_once = report.passed and not report.sections and report.duration < AT_ONCE_S
        if report.when == "call" or not at_once:
            item.ihook.pytest_runtest_logreport(report=report)


def put_in_order(items: list[pytest.Item]) -> None:
    """Sort tests by what has been said above."""
    ranks: dict[str, tuple[int, bool, bool]] = {}
    for item in items:
        ranks.setdefault(_unit(item), _rank(item))
    places = {unit: place for place, unit in enumerate(_mixed(ranks))}
    items.sort(key=lambda item: places[_unit(item)])


def _unit(item: pytest.Item) -> str:
    """Return what is given to one worker: a group, or a file."""
    return _unit_of(item.path)


@lru_cache
def _unit_of(path: Path) -> str:
    file = path.relative_to(HERE.parent).as_posix()
    return GROUPS.get(file, file)


def _rank(item: pytest.Item) -> tuple[int, bool, bool]:
    room = _room(item)
    is_long = item.get_closest_marker("long") is not None
    return ROOMS.index(room), _unit(item) not in TOGETHER, not is_long


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).parts[0]


def _mixed(ranks: dict[str, tuple[int, bool, bool]]) -> list[str]:
    """Return the units by rank, those on a Kubernetes evenly between those on brokers."""
    units = sorted(ranks, key=lambda unit: ranks[unit])
    brokers, kubernetes = (
        [unit for unit in units if ranks[unit][0] == ROOMS.index(room)]
        for room in ("real", "kubernetes")
    )
    begins = min(AHEAD, len(brokers))
    step = (len(brokers) - begins) / max(1, len(kubernetes))
    places = {unit: float(place) for place, unit in enumerate(brokers)}
    places |= {unit: begins + place * step for place, unit in enumerate(kubernetes)}
    return sorted(units, key=lambda unit: places.get(unit, float(len(units))))
