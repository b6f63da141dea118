"""When a sandbox is ready: ZooKeeper serves, brokers listen, and one of them is the controller.

`ruok` proves nothing (it is answered before ZooKeeper serves); only a session and a read do. Nor
does a registration: a broker of 3.9 begins to listen a moment after it, and on a busy machine the
controller takes it up seconds later. Everything is polled with a deadline. A child that has ended
ends the wait at once, with the end of its log.
"""

import json
import logging
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from poolkeeper import errors
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.sandbox.servers import settings
from poolkeeper.sandbox.servers.processes import Child

POLL_S = 0.05
ATTEMPT_S = 1.0

SILENCE = logging.getLogger("poolkeeper.sandbox.silence")
"""The logger of clients whose server does not answer yet: that is expected while waiting."""
SILENCE.setLevel(logging.CRITICAL + 1)


@contextmanager
def session(connect: str, deadline: float, check: Callable[[], None]) -> Iterator[KazooClient]:
    """Open a session that has read something; `deadline` is of the monotonic clock.

    `check` is called before every attempt, to raise if waiting is of no use. Raises Unavailable at
    the deadline.
    """
    while True:
        check()
        client = KazooClient(connect, timeout=10, connection_retry={"max_tries": 0}, logger=SILENCE)
        try:
            client.start(timeout=ATTEMPT_S)
            client.exists("/")
        except (KazooTimeoutError, KazooException) as silent:
            _close(client)
            if time.monotonic() > deadline:
                raise errors.Unavailable(f"no ZooKeeper serves at {connect}") from silent
            time.sleep(POLL_S)
            continue
        break
    try:
        yield client
    finally:
        _close(client)


def await_cluster(
    client: KazooClient,
    chroot: str,
    ports: Mapping[int, int],
    deadline: float,
    check: Callable[[], None],
) -> None:
    """Wait until the brokers listen at their `ports` and are registered, and one is controller.

    Port 0 is that of a simulated broker, which listens nowhere.
    Raises Unavailable that says what is missing at the deadline.
    """
    while missing := _missing(client, chroot, ports) or _silent(ports):
        check()
        if time.monotonic() > deadline:
            raise errors.Unavailable(f"the sandbox is not ready in time: {missing}")
        time.sleep(POLL_S)


def await_known(ports: Mapping[int, int], deadline: float, check: Callable[[], None]) -> None:
    """Wait until the controller knows the brokers that listen at these ports.

    A broker that is only registered gets no replicas yet. When a controller of 2.0 takes one up, it
    begins all reassignments to it once more. The controller sends every broker its list of brokers.
    Raises Unavailable naming the missing brokers at the deadline.
    """
    servers = [f"{settings.ADDRESS}:{port}" for port in ports.values()]
    with BrokerClient.open(
        servers, deadline_s=max(ATTEMPT_S, deadline - time.monotonic())
    ) as brokers:
        while unknown := sorted(ports.keys() - set(brokers.ids())):
            check()
            if time.monotonic() > deadline:
                raise errors.Unavailable(f"the controller has not taken up brokers {unknown}")
            time.sleep(POLL_S)


def await_gone(client: KazooClient, chroot: str, broker: int, deadline: float) -> None:
    """Wait until `broker` is not registered any more. Raises Unavailable at the deadline."""
    while client.exists(f"{chroot}/brokers/ids/{broker}"):
        if time.monotonic() > deadline:
            raise errors.Unavailable(f"broker {broker} is still registered")
        time.sleep(POLL_S)


def check_children(children: Collection[Child]) -> None:
    """Raise Unavailable with the end of the log of a child that has ended."""
    for child in children:
        if (code := child.exit_code()) is not None:
            raise errors.Unavailable(f"{child.name} ended ({code}): {child.last_words()}")


def _missing(client: KazooClient, chroot: str, brokers: Collection[int]) -> str:
    """Return what the cluster still lacks; empty if it is ready."""
    try:
        registered = {int(name) for name in client.get_children(f"{chroot}/brokers/ids")}
        if absent := sorted(set(brokers) - registered):
            return f"brokers {absent} are not registered"
        controller = json.loads(client.get(f"{chroot}/controller")[0])["brokerid"]
    except NoNodeError:
        return "no broker has registered, or there is no controller"
    except KazooException as failed:
        return f"ZooKeeper does not answer ({type(failed).__name__})"
    return "" if controller in registered else f"controller {controller} is not registered"


def _silent(ports: Mapping[int, int]) -> str:
    """Return the brokers that do not listen; empty if all do."""
    for broker, port in ports.items():
        if port == 0:
            continue
        try:
            socket.create_connection((settings.ADDRESS, port), ATTEMPT_S).close()
        except OSError:
            return f"broker {broker} does not listen at port {port}"
    return ""


def _close(client: KazooClient) -> None:
    client.stop()
    client.close()
