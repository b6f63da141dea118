"""An address that leads to another Kafka cluster after a while: nothing is done to that one."""

from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.errors import OtherCluster
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import Mode
from poolkeeper.resources.checks import folder
from poolkeeper.zk import znodes
from simulation.our_tree import OURS, OurTree

OTHER_ID = b'{"version":"1","id":"another"}'


def unused_cluster() -> OurTree:
    """The same cluster by another id, which no Poolkeeper ever worked on."""
    nothing_of_ours = {path: None for path in OURS if path.startswith(znodes.ROOT)}
    return OurTree.plant({**OURS, **nothing_of_ours, znodes.CLUSTER_ID: OTHER_ID})


@pytest.mark.parametrize("is_meant", [False, True])
@pytest.mark.parametrize("mode", [Mode.APPLY, Mode.PLAN_ONLY])
def test_the_next_session_of_a_loop_leads_to_the_cluster_of_the_first(
    declared: Path, mode: Mode, is_meant: bool
) -> None:
    first, other = OurTree.plant(OURS), unused_cluster()
    desired = folder.load((declared,)).desired("main")
    desired = replace(desired, cluster=replace(desired.cluster, mode=mode))
    sessions = [first.session(), other.session()]
    told: list[Outcome] = []
    wake, stop = Event(), Event()

    def report(outcome: Outcome) -> None:
        nonlocal desired
        told.append(outcome)
        if is_meant:
            desired = replace(desired, cluster=replace(desired.cluster, cluster_id="another"))
        first_session.die()
        if not sessions:
            stop.set()
        wake.set()

    def session():
        return sessions.pop(0)

    first_session = sessions[0]
    loop.run_loop(LoopConfig(ClusterConnections(session), lambda: desired, report, wake, stop))
    assert told[0].error is None
    assert isinstance(told[-1].error, OtherCluster) is not is_meant
    if not is_meant:
        assert str(told[-1].error) == (
            "this is another cluster: its id is another, the connection before says NbXc; correct"
            " spec.zookeeper.connect, or set spec.clusterId to another if it is meant (do all its"
            " servers belong to one ensemble?)"
        )
        assert other.read(znodes.ROOT) is None
