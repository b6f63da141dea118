"""What every test room shares.

`--update-golden` rewrites the files of `tests/golden` instead of comparing with them; the fixture
`update_golden` tells a test so. The fixtures of `servers` may be taken in every room.
"""

import pytest
from hypothesis import settings

from servers import chroot, fresh_kafka, kafka, topic_name, zookeeper

__all__ = ["chroot", "fresh_kafka", "kafka", "topic_name", "zookeeper"]

# Wall time says nothing on a machine that also runs JVMs.
# The same examples in every run; `make soak` draws others.
settings.register_profile("poolkeeper", deadline=None, derandomize=True)
settings.load_profile("poolkeeper")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--update-golden"))
