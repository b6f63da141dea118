"""3,000 imported topics on a real control plane and a real ZooKeeper: one question, one answer."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from kazoo.client import KazooClient

from apirequests import Api
from control_plane.planes import ControlPlane
from operated import Rights
from operated_resources import Operated, Scene, ready_of
from operation import OperatorProcess
from poolkeeper.cli import main as cli
from poolkeeper.cli.kubectl.main import NAME, root
from poolkeeper.sandbox import Sandbox
from real.support import run

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800, func_only=True)]

TOPICS = 3_000
AT_ONCE = 100
SLOW_S = 600.0
MIB = 1024 * 1024
QUICK = ("--log-format=json", "--settle=1s")
EVENTS_MAX = 40
WRITES_MAX = 1.2
"""Of a Topic's status, on average: when it asks, and when it has its topic."""


@pytest.fixture
def scene(clean_cluster: ControlPlane, zookeeper: Sandbox) -> Iterator[Scene]:
    namespace = clean_cluster.new_namespace()
    account = Rights(clean_cluster, namespace).account("operator")
    with OperatorProcess(clean_cluster, namespace, "operator", QUICK, account) as operator:
        operator.await_role("leader")
        with Scene(Operated(clean_cluster, zookeeper, operator)) as found:
            yield found
            # One by one it takes minutes.
            clean_cluster.request("DELETE", found.path("topic").rpartition("/")[0])


def create_topics(scene: Scene) -> None:
    """Make all topics as other tools did years ago, many in a transaction."""
    client = KazooClient(scene.connect)
    client.start(timeout=30)
    client.ensure_path("/config/topics")
    for first in range(0, TOPICS, AT_ONCE):
        made = client.transaction()
        for number in range(first, first + AT_ONCE):
            config = {"retention.ms": "900000000"} if number % 3 == 0 else {}
            said = json.dumps({"version": 1, "config": config}).encode()
            brokers = [1 + number % 9, 1 + (number + 1) % 9]
            body = json.dumps({"version": 1, "partitions": {"0": brokers}}).encode()
            made.create(f"/config/topics/{name_of(number)}", said)
            made.create(f"/brokers/topics/{name_of(number)}", body)
        assert not [each for each in made.commit() if isinstance(each, Exception)]
    states = [f"/brokers/topics/{name_of(n)}/partitions/0/state" for n in range(TOPICS)]

    def led() -> bool:
        while states and client.exists(states[-1]):
            states.pop()
        return not states

    scene.wait(led, "all topics have leaders", SLOW_S)
    client.stop()
    client.close()


def name_of(number: int) -> str:
    return f"orders-{number:04}"


def imported(scene: Scene, folder: Path) -> list[dict]:
    """What `import` writes, in this test's names."""
    done = run("import", "--zookeeper", scene.connect, "--out", folder)
    assert done.code == 0, done.err
    found = [
        body
        for file in sorted(folder.iterdir())
        for body in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader)
    ]
    (cluster,) = (body for body in found if body["kind"] == "KafkaCluster")
    (pool,) = (body for body in found if body["kind"] == "ResourcePool")
    topics = [body for body in found if body["kind"] == "Topic"]
    cluster["metadata"]["name"] = scene.name
    cluster["spec"] |= {"mode": "Apply", "adoption": {"policy": "Approve"}}
    pool["metadata"]["name"] = scene.full("pool", "p")
    pool["spec"]["clusterRef"]["name"] = scene.name
    for topic in topics:
        topic["metadata"]["namespace"] = scene.namespace
        topic["spec"]["poolRef"]["name"] = scene.full("pool", "p")
    return [cluster, pool, *topics]


def topics_of(scene: Scene) -> list[dict]:
    return scene._request("GET", scene.path("topic").rpartition("/")[0])["items"]


def reasons(scene: Scene) -> Counter[str]:
    return Counter(ready_of(body).get("reason", "") for body in topics_of(scene))


def writes(scene: Scene) -> Counter[str]:
    operator = scene.operator
    account = f"{operator.namespace}/{operator.identity}"
    return Counter(
        f"{event.verb} {event.resource}/{event.subresource}"
        for event in scene.plane.audit()
        if event.account == account
    )


def test_thousands_of_imported_topics_are_one_question(scene, tmp_path, capsys):
    began = time.monotonic()

    def timed(what: str) -> None:
        print(f"{what}: after {time.monotonic() - began:.0f} s", flush=True)

    create_topics(scene)
    timed("the topics exist")
    bodies = imported(scene, tmp_path / "imported")
    assert len(bodies) == TOPICS + 2
    timed("they are imported")
    with Api(scene.plane.access) as api:
        for body in bodies:
            api.create(body)
    timed("they are declared")
    scene.wait(
        lambda: reasons(scene) == {"AdoptionRequired": TOPICS},
        "all Topics ask",
        SLOW_S,
        lambda: (reasons(scene), scene.status("cluster")),
    )
    timed("all ask")
    scene.wait(
        lambda: [a["topics"] for a in scene.status("cluster").get("adoptions", ())] == [TOPICS],
        "they are one question",
    )
    (asked,) = scene.status("cluster")["adoptions"]
    assert (asked["namespace"], len(asked["names"])) == (scene.namespace, 10)
    assert len(json.dumps(scene.get("cluster"))) < 64 * 1024
    assert max(len(json.dumps(body)) for body in topics_of(scene)) < 16 * 1024
    print(writes(scene))
    before = writes(scene)

    words = ("approve", f"adoption/{scene.namespace}", "-c", scene.name)
    approved = time.monotonic()
    assert cli.main([*words, "--kubeconfig", str(scene.plane.kubeconfig)], root, NAME) == 0
    assert asked["hash"] in scene.get("cluster")["spec"]["approval"]["plans"]
    scene.wait(
        lambda: reasons(scene) == {"InPlace": TOPICS},
        "all Topics are in place",
        SLOW_S,
        lambda: (reasons(scene), scene.status("cluster")),
    )
    timed("all are in place")
    took_s = time.monotonic() - approved
    print(f"approval to the last status: {took_s:.0f} s")
    scene.says("cluster")
    status = scene.status("cluster")
    assert "adoptions" not in status
    assert len(json.dumps(scene.get("cluster"))) < 64 * 1024
    after = writes(scene)
    print(after)
    told = [reason for _, reason, _ in scene.events("cluster", awaited="TopicsAdopted")]
    print(Counter(told))
    assert told.count("AdoptionRequired") == told.count("TopicsAdopted") == 1
    assert after["create events/"] <= EVENTS_MAX
    assert before["patch topics/status"] <= WRITES_MAX * TOPICS
    assert (after - before)["patch topics/status"] <= WRITES_MAX * TOPICS
