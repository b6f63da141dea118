"""Fixtures of real servers: shared by the tests of a worker process, ended as soon as may be.

    def test_nodes(chroot): ...                # "127.0.0.1:20001/test-1f…", an empty chroot
    def test_more(zookeeper): zookeeper.zookeeper, zookeeper.transaction_log()
    def test_topics(kafka):
        cluster = kafka()                      # 3 brokers 3.9.2, ids 1 2 3 on racks a b c
        old = kafka("2.0.1", brokers=4, racks="ab")
        plain = kafka(racks="")                # no broker.rack
    def test_loss(fresh_kafka):
        cluster = fresh_kafka(brokers=3)       # of this test alone: kill what you like
        cluster.kill(1); cluster.await_gone(1); cluster.start_broker(1)

Both factories return a `poolkeeper.sandbox.Sandbox` (`.connect`, `.bootstrap`, `.log_dirs(1)`, …)
and take `settings`, pairs for every broker's configuration. `kafka` gives the same cluster for the
same arguments, within a file or a line of `scheduling.TOGETHER`: name your topics after your test,
leave no request, throttle or dead broker behind.
`fresh_kafka` may be called several times. `topic_name` is a name no other test uses.
To wait for something: `from conditions import until`.

Every worker process of pytest-xdist has servers of its own. They die with it, however it ends;
folders that a killed run leaves are removed by the next sandbox. An idle broker takes a hundredth
of a processor, a control plane three: `end_idle` ends what no test to come takes.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from kazoo.client import KazooClient

import scheduling
from archives import archive_classes
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread

IDLE_BROKERS = 9
KafkaFactory = Callable[..., Sandbox]
T = TypeVar("T")


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[Sandbox]:
    with Sandbox.start(SandboxSpec()) as sandbox:
        yield sandbox


@pytest.fixture
def chroot(zookeeper: Sandbox) -> Iterator[str]:
    path = f"/test-{uuid.uuid4().hex[:12]}"
    client = KazooClient(zookeeper.zookeeper)
    client.start(timeout=30)
    client.create(path)
    yield zookeeper.zookeeper + path
    client.delete(path, recursive=True)
    client.stop()
    client.close()


@pytest.fixture
def topic_name() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


class Kept:
    """The clusters of one worker, by what was asked for, the one asked for last at the end.

    A start takes seconds of every processor, an idle broker 100 MB. To make room for another
    cluster, those go that were not asked for in the file at hand. A cluster of an earlier file that
    has fewer brokers than one that is asked for, and is the same otherwise, becomes that one.
    """

    def __init__(self) -> None:
        self._running: dict[SandboxSpec, Sandbox] = {}
        self._in_use: set[SandboxSpec] = set()

    def begin_file(self) -> None:
        self._in_use.clear()

    def get(self, spec: SandboxSpec) -> Sandbox:
        sandbox = self._running.pop(spec, None) or self._grown(spec)
        if sandbox is None:
            archive_classes(spec.kafka)
            self._make_room(len(spec.brokers))
            sandbox = Sandbox.start(spec)
        self._running[spec] = sandbox
        self._in_use.add(spec)
        return sandbox

    def _grown(self, spec: SandboxSpec) -> Sandbox | None:
        """Return a cluster that lacked only the last brokers of what is asked for, with them."""
        for known in self._running.keys() - self._in_use:
            there, more = spec.brokers[: len(known.brokers)], spec.brokers[len(known.brokers) :]
            if replace(spec, brokers=there) == known:
                sandbox = self._running.pop(known)
                for broker in more:
                    sandbox.add_broker(broker)
                return sandbox
        return None

    def end(self) -> None:
        self.begin_file()
        self._make_room(IDLE_BROKERS)

    def _make_room(self, brokers: int) -> None:
        for spec in [spec for spec in self._running if spec not in self._in_use]:
            if sum(len(each.brokers) for each in self._running) + brokers > IDLE_BROKERS:
                self._running.pop(spec).close()


class OfUnit:
    """What the files of a line of `scheduling.TOGETHER` share until the last test of them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._running: dict[str, Any] = {}

    def get(self, name: str, start: Callable[[], AbstractContextManager[T]]) -> T:
        """Return what was started by this name; if nothing was, start it."""
        if name not in self._running:
            self._running[name] = self._stack.enter_context(start())
        found: T = self._running[name]
        return found

    def end(self) -> None:
        """End all of it."""
        self._running.clear()
        self._stack.close()


KEPT = Kept()
OF_UNIT = OfUnit()
SHARED = ExitStack()
"""What the tests of servers share until the last of them."""


def end_idle(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the servers of this worker that none of its tests to come takes."""
    if scheduling.is_last_of_unit(item, nextitem):
        OF_UNIT.end()
        KEPT.end()
    if scheduling.is_last_of_servers(nextitem):
        SHARED.close()


@pytest.fixture(scope="session")
def kept_kafka() -> Iterator[Kept]:
    yield KEPT
    KEPT.end()


@pytest.fixture(scope="session")
def of_unit() -> Iterator[OfUnit]:
    yield OF_UNIT
    OF_UNIT.end()


@pytest.fixture(scope="session")
def shared_servers() -> Iterator[ExitStack]:
    yield SHARED
    SHARED.close()


@pytest.fixture(scope="module")
def kafka(kept_kafka: Kept) -> KafkaFactory:
    kept_kafka.begin_file()

    def factory(version: str = "3.9.2", brokers: int = 3, **more: object) -> Sandbox:
        return kept_kafka.get(_spec(version, brokers, **more))

    return factory


@pytest.fixture
def fresh_kafka() -> Iterator[KafkaFactory]:
    with ExitStack() as stack:

        def factory(version: str = "3.9.2", brokers: int = 3, **more: object) -> Sandbox:
            return stack.enter_context(Sandbox.start(_spec(version, brokers, **more)))

        yield factory


def _spec(
    version: str,
    brokers: int,
    racks: str = "abc",
    settings: tuple[tuple[str, str], ...] = (),
    **more: object,
) -> SandboxSpec:
    return SandboxSpec(brokers=spread(brokers, racks), kafka=version, settings=settings, **more)
