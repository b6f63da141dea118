"""What ZooKeeper refuses is told in words that say what to do, not by a class of the library."""

import pytest
from kazoo.exceptions import QuotaExceededError, RequestTimeoutError, ThrottledOpError

from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.zk.client.failures import unavailable

BUSY = "ZooKeeper has more requests than it can answer (setting /a)"


@pytest.mark.parametrize(
    ("failed", "kind", "message"),
    [
        (
            QuotaExceededError(),
            Forbidden,
            "a quota in ZooKeeper, below /zookeeper/quota, leaves no room (setting /a)",
        ),
        (ThrottledOpError(), Unavailable, BUSY),
        (RequestTimeoutError(), Unavailable, BUSY),
    ],
    ids=["quota", "throttled", "timeout-of-the-server"],
)
def test_refusals_of_a_server_in_words(
    failed: Exception, kind: type[Unavailable], message: str
) -> None:
    found = unavailable(failed, "setting /a")
    assert (type(found), str(found)) == (kind, message)
