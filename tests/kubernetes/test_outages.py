"""What an operator needs is taken from it and given back: nothing is lost, and it says what is so.

Where data must be on its way, brokers are real and throttled; else they are simulated, on a real
ZooKeeper. Operators have an account and the rights that the chart grants.
"""

import base64
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conditions import until
from control_plane.planes import ControlPlane
from operated import CLUSTER, EPOCH, PARTITIONS, Rights, Site, in_pool, log_lines, mended_site
from operation import OperatorProcess
from poolkeeper.sandbox import Sandbox

pytestmark = pytest.mark.long

BATCHES = 5
LONG_BATCHES = 11
OUTAGE_S = 30.0
IDLE_S = 15.0
QUIET_S = 5.0
IDLE_TOPICS = 20
PULSES = 6
WRITES = ("create", "update", "patch", "delete", "deletecollection")
THE_CLUSTER = ("KafkaCluster", CLUSTER)

Run = Callable[..., OperatorProcess]


@pytest.fixture
def real_site(clean_cluster: ControlPlane, namespace: str, four_brokers: Sandbox) -> Iterator[Site]:
    yield from mended_site(clean_cluster, namespace, four_brokers)


@pytest.fixture
def run(clean_cluster: ControlPlane, namespace: str, rights: Rights) -> Iterator[Run]:
    """Starts an operator of that name, with an account of that name."""
    with ExitStack() as stack:

        def start(name: str = "operator", role: str = "leader") -> OperatorProcess:
            kubeconfig = rights.account(name)
            operator = OperatorProcess(clean_cluster, namespace, name, kubeconfig=kubeconfig)
            stack.enter_context(operator)
            operator.await_role(role)
            return operator

        yield start


@pytest.fixture(scope="class")
def shared(control_plane: ControlPlane) -> Iterator[OperatorProcess]:
    namespace = control_plane.new_namespace()
    kubeconfig = Rights(control_plane, namespace).account("shared")
    with OperatorProcess(control_plane, namespace, "shared", kubeconfig=kubeconfig) as running:
        yield running


@pytest.fixture
def operator(shared: OperatorProcess, clean_cluster: ControlPlane) -> OperatorProcess:
    """The operator of all tests of a class; it leads."""
    shared.await_role("leader")
    return shared


def requested_once(topic: str) -> Counter:
    return Counter({(topic, p): 1 for p in range(PARTITIONS)})


def alive_and_ready(operator: OperatorProcess, role: str) -> bool:
    status, text = operator.page("/readyz")
    return (
        operator.page("/healthz")[0] == 200 and status == 200 and text.startswith(f"ready: {role}")
    )


def test_without_an_api_server_the_stage_in_flight_is_the_last_until_it_is_back(
    real_site: Site, run: Run, topic_name: str
) -> None:
    site, plane = real_site, real_site.plane
    leader, standby = run("leader"), run("standby", "standby")
    site.create("Topic", "goes", in_pool("old"))
    plan = site.begin_to_move(topic_name, LONG_BATCHES)["plan"]
    began_s, epoch = time.monotonic(), site.epoch()
    plane.api_server.freeze()
    until(
        lambda: leader.page("/readyz")[1].startswith("ready: leader, finishing stages in flight"),
        "the leader is not sure to lead",
    )
    assert site.in_flight(), "the stage must outlast the lease for this test to show anything"
    until(lambda: not site.in_flight(), "the stage in flight ends", 60)
    plane.api_server.kill()
    while time.monotonic() < began_s + OUTAGE_S:
        assert not site.in_flight()
        assert alive_and_ready(leader, "leader")
        assert alive_and_ready(standby, "standby")
        time.sleep(0.5)
    assert (site.run()["stage"], site.run()["plan"]) == (1, plan)
    plane.api_server.start()
    site.delete("Topic", "goes")
    site.edit("ResourcePool", "old", {"brokers": {"ids": [1]}})
    site.await_ready(("Topic", topic_name), THE_CLUSTER, timeout_s=200)
    assert site.requested() == requested_once(topic_name)
    assert site.assignment(topic_name) == {3, 4}
    assert site.names("Topic") == [topic_name]
    until(lambda: site.found("ResourcePool", "old")["status"].get("brokers") == 1, "the edit is in")
    assert site.epoch() <= epoch + 1, "who leads after is settled between the two, once"
    assert site.throttled() == []


