"""A Rebalance from its declaration to its end, planned by a Job of Spark executors."""

import dataclasses
import json
from collections.abc import Iterator

import pytest

from conditions import until
from operated_resources import Operated
from operation import OperatorProcess
from planned import SETTINGS, Planning
from rebalanced import Fleet, fleet_of

pytestmark = [pytest.mark.fleet, pytest.mark.long]
CLUSTERS = 3
PLANNED_S = 240.0


@pytest.fixture(scope="module")
def planning(control_plane, kubelet) -> Planning:
    return Planning(control_plane, kubelet)


@pytest.fixture
def fleet(control_plane, zookeeper, planning, tmp_path) -> Iterator[Fleet]:
    """Clusters that are kept by an operator with the chart's rights, which can make Jobs."""
    settings = dataclasses.replace(SETTINGS, account=f"{planning.full}-planner", executors=2)
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(dataclasses.asdict(settings)))
    account = control_plane.account_kubeconfig(planning.namespace, planning.full)
    arguments = ("--lease", planning.full, "--planning-jobs", str(file), "--settle", "1s")
    with OperatorProcess(
        control_plane, planning.namespace, "a", arguments, kubeconfig=account
    ) as operator:
        operator.await_role("leader")
        with fleet_of(Operated(control_plane, zookeeper, operator), CLUSTERS) as found:
            yield found


@pytest.mark.soak
def test_executors_plan_what_is_then_approved_and_carried_out(fleet, planning):
    """The operator is killed while executors are at work, and goes on with the same Job."""
    fleet.declare()
    fleet.begin(engine="Spark")
    until(lambda: len(planning.executors()) == 2, "two executors run", PLANNED_S)
    operator = fleet.scenes[0].operator
    operator.kill()
    operator.start()
    message = fleet.says("WaitingForApproval", timeout_s=PLANNED_S)
    assert fleet.text(message).startswith("waits to move 18 partitions (12 MiB) in 3 clusters")
    status = fleet.status()
    assert status["engine"] == "Spark"
    assert [event.status for event in planning.jobs_made()] == [201]
    fleet.approve()
    assert fleet.text(fleet.says("Succeeded")) == "moved 18 partitions (12 MiB) in 3 clusters"
    assert fleet.even() == [True] * CLUSTERS
    records = {each["metadata"]["name"] for each in fleet.maps()}
    until(lambda: set(planning.left()) == records, "only the plans are left of the Job", 60)
