"""In which order tests run, which share a worker process and its servers, what a worker tells.

What takes longest begins first, so that no worker is left alone with it in the end; the many small
files of `unit` come last and even that out. Tests on brokers mostly work, those on a Kubernetes
mostly wait: their files are mixed, as soon as the first `AHEAD` on brokers have begun, for where
there is no Kubernetes yet, it is built meanwhile.

A file's tests run in one worker, one after the other. So do the files of a line of `TOGETHER`,
which ask for the same brokers or for the same operator: these start once, and the files come in the
order of the line. The tests of a file of
`APART`, which share nothing, are given away one by one.

A control plane takes as much as ten brokers to start, and more than them while nobody asks it for
anything: only `HOSTS` workers have one, and those take what is on a Kubernetes before all else. Who
has nothing else left to do starts one for `MANY` files that wait.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

HERE = Path(__file__).parent
ROOMS = (
    *("real", "kubernetes", "fleet", "simulation", "contracts", "oracle", "unit", "browser"),
    *("soak", "bench"),
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
        *("simulation", "source_d3"),  # a fourth broker joins: they come last
    ),
    "kubernetes/four brokers": ("outages", "failover"),
    "kubernetes/an operator": (
        *("rebalances", "operator_runs", "operator_plans", "operator_adoption", "operator_pools"),
    ),
    "kubernetes/another operator": (
        *("kubectl_plugin", "operator_gitops", "operator_conflicts", "operator_deletion"),
        "operator_tenancy",
    ),
    "fleet/one session": ("spark", "exchanged_features", "s3", "fleet_on_s3", "store_faults"),
}
APART = (
    "tests/real/test_composite.py",
    "tests/real/test_faults.py",
    "tests/simulation/test_campaign.py",
)
HOSTS = 3
"""How many workers have a control plane as long as there is something else to do."""
MANY = 6
"""So many files that wait for one are worth another."""
OF_THEIR_OWN = tuple(
    f"tests/kubernetes/test_{name}.py"
    for name in ("building", "chart_rendering", "chart_values", "readme_kubernetes")
)
"""What is on a Kubernetes and asks for no control plane that others have."""
GROUPS = {
    f"tests/{group.partition('/')[0]}/test_{name}.py": group
    for group, names in TOGETHER.items()
    for name in names
}

IN_LINE = {file: place for place, file in enumerate(GROUPS)}


def is_last_of_unit(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Return whether what comes next is not given to the worker together with this."""
    return nextitem is None or _unit(item) != _unit(nextitem)


def is_last_of_servers(nextitem: pytest.Item | None) -> bool:
    """Return whether this worker has no test that shares servers before it any more."""
    return nextitem is None or ROOMS.index(_room(nextitem)) > SERVERS


class Scheduling(LoadScopeScheduling):
    """Gives a worker a file at a time, or a line of `TOGETHER`, in the order of the tests."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._hosts: set[WorkerController] = set()
        """Those that have a control plane, or soon will."""

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

    def remove_node(self, node: WorkerController) -> str | None:
        """Give what a worker has not done to others."""
        self._hosts.discard(node)
        return super().remove_node(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Give the worker the first unit that it may have; if there is none, let it end."""
        asking = [scope for scope in self.workqueue if _asks_a_plane(scope)]
        others = (scope for scope in self.workqueue if scope not in asking)
        if node in self._hosts and asking:
            chosen = asking[0]
        elif node in self._hosts or len(self._hosts) < HOSTS:
            chosen = next(iter(self.workqueue))
        elif (other := next(others, None)) is not None:
            chosen = other
        elif len(asking) > MANY:
            chosen = asking[0]
        else:
            node.shutdown()
            return
        if chosen in asking:
            self._hosts.add(node)
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)


def run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a test as pytest does, and tell no more of it than what somebody looks at."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        at_once = report.passed and not report.sections and report.duration < AT_ONCE_S
        if report.when == "call" or not at_once:
            item.ihook.pytest_runtest_logreport(report=report)


def _asks_a_plane(scope: str) -> bool:
    """Return whether the tests of a unit ask for the worker's control plane."""
    file = scope.partition("::")[0].removeprefix("tests/")
    return file.startswith("kubernetes/") and f"tests/{file}" not in OF_THEIR_OWN


def put_in_order(items: list[pytest.Item]) -> None:
    """Sort tests by what has been said above."""
    ranks: dict[str, tuple[int, bool, bool]] = {}
    for item in items:
        ranks.setdefault(_unit(item), _rank(item))
    places = {unit: place for place, unit in enumerate(_mixed(ranks))}
    items.sort(key=lambda item: (places[_unit(item)], IN_LINE.get(_file_of(item.path), 0)))


def _unit(item: pytest.Item) -> str:
    """Return what is given to one worker: a group, or a file."""
    return _unit_of(item.path)


def _unit_of(path: Path) -> str:
    file = _file_of(path)
    return GROUPS.get(file, file)


@lru_cache
def _file_of(path: Path) -> str:
    return path.relative_to(HERE.parent).as_posix()


def _rank(item: pytest.Item) -> tuple[int, bool, bool]:
    room = _room(item)
    is_long = item.get_closest_marker("long") is not None
    return ROOMS.index(room), _unit(item) not in TOGETHER, not is_long


def of_room(items: list[pytest.Item], room: str) -> Iterator[pytest.Item]:
    """Yield the tests of a room."""
    return (item for item in items if _room(item) == room)


def _room(item: pytest.Item) -> str:
    return _room_of(item.path)


@lru_cache
def _room_of(path: Path) -> str:
    return path.relative_to(HERE).parts[0]


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