@pytest.mark.soak
def test_rights_that_are_taken_back_are_said_and_waited_for(
    site: Site, run: Run, rights: Rights
) -> None:
    operator, plane = run(), site.plane
    site.declare({"p": [1, 2, 3]})
    site.create("Topic", "allowed", in_pool("p"))
    site.await_ready(("Topic", "allowed"))

    rights.withdraw("status")
    site.edit("Topic", "allowed", {"config": {"retention.ms": "100000000"}})
    until(lambda: (operator.metric("poolkeeper_statuses_waiting") or 0) > 0, "statuses wait")
    until(lambda: log_lines(operator.log, "WARNING", "is not allowed"), "the log says why")
    until(lambda: b"100000000" in site.zookeeper.get("/config/topics/allowed")[0], "it is done")
    assert not site.said("Topic", "allowed").latest
    rights.grant("status")
    site.await_ready(("Topic", "allowed"))

    rights.withdraw("leases")
    until(
        lambda: "access to the lease is forbidden" in operator.page("/readyz")[1],
        "the leader says why it starts nothing",
    )
    rights.grant("leases")
    until(lambda: operator.page("/readyz") == (200, "ready: leader\n"), "it leads again")

    rights.withdraw("watch")
    plane.api_server.kill()  # an open watch is judged no more
    plane.api_server.start()
    until(lambda: "forbidden" in operator.page("/readyz")[1], "what is forbidden is said", 30)
    assert operator.page("/readyz")[0] == 503
    assert operator.page("/healthz")[0] == 200
    rights.grant("watch")
    site.edit("Topic", "allowed", {"config": {"retention.ms": "200000000"}})
    site.await_ready(("Topic", "allowed"))
    operator.await_role("leader")


