"""Simulated brokers beside real ones: the same writes, and the same brokers on a real ZooKeeper."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

import txnlog
from conditions import until
from matrices import soak
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, body_of
from poolkeeper.sandbox import Sandbox
from poolkeeper.sandbox.clock import RealClock
from poolkeeper.sandbox.simulation import Simulation, SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.kazoo_session import KazooSession
from real.support import kazoo
from simulation.recordings import Recorded, Trace, history, replay, streams

pytestmark = pytest.mark.long

ATTEMPTS = 3
TRACES = Path(__file__).parents[1] / "simulation" / "traces"
BEFORE = {"0": [1, 2], "1": [2, 1], "2": [1, 2], "3": [2, 1]}
AFTER = {"0": [3, 4], "1": [2, 3], "2": [2, 1], "3": [4, 3, 1]}


def create_topic(zookeeper: KazooClient, topic: str, lists: Mapping[str, Sequence[int]]) -> None:
    body = {"version": 1, "partitions": lists}
    zookeeper.create(f"/brokers/topics/{topic}", json.dumps(body).encode())
    last = f"/brokers/topics/{topic}/partitions/{max(lists)}/state"
    until(lambda: zookeeper.exists(last), "states of the new topic", 30)


def reassign(zookeeper: KazooClient, topic: str, lists: Mapping[str, Sequence[int]]) -> bool:
    """Ask, wait, and return whether it was done: a busy controller drops requests."""
    entries = {(topic, int(p)): ids for p, ids in lists.items()}
    zookeeper.create(REQUEST, json.dumps(body_of(entries)).encode())
    until(lambda: not zookeeper.exists(REQUEST), "the end of the reassignment", 60)
    return dict(json.loads(zookeeper.get(f"/brokers/topics/{topic}")[0])["partitions"]) == lists


def compared(found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Leave out what comes seconds later, and may be of other topics."""
    return {name: stream for name, stream in found.items() if name != "notifications"}


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.8.2", "2.0.1")])
def test_simulated_brokers_write_what_real_ones_write_today(kafka, topic_name, version):
    sandbox = kafka(version, brokers=4)
    with kazoo(sandbox.connect) as zookeeper:
        create_topic(zookeeper, topic_name, BEFORE)
        for _ in range(ATTEMPTS):
            since = txnlog.read_folder(sandbox.transaction_log())[-1].zxid
            if reassign(zookeeper, topic_name, AFTER):
                break
        controller = json.loads(zookeeper.get("/controller")[0])["brokerid"]
        epoch = int(zookeeper.get("/controller_epoch")[0])
    log = txnlog.read_folder(sandbox.transaction_log())
    writes = tuple(history(log, topic_name, since, sandbox.state.chroot))
    trace = Trace(version, topic_name, controller, epoch, None, BEFORE, AFTER, writes)
    assert len(writes) > 20
    simulated, real = compared(replay(trace, "today")), compared(streams(trace, writes))
    for name in simulated.keys() | real.keys():
        assert simulated.get(name) == real.get(name), name


@pytest.fixture
def clock() -> Iterator[RealClock]:
    found = RealClock(speed=5)
    found.start()
    yield found
    found.stop()


@pytest.mark.parametrize("version", ["3.9.2", *soak("2.3.1", "0.10.2.2")])
def test_simulated_brokers_on_a_real_zookeeper(
    zookeeper: Sandbox, chroot: str, clock: RealClock, version: str
) -> None:
    trace = Trace.read(TRACES / f"{version}.json")
    root = chroot.removeprefix(zookeeper.zookeeper)
    simulated = Simulation(
        SimulationSpec(spread(4), kafka=version),
        lambda: KazooSession(chroot, clock),
        clock,
        Recorded(trace, join_after_ms=300),
    )
    with kazoo(chroot) as client:
        for id_ in sorted(simulated.brokers, key=lambda id_: id_ != trace.controller):
            clock.call(lambda id_=id_: simulated.start_broker(id_))
            until(lambda id_=id_: client.exists(f"/brokers/ids/{id_}"), f"broker {id_}", 30)
        create_topic(client, trace.topic, trace.before)
        since = txnlog.read_folder(zookeeper.transaction_log())[-1].zxid
        reassign(client, trace.topic, trace.after)
        log = txnlog.read_folder(zookeeper.transaction_log())
        found = streams(trace, history(log, trace.topic, since, root))
        assert compared(found) == compared(streams(trace, trace.writes))
        clock.call(lambda: simulated.kill(3))
        until(lambda: not client.exists("/brokers/ids/3"), "the end of a killed session", 30)
        clock.call(lambda: simulated.start_broker(3))
        until(lambda: client.exists("/brokers/ids/3"), "broker 3 back", 30)
        clock.call(simulated.close)
        until(lambda: not client.get_children("/brokers/ids"), "the end of all sessions", 30)
