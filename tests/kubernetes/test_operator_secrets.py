"""Secrets that come late, are wrong or go, while an operator works on a real server."""

import base64

import pytest
from kazoo.security import make_digest_acl

from conditions import SERVER_POLL_S, until

pytestmark = pytest.mark.long

PASSWORD = "looking-glass-8"


@pytest.fixture
def secret(scene):
    """Write a Secret of the operator's namespace, by its texts; None deletes it."""
    folder = f"/api/v1/namespaces/{scene.operator.namespace}/secrets"
    written = set()

    def write(name, texts):
        scene.remove(f"{folder}/{name}")
        if texts is not None:
            data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            scene.plane.request("POST", folder, {"metadata": {"name": name}, "data": data})
        written.add(name)

    yield write
    for name in written:
        write(name, None)


def say(scene, about):
    """Wait until the KafkaCluster waits for its brokers, with these words."""

    def said():
        status = scene.status("cluster")
        waits = status.get("waits") == "BrokersUnreachable"
        return waits and about in scene.condition("cluster").get("message", "")

    scene.wait(said, f"the brokers are not asked: {about}", instead=lambda: scene.status("cluster"))


def test_without_the_brokers_secret_all_but_the_brokers_are_worked_on(scene, secret):
    name = f"{scene.name}-brokers"
    brokers = {"bootstrapServers": "127.0.0.1:1", "credentialsSecretRef": {"name": name}}
    spec = {"mode": "Apply", "approval": {"policy": "Auto"}, "brokers": brokers}
    scene.apply(scene.cluster(**spec), scene.pool("fast", 1, 2, 3))
    say(scene, f"there is no Secret {name}")
    scene.apply(scene.topic("early", "fast", partitions=1, replicationFactor=1))
    scene.says("topic", "early")
    secret(name, {"username": "u", "passwort": PASSWORD})
    say(scene, f"Secret {name}: password is missing")
    scene.apply(scene.topic("late", "fast", partitions=1, replicationFactor=1))
    scene.says("topic", "late")
    secret(name, {"username": "u", "password": PASSWORD})
    say(scene, "no broker answers")


def test_a_secret_of_zookeeper_is_awaited_and_no_password_is_told(scene, secret):
    name = f"{scene.name}-zookeeper"
    cluster = scene.cluster(mode="Apply", approval={"policy": "Auto"})
    cluster["spec"]["zookeeper"]["credentialsSecretRef"] = {"name": name}
    topic = scene.topic("orders", "fast", partitions=1, replicationFactor=1)
    scene.apply(cluster, scene.pool("fast", 1, 2, 3), topic)
    scene.says("cluster", reason="Unreachable", about=f"there is no Secret {name}")
    secret(name, {"password": PASSWORD})
    scene.says("cluster", reason="Impossible", about=f"Secret {name}: username is missing")
    secret(name, {"username": "poolkeeper", "password": PASSWORD})
    scene.says("topic", "orders")
    secret(name, None)  # the session is open
    scene.patch("topic", "orders", partitions=2)
    until(lambda: len(scene.assignment("orders")) == 2, "it goes on", 60, SERVER_POLL_S)
    kinds = "kafkaclusters,resourcepools,topics,events,configmaps"
    said = scene.kubectl("get", kinds, "-A", "-o", "json").stdout
    said += scene.operator.log.read_text()
    assert scene.name in said
    assert PASSWORD not in said
    assert base64.b64encode(PASSWORD.encode()).decode() not in said


def test_a_rotated_secret_is_used_once_the_old_user_may_not_write(scene, secret):
    """ZooKeeper tells of it at a write alone, and each write of a topic is told by itself."""
    name = f"{scene.name}-zookeeper"
    cluster = scene.cluster(mode="Apply", approval={"policy": "Auto"})
    cluster["spec"]["zookeeper"]["credentialsSecretRef"] = {"name": name}
    secret(name, {"username": "poolkeeper", "password": PASSWORD})
    topic = scene.topic("orders", "fast", partitions=1, replicationFactor=1)
    scene.apply(cluster, scene.pool("fast", 1, 2, 3), topic)
    scene.says("topic", "orders")
    rotated = make_digest_acl("poolkeeper", "another-glass-9", all=True)
    scene.protect("/config/topics/orders", rotated)
    secret(name, None)
    scene.patch("topic", "orders", config={"retention.ms": "900000000"})
    scene.says("topic", "orders", "Configuring")

    def both_are_said():
        message = scene.condition("cluster").get("message", "")
        return "is not allowed" in message and f"there is no Secret {name}" in message

    scene.wait(
        both_are_said,
        "what is not allowed is said, and why nobody else can be had",
        instead=lambda: scene.status("cluster"),
    )
    secret(name, {"username": "poolkeeper", "password": "not-yet-right-1"})
    held = scene.holder()
    scene.wait(lambda: scene.holder() not in ({}, held), "the new Secret is tried")
    secret(name, {"username": "poolkeeper", "password": "another-glass-9"})
    scene.says("topic", "orders")
    assert scene.config("orders") == {"retention.ms": "900000000"}
