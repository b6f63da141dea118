"""Definitions (CRDs) are removed or replaced, and with them all resources: no topic goes or moves.

Each test has an operator of its own: it awaits what was there seconds before a definition went, and
another one would await what tests before deleted.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conditions import until
from control_plane.planes import ControlPlane
from operated import CLUSTER, Rights, Site, in_pool, log_lines
from operation import OperatorProcess

pytestmark = [pytest.mark.long, pytest.mark.soak]

CRDS = Path(__file__).parents[2] / "crds"
GRACE_S = 10.0
"""What would be begun after what is declared has settled, has begun by then."""
THE_CLUSTER = ("KafkaCluster", CLUSTER)


@pytest.fixture
def operator(
    clean_cluster: ControlPlane, namespace: str, rights: Rights
) -> Iterator[OperatorProcess]:
    kubeconfig = rights.account("operator")
    with OperatorProcess(clean_cluster, namespace, "operator", kubeconfig=kubeconfig) as running:
        running.await_role("leader")
        yield running


def test_definitions_that_are_gone_are_said_and_waited_for(
    site: Site, operator: OperatorProcess
) -> None:
    plane = site.plane
    declared = [site.body("Topic", "kept", in_pool("p"))]
    site.declare({"p": [1, 2, 3]})
    site.create("Topic", "kept", in_pool("p"))
    site.await_ready(("Topic", "kept"))
    plane.kubectl("delete", "-f", str(CRDS), "--timeout=180s")
    until(
        lambda: (
            operator.page("/readyz")
            == (
                503,
                "not ready: the API server does not serve kafkaclusters, resourcepools, topics,"
                " rebalances: apply the definitions (CRDs)\n",
            )
        ),
        "the operator says what is missing",
    )
    assert operator.page("/healthz")[0] == 200
    assert site.assignment("kept")
    plane.apply_crds(CRDS)
    site.declare({"p": [1, 2, 3]})
    site.create("Topic", "kept", declared[0]["spec"])
    site.await_ready(("Topic", "kept"), THE_CLUSTER)
    operator.await_role("leader")
    assert not site.zookeeper.get_children("/admin/delete_topics")
    deleted = [
        c.path
        for c in site.changes()
        if c.kind == "DELETE" and c.path.startswith("/brokers/topics")
    ]
    assert deleted == []


def test_who_removes_the_definitions_removes_no_topic_and_moves_none(
    site: Site, operator: OperatorProcess, topic_name: str
) -> None:
    """Kubernetes then deletes every resource, as if somebody had asked for each of them."""
    plane = site.plane
    topics = [f"{topic_name}-{number}" for number in range(5)]
    everything = {"unmanagedTopics": "Manage", "defaultPool": "general"}
    site.declare({"p": [1, 2, 3], "general": [4, 5, 6]}, **everything)
    for topic in topics:
        site.create("Topic", topic, in_pool("p", deletionPolicy="Delete"))
    site.await_ready(*(("Topic", topic) for topic in topics), THE_CLUSTER)
    homes = {topic: site.replicas(topic) for topic in topics}
    plane.kubectl("delete", "-f", str(CRDS / "topics.yaml"), "--timeout=60s")
    until(lambda: log_lines(operator.log, "WARNING", "are being removed"), "the log says so")
    time.sleep(GRACE_S)
    plane.kubectl("delete", "-f", str(CRDS), "--timeout=60s", "--ignore-not-found")
    until(lambda: "apply the definitions" in operator.page("/readyz")[1], "it waits for them")
    assert {topic: site.replicas(topic) for topic in topics} == homes
    assert not site.zookeeper.get_children("/admin/delete_topics")
    assert not {topic for topic, _ in site.requested()} & set(topics)


def test_a_definition_that_is_replaced_moves_no_topic_before_it_is_declared_again(
    site: Site, operator: OperatorProcess, topic_name: str
) -> None:
    """Its resources are gone with the old one, and the next sync brings them."""
    everything = {"unmanagedTopics": "Manage", "defaultPool": "general"}
    site.declare({"p": [1, 2, 3], "general": [4, 5, 6]}, **everything)
    site.create("Topic", topic_name, in_pool("p"))
    site.await_ready(("Topic", topic_name), THE_CLUSTER)
    home = site.replicas(topic_name)
    definition = str(CRDS / "topics.yaml")
    site.plane.kubectl("replace", "--force", "--timeout=60s", "-f", definition)
    until(lambda: log_lines(operator.log, "WARNING", "declared again"), "the log says so")
    time.sleep(GRACE_S)
    assert site.replicas(topic_name) == home
    said = site.said(*THE_CLUSTER)
    assert said.reason == "Waiting"
    assert "before these are declared again" in said.message
    site.create("Topic", topic_name, in_pool("p"))
    site.await_ready(("Topic", topic_name), THE_CLUSTER)
    assert site.replicas(topic_name) == home
