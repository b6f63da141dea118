"""What every test room shares.

`--update-golden` rewrites the files of `tests/golden` instead of comparing with them; the fixture
`update_golden` tells a test so. `zookeeper` and `chroot` may be taken in every room.

In which order tests run, and where, is told in `scheduling`.
"""

import gc
import logging
import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings
from xdist import is_xdist_worker
from xdist.remote import Producer

import scheduling
from laws import AT_LENGTH, FEW, SOME
from servers import chroot, end_idle, of_unit, shared_servers, topic_name, zookeeper

__all__ = ["chroot", "of_unit", "shared_servers", "topic_name", "zookeeper"]

# Little of what tests make is garbage in circles, and to look for it in all that imports made takes
# a tenth of the time.
gc.set_threshold(50_000)

# Wall time says nothing on a machine that also runs JVMs.
# A few examples, the same in every run; `make test` has more, and `make soak` draws many others.
settings.register_profile("unit", deadline=None, derandomize=True, max_examples=FEW)
settings.register_profile("test", deadline=None, derandomize=True, max_examples=SOME)
settings.register_profile("soak", deadline=None, max_examples=AT_LENGTH)
settings.load_profile("unit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_configure() -> None:
    # Programs in Go collect garbage a quarter as often as they would: a fifth of the work of an API
    # server, and of kubectl, which is gone before it has any.
    os.environ.setdefault("GOGC", "400")
    # What a shell starts in the background inherits an ignored Ctrl-C, and so would our children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Clients at work tell of every leader that moves and of every try to reach a broker that is
    # down, by the hundred, before what a failure says. What they lose or refuse, tests count.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def pytest_collection_finish() -> None:
    # Thousands of tests and their parameters live to the end: no collection looks at them again.
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    scheduling.put_in_order(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> scheduling.Scheduling:
    # In the order of the tests, not by their number.
    config.option.loadscopereorder = False
    return scheduling.Scheduling(config, log)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not is_xdist_worker(item.session):
        return None
    scheduling.run(item, nextitem)
    return True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    try:
        return (yield)
    finally:
        end_idle(item, nextitem)


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
