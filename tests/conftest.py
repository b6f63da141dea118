"""What every test room shares.

`--update-golden` rewrites the files of `tests/golden` instead of comparing with them; the fixture
`update_golden` tells a test so. `zookeeper` and `chroot` may be taken in every room.

Rooms are tested in the order of `ROOMS`: a Kubernetes is built meanwhile, where there is none, and
servers of one kind are up at a time. Within a room the files marked `long` come first, so that no
worker is left alone with one of them in the end.
"""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from servers import chroot, topic_name, zookeeper

__all__ = ["chroot", "topic_name", "zookeeper"]

HERE = Path(__file__).parent
ROOMS = ("fleet", "simulation", "contracts", "unit", "real", "kubernetes", "soak", "bench")

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def turn(item: pytest.Item) -> tuple[int, bool]:
        room = item.path.relative_to(HERE).parts[0]
        return ROOMS.index(room), item.get_closest_marker("long") is None

    items.sort(key=turn)


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
