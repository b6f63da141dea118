"""What `kubectl poolkeeper status` lists, also where clusters are not there."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from poolkeeper.cli.kubectl import operators
from poolkeeper.cli.kubectl.access import UserAccess
from poolkeeper.cli.kubectl.main import root
from poolkeeper.cli.kubectl.operators import OperatorRelease
from poolkeeper.errors import Forbidden

Body = dict[str, Any]
Declare = Callable[..., None]
Status = Callable[..., str]


def said(reason: str, message: str) -> Body:
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": message}
    return {"conditions": [ready]}


def cluster(name: str) -> Body:
    return {"metadata": {"name": name}, "spec": {}, "status": said("InPlace", "in place")}


def pool(name: str, of: str) -> Body:
    status = said("NoSuchCluster", f"KafkaCluster {of} does not exist")
    return {"metadata": {"name": name}, "spec": {"clusterRef": {"name": of}}, "status": status}


def topic(name: str, of: str) -> Body:
    metadata = {"name": name, "namespace": "shop"}
    status = said("NoSuchCluster", "of no KafkaCluster")
    return {"metadata": metadata, "spec": {"poolRef": {"name": of}}, "status": status}


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Declare:
    def declared(
        clusters: tuple[Body, ...] = (),
        pools: tuple[Body, ...] = (),
        topics: tuple[Body, ...] = (),
    ) -> None:
        monkeypatch.setattr(UserAccess, "clusters", lambda _: [*clusters])
        monkeypatch.setattr(UserAccess, "cluster", lambda _, name: cluster(name))
        monkeypatch.setattr(UserAccess, "pools", lambda _: [*pools])
        monkeypatch.setattr(UserAccess, "topics", lambda _: ([*topics], True))
        monkeypatch.setattr(UserAccess, "api", None)

    return declared


@pytest.fixture
def status(run: Callable[..., tuple[int, str, str]]) -> Status:
    def listed(*words: str) -> str:
        code, out, err = run("status", *words, command=root)
        assert (code, err) == (0, "")
        return out

    return listed


def test_a_pool_whose_cluster_is_not_there_is_among_the_pools(
    declare: Declare, status: Status
) -> None:
    declare((cluster("main"),), (pool("fast", "main"), pool("lost", "mian")))
    listed = status()
    assert "lost  mian" in listed
    assert "NoSuchCluster" in listed
    assert [one["metadata"]["name"] for one in json.loads(status("-o", "json"))["pools"]] == [
        "fast",
        "lost",
    ]


def test_of_one_cluster_only_its_own_pools_and_topics_are_listed(
    declare: Declare, status: Status
) -> None:
    pools = (pool("fast", "main"), pool("lost", "mian"))
    declare((cluster("main"),), pools, (topic("orders", "fast"), topic("other", "lost")))
    listed = status("-c", "main")
    assert "lost" not in listed
    assert "0 of 1 as declared" in listed


def test_where_nobody_leads_that_is_said_before_all_else(
    declare: Declare, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare((cluster("main"),))
    renewed = "2026-11-29T11:00:00Z"
    known = [
        OperatorRelease("infra/one", False, "", renewed),
        OperatorRelease("infra/two", True, "p", renewed),
    ]
    monkeypatch.setattr(operators, "operator_releases", lambda _api, _clusters: known)
    listed = " ".join(status().split())
    assert listed.startswith("no operator of the release infra/one leads: its Lease was renewed")
    assert "infra/two" not in listed
    told = json.loads(status("-o", "json"))["operators"]
    assert [(each["release"], each["leads"]) for each in told] == [
        ("infra/one", False),
        ("infra/two", True),
    ]


def test_who_may_list_no_topics_sees_the_rest(
    declare: Declare, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: UserAccess) -> tuple[list[Body], bool]:
        raise Forbidden("no")

    declare((cluster("main"),), (pool("fast", "main"),))
    monkeypatch.setattr(UserAccess, "topics", forbidden)
    monkeypatch.setattr(UserAccess, "namespace", "shop")
    listed = status()
    assert "fast" in listed
    assert listed.endswith("\nTopics: you may not list those of namespace shop\n")
    assert json.loads(status("-o", "json"))["topicsNotReady"] is None


def test_without_a_cluster_what_is_there_is_listed_all_the_same(
    declare: Declare, status: Status
) -> None:
    declare(pools=(pool("lost", "mian"),), topics=(topic("orders", "lost"),))
    listed = status()
    assert listed.startswith("there is no KafkaCluster\n")
    assert "lost  mian" in listed
    assert "shop       orders" in listed


def test_where_nothing_is_declared_one_line_says_so(declare: Declare, status: Status) -> None:
    declare()
    assert status() == "there is no KafkaCluster\n"
