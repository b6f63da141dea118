"""The ACLs of Kafka that `docs/security.md` names are enough for what it says of them.

A broker with an authorizer lets Alice do what the page's table says, and Bob nothing.
"""

import contextlib
import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from conditions import until
from poolkeeper.brokers.consumer_groups import GroupMembers
from poolkeeper.brokers.group_leaders import GroupLeaders
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.errors import Unavailable
from poolkeeper.model.credentials import BrokerCredentials
from poolkeeper.model.topic_config.config_check import ConfigCheck
from poolkeeper.model.topology import TopicPartition
from poolkeeper.sandbox import Sandbox
from real.support import create, kazoo

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
RIGHT = re.compile(r"^\| `(\w+)`(?: `([^`]+)`)? \| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)
ALICE, BOB = BrokerCredentials("alice", "wonder-7"), BrokerCredentials("bob", "builder-7")
SETTINGS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        f' user_alice="{ALICE.password}" user_bob="{BOB.password}";'
    ),
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",  # who comes by the sandbox's own listener
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
}
BAD = {"segment.ms": "0"}
LISTS = ((1,),)


def grant(zookeeper: KazooClient, principal: str) -> None:
    """Let the principal do what the page says."""
    acls = defaultdict(list)
    for resource, name, operations in RIGHT.findall(PAGE.read_text(encoding="utf-8")):
        for operation in re.findall(r"\w+", operations):
            allowed = {"permissionType": "Allow", "operation": operation, "host": "*"}
            acls[resource, name or "kafka-cluster"].append(
                {"principal": f"User:{principal}", **allowed}
            )
    assert len(acls) == 4
    for (resource, name), entries in acls.items():
        path = f"/kafka-acl/{resource}/{name}"
        zookeeper.ensure_path(path)
        zookeeper.set(path, json.dumps({"version": 1, "acls": entries}).encode())
        change = f"{resource}:{name}".encode()
        zookeeper.create("/kafka-acl-changes/acl_changes_", change, sequence=True)


@pytest.fixture(scope="module")
def guarded(kafka: Callable[..., Sandbox]) -> Sandbox:
    sandbox = kafka(brokers=1, settings=tuple(SETTINGS.items()))
    with kazoo(sandbox.connect) as zookeeper:
        grant(zookeeper, "alice")
    return sandbox


def opened(sandbox: Sandbox, credentials: BrokerCredentials) -> BrokerClient:
    with kazoo(sandbox.connect) as zookeeper:
        endpoints = json.loads(zookeeper.get("/brokers/ids/1")[0])["endpoints"]
    (server,) = (each.split("://")[1] for each in endpoints if each.startswith("SASL"))
    return BrokerClient.open([server], credentials, None, 30)


def test_the_rights_on_the_page_are_enough(guarded: Sandbox, topic_name: str) -> None:
    create(guarded, topic_name, (1,))
    partition = TopicPartition(topic_name, 0)
    with opened(guarded, ALICE) as brokers:

        def groups_are_told() -> bool:
            with contextlib.suppress(Unavailable):  # the first question makes the topic of groups
                return brokers.group_members(["g"]).members == {"g": ()}
            return False

        sizes = brokers.sizes((1,))
        log = sizes.log(partition, 1)
        assert log is not None
        assert brokers.broker_config(1)["broker.id"].value == "1"
        assert brokers.move_log_dirs(1, {partition: log.log_dir}) == {}
        assert brokers.cancel_moves([partition]) == {}
        brokers.wake_controller()
        new = f"{topic_name}-new"
        checks = ConfigCheck(topic_name, BAD), ConfigCheck(new, BAD, LISTS)
        assert set(brokers.refused_configs(checks, 30)) == {topic_name, new}
        until(groups_are_told, "the group is told of", 30)
        assert brokers.group_members() == GroupMembers({})
        assert brokers.group_leaders({0: ["g"]}) == GroupLeaders({})


def test_without_rights_brokers_say_so_and_configs_pass_unchecked(
    guarded: Sandbox, topic_name: str
) -> None:
    with opened(guarded, BOB) as brokers:
        assert "uthoriz" in brokers.sizes((1,)).failures[1].reason
        with pytest.raises(Unavailable, match="does not show its config"):
            brokers.broker_config(1)
        checks = ConfigCheck(topic_name, BAD, LISTS), ConfigCheck("__consumer_offsets", BAD)
        assert brokers.refused_configs(checks, 30) == {}
