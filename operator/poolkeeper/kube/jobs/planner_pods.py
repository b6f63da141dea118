"""The manifests of the planning Job and of its executors' pods: pure.

The Job's one pod is Spark's driver, in client mode. Without executors the driver does all the work
(`local[*]`). Otherwise it creates executor pods from the same image. It owns them, and the Job owns
it, so deleting the Job deletes all of them.

    /etc/poolkeeper/question    the request's ConfigMaps, and the template of an executor pod
    /etc/poolkeeper/secrets     the Secrets that the request's clusters name, a folder each
    /etc/poolkeeper/storage     settings of the store of long responses, a file each (driver alone)
    /tmp                        the only writable folder, beside Spark's own

A missing Secret costs only its own cluster the plan: the volumes of Secrets are optional.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from poolkeeper import typed_json
from poolkeeper.errors import InvalidInput, Refused
from poolkeeper.frozen import frozen
from poolkeeper.kube.jobs import jobs
from poolkeeper.model.names import GROUP

Body = dict[str, Any]

QUESTION = "/etc/poolkeeper/question"
SECRETS = "/etc/poolkeeper/secrets"
STORAGE = "/etc/poolkeeper/storage"
TEMPLATE = "executor.json"
"""The key of the executor pod's template, beside the request's first chunk."""
DIGEST = f"{GROUP}/question"
"""The annotation of a Job that holds the digest of its request."""
DIGEST_OPTION = "--digest"

COMPONENT = "planner"
MESSAGE = "/dev/termination-log"
HEAP_PART = 4
HEAP_MIN_MIB = 512
SERVER = "k8s://https://$(KUBERNETES_SERVICE_HOST):$(KUBERNETES_SERVICE_PORT)"
CONF: Mapping[str, str] = {
    "spark.driver.host": "$(POD_IP)",
    "spark.driver.bindAddress": "$(POD_IP)",
    # Spark refuses a shorter delay.
    "spark.kubernetes.allocation.batch.delay": "200ms",
    # Otherwise the executor that registers first would get all tasks.
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


@frozen
class PlannerPodSettings:
    """The settings of planning pods; only `image` is required.

    `executors`: 0 plans in the driver's pod. `cores` and `memory_mib` are those of each pod, of
    driver and executors alike. `retries`: how often a failed driver is started again. `conf`
    overrides our settings of Spark. `storage`: the URI below which long responses and plans are
    put; `storage_secret`: the Secret with settings of it; `storage_from_bytes`: 0 means as is good.
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
    storage: str = ""
    storage_secret: str = ""
    storage_from_bytes: int = 0

    @property
    def heap_mib(self) -> int:
        """The part of a pod's memory that Java gets; Python, which plans, gets the rest."""
        return max(HEAP_MIN_MIB, self.memory_mib // HEAP_PART)

    @classmethod
    def from_json(cls, text: str) -> "PlannerPodSettings":
        """Read a JSON object with our field names; raises `Refused` for anything else."""
        try:
            data = typed_json.parse(text.encode(), repeats=False)
            known = {each.name for each in fields(cls)}
            if unknown := sorted(set(data) - known):
                raise Refused(f"settings of planning pods: {', '.join(unknown)} is unknown")
            lists = {
                key: tuple(data[key]) for key in ("pull_secrets", "tolerations") if key in data
            }
            return cls(**{**data, **lists})
        except (TypeError, ValueError, InvalidInput) as wrong:
            raise Refused(f"settings of planning pods cannot be read: {wrong}") from wrong


@frozen
class PlannerJob:
    """One Job: its name, its request's digest and number of ConfigMaps, its owner, its Secrets."""

    name: str
    namespace: str
    owner: Body
    digest: str
    pieces: int
    labels: Mapping[str, str]
    secrets: Sequence[str] = ()


def job(planner_job: PlannerJob, settings: PlannerPodSettings) -> Body:
    """The Job's manifest; it is suspended until its request has been written."""
    labels = {**settings.labels, **planner_job.labels, **jobs.labels(planner_job.name)}
    labels["app.kubernetes.io/component"] = COMPONENT
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": planner_job.name,
            "namespace": planner_job.namespace,
            "labels": labels,
            "annotations": {DIGEST: planner_job.digest},
            "ownerReferences": [planner_job.owner],
        },
        "spec": {
            "suspend": True,
            "backoffLimit": settings.retries,
            "activeDeadlineSeconds": settings.deadline_s,
            "ttlSecondsAfterFinished": settings.ttl_s,
            # A pod that its node evicts is no failure of planning.
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            },
            "template": {
                "metadata": {"labels": labels},
                "spec": {**_driver(planner_job, settings), **_placement(settings)},
            },
        },
    }


def executor(planner_job: PlannerJob, settings: PlannerPodSettings) -> Body:
    """The template of executor pods; Spark adds image, resources and arguments."""
    labels = {**settings.labels, **planner_job.labels, **jobs.labels(planner_job.name)}
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
                    "volumeMounts": _mounts(planner_job, question=False),
                }
            ],
            "volumes": _volumes(planner_job, settings, question=False),
            **_placement(settings),
        },
    }


