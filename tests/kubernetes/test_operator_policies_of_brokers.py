"""Brokers with a policy, and an operator: what they refuse is one Topic's condition."""

import pytest

from control_plane.planes import ControlPlane
from operated import CLUSTER, Site
from operation import OperatorProcess
from poolkeeper.sandbox import Sandbox, SandboxSpec, spread
from real.guarded_brokers import WEEK, YEAR, Guarded

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200, func_only=True)]

ONE = {"poolRef": {"name": "p"}, "partitions": 1, "replicationFactor": 1}
LIVE = ("live-refused", "live-fine")
NEW = ("new-refused", "new-fine")


def broker(version: str, brokers: int, **more: object) -> Sandbox:
    return Sandbox.start(SandboxSpec(brokers=spread(brokers), kafka=version, **more))


@pytest.mark.parametrize("version", ["3.9.2", "2.0.1"])
def test_a_refused_config_is_one_topics_condition(
    clean_cluster: ControlPlane, namespace: str, tmp_path, version
):
    guarded = Guarded(broker, version, tmp_path, LIVE)
    site = Site(clean_cluster, namespace, guarded.sandbox)
    with (
        guarded.sandbox,
        OperatorProcess(clean_cluster, namespace, "a", ("--settle=1s",)) as operator,
    ):
        operator.await_role("leader")
        brokers = {"bootstrapServers": guarded.sandbox.bootstrap}
        site.declare({"p": [1]}, brokers=brokers, adoption={"policy": "Open"})
        for name in (*LIVE, *NEW):
            kept = YEAR if "refused" in name else WEEK
            site.create("Topic", name, {**ONE, "config": {"retention.ms": kept}})
        for name in ("live-refused", "new-refused"):
            said = site.await_reason("Topic", name, "ConfigRefused")
            words = f"topic {name}: retention.ms above {WEEK} needs a ticket"
            assert (said.status, words in said.message) == ("False", True)
        site.await_ready(("Topic", "live-fine"), ("Topic", "new-fine"), ("ResourcePool", "p"))
        fine = {"retention.ms": WEEK}
        expected = {"live-refused": {}, "live-fine": fine, "new-fine": fine}
        assert guarded.configs() == expected
        assert guarded.written() == {"live-fine", "new-fine"}
        assert site.said("KafkaCluster", CLUSTER).status == "True"

        site.edit("Topic", "new-refused", {"config": fine})
        site.await_ready(("Topic", "new-refused"))
        site.await_reason("Topic", "live-refused", "ConfigRefused")
        assert guarded.configs() == expected | {"new-refused": fine}
    site.close()
