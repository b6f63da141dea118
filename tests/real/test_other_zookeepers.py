"""Migrations on other ZooKeepers: the oldest server that is met, and an ensemble of three."""

from pathlib import Path

import pytest

from conditions import until
from ensembles import SERVERS, Ensemble
from poolkeeper.zk.client.session import Session
from real.migrations import FAST, SLOW, Migration, migration
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


def session_of_executor(under_way: Migration) -> int:
    return until(lambda: under_way.zookeeper.exists(HOLDER), "the holder").ephemeralOwner