def is_of_request(arguments: Collection[str], digest: str) -> bool:
    """Whether a Job of these arguments plans the request with that digest.

    Its annotation says so to people. A webhook may take annotations off, and leaves arguments.
    """
    return f"{DIGEST_OPTION}={digest}" in arguments


def text(body: Body) -> str:
    """A manifest as JSON text, which is YAML too."""
    return json.dumps(body, sort_keys=True, indent=1)


def _driver(planner_job: PlannerJob, settings: PlannerPodSettings) -> Body:
    memory = f"{settings.memory_mib}Mi"
    return {
        "restartPolicy": "Never",
        "serviceAccountName": settings.account,
        # Also a driver without executors needs the API server: it writes its response there.
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "containers": [
            {
                "name": "driver",
                "image": settings.image,
                "imagePullPolicy": settings.pull_policy,
                "workingDir": "/tmp",
                "args": _arguments(planner_job, settings),
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
                "volumeMounts": [*_mounts(planner_job, question=True), *_storage_mounts(settings)],
            }
        ],
        "volumes": [
            *_volumes(planner_job, settings, question=True),
            *_storage_volumes(settings),
        ],
    }


def _arguments(planner_job: PlannerJob, settings: PlannerPodSettings) -> list[str]:
    conf = {**CONF, "spark.driver.memory": f"{settings.heap_mib}m"}
    master = f"local[{settings.cores}]"
    if settings.executors:
        master = SERVER
        conf |= _executor_conf(planner_job, settings)
    words = [
        ("--question", QUESTION),
        (DIGEST_OPTION, planner_job.digest),
        ("--job", f"{planner_job.namespace}/{planner_job.name}"),
        ("--job-uid", "$(JOB_UID)"),
        ("--message", MESSAGE),
        *([("--secrets", SECRETS)] if planner_job.secrets else []),
        *_storage_words(settings),
        ("--master", master),
    ]
    given = [f"--conf={key}={value}" for key, value in sorted({**conf, **settings.conf}.items())]
    return ["fleet", "answer", *(f"{flag}={value}" for flag, value in words), *given]


def _storage_words(settings: PlannerPodSettings) -> list[tuple[str, str]]:
    if not settings.storage:
        return []
    found = [("--storage", settings.storage)]
    if settings.storage_secret:
        found.append(("--storage-settings", STORAGE))
    if settings.storage_from_bytes:
        found.append(("--storage-from", str(settings.storage_from_bytes)))
    return found


def _executor_conf(planner_job: PlannerJob, settings: PlannerPodSettings) -> dict[str, str]:
    prefix = "spark.kubernetes"
    found = {
        # As many as there are tasks for, and idle ones go; all of them begin together.
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.initialExecutors": str(settings.executors),
        "spark.dynamicAllocation.maxExecutors": str(settings.executors),
        "spark.dynamicAllocation.executorIdleTimeout": "30s",
        "spark.executor.cores": str(settings.cores),
        "spark.executor.memory": f"{settings.heap_mib}m",
        "spark.executor.memoryOverhead": f"{settings.memory_mib - settings.heap_mib}m",
        f"{prefix}.namespace": planner_job.namespace,
        f"{prefix}.container.image": settings.image,
        f"{prefix}.container.image.pullPolicy": settings.pull_policy,
        # Otherwise executors would outlive a killed driver.
        f"{prefix}.driver.pod.name": "$(POD_NAME)",
        # Not named after the Job: executors of a killed driver may still exist.
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


def _mounts(planner_job: PlannerJob, *, question: bool) -> list[Body]:
    found: list[Body] = [{"name": "tmp", "mountPath": "/tmp"}]
    if question:
        found.append({"name": "question", "mountPath": QUESTION, "readOnly": True})
    for number, name in enumerate(planner_job.secrets):
        place = {"mountPath": f"{SECRETS}/{name}", "readOnly": True}
        found.append({"name": f"secret-{number}", **place})
    return found


def _volumes(
    planner_job: PlannerJob, settings: PlannerPodSettings, *, question: bool
) -> list[Body]:
    found: list[Body] = [{"name": "tmp", "emptyDir": {"sizeLimit": settings.tmp_size}}]
    if question:
        names = (f"{jobs.question_name(planner_job.name)}-{n}" for n in range(planner_job.pieces))
        sources = [{"configMap": {"name": name}} for name in names]
        found.append({"name": "question", "projected": {"sources": sources}})
    for number, name in enumerate(planner_job.secrets):
        secret = {"secretName": name, "optional": True}
        found.append({"name": f"secret-{number}", "secret": secret})
    return found


def _storage_mounts(settings: PlannerPodSettings) -> list[Body]:
    place = {"name": "storage", "mountPath": STORAGE, "readOnly": True}
    return [place] if settings.storage and settings.storage_secret else []


def _storage_volumes(settings: PlannerPodSettings) -> list[Body]:
    secret = {"secretName": settings.storage_secret, "optional": True}
    return [{"name": "storage", "secret": secret}] if _storage_mounts(settings) else []


def _field(name: str, path: str) -> Body:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
