"""From the command line's options to the systems to open and the state declared for them.

Addresses come from the manifests or from the options, credentials from the client configuration.
The client configuration's TLS files win over those of the manifests. The manifests hold paths of
the machine that runs the operator, the client configuration holds paths of this machine.
"""

import re
import stat
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock

from poolkeeper.cli import timing
from poolkeeper.cli.input import bounded_files
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.cli.output import printing
from poolkeeper.errors import InvalidInput, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.credentials import ClientConfig
from poolkeeper.model.desired import Desired
from poolkeeper.model.specs import KafkaClusterSpec, ZooKeeperSpec
from poolkeeper.resources.checks import folder
from poolkeeper.resources.parse import client_config, files

ANONYMOUS = ClientConfig()


@frozen
class Target:
    """The addresses, credentials and declared state of one cluster.

    `desired` is None for a cluster that is addressed without manifests. `cluster_id` is what they
    declare of it, also where nothing else is taken from them. `others`: the documents of other API
    groups among them.
    """

    name: str
    connect: str
    bootstrap: tuple[str, ...] = ()
    client: ClientConfig = ANONYMOUS
    timeout_s: float = timing.TIMEOUT_S
    kafka_version: str | None = None
    desired: Desired | None = None
    cluster_id: str | None = None
    others: tuple[str, ...] = ()


def load_desired(address: ClusterSelection) -> Desired:
    """Load the manifests; raises InvalidInput with all problems, Refused for an unknown name."""
    return folder.load(address.folders).desired(address.cluster)


def names(address: ClusterSelection) -> tuple[str, ...]:
    """The names of all clusters of the manifests; raises InvalidInput and Refused."""
    found = folder.load(address.folders)
    if not found.clusters:
        raise Refused("the manifests hold no KafkaCluster (expected one)")
    return tuple(sorted(spec.name for spec in found.clusters))


def target(address: ClusterSelection) -> Target:
    """Return the selected cluster's target; raises like `load_desired`."""
    if address.zookeeper is None:
        found = folder.load(address.folders)
        return replace(target_of(address, found.desired(address.cluster)), others=found.others)
    return Target(
        name=address.cluster or name_of(address.zookeeper),
        connect=address.zookeeper,
        bootstrap=address.bootstrap,
        client=_client(address),
        timeout_s=address.timeout_s,
    )


def reachable_target(address: ClusterSelection) -> Target:
    """Return the selected cluster's target, for commands that need no more than its addresses.

    What is wrong elsewhere in the manifests keeps nobody from seeing or ending a run: the target is
    without `desired` then, and a warning says so. Raises like `load_desired` otherwise, and
    InvalidInput for a client configuration that is wrong.
    """
    if address.zookeeper is not None:
        return target(address)
    try:
        desired = load_desired(address)
    except InvalidInput:
        spec = folder.lone_cluster(address.folders, address.cluster)
        if spec is None:
            printing.warn((_NO_ADDRESSES,))
            raise
        printing.warn((_ONLY_ADDRESSES,))
        return replace(target_of(address, Desired(spec)), desired=None)
    return target_of(address, desired)


_ONLY_ADDRESSES = (
    "the manifests are wrong, and `poolkeeper validate` says where: nothing but the cluster's"
    " addresses is taken from them"
)


_NO_ADDRESSES = (
    "the manifests do not tell the cluster's addresses: right them, or give --zookeeper"
    " HOST:PORT/CHROOT in place of -f, which does without manifests"
)


def target_of(address: ClusterSelection, desired: Desired) -> Target:
    """Return the target of a cluster whose manifests are loaded."""
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
        cluster_id=spec.cluster_id,
    )


def empty_desired(target: Target) -> Desired:
    """Return an empty declared state for a cluster that is addressed without manifests."""
    return Desired(KafkaClusterSpec(target.name, ZooKeeperSpec(target.connect)))


def name_of(connect: str) -> str:
    """Derive a cluster's name from the last part of its chroot, or `kafka` without a chroot.

    `h1:2181,h2:2181/clusters/Main_1` is `main-1`, a valid resource name.
    """
    _, _, chroot = connect.partition("/")
    words = re.sub(r"[^a-z0-9]+", "-", chroot.rpartition("/")[2].lower()).strip("-")
    return words or "kafka"


def _client(address: ClusterSelection) -> ClientConfig:
    file = address.client_config
    if file is None:
        return ANONYMOUS
    if not _is_pipe(file):
        return client_config.load(file)
    with _PIPES_LOCK:
        text = _text_of_pipe(file)
    return client_config.parse(text, file, Path.cwd())


def _is_pipe(file: Path) -> bool:
    try:
        return stat.S_ISFIFO(file.stat().st_mode)
    except OSError:  # whoever reads it tells
        return False


_PIPES_LOCK = Lock()


@cache
def _text_of_pipe(file: Path) -> str:
    """The text of a pipe, which tells it once: commands that stay ask for it again and again."""
    return bounded_files.read_text(file, files.BYTES_MAX)
