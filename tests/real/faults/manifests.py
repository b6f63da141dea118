"""What is declared changes under an executor that follows a folder."""

from conditions import until
from real.faults.harm import END_S
from real.migrations import Migration
from real.support import RUN

KEPT = {"mode": "Apply", "approval": {"policy": "Auto"}}


def folder_is_empty(under_way: Migration) -> None:
    under_way.declare(**KEPT)
    manifests = under_way.folder / "all.yaml"
    with under_way.applying("run") as executor:
        text = manifests.read_text()
        manifests.unlink()
        executor.await_said("these manifests are ignored until they are right")
        assert under_way.zookeeper.exists(RUN)
        manifests.write_text(text)
        until(lambda: not under_way.zookeeper.exists(RUN), "the run ends", END_S)
        executor.stop()


def plan_only_in_mid_run(under_way: Migration) -> None:
    under_way.declare(**KEPT)
    with under_way.applying("run") as executor:
        under_way.declare(mode="PlanOnly")
        executor.await_said("a run is recorded, and the mode is PlanOnly")
        assert "foreign" not in executor.said()
        assert "throttle" in under_way.run("status").out
        assert under_way.zookeeper.exists(RUN)
        under_way.declare(mode="Apply")
        until(lambda: not under_way.zookeeper.exists(RUN), "the run ends", END_S)
        executor.stop()
    assert under_way.brokers() <= {3, 4, 5}
