"""A Rebalance from its declaration to its end, planned by a Job of Spark executors."""

import dataclasses
import json
from collections.abc import Iterator

import pytest

from conditions import until
from operated_resources import Operated
from operation import OperatorProcess
from planned import QUICK, SETTINGS, Planning
from poolkeeper.kube.objects import plan_documents
from rebalanced import Fleet, fleet_of
from s3_server import Bucket, s3, s3_server

__all__ = ["s3", "s3_server"]

pytestmark = [pytest.mark.fleet, pytest.mark.long]
CLUSTERS = 3
PLANNED_S = 240.0


@pytest.fixture(scope="module")
def planning(control_plane, kubelet) -> Planning:
    return Planning(control_plane, kubelet)


@pytest.fixture(params=["in ConfigMaps", "in a store"])
def store(request: pytest.FixtureRequest) -> Bucket | None:
    return request.getfixturevalue("s3") if request.param == "in a store" else None


@pytest.fixture
def fleet(control_plane, zookeeper, planning, tmp_path, store: Bucket | None) -> Iterator[Fleet]:
    """Clusters that are kept by an operator with the chart's rights, which can make Jobs."""
    settings = dataclasses.replace(SETTINGS, account=f"{planning.full}-planner", executors=2)
    if store is not None:
        stored = {"storage": store.uri("plans"), "storage_from_bytes": 1}
        settings = dataclasses.replace(settings, conf={**QUICK, **store.conf()}, **stored)
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
def test_executors_plan_what_is_then_approved_and_carried_out(fleet, planning, store):
    """The operator is killed while executors are at work, and goes on with the same Job.

    With a store, the response and the approved plans are objects there, and nothing else has them.
    """
    made = len(planning.jobs_made())
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
    assert [event.status for event in planning.jobs_made()[made:]] == [201]
    if store is not None:
        (kept,) = fleet.maps()
        assert "binaryData" not in kept
        objects = store.folder / "plans" / planning.namespace
        name = kept["metadata"]["name"].removesuffix("-0")
        until(
            lambda: [each.parent.name for each in objects.rglob("*.gz")] == [name],
            "the plans alone are stored",
            60,
        )
    fleet.approve()
    assert fleet.text(fleet.says("Succeeded")) == "moved 18 partitions (12 MiB) in 3 clusters"
    assert fleet.even() == [True] * CLUSTERS
    records = {each["metadata"]["name"] for each in fleet.maps()}
    # Beside them each KafkaCluster has its own plan there.
    documents = {plan_documents.name_of(scene.name) for scene in fleet.scenes}
    expected = records | {f"{name}-0" for name in documents}
    until(lambda: set(planning.left()) == expected, "only plans are left of the Job", 60)
