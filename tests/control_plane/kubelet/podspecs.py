"""From a pod object to what is to be run: whom as, with which probes, mounts and command. Pure.

What of a pod this kubelet honours is what is read here and in `environments` and `volumes`.
Not honoured: resource limits, seccomp and AppArmor profiles, ports (a pod's processes use the
machine's network; only the pod's IP is its own), host aliases, DNS, post-start hooks, affinity to
devices, ephemeral containers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from control_plane.kubelet import environments
from control_plane.kubelet.environments import Json, Missing

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TERMINATION_LOG = "/dev/termination-log"


@dataclass(frozen=True, slots=True)
class Probe:
    """When and how often to ask; `action` is the pod's own httpGet, tcpSocket or exec."""

    action: Json
    initial_delay_s: float
    period_s: float
    timeout_s: float
    failures: int
    successes: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a process runs as and what it may become."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    drop: tuple[str, ...]
    add: tuple[str, ...]
    privileged: bool
    escalates: bool


@dataclass(frozen=True, slots=True)
class Mount:
    """One volume at one path of a container; `sub_path` is within the volume, "" all of it."""

    volume: str
    path: str
    sub_path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Container:
    """What does not change while a pod lives; probes and hook are None if absent."""

    name: str
    image: str
    body: Json
    restart_policy: str
    startup: Probe | None
    liveness: Probe | None
    readiness: Probe | None
    pre_stop: Json | None
    read_only_root: bool
    termination_log: str
    last_words: bool  # without a message, a failed container's message is the end of its log

    @property
    def sidecar(self) -> bool:
        """Whether this, if an init container, goes on beside the others."""
        return self.restart_policy == "Always"


def containers(pod: Json) -> tuple[Container, ...]:
    """Return the containers of a pod."""
    policy = pod["spec"].get("restartPolicy", "Always")
    return tuple(_container(pod, body, policy) for body in pod["spec"]["containers"])


def init_containers(pod: Json) -> tuple[Container, ...]:
    """Return the init containers in order; theirs is `Always` only if they are sidecars."""
    once = "Never" if pod["spec"].get("restartPolicy") == "Never" else "OnFailure"
    return tuple(
        _container(pod, body, body.get("restartPolicy", once))
        for body in pod["spec"].get("initContainers", ())
    )


def restarts(policy: str, exit_code: int) -> bool:
    """Say whether a container that ended so is started again."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def identity(pod: Json, container: Container) -> Identity:
    """Return whom a container runs as: its own settings before the pod's, root without any.

    Raises Missing where that is root and the pod forbids it.
    """
    ours, own = pod["spec"].get("securityContext", {}), container.body.get("securityContext", {})
    both = {**ours, **own}
    uid = both.get("runAsUser", 0)
    if both.get("runAsNonRoot") and uid == 0:
        raise Missing(
            f"container {container.name} has runAsNonRoot and its image would run as root: "
            "set runAsUser"
        )
    groups = {
        *ours.get("supplementalGroups", ()),
        *([ours["fsGroup"]] if "fsGroup" in ours else ()),
    }
    capabilities = own.get("capabilities", {})
    return Identity(
        uid=uid,
        gid=both.get("runAsGroup", 0),
        groups=tuple(sorted(groups)),
        drop=tuple(capabilities.get("drop", ())),
        add=tuple(capabilities.get("add", ())),
        privileged=own.get("privileged", False),
        escalates=own.get("allowPrivilegeEscalation", True),
    )


def base_environment(pod: Json, uid: int, host: str, port: int) -> dict[str, str]:
    """Return what every container's environment begins with: its image's, the API server's."""
    return {
        "PATH": PATH,
        "HOME": "/" if uid else "/root",
        "HOSTNAME": host_name(pod),
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": str(port),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
    }


def host_name(pod: Json) -> str:
    """Return the name that the pod's processes see as the host's; at most 63 characters."""
    return str(pod["spec"].get("hostname") or pod["metadata"]["name"])[:63]


def command(container: Container, images: Mapping[str, Path], env: Mapping[str, str]) -> list[str]:
    """Return the command line. Raises Missing (ImagePullBackOff) for an image that nobody has.

    The image's path stands for its entry point, which the pod's `command` replaces.
    """
    own = container.body.get("command")
    if not own and container.image not in images:
        raise Missing(f'there is no image "{container.image}" here', "ImagePullBackOff")
    words = [*(own or [str(images[container.image])]), *container.body.get("args", ())]
    return [environments.expanded(word, env) for word in words]


def mounts(container: Container, env: Mapping[str, str]) -> tuple[Mount, ...]:
    """Return the mounts, outer before inner."""
    found = (
        Mount(
            volume=body["name"],
            path=body["mountPath"],
            sub_path=environments.expanded(body.get("subPathExpr", ""), env)
            or body.get("subPath", ""),
            read_only=body.get("readOnly", False),
        )
        for body in container.body.get("volumeMounts", ())
    )
    return tuple(sorted(found, key=lambda mount: mount.path))


def port_number(container: Container, port: str | int) -> int:
    """Return the number of a port that may be given by name. Raises Missing."""
    if not isinstance(port, str) or port.isdigit():
        return int(port)
    for body in container.body.get("ports", ()):
        if body.get("name") == port:
            return int(body["containerPort"])
    raise Missing(f'container {container.name} has no port "{port}"')


def _container(pod: Json, body: Json, policy: str) -> Container:
    return Container(
        name=body["name"],
        image=body.get("image", ""),
        body=body,
        restart_policy=policy,
        startup=_probe(body.get("startupProbe")),
        liveness=_probe(body.get("livenessProbe")),
        readiness=_probe(body.get("readinessProbe")),
        pre_stop=body.get("lifecycle", {}).get("preStop"),
        read_only_root=body.get("securityContext", {}).get("readOnlyRootFilesystem", False),
        termination_log=body.get("terminationMessagePath", TERMINATION_LOG),
        last_words=body.get("terminationMessagePolicy") == "FallbackToLogsOnError",
    )


def _probe(body: Mapping[str, Any] | None) -> Probe | None:
    if body is None:
        return None
    return Probe(
        action=body,
        initial_delay_s=body.get("initialDelaySeconds", 0),
        period_s=body.get("periodSeconds", 10),
        timeout_s=body.get("timeoutSeconds", 1),
        failures=body.get("failureThreshold", 3),
        successes=body.get("successThreshold", 1),
    )
