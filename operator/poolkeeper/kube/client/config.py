"""The API server's address and our identity: the pod's service account, else a kubeconfig.

Where a plugin or provider that a kubeconfig names gives no credentials, the package logs why and
goes on as nobody. That is refused here: the API server would tell which rights `anonymous` lacks.

The package reads the token file that a kubeconfig names (`tokenFile`) once. Whoever writes it puts
a new token there before the last one ends, so it is read for each request.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kubernetes.client.configuration import Configuration
from kubernetes.config import incluster_config, kube_config
from kubernetes.config.config_exception import ConfigException

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.kube.client import key_files

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_KUBECONFIG = "~/.kube/config"
MISSHAPEN = (ValueError, TypeError, KeyError, AttributeError)
"""What the package raises for a file that is YAML but no kubeconfig."""

# The package has no types for these.
_of_account: Any = incluster_config.InClusterConfigLoader
_loader_of: Any = vars(kube_config)["_get_kube_config_loader"]
_contexts: Any = kube_config.list_kube_config_contexts
_malformed_yaml: Any = vars(kube_config)["yaml"].YAMLError


@frozen
class ApiAccess:
    """A configuration of the `kubernetes` package, and its namespace."""

    configuration: Any
    namespace: str


def find(environ: Mapping[str, str], account: Path) -> ApiAccess:
    """Return the pod's own account if there is one, else the kubeconfig's current context.

    Raises `Refused` with one line if there is neither, or if the configuration is unusable.
    """
    with _told("the Kubernetes configuration"):
        if environ.get("KUBERNETES_SERVICE_HOST") and (account / "token").exists():
            return _of_pod(environ, account)
    return _of_file(environ)


def of_user(
    environ: Mapping[str, str], kubeconfig: str | None = None, context: str | None = None
) -> ApiAccess:
    """Return what a person's kubeconfig says: that file or KUBECONFIG's, that context or its own.

    Raises `Refused` with one line if there is none, or if it is unusable.
    """
    chosen = {**environ, **({"KUBECONFIG": kubeconfig} if kubeconfig else {})}
    return _of_file(chosen, context)


@contextmanager
def _told(configuration: str) -> Iterator[None]:
    """Tell what makes a configuration unusable in one line; raises Refused."""
    try:
        yield
    except (ConfigException, OSError, _malformed_yaml, *MISSHAPEN) as broken:
        line = " ".join(str(broken).split())
        raise Refused(f"{configuration} cannot be used: {line}") from broken


def _of_pod(environ: Mapping[str, str], account: Path) -> ApiAccess:
    configuration = Configuration()
    loader = _of_account(str(account / "token"), str(account / "ca.crt"), environ=dict(environ))
    loader.load_and_set(configuration)
    return ApiAccess(configuration, (account / "namespace").read_text().strip())


def _of_file(environ: Mapping[str, str], context: str | None = None) -> ApiAccess:
    files = os.path.expanduser(environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG)
    if not any(os.path.exists(file) for file in files.split(os.pathsep) if file):
        raise Refused(
            "no Kubernetes cluster is configured: this is no pod with a service account, "
            f"and there is no kubeconfig {files}"
        )
    with _told(f"the kubeconfig {files}"):
        return _read(files, context)


def _read(files: str, context: str | None) -> ApiAccess:
    key_files.keep_in_memory()
    configuration: Any = Configuration()
    logged = _Logged(logging.ERROR)
    logging.getLogger().addHandler(logged)
    try:
        loader = _loader_of(filename=files, active_context=context)
        loader.load_and_set(configuration)
    finally:
        logging.getLogger().removeHandler(logged)
    if logged.lines and not (configuration.api_key or configuration.cert_file):
        raise Refused(f"no credentials for the API server: {'; '.join(logged.lines)}")
    if _has_token_file(loader):
        configuration.refresh_api_key_hook = lambda asked: _read_token(loader, asked)
    known, current = _contexts(config_file=files)
    if context is not None:
        current = next(each for each in known if each["name"] == context)
    return ApiAccess(configuration, current["context"].get("namespace") or "default")


def _has_token_file(loader: Any) -> bool:
    """Whether the token is that of a file; the package takes the user's other ways before it."""
    user = loader._user
    return bool(user) and "tokenFile" in user and not {"token", "auth-provider"} & {*user.value}


def _read_token(loader: Any, configuration: Any) -> None:
    """Take the token that the file has now, or the last one where it has none."""
    with suppress(ConfigException, OSError, ValueError):
        loader._load_user_token()
    configuration.api_key["BearerToken"] = loader.token


class _Logged(logging.Handler):
    """Keeps what is logged, each message as one line."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.lines.append(" ".join(record.getMessage().split()))
