"""Two operators, of which one leads: it is killed, frozen or asked to end in mid-stage.

Real brokers move data under a throttle, so that a stage lasts some seconds whatever the machine.
Each operator has an account of its own: the audit log tells which of them wrote what.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from conditions import until
from control_plane.audits import AuditEvent
from control_plane.planes import ControlPlane
from operated import EPOCH, PARTITIONS, Rights, Site, connected
from operation import OperatorProcess
from poolkeeper.sandbox import Sandbox

pytestmark = pytest.mark.long

BATCHES = 6
STAGES = 2
BUSY_MACHINE_S = 60.0
ROUND_S = 8.0
WRITES = ("create", "update", "patch", "delete")


@pytest.fixture
def site(clean_cluster: ControlPlane, namespace: str, four_brokers: Sandbox) -> Iterator[Site]:
    site = Site(clean_cluster, namespace, four_brokers)
    yield site
    site.close()


@contextmanager
def two_operators(
    site: Site, rights: Rights, *arguments: str
) -> Iterator[tuple[OperatorProcess, OperatorProcess]]:
    """Start two, and yield them when the first one leads and the second one stands by."""
    first, second = (
        OperatorProcess(
            site.plane, site.namespace, name, arguments, kubeconfig=rights.account(name)
        )
        for name in ("first", "second")
    )
    with first:
        first.await_role("leader")
        with second:
            second.await_role("standby: first holds the lease")
            yield first, second


def assert_moved_once(site: Site, topic: str) -> None:
    """Every partition was requested once, in the stages of one run, and is where it belongs."""
    assert site.requested() == Counter({(topic, p): 1 for p in range(PARTITIONS)})
    requests = [c for c in site.changes("/admin/reassign_partitions") if c.kind == "CREATE"]
    assert len(requests) == STAGES
    assert site.assignment(topic) == {3, 4}
    assert site.throttled() == []
    assert site.run() == {}


def takeovers(site: Site) -> list[tuple[float, int]]:
    """When the journal was taken over, in s since 1970, and by which session."""
    return [(c.time_ms / 1000, c.session) for c in site.changes(EPOCH) if c.kind == "SET"]


def asked(site: Site, account: str, since_s: float, until_s: float = 1e12) -> list[AuditEvent]:
    """Return the writes of an account to the API server in a time, in s since 1970."""
    begin = datetime.fromtimestamp(since_s, UTC)
    return [
        event
        for event in site.plane.audit()
        if event.account == f"{site.namespace}/{account}"
        and event.verb in WRITES
        and begin <= event.at
        and event.at.timestamp() < until_s
    ]


def assert_warm(first: OperatorProcess, second: OperatorProcess, zookeeper: str) -> None:
    """The standby is ready, and leaves the cluster to the leader."""
    assert connected(first.process.pid, zookeeper) == 1
    assert connected(second.process.pid, zookeeper) == 0
    assert second.page("/readyz") == (200, "ready: standby: first holds the lease\n")
    assert second.metric("poolkeeper_leader") == 0


def await_takeover(site: Site, before: int, since_s: float, how: str) -> float:
    """Wait for the journal's next holder, and return how long after the fault it came."""
    until(lambda: len(takeovers(site)) > before, "the standby takes the journal over", 60)
    took_s = takeovers(site)[before][0] - since_s
    print(f"{how}: the standby's first write came after {took_s:.1f} s")
    return took_s


@pytest.mark.soak
@pytest.mark.parametrize("lease_s", [9, 4])
def test_a_standby_is_warm_and_goes_on_where_a_killed_leader_was(
    site: Site, rights: Rights, topic_name: str, lease_s: int
) -> None:
    with two_operators(site, rights, f"--lease-seconds={lease_s}") as (first, second):
        run = site.begin_to_move(topic_name, BATCHES)
        epoch, known = site.epoch(), len(takeovers(site))
        assert_warm(first, second, site.sandbox.zookeeper)
        killed_s = time.time()
        first.kill()
        took_s = await_takeover(site, known, killed_s, f"SIGKILL, a lease of {lease_s} s")
        assert took_s < BUSY_MACHINE_S
        assert site.epoch() == epoch + 1
        assert site.run()["plan"] == run["plan"]
        second.await_role("leader")
        site.await_ready(("Topic", topic_name), ("KafkaCluster", "main"), timeout_s=200)
        assert_moved_once(site, topic_name)


def test_a_frozen_leader_comes_back_as_a_standby_and_writes_nothing(
    site: Site, rights: Rights, topic_name: str
) -> None:
    with two_operators(site, rights) as (first, second):
        run = site.begin_to_move(topic_name, BATCHES)
        epoch, known = site.epoch(), len(takeovers(site))
        assert_warm(first, second, site.sandbox.zookeeper)
        frozen_s = time.time()
        first.freeze()
        took_s = await_takeover(site, known, frozen_s, "SIGSTOP")
        assert took_s < BUSY_MACHINE_S
        assert (site.epoch(), site.run()["plan"]) == (epoch + 1, run["plan"])
        thawed_s = time.time()
        first.thaw()
        first.await_role("standby: second holds the lease")
        site.await_ready(("Topic", topic_name), ("KafkaCluster", "main"), timeout_s=200)
        assert_moved_once(site, topic_name)
        until(lambda: not connected(first.process.pid, site.sandbox.zookeeper), "its session ends")
        assert asked(site, "first", thawed_s) == []
        taken, ours = takeovers(site)[known]
        others = {c.session for c in site.changes("/poolkeeper/run") if c.time_ms > taken * 1000}
        assert others == {ours}

        killed_s, known = time.time(), len(takeovers(site))
        second.kill()
        assert await_takeover(site, known, killed_s, "SIGKILL, back") < BUSY_MACHINE_S
        first.await_role("leader")
        site.edit("Topic", topic_name, {"config": {"retention.ms": "100000000"}})
        site.await_ready(("Topic", topic_name))


@pytest.mark.soak
def test_a_leader_that_is_asked_to_end_hands_over_at_once(
    site: Site, rights: Rights, topic_name: str
) -> None:
    with two_operators(site, rights) as (first, second):
        run = site.begin_to_move(topic_name, BATCHES)
        epoch, known = site.epoch(), len(takeovers(site))
        asked_s = time.time()
        assert first.stop() == 0
        ended_s = time.time()
        took_s = await_takeover(site, known, asked_s, "SIGTERM")
        assert took_s < max(ROUND_S, ended_s - asked_s + ROUND_S / 2)
        assert (site.epoch(), site.run()["plan"]) == (epoch + 1, run["plan"])
        second.await_role("leader")
        site.await_ready(("Topic", topic_name), ("KafkaCluster", "main"), timeout_s=200)
        assert_moved_once(site, topic_name)