class TestOneOperator:
    """It lives through all of this."""

    @pytest.mark.soak
    def test_a_slow_api_server_slows_down_and_breaks_nothing(
        self, site: Site, operator: OperatorProcess
    ) -> None:
        plane = site.plane
        site.declare({"p": [1, 2, 3]})
        site.await_ready()
        epoch = site.epoch()
        for number in range(PULSES):
            site.create("Topic", f"slow-{number}", in_pool("p"))
            plane.api_server.freeze()
            time.sleep(1.5)
            plane.api_server.thaw()
            time.sleep(0.3)
        site.await_ready(*(("Topic", f"slow-{number}") for number in range(PULSES)), THE_CLUSTER)
        assert site.epoch() == epoch
        assert alive_and_ready(operator, "leader")

    def test_a_zookeeper_that_is_away_in_mid_stage_is_said_and_waited_for(
        self, real_site: Site, operator: OperatorProcess, topic_name: str
    ) -> None:
        site = real_site
        plan = site.begin_to_move(topic_name, BATCHES)["plan"]
        site.close()
        site.sandbox.kill_zookeeper()
        said = site.await_reason(*THE_CLUSTER, "Unreachable")
        assert (said.status, bool(said.message)) == ("Unknown", True)
        conditions = {
            c["type"]: c["status"] for c in site.found(*THE_CLUSTER)["status"]["conditions"]
        }
        assert conditions == {"Ready": "Unknown", "Reconciling": "True"}
        assert site.found(*THE_CLUSTER)["status"]["plan"]["hash"] == plan
        assert site.said("Topic", topic_name).reason == "Moving"
        assert alive_and_ready(operator, "leader")
        site.sandbox.start_zookeeper()
        site.await_ready(("Topic", topic_name), THE_CLUSTER, timeout_s=200)
        assert site.assignment(topic_name) == {3, 4}
        assert site.requested() == requested_once(topic_name)
        assert site.throttled() == []

    def test_a_secret_that_is_missing_or_misses_a_key_is_named_and_waited_for(
        self, site: Site, operator: OperatorProcess
    ) -> None:
        zookeeper = {"connect": site.sandbox.connect, "credentialsSecretRef": {"name": "zk"}}
        site.declare({"p": [1, 2, 3]}, zookeeper=zookeeper)
        said = site.await_reason(*THE_CLUSTER, "Unreachable")
        assert said.message == f"there is no Secret zk in namespace {operator.namespace}"
        site.plane.kubectl(
            *("create", "secret", "generic", "zk", "-n", operator.namespace),
            "--from-literal=username=keeper",
        )
        said = site.await_reason(*THE_CLUSTER, "Impossible")
        assert said.message == "Secret zk: password is missing (expected username and password)"
        password = base64.b64encode(b"secret").decode()
        path = f"/api/v1/namespaces/{operator.namespace}/secrets/zk"
        site.plane.request("PATCH", path, {"data": {"password": password}})
        site.await_ready()

    def test_another_cluster_than_the_pinned_one_is_not_written_to(
        self, site: Site, operator: OperatorProcess
    ) -> None:
        site.declare({"p": [1, 2, 3]}, clusterId="another")
        site.create("Topic", "nowhere", in_pool("p"))
        said = site.await_reason(*THE_CLUSTER, "OtherCluster")
        conditions = {
            c["type"]: c["status"] for c in site.found(*THE_CLUSTER)["status"]["conditions"]
        }
        assert (said.status, conditions["Stalled"]) == ("False", "True")
        written = {change.path for change in site.changes()}
        assert {path for path in written if not path.startswith("/poolkeeper")} == set()
        journal = {"/poolkeeper", "/poolkeeper/records", "/poolkeeper/records/topics"}
        journal.add(EPOCH)
        assert {p for p in written if not p.startswith("/poolkeeper/holder")} <= journal

    def test_a_cluster_that_is_deleted_in_mid_run_goes_after_its_stage_and_kafka_stays(
        self, real_site: Site, operator: OperatorProcess, topic_name: str
    ) -> None:
        site = real_site
        site.begin_to_move(topic_name, BATCHES)
        until(
            lambda: site.found(*THE_CLUSTER)["metadata"].get("finalizers"), "the finalizer is there"
        )
        site.delete(*THE_CLUSTER)
        site.await_reason(*THE_CLUSTER, "Deleting")
        assert site.in_flight()
        until(lambda: site.names("KafkaCluster") == [], "it goes", 60)
        assert not site.in_flight()
        assert (site.run(), site.throttled()) == ({}, [])
        assert sorted(site.requested().values()) == [1, 1]
        moved = {partition for _, partition in site.requested()}
        for partition, replicas in site.replicas(topic_name).items():
            assert set(replicas) <= ({3, 4} if partition in moved else {1, 2})
        site.await_reason("Topic", topic_name, "NoSuchCluster")

    @pytest.mark.parametrize("cascade", ["background", "foreground"])
    def test_everything_can_be_deleted_at_once_and_no_data_is(
        self, site: Site, operator: OperatorProcess, tmp_path: Path, cascade: str
    ) -> None:
        topics = [f"{cascade}-{number}" for number in range(5)]
        cluster = {
            "zookeeper": {"connect": site.sandbox.connect},
            "mode": "Apply",
            "approval": {"policy": "Auto"},
        }
        pool = {"clusterRef": {"name": CLUSTER}, "brokers": {"ids": [1, 2, 3]}}
        bodies = [
            site.body("KafkaCluster", CLUSTER, cluster),
            site.body("ResourcePool", "p", pool),
            *(site.body("Topic", topic, in_pool("p")) for topic in topics),
        ]
        for number, body in enumerate(bodies):
            (tmp_path / f"{number}.json").write_text(json.dumps(body))
        site.plane.apply(tmp_path)
        site.await_ready(*(("Topic", topic) for topic in topics))
        site.plane.kubectl("delete", "-f", str(tmp_path), f"--cascade={cascade}", "--timeout=180s")
        for kind in ("Topic", "ResourcePool", "KafkaCluster"):
            assert site.names(kind) == []
        assert all(site.assignment(topic) for topic in topics)
        assert not site.zookeeper.get_children("/admin/delete_topics")

    def test_an_operator_with_nothing_to_do_writes_nothing_but_its_lease(
        self, site: Site, operator: OperatorProcess
    ) -> None:
        site.declare({"p": [1, 2, 3]})
        topics = [("Topic", f"idle-{number}") for number in range(IDLE_TOPICS)]
        for kind, name in topics:
            site.create(kind, name, in_pool("p"))
        site.await_ready(*topics, ("ResourcePool", "p"), THE_CLUSTER)

        def written(since: datetime) -> set[str]:
            return {
                event.resource
                for event in site.plane.audit()
                if event.account == f"{operator.namespace}/shared"
                and event.at > since
                and event.verb in WRITES
            }

        def quiet() -> bool:
            return written(datetime.now(UTC) - timedelta(seconds=QUIET_S)) <= {"leases"}

        until(quiet, "the last events are recorded")
        begin = datetime.now(UTC)
        time.sleep(IDLE_S)
        assert written(begin) == {"leases"}
