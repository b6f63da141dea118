"""What `helm test` finds: health, rights, the way to ZooKeeper; each is told apart."""

from datetime import UTC, datetime, timedelta

import pytest

from poolkeeper.controller import release_check
from poolkeeper.controller.release_check import REVIEWS, ReleaseCheck
from poolkeeper.errors import Forbidden, Unavailable
from poolkeeper.kube.leadership.leader_election import microtime

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/ops/leases/pk"
CLUSTER = {
    "apiVersion": "poolkeeper.dev/v1alpha1",
    "kind": "KafkaCluster",
    "metadata": {"name": "main"},
    "spec": {"zookeeper": {"connect": "127.0.0.1:1/kafka", "credentialsSecretRef": {"name": "zk"}}},
}


class FakeApi:
    def __init__(self, objects=(), denied=(), clusters=(), errors=()):
        self.objects, self.denied = dict(objects), set(denied)
        self.clusters, self.errors = list(clusters), dict(errors)

    def get(self, path, **_):
        if path in self.errors:
            raise self.errors[path]
        return self.objects.get(path)

    def list(self, path, **_):
        return iter(self.clusters)

    def create(self, path, body, **_):
        assert path == REVIEWS
        asked = body["spec"]["resourceAttributes"]
        name = f"{asked['resource']}/{asked['subresource']}".rstrip("/")
        return {"status": {"allowed": (asked["verb"], name) not in self.denied}}


def lease(holder="a", age_s=1.0):
    renewed = microtime(NOW - timedelta(seconds=age_s))
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 9, "renewTime": renewed}
    return {LEASE: {"metadata": {}, "spec": spec}}


def findings(api, clock=NOW.timestamp, **given):
    given = {"sleep": lambda seconds: None, **given}
    return list(ReleaseCheck(api, "ops", "pk", clock=clock, **given).findings())


def test_a_release_that_works_without_clusters():
    assert [str(each) for each in findings(FakeApi(lease()))] == [
        "ok    health: an operator leads (Lease ops/pk)",
        "ok    rights: the operator's account may do what it needs",
        "ok    ZooKeeper: no KafkaCluster is declared yet",
    ]


@pytest.mark.parametrize(
    ("objects", "errors", "wrong"),
    [
        ({}, {}, "there is no Lease: see the logs of the operator's pods"),
        (lease(holder=""), {}, "nobody holds it: see the logs of the operator's pods"),
        (
            lease(age_s=60),
            {},
            "a renews it no more, the last time was 2026-11-22T11:59:00.000000Z: see the logs of"
            " the operator's pods",
        ),
        ({}, {LEASE: Forbidden("RBAC")}, "RBAC"),
        ({}, {LEASE: Unavailable("away")}, "away"),
    ],
)
def test_what_is_wrong_with_the_health(objects, errors, wrong):
    health, rights, _ = findings(FakeApi(objects, errors=errors))
    assert (health.wrong, rights.wrong) == (wrong, "")


@pytest.mark.parametrize("off_s", [600, -600], ids=["ahead", "behind"])
def test_a_leader_whose_clock_is_not_that_of_the_test_leads(off_s):
    api = FakeApi(lease(age_s=off_s))
    health, *_ = findings(api, sleep=lambda seconds: api.objects.update(lease(age_s=off_s - 2)))
    assert health.wrong == ""


def test_a_lease_that_is_being_handed_over_is_looked_at_again():
    """As in `helm upgrade --wait && helm test`: the leader before ends last."""
    api = FakeApi(lease(holder=""))
    health, *_ = findings(api, sleep=lambda seconds: api.objects.update(lease(holder="b")))
    assert health.wrong == ""


def test_a_leader_that_is_gone_does_not_lead_by_a_clock_that_was_ahead():
    health, *_ = findings(FakeApi(lease(age_s=-600)))
    assert health.wrong.startswith("a renews it no more")


def test_missing_rights_are_named():
    denied = {("patch", "topics/status"), ("create", "configmaps")}
    health, rights, _ = findings(FakeApi(lease(), denied), watched=("shop", "pay"))
    assert health.wrong == ""
    assert rights.wrong == (
        "it may not patch topics/status.poolkeeper.dev in shop;"
        " patch topics/status.poolkeeper.dev in pay; create configmaps in ops"
    )


@pytest.mark.parametrize(
    ("objects", "errors", "words"),
    [
        ({}, {}, "there is no Secret zk in namespace ops"),
        ({}, {"secrets/zk": Forbidden("RBAC")}, "credentials.secretNames"),
    ],
)
def test_a_cluster_whose_secret_cannot_be_read(objects, errors, words):
    path = "/api/v1/namespaces/ops/secrets/zk"
    refused = dict.fromkeys([path] if errors else [], Forbidden("RBAC"))
    *_, cluster = findings(FakeApi(lease(), clusters=[CLUSTER], errors=refused))
    assert cluster.what == "ZooKeeper: KafkaCluster main"
    assert words in cluster.wrong


@pytest.mark.slow
def test_a_zookeeper_that_nobody_answers_for_is_named(monkeypatch):
    monkeypatch.setattr(release_check, "DEADLINE_S", 0.5)
    spec = {"zookeeper": {"connect": "127.0.0.1:1/kafka"}}
    *_, cluster = findings(FakeApi(lease(), clusters=[{**CLUSTER, "spec": spec}]))
    assert "127.0.0.1:1" in cluster.wrong
