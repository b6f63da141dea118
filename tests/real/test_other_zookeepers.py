"""Other ZooKeepers: the oldest server that is met, and ensembles of three, also of two releases."""

from pathlib import Path

import pytest

from conditions import until
from ensembles import SERVERS, Ensemble
from poolkeeper.errors import Unavailable
from poolkeeper.sandbox import SandboxSpec
from poolkeeper.zk.client.nodes import Node
from poolkeeper.zk.client.session import Session
from real.migrations import FAST, SLOW, Migration, migration, patient
from real.support import HOLDER

pytestmark = pytest.mark.soak


def test_a_migration_on_zookeeper_3_4(tmp_path: Path) -> None:
    with migration("2.0.1", tmp_path, batches=8, server="2.0.1") as under_way:
        with Session.open(under_way.sandbox.connect) as session:
            assert session.server_version() == (3, 4)
        under_way.declare(pool="right", execution=SLOW)
        with under_way.applying():
            pass
        with under_way.applying():
            under_way.run("rollback", "--allow-controller-failover")
        assert under_way.run("apply", "--yes").code == 1
        under_way.declare(execution=FAST)
        under_way.apply()
        under_way.check(brokers=[3, 4, 5])


@pytest.mark.parametrize("kafka", ["3.9.2", "2.0.1"])
def test_an_ensemble_loses_its_leader_and_then_its_majority(kafka: str, tmp_path: Path) -> None:
    with migration(kafka, tmp_path, kind=Ensemble) as under_way:
        ensemble = under_way.sandbox
        assert isinstance(ensemble, Ensemble)
        under_way.declare(pool="right", execution=SLOW)
        with under_way.applying() as executor:
            before = session_of_executor(under_way)
            first = ensemble.leader()
            ensemble.kill_server(first)
            second = ensemble.leader()
            assert second != first
            (ensemble.witness,) = set(SERVERS) - {first, second}
            under_way.await_connected()
            assert session_of_executor(under_way) == before

            ensemble.kill_server(second)
            executor.await_said("no ZooKeeper answers")
            ensemble.start_zookeeper()
            under_way.await_connected()
            until(lambda: under_way.zookeeper.exists(HOLDER), "the executor has its journal")
            ended = executor.end(300)
            assert ended.code == 0, ended.out
        under_way.check(brokers=[3, 4, 5])


def test_a_session_goes_to_an_older_server_in_a_rolling_upgrade() -> None:
    """3.5 does not know bulk reads, which 3.6 and later are asked for."""
    with Ensemble.start(SandboxSpec(session_timeout_max_ms=20_000)) as ensemble:
        with patient(ensemble.zookeeper) as zookeeper:
            for path in ("/kafka/brokers/ids", "/kafka/brokers/topics"):
                zookeeper.ensure_path(path)
        ensemble.kill_server(3)
        ensemble.set_release(3, "2.8.2")
        with Session.open(f"{ensemble.address(1)},{ensemble.address(3)}/kafka") as session:
            assert session.server_version() == (3, 8)
            ensemble.start_server(3)
            until(lambda: ensemble.version(3) == "3.5.9", "the older server serves")
            ensemble.kill_server(1)

            def read() -> list[Node | None]:
                try:
                    return session.read_many(["/brokers/ids", "/absent"])
                except Unavailable:
                    return []  # the connection is lost, or was when it was sent

            found = until(read, "the older server answers", timeout_s=15)
            assert session.alive
            assert session.server_version() == (3, 5)
            assert found == [session.read("/brokers/ids"), None]


def session_of_executor(under_way: Migration) -> int:
    return until(lambda: under_way.zookeeper.exists(HOLDER), "the holder").ephemeralOwner
