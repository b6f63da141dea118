"""From what was said on the command line to the systems to open and what is declared for them.

Addresses come from the manifests or from the options; credentials come from the client
configuration. TLS comes from it too, and only where it has none from the manifests: they hold paths
of the place where the operator runs, the file those of this machine.
"""

import re
from dataclasses import dataclass, replace

from poolkeeper.cli import timing
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.model.credentials import ClientConfig
from poolkeeper.model.specs import Desired, KafkaClusterSpec, ZooKeeperSpec
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse import client_config

ANONYMOUS = ClientConfig()


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster, ready to be opened; `desired` is None where it is addressed directly."""

    name: str
    connect: str
    bootstrap: tuple[str, ...] = ()
    client: ClientConfig = ANONYMOUS
    timeout_s: float = timing.TIMEOUT_S
    kafka_version: str | None = None
    desired: Desired | None = None


def declared(address: ClusterSelection) -> Desired:
    """Load the manifests; raises InvalidInput with all problems, Refused for a wrong name."""
    return folder.load(address.folders).desired(address.cluster)


def target(address: ClusterSelection) -> Target:
    """Say what to open; raises like `declared`."""
    if address.zookeeper is None:
        return target_of(address, declared(address))
    return Target(
        name=address.cluster or name_of(address.zookeeper),
        connect=address.zookeeper,
        bootstrap=address.bootstrap,
        client=_client(address),
        timeout_s=address.timeout_s,
    )


def target_of(address: ClusterSelection, desired: Desired) -> Target:
    """Say what to open for a cluster whose manifests are loaded."""
    spec = desired.cluster
    client = _client(address)
    brokers_tls = spec.brokers.tls if spec.brokers else None
    return Target(
        name=spec.name,
        connect=spec.zookeeper.connect,
        bootstrap=spec.brokers.bootstrap_servers if spec.brokers else (),
        client=replace(
            client,
            zookeeper_tls=client.zookeeper_tls or spec.zookeeper.tls,
            brokers_tls=client.brokers_tls or brokers_tls,
        ),
        timeout_s=address.timeout_s,
        kafka_version=spec.kafka_version,
        desired=desired,
    )


def undeclared(target: Target) -> Desired:
    """Stand in for the manifests of a cluster that is addressed directly: nothing is declared."""
    return Desired(KafkaClusterSpec(target.name, ZooKeeperSpec(target.connect)))


def name_of(connect: str) -> str:
    """Name a cluster that nobody named: by the last part of its chroot, else `kafka`.

    `h1:2181,h2:2181/clusters/Main_1` is `main-1`: fit for the name of a resource.
    """
    _, _, chroot = connect.partition("/")
    words = re.sub(r"[^a-z0-9]+", "-", chroot.rpartition("/")[2].lower()).strip("-")
    return words or "kafka"


def _client(address: ClusterSelection) -> ClientConfig:
    if address.client_config is None:
        return ANONYMOUS
    return client_config.load(address.client_config)
