"""Jobs with deterministic names: create, adopt, read, resume, delete.

Two leaders that need the same Job create it under the same name. The second finds it and adopts it:
`Stale` at its creation is no failure. A Job starts suspended, so that the objects that its pods
mount can be created as its property first. `resume` starts its pods, and notes that on the Job. A
leader that dies in between leaves a suspended Job without the note, which the next leader completes
and resumes. One with the note was suspended by others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Protocol

from poolkeeper.errors import Stale
from poolkeeper.frozen import frozen
from poolkeeper.kube.jobs import pod_failures
from poolkeeper.model.names import GROUP

Body = dict[str, Any]

JOB_NAME = "batch.kubernetes.io/job-name"
JOB = f"{GROUP}/job"
"""The label of everything that belongs to a Job, Spark executors included."""
RESUMED = f"{GROUP}/resumed"
"""The annotation of a Job that was resumed once."""
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
BACKGROUND = "Background"
"""The deletion policy under which a Job's objects are deleted with it; by default pods stay."""


class JobApi(Protocol):
    """The methods of `client.Api` that this module needs."""

    def get(self, path: str) -> Body | None:
        """Return an object, or None."""

    def create(self, path: str, body: Body) -> Body:
        """Create an object."""

    def patch_json(self, path: str, operations: list[Body]) -> Body:
        """Apply all operations of a JSON patch or none."""

    def delete(self, path: str, uid: str | None = None, *, propagation: str = "") -> bool:
        """Delete an object."""

    def list(self, path: str, chunk: int = 500, *, labels: str = "") -> Iterator[Body]:
        """Yield the objects of a collection that `labels` selects."""


class JobPhase(StrEnum):
    """The phase of a Job."""

    SUSPENDED = "suspended"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    ENDING = "ending"


@frozen
class JobView:
    """A Job as read, with the arguments of its pods; `failure`: why it failed, in a sentence."""

    name: str
    uid: str
    phase: JobPhase
    arguments: Sequence[str] = ()
    failure: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_suspended_again(self) -> bool:
        """Whether it is suspended although it was resumed once: others did that."""
        return self.phase is JobPhase.SUSPENDED and RESUMED in self.annotations


def answer_name(job: str) -> str:
    """The name of the ConfigMaps that hold the Job's response."""
    return f"{job}-answer"


def question_name(job: str) -> str:
    """The name of the ConfigMaps that hold the Job's request."""
    return f"{job}-question"


def labels(job: str) -> dict[str, str]:
    """The labels of everything that belongs to the Job."""
    return {"app.kubernetes.io/part-of": "poolkeeper", JOB: job}


def owner(job: str, uid: str) -> Body:
    """The ownerReference to the Job."""
    return {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid}


def create(api: JobApi, namespace: str, body: Body) -> JobView:
    """Create the Job, or adopt the one of this name; raises `Stale` if that one was deleted."""
    try:
        return _view_of(api.create(_collection(namespace), body))
    except Stale:
        found = read(api, namespace, body["metadata"]["name"])
        if found is None:
            raise
        return found


def read(api: JobApi, namespace: str, name: str) -> JobView | None:
    """Read the Job, with the reason if it failed; None if it does not exist."""
    body = api.get(_path(namespace, name))
    if body is None:
        return None
    if _phase(body) is JobPhase.FAILED:
        return _view_of(
            body, pod_failures.failure(body, _pods(api, namespace, f"{JOB_NAME}={name}"))
        )
    return _view_of(body)


def pending_reason(
    api: JobApi, namespace: str, name: str, seen_s: Callable[[object], float]
) -> str:
    """What a Job or its pods wait for, executors included, in a sentence; may be empty.

    A Job that is suspended is taken for one that others suspended: ours is resumed before.
    `seen_s` tells for how long the caller has seen a state of it, by the caller's own clock.
    """
    if pods := _pods(api, namespace, f"{JOB}={name}"):
        return pod_failures.pending_reason(pods)
    body = api.get(_path(namespace, name))
    if body is None:
        return ""
    return pod_failures.absence_reason(body, seen_s(pod_failures.absence_state(body)))


def resume(api: JobApi, namespace: str, job: JobView) -> None:
    """Start a suspended Job; raises `Stale` if another Job has its name now."""
    note: Body = {"op": "add", "path": "/metadata/annotations", "value": {RESUMED: "true"}}
    if job.annotations:
        path = f"{note['path']}/{RESUMED.replace('/', '~1')}"
        note = {"op": "add", "path": path, "value": "true"}
    api.patch_json(
        _path(namespace, job.name),
        [
            {"op": "test", "path": "/metadata/uid", "value": job.uid},
            {"op": "replace", "path": "/spec/suspend", "value": False},
            note,
        ],
    )


def delete(api: JobApi, namespace: str, name: str, uid: str | None = None) -> bool:
    """Delete the Job and everything that it owns; false if it does not exist."""
    return api.delete(_path(namespace, name), uid, propagation=BACKGROUND)


def names(api: JobApi, namespace: str, selector: str) -> list[str]:
    """The names of the Jobs that the selector matches."""
    found = api.list(_collection(namespace), labels=selector)
    return sorted(body["metadata"]["name"] for body in found)


def _view_of(body: Body, failure: str = "") -> JobView:
    meta = body["metadata"]
    pod = body["spec"].get("template", {}).get("spec", {})
    containers = pod.get("containers") or ()
    arguments = tuple(word for each in containers for word in each.get("args") or ())
    noted = meta.get("annotations") or {}
    return JobView(meta["name"], meta["uid"], _phase(body), arguments, failure, noted)


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
