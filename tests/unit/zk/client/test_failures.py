"""What ZooKeeper refuses is told in words that say what to do, not by a class of the library."""

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError, QuotaExceededError, RequestTimeoutError, ThrottledOpError
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.zk.client import failures
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


class Held:
    """What the caller of a read has in its hands."""


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def no_node() -> Any:
    result = SequentialThreadingHandler().async_result()
    result.set_exception(NoNodeError("/gone"))
    return result


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize(
    ("ask", "error"),
    [
        pytest.param(lambda: failures.answer(no_node(), 1), NoNodeError, id="no-node"),
        pytest.param(lambda: failures.repeat(no_node, 1), NoNodeError, id="repeated"),
        pytest.param(
            lambda: failures.answer(SequentialThreadingHandler().async_result(), 0.001),
            KazooTimeoutError,
            id="late",
        ),
    ],
)
def test_an_error_keeps_nothing_of_those_who_asked(
    ask: Callable[[], Any], error: type[Exception]
) -> None:
    def caller() -> weakref.ref[Held]:
        held = Held()
        with pytest.raises(error):
            ask()
        return weakref.ref(held)

    assert caller()() is None


def test_an_error_is_told_as_often_as_it_is_asked_for() -> None:
    result = no_node()
    for _ in range(2):
        with pytest.raises(NoNodeError, match="/gone"):
            failures.answer(result, 1)
