"""Connections to a cluster: from its declaration, and the Secrets that it names, to open sessions.

Secrets are read whenever a connection is opened, so the next session uses a rotated password. The
libraries need TLS material as files: it goes into a private folder, one per cluster.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from poolkeeper import tls_files
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.errors import BrokersUnreachable, Forbidden, Refused, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.load.refresh import LoadHistory
from poolkeeper.model.credentials import (
    BrokerCredentials,
    ClientConfig,
    ZooKeeperCredentials,
)
from poolkeeper.model.specs import KafkaClusterSpec, Tls
from poolkeeper.model.topology import Cluster
from poolkeeper.resources.parse import secret_config
from poolkeeper.resources.parse.secret_config import Secret
from poolkeeper.telemetry.secret_masking import Secrets
from poolkeeper.zk.client.session import Session

_ZOOKEEPER, _BROKERS = "zookeeper", "brokers"

ReadSecret = Callable[[str], Secret]
"""Reads a Secret by name; raises `Unavailable` where that fails or it does not exist."""


def masking_reader(read: ReadSecret, masked: Secrets) -> ReadSecret:
    """Return a reader of Secrets like `read`, which also masks their values in logs."""

    def read_hidden(name: str) -> Secret:
        found = read(name)
        masked.add(name, secret_config.hidden_texts(found))
        return found

    return read_hidden


@frozen
class ClusterConnections:
    """Opens sessions and connections to one cluster; each call opens a new one.

    `brokers` returns None where none are declared, and raises `BrokersUnreachable`: a cluster can
    be kept without them. `with_load` adds the load history to an observation, if one is declared.
    `identity` returns who a session would be now, to be compared; it raises what `session` does.
    """

    session: Callable[[], Session]
    brokers: Callable[[], BrokerClient | None] = lambda: None
    with_load: Callable[[Cluster], Cluster] = lambda cluster: cluster
    identity: Callable[[], object] = lambda: None


@frozen
class ClusterConnector:
    """Opens what a KafkaCluster declares.

    `folder`: private, and this cluster's own.
    `timeout_s`: how long ZooKeeper keeps a session without a sign of life.
    `deadline_s`: bounds every call.
    """

    read_secret: ReadSecret
    folder: Path
    timeout_s: float
    deadline_s: float

    def connections(self, spec: KafkaClusterSpec) -> ClusterConnections:
        """Return the connections to the cluster."""
        return ClusterConnections(
            lambda: self._session(spec),
            lambda: self._brokers(spec),
            LoadHistory(lambda: spec.load),
            lambda: self._identity(spec),
        )

    def client_config(self, spec: KafkaClusterSpec) -> ClientConfig:
        """Return the identity and TLS that the Secrets hold now; TLS files are written.

        Raises `Unavailable` for a Secret that cannot be read, `Refused` for what it lacks.
        """
        return ClientConfig(
            self._zookeeper_credentials(spec),
            self._tls(_ZOOKEEPER, spec.zookeeper.tls),
            self._broker_credentials(spec),
            None if spec.brokers is None else self._tls(_BROKERS, spec.brokers.tls),
        )

    def remove_files(self) -> None:
        """Remove the TLS files that were written for this cluster."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _session(self, spec: KafkaClusterSpec) -> Session:
        tls = self._tls(_ZOOKEEPER, spec.zookeeper.tls)
        _require_usable(spec.zookeeper.tls, tls)
        return Session.open(
            spec.zookeeper.connect,
            credentials=self._zookeeper_credentials(spec),
            tls=tls,
            timeout_s=self.timeout_s,
            deadline_s=self.deadline_s,
        )

    def _identity(self, spec: KafkaClusterSpec) -> object:
        name = None if spec.zookeeper.tls is None else spec.zookeeper.tls.secret
        files = None if name is None else secret_config.tls_files(name, self.read_secret(name))
        return self._zookeeper_credentials(spec), files

    def _brokers(self, spec: KafkaClusterSpec) -> BrokerClient | None:
        """Connect to the brokers; `None` if none are declared.

        Raises `BrokersUnreachable`, also where a Secret that only brokers need cannot be used.
        """
        way = spec.brokers
        if way is None:
            return None
        try:
            credentials, tls = self._broker_credentials(spec), self._tls(_BROKERS, way.tls)
            _require_usable(way.tls, tls)
            return BrokerClient.open(way.bootstrap_servers, credentials, tls, self.deadline_s)
        except (Unavailable, Refused) as error:
            raise BrokersUnreachable(str(error)) from error

    def _zookeeper_credentials(self, spec: KafkaClusterSpec) -> ZooKeeperCredentials | None:
        name = spec.zookeeper.credentials_secret
        return secret_config.zookeeper_credentials(name, self.read_secret(name)) if name else None

    def _broker_credentials(self, spec: KafkaClusterSpec) -> BrokerCredentials | None:
        name = None if spec.brokers is None else spec.brokers.credentials_secret
        return secret_config.broker_credentials(name, self.read_secret(name)) if name else None

    def _tls(self, part: str, tls: Tls | None) -> Tls | None:
        if tls is None or tls.secret is None:
            return tls
        files = secret_config.tls_files(tls.secret, self.read_secret(tls.secret))
        folder = self.folder / part
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            paths = {field: _write(folder / f"{field}.pem", pem) for field, pem in files.items()}
        except OSError as error:
            raise Unavailable(
                f"{folder}: what Secret {tls.secret} holds cannot be written there"
                f" ({error.strerror}): make room there"
            ) from error
        return Tls(paths.get("ca"), paths.get("certificate"), paths.get("key"))


def _require_usable(declared: Tls | None, written: Tls | None) -> None:
    """Raise `Forbidden` naming the Secret and its key that cannot be used, if there is one."""
    if declared is None or declared.secret is None or written is None:
        return
    for field, problem in tls_files.problems(written).items():
        raise Forbidden(f"Secret {declared.secret}: {secret_config.TLS_FILES[field]} {problem}")


def _write(path: Path, content: bytes) -> str:
    """Replace a file atomically, readable by this user alone; several threads may."""
    number, new = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        Path(new).replace(path)
    except OSError:
        Path(new).unlink(missing_ok=True)
        raise
    return str(path)
