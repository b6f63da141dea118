"""What every test room shares.

`--update-golden` rewrites the files of `tests/golden` instead of comparing with them; the fixture
`update_golden` tells a test so. `zookeeper` and `chroot` may be taken in every room.

Rooms are tested in the order of `ROOMS`; within a room the files marked `long` come first, so that
no worker is left alone with one of them in the end. A Kubernetes is built meanwhile, where there is
none. Tests on it mostly wait, those on brokers mostly work: the files of both are mixed as soon as
the first `AHEAD` on brokers have begun.
"""

import logging
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from servers import chroot, topic_name, zookeeper

__all__ = ["chroot", "topic_name", "zookeeper"]

HERE = Path(__file__).parent
ROOMS = ("fleet", "simulation", "contracts", "unit", "real", "kubernetes", "soak", "bench")
AHEAD = 8

# Wall time says nothing on a machine that also runs JVMs.
# A few examples, the same in every run; `make soak` draws many others.
settings.register_profile("poolkeeper", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("soak", deadline=None, max_examples=1000)
settings.load_profile("poolkeeper")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure() -> None:
    # What a shell starts in the background inherits an ignored Ctrl-C, and so would our children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Clients at work warn of every leader that moves, by the hundred, before what a failure says.
    logging.getLogger("kafka").setLevel(logging.ERROR)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def turn(item: pytest.Item) -> tuple[int, bool]:
        return ROOMS.index(_room(item)), item.get_closest_marker("long") is None

    items.sort(key=turn)
    brokers, kubernetes = (
        list(dict.fromkeys(item.path for item in items if _room(item) == room))
        for room in ("real", "kubernetes")
    )
    begins = min(AHEAD, len(brokers))
    step = (len(brokers) - begins) / max(1, len(kubernetes))
    places = {path: float(place) for place, path in enumerate(brokers)}
    places |= {path: begins + place * step for place, path in enumerate(kubernetes)}
    items.sort(key=lambda item: (_rank(item), places.get(item.path, 0.0)))


def _rank(item: pytest.Item) -> int:
    return ROOMS.index("real" if _room(item) == "kubernetes" else _room(item))


def _room(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).parts[0]


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
