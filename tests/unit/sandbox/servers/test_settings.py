"""Specs become files and command lines."""

import sys
from pathlib import Path

import pytest

from poolkeeper.sandbox.servers import settings
from poolkeeper.sandbox.servers.settings import BrokerSpec, SandboxSpec, spread


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [
        pytest.param(
            spread(4),
            (BrokerSpec(1, "a"), BrokerSpec(2, "b"), BrokerSpec(3, "c"), BrokerSpec(4, "a")),
            id="racks-in-turn",
        ),
        pytest.param(spread(2, ""), (BrokerSpec(1), BrokerSpec(2)), id="no-racks"),
        pytest.param(
            spread(2, ["x"], first=10),
            (BrokerSpec(10, "x"), BrokerSpec(11, "x")),
            id="one-rack",
        ),
    ],
)
def test_brokers_over_racks(brokers, expected):
    assert brokers == expected


def broker_config(spec, broker):
    text = settings.broker_config(spec, broker, "127.0.0.1:1", 2, [Path("/d0"), Path("/d1")])
    return dict(line.split("=", 1) for line in text.splitlines())


def test_the_more_specific_setting_wins():
    spec = SandboxSpec(settings=(("num.io.threads", "3"), ("log.segment.bytes", "1000")))
    plain = broker_config(spec, BrokerSpec(1))
    own = broker_config(spec, BrokerSpec(1, "a", (("num.io.threads", "4"),)))
    assert (plain["num.io.threads"], own["num.io.threads"]) == ("3", "4")
    assert own["log.segment.bytes"] == "1000"


def test_a_broker_is_told_where_things_are():
    found = broker_config(SandboxSpec(chroot="/x"), BrokerSpec(7, "b"))
    assert {
        key: found[key]
        for key in ("broker.id", "broker.rack", "listeners", "log.dirs", "zookeeper.connect")
    } == {
        "broker.id": "7",
        "broker.rack": "b",
        "listeners": "PLAINTEXT://127.0.0.1:2",
        "log.dirs": "/d0,/d1",
        "zookeeper.connect": "127.0.0.1:1/x",
    }


def test_without_a_rack_none_is_set():
    assert "broker.rack" not in broker_config(SandboxSpec(), BrokerSpec(1))


def test_a_key_that_the_oldest_version_does_not_know_is_left_out():
    delay = "log.segment.delete.delay.ms"
    assert delay in broker_config(SandboxSpec(kafka="1.1.1"), BrokerSpec(1))
    assert delay not in broker_config(SandboxSpec(kafka="0.10.2.2"), BrokerSpec(1))


def test_heaps_are_options():
    command = settings.zookeeper_command(
        sys.executable, Path("/jars"), 2048, Path("/zoo.cfg"), archive=False
    )
    assert "-Xmx2048m" in command
    assert command[-2:] == ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "/zoo.cfg")
    spec = SandboxSpec(broker_heap_mib=96)
    command = settings.broker_command(sys.executable, Path("/jars"), spec, Path("/b"))
    assert "-Xmx96m" in command
    assert command[-3:] == ("/jars/*", "kafka.Kafka", "/b")


def test_a_broker_has_classes_beside_its_own():
    spec = SandboxSpec(classes=Path("/policies"))
    command = settings.broker_command(sys.executable, Path("/jars"), spec, Path("/b"))
    assert command[-3:] == ("/jars/*:/policies", "kafka.Kafka", "/b")
