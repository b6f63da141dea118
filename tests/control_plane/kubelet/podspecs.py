"""From a pod object to what is to be run: whom as, with which probes, mounts and command. Pure.

What of a pod this kubelet honours is what is read here and in `environments` and `volumes`. Not
honoured, though a pod may say it: resources, seccomp profiles, ports (a pod's processes use the
machine's network; only the pod's IP is its own), DNS, links to services, how images are pulled,
size limits of emptyDirs. A pod that asks for anything else is refused (`check`): its container
waits, and says for what.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from control_plane.kubelet import environments
from control_plane.kubelet.environments import Json, Missing

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TERMINATION_LOG = "/dev/termination-log"

# What container engines leave a process by default, with the kernel's numbers.
CAPABILITIES = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7,
    "SETPCAP": 8, "NET_BIND_SERVICE": 10, "NET_RAW": 13, "SYS_CHROOT": 18, "MKNOD": 27,
    "AUDIT_WRITE": 29, "SETFCAP": 31,
}  # fmt: skip

# The fields that a pod may have, or `field=value` where it may have that value only.
POD = """
containers volumes securityContext restartPolicy terminationGracePeriodSeconds hostname
serviceAccountName serviceAccount automountServiceAccountToken imagePullSecrets
nodeName nodeSelector affinity tolerations topologySpreadConstraints schedulerName=default-scheduler
priority priorityClassName preemptionPolicy dnsPolicy=ClusterFirst enableServiceLinks
"""
CONTAINER = """
name image imagePullPolicy command args workingDir env volumeMounts securityContext
startupProbe livenessProbe readinessProbe terminationMessagePath terminationMessagePolicy
ports resources resizePolicy
"""
SECURITY = "runAsUser runAsGroup runAsNonRoot seccompProfile"
POD_SECURITY = f"{SECURITY} fsGroup"
CONTAINER_SECURITY = f"{SECURITY} allowPrivilegeEscalation readOnlyRootFilesystem capabilities"
MOUNT = "name mountPath readOnly"
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
PROBE = """
httpGet initialDelaySeconds periodSeconds timeoutSeconds failureThreshold successThreshold
"""
HTTP_GET = "path port scheme=HTTP"


@dataclass(frozen=True, slots=True)
class Probe:
    """When and how often to ask, and where."""

    path: str
    port: int | str
    initial_delay_s: float
    period_s: float
    timeout_s: float
    failures: int
    successes: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a process runs as, and the numbers of the capabilities that it may have."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    capabilities: tuple[int, ...]
    escalates: bool


@dataclass(frozen=True, slots=True)
class Mount:
    """One volume at one path of a container."""

    volume: str
    path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class Container:
    """What does not change while a pod lives; probes are None if absent."""

    name: str
    image: str
    body: Json
    restart_policy: str
    startup: Probe | None
    liveness: Probe | None
    readiness: Probe | None
    read_only_root: bool
    termination_log: str
    last_words: bool  # without a message, a failed container's message is the end of its log


def check(pod: Json) -> None:
    """Raise Missing, with the names, for what a pod asks for and this kubelet does not do."""
    if len(pod["spec"]["containers"]) > 1:
        raise Missing("this kubelet runs pods of one container only")
    unknown = [
        f"{part}.{field}".strip(".")
        for part, known, body in _parts(pod["spec"])
        for field, value in body.items()
        if value and not {field, f"{field}={value}"} & set(known.split())
    ]
    if unknown:
        raise Missing(f"this kubelet does not know {', '.join(sorted(unknown))}")


def _parts(spec: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield the parts of a pod by name, each with the fields that it may have."""
    container = spec["containers"][0]
    security = container.get("securityContext", {})
    yield "", POD, spec
    yield "securityContext", POD_SECURITY, spec.get("securityContext", {})
    yield "container", CONTAINER, container
    yield "container.securityContext", CONTAINER_SECURITY, security
    yield "capabilities", "drop", security.get("capabilities", {})
    for mount in container.get("volumeMounts", ()):
        yield "volumeMounts", MOUNT, mount
    for name in PROBES:
        probe = container.get(name, {})
        yield name, PROBE, probe
        yield f"{name}.httpGet", HTTP_GET, probe.get("httpGet", {})
    for volume in spec.get("volumes", ()):
        yield "emptyDir", "sizeLimit", volume.get("emptyDir", {})
        yield "hostPath", "path", volume.get("hostPath", {})


def container(pod: Json) -> Container:
    """Return the container of a pod."""
    body = pod["spec"]["containers"][0]
    return Container(
        name=body["name"],
        image=body.get("image", ""),
        body=body,
        restart_policy=pod["spec"].get("restartPolicy", "Always"),
        startup=_probe(body.get("startupProbe")),
        liveness=_probe(body.get("livenessProbe")),
        readiness=_probe(body.get("readinessProbe")),
        read_only_root=body.get("securityContext", {}).get("readOnlyRootFilesystem", False),
        termination_log=body.get("terminationMessagePath", TERMINATION_LOG),
        last_words=body.get("terminationMessagePolicy") == "FallbackToLogsOnError",
    )


def _probe(body: Json | None) -> Probe | None:
    if body is None:
        return None
    get = body.get("httpGet", {})
    return Probe(
        path=get.get("path", "/"),
        port=get.get("port", ""),
        initial_delay_s=body.get("initialDelaySeconds", 0),
        period_s=body.get("periodSeconds", 10),
        timeout_s=body.get("timeoutSeconds", 1),
        failures=body.get("failureThreshold", 3),
        successes=body.get("successThreshold", 1),
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
    dropped = own.get("capabilities", {}).get("drop", ())
    return Identity(
        uid=uid,
        gid=both.get("runAsGroup", 0),
        groups=(ours["fsGroup"],) if "fsGroup" in ours else (),
        capabilities=tuple(
            number for name, number in CAPABILITIES.items() if not {"ALL", name} & set(dropped)
        ),
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


def mounts(container: Container) -> tuple[Mount, ...]:
    """Return the mounts, outer before inner."""
    found = (
        Mount(body["name"], body["mountPath"], body.get("readOnly", False))
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
