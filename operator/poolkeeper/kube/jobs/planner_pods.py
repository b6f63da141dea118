"""The Job that plans, and the pods of its executors, as manifests: pure.

The Job's one pod is Spark's driver, in client mode. With no executors all the work is done in it
(`local[*]`); else it makes executors as pods of the same image, which are its own, and so the
Job's: who deletes the Job deletes all of them.

    /etc/poolkeeper/question    the question's pieces, and what an executor's pod shall be like
    /etc/poolkeeper/secrets     the Secrets that the clusters in question name, a folder each
    /tmp                        all that can be written, beside Spark's own folders

A Secret that is not there costs its cluster the plan, not the others: such volumes are optional.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.kube.jobs import jobs
from poolkeeper.model.names import GROUP

Body = dict[str, Any]

QUESTION = "/etc/poolkeeper/question"
SECRETS = "/etc/poolkeeper/secrets"
TEMPLATE = "executor.json"
"""The key, beside the question's first piece, of what an executor's pod shall be like."""
DIGEST = f"{GROUP}/question"
"""The annotation of a Job that says what it answers."""

COMPONENT = "planner"
MESSAGE = "/dev/termination-log"
HEAP_PART = 4
HEAP_MIN_MIB = 512
SERVER = "k8s://https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)"
CONF: Mapping[str, str] = {
    "spark.driver.host": "$(POD_IP)",
    "spark.driver.bindAddress": "$(POD_IP)",
    # Less is refused.
    "spark.kubernetes.allocation.batch.delay": "200ms",
    # Else all work would land on the executor that comes first.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
}
POD_SECURITY: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65532,
    "fsGroup": 65532,
    "seccompProfile": {"type": "RuntimeDefault"},
}
SECURITY: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


@dataclass(frozen=True, slots=True)
class PlannerPodSettings:
    """What planning pods are like; `image` is all that must be said.

    `executors`: none plans in the driver's pod. `cores` and `memory_mib` are of each pod, the
    driver's and the executors'. `retries`: how often a driver that failed is started again.
    `conf` is for Spark, and overrides ours.
    """

    image: str
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    account: str = "default"
    executors: int = 0
    cores: int = 2
    memory_mib: int = 4096
    retries: int = 2
    deadline_s: int = 3600
    ttl_s: int = 3600
    tmp_size: str = "2Gi"
    labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    priority_class: str = ""
    pod_security: Mapping[str, Any] = field(default_factory=lambda: POD_SECURITY)
    security: Mapping[str, Any] = field(default_factory=lambda: SECURITY)
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def heap_mib(self) -> int:
        """What of a pod's memory is Java's; Python, which plans, has the rest."""
        return max(HEAP_MIN_MIB, self.memory_mib // HEAP_PART)

    @classmethod
    def from_json(cls, text: str) -> "PlannerPodSettings":
        """Read settings: an object with our fields' names; raises `Refused` for anything else."""
        try:
            data = json.loads(text)
            known = {each.name for each in fields(cls)}
            if unknown := sorted(set(data) - known):
                raise Refused(f"settings of planning pods: {', '.join(unknown)} is unknown")
            lists = {
                key: tuple(data[key]) for key in ("pull_secrets", "tolerations") if key in data
            }
            return cls(**{**data, **lists})
        except (TypeError, ValueError) as wrong:
            raise Refused(f"settings of planning pods cannot be read: {wrong}") from wrong


@dataclass(frozen=True, slots=True)
class PlannerJob:
    """One Job: its name, what it answers, in how many pieces, for whom, with which Secrets."""

    name: str
    namespace: str
    owner: Body
    digest: str
    pieces: int
    labels: Mapping[str, str]
    secrets: Sequence[str] = ()


def job(order: PlannerJob, settings: PlannerPodSettings) -> Body:
    """The Job, suspended: it is let go when its question is there."""
    labels = {**settings.labels, **order.labels, **jobs.labels(order.name)}
    labels["app.kubernetes.io/component"] = COMPONENT
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": order.name,
            "namespace": order.namespace,
            "labels": labels,
            "annotations": {DIGEST: order.digest},
            "ownerReferences": [order.owner],
        },
        "spec": {
            "suspend": True,
            "backoffLimit": settings.retries,
            "activeDeadlineSeconds": settings.deadline_s,
            "ttlSecondsAfterFinished": settings.ttl_s,
            # A node that wants the pod gone is no failure of planning.
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            },
            "template": {
                "metadata": {"labels": labels},
                "spec": {**_driver(order, settings), **_placement(settings)},
            },
        },
    }


def executor(order: PlannerJob, settings: PlannerPodSettings) -> Body:
    """What Spark shall make executors' pods from; it adds image, resources, arguments itself."""
    labels = {**settings.labels, **order.labels, **jobs.labels(order.name)}
    labels["app.kubernetes.io/component"] = f"{COMPONENT}-executor"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [
                {
                    "name": "executor",
                    "workingDir": "/tmp",
                    "securityContext": dict(settings.security),
                    "volumeMounts": _mounts(order, question=False),
                }
            ],
            "volumes": _volumes(order, settings, question=False),
            **_placement(settings),
        },
    }


