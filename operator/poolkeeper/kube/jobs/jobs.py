"""Jobs whose name says what they are for: created, adopted, looked at, deleted.

Two who want the same make the same Job: the second finds it there, and takes it as its own
(`Stale` of a creation is no failure). A Job begins suspended, so that what its pods mount can be
made as its property first; `resume` lets it go. Whoever dies between the two leaves a Job that the
next one finds suspended, and goes on with.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from poolkeeper.errors import Stale
from poolkeeper.kube.jobs import pod_failures
from poolkeeper.model.names import GROUP

Body = dict[str, Any]

JOB_NAME = "batch.kubernetes.io/job-name"
JOB = f"{GROUP}/job"
"""The label of all that belongs to a Job, executors too."""
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
BACKGROUND = "Background"
"""What a Job owns goes with it. Without saying so its pods would stay."""


class JobApi(Protocol):
    """The part of `client.Api` that is needed here."""

    def get(self, path: str) -> Body | None:
        """Return an object."""

    def create(self, path: str, body: Body) -> Body:
        """Create an object."""

    def patch_json(self, path: str, operations: list[Body]) -> Body:
        """Do all operations or none."""

    def delete(self, path: str, uid: str | None = None, *, propagation: str = "") -> bool:
        """Delete an object."""

    def list(self, path: str, chunk: int = 500, *, labels: str = "") -> Iterator[Body]:
        """Yield some objects of a collection."""


class JobPhase(StrEnum):
    """How far a Job is."""

    SUSPENDED = "suspended"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    ENDING = "ending"


@dataclass(frozen=True, slots=True)
class Look:
    """A Job as it is; `said`: why it failed, in a sentence."""

    name: str
    uid: str
    phase: JobPhase
    annotations: Mapping[str, str]
    said: str = ""


def answer_name(job: str) -> str:
    """What the ConfigMaps are called that the Job's answer is in."""
    return f"{job}-answer"


def question_name(job: str) -> str:
    """What the ConfigMaps are called that the Job's question is in."""
    return f"{job}-question"


def labels(job: str) -> dict[str, str]:
    """Labels of what belongs to the Job."""
    return {"app.kubernetes.io/part-of": "poolkeeper", JOB: job}


def owner(job: str, uid: str) -> Body:
    """The reference by which something belongs to the Job."""
    return {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid}


def create(api: JobApi, namespace: str, body: Body) -> Look:
    """Create the Job, or adopt the one of this name; raises `Stale` if that vanished meanwhile."""
    try:
        return _look(api.create(_collection(namespace), body))
    except Stale:
        found = look(api, namespace, body["metadata"]["name"])
        if found is None:
            raise
        return found


def look(api: JobApi, namespace: str, name: str) -> Look | None:
    """The Job as it is, and why if it failed; None where there is none."""
    body = api.get(_path(namespace, name))
    if body is None:
        return None
    if _phase(body) is JobPhase.FAILED:
        return _look(body, pod_failures.failure(body, _pods(api, namespace, f"{JOB_NAME}={name}")))
    return _look(body)


def standing(api: JobApi, namespace: str, name: str) -> str:
    """What pods of a running Job, its executors too, wait for, in a sentence; empty if nothing."""
    return pod_failures.standing(_pods(api, namespace, f"{JOB}={name}"))


def resume(api: JobApi, namespace: str, job: Look) -> None:
    """Let a suspended Job go; raises `Stale` if it is not that Job any more."""
    api.patch_json(
        _path(namespace, job.name),
        [
            {"op": "test", "path": "/metadata/uid", "value": job.uid},
            {"op": "replace", "path": "/spec/suspend", "value": False},
        ],
    )


def delete(api: JobApi, namespace: str, name: str, uid: str | None = None) -> bool:
    """Delete the Job with its pods and all that it owns; false if it is gone."""
    return api.delete(_path(namespace, name), uid, propagation=BACKGROUND)


def names(api: JobApi, namespace: str, selector: str) -> list[str]:
    """The Jobs that have these labels."""
    found = api.list(_collection(namespace), labels=selector)
    return sorted(body["metadata"]["name"] for body in found)


def _look(body: Body, said: str = "") -> Look:
    meta = body["metadata"]
    return Look(meta["name"], meta["uid"], _phase(body), meta.get("annotations") or {}, said)


def _phase(body: Body) -> JobPhase:
    if body["metadata"].get("deletionTimestamp"):
        return JobPhase.ENDING
    true = {
        c["type"] for c in body.get("status", {}).get("conditions") or () if c["status"] == "True"
    }
    if "Complete" in true:
        return JobPhase.COMPLETE
    if "Failed" in true:
        return JobPhase.FAILED
    return JobPhase.SUSPENDED if body["spec"].get("suspend") else JobPhase.RUNNING


def _pods(api: JobApi, namespace: str, selector: str) -> list[Body]:
    return list(api.list(f"/api/v1/namespaces/{namespace}/pods", labels=selector))


def _collection(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def _path(namespace: str, name: str) -> str:
    return f"{_collection(namespace)}/{name}"