def text(body: Body) -> str:
    """A manifest as text, which is JSON and so YAML too."""
    return json.dumps(body, sort_keys=True, indent=1)


def _driver(order: PlannerJob, settings: PlannerPodSettings) -> Body:
    memory = f"{settings.memory_mib}Mi"
    return {
        "restartPolicy": "Never",
        "serviceAccountName": settings.account,
        # A driver that works alone asks the API server too: its answer goes there.
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "containers": [
            {
                "name": "driver",
                "image": settings.image,
                "imagePullPolicy": settings.pull_policy,
                "workingDir": "/tmp",
                "args": _arguments(order, settings),
                "env": [
                    _field("POD_IP", "status.podIP"),
                    _field("POD_NAME", "metadata.name"),
                    _field("JOB_UID", f"metadata.labels['{jobs.CONTROLLER_UID}']"),
                ],
                "resources": {
                    "requests": {"cpu": str(settings.cores), "memory": memory},
                    "limits": {"memory": memory},
                },
                "securityContext": dict(settings.security),
                "terminationMessagePath": MESSAGE,
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": _mounts(order, question=True),
            }
        ],
        "volumes": _volumes(order, settings, question=True),
    }


def _arguments(order: PlannerJob, settings: PlannerPodSettings) -> list[str]:
    conf = {**CONF, "spark.driver.memory": f"{settings.heap_mib}m"}
    master = f"local[{settings.cores}]"
    if settings.executors:
        master = SERVER
        conf |= _executor_conf(order, settings)
    words = [
        ("--question", QUESTION),
        ("--digest", order.digest),
        ("--job", f"{order.namespace}/{order.name}"),
        ("--job-uid", "$(JOB_UID)"),
        ("--message", MESSAGE),
        *([("--secrets", SECRETS)] if order.secrets else []),
        ("--master", master),
    ]
    given = [f"--conf={key}={value}" for key, value in sorted({**conf, **settings.conf}.items())]
    return ["fleet", "answer", *(f"{flag}={value}" for flag, value in words), *given]


def _executor_conf(order: PlannerJob, settings: PlannerPodSettings) -> dict[str, str]:
    prefix = "spark.kubernetes"
    found = {
        "spark.executor.instances": str(settings.executors),
        "spark.executor.cores": str(settings.cores),
        "spark.executor.memory": f"{settings.heap_mib}m",
        "spark.executor.memoryOverhead": f"{settings.memory_mib - settings.heap_mib}m",
        f"{prefix}.namespace": order.namespace,
        f"{prefix}.container.image": settings.image,
        f"{prefix}.container.image.pullPolicy": settings.pull_policy,
        # Else executors would outlive a driver that is killed.
        f"{prefix}.driver.pod.name": "$(POD_NAME)",
        # Not the Job's: what a driver that was killed left may still be there.
        f"{prefix}.executor.podNamePrefix": "$(POD_NAME)",
        f"{prefix}.executor.podTemplateFile": f"{QUESTION}/{TEMPLATE}",
        f"{prefix}.executor.podTemplateContainerName": "executor",
    }
    if settings.pull_secrets:
        found[f"{prefix}.container.image.pullSecrets"] = ",".join(settings.pull_secrets)
    return found


def _placement(settings: PlannerPodSettings) -> Body:
    found: Body = {"securityContext": dict(settings.pod_security)}
    if settings.pull_secrets:
        found["imagePullSecrets"] = [{"name": name} for name in settings.pull_secrets]
    if settings.node_selector:
        found["nodeSelector"] = dict(settings.node_selector)
    if settings.tolerations:
        found["tolerations"] = [dict(each) for each in settings.tolerations]
    if settings.priority_class:
        found["priorityClassName"] = settings.priority_class
    return found


def _mounts(order: PlannerJob, *, question: bool) -> list[Body]:
    found: list[Body] = [{"name": "tmp", "mountPath": "/tmp"}]
    if question:
        found.append({"name": "question", "mountPath": QUESTION, "readOnly": True})
    for number, name in enumerate(order.secrets):
        place = {"mountPath": f"{SECRETS}/{name}", "readOnly": True}
        found.append({"name": f"secret-{number}", **place})
    return found


def _volumes(order: PlannerJob, settings: PlannerPodSettings, *, question: bool) -> list[Body]:
    found: list[Body] = [{"name": "tmp", "emptyDir": {"sizeLimit": settings.tmp_size}}]
    if question:
        names = (f"{jobs.question_name(order.name)}-{n}" for n in range(order.pieces))
        sources = [{"configMap": {"name": name}} for name in names]
        found.append({"name": "question", "projected": {"sources": sources}})
    for number, name in enumerate(order.secrets):
        secret = {"secretName": name, "optional": True}
        found.append({"name": f"secret-{number}", "secret": secret})
    return found


def _field(name: str, path: str) -> Body:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
