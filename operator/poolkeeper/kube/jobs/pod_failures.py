"""Why a Job and its pods failed, in sentences that a person can act on: pure.

| Kubernetes says | it means |
|---|---|
| waiting: ImagePullBackOff, ErrImagePull, InvalidImageName | the image cannot be pulled |
| waiting: CreateContainerConfigError, CreateContainerError | what the pod refers to is missing |
| condition PodScheduled=False, Unschedulable | no node has room, or none is allowed |
| terminated: OOMKilled; exit code 137 | the pod used more memory than its limit |
| pod reason Evicted, Preempting, NodeLost, Shutdown; DisruptionTarget | its node evicted it |
| Job condition Failed: DeadlineExceeded, BackoffLimitExceeded | too slow; too many failures |
| Job started, and no pod is there | its creation is refused: by a quota, a limit or a policy |
| Job deleted, and still there | a finalizer keeps it |
| Job suspended | others suspended it: a queue of Jobs, a webhook or a person |
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]

KILLED = 137
MESSAGE_CHARS_MAX = 500
AT_WORK_S = 15.0
"""Kubernetes makes the pod of a Job, and deletes a Job, well within this time."""
_ENDED = ("Succeeded", "Failed")
_WORKS = ("ContainerCreating", "PodInitializing")


def failure(job: Body, pods: Sequence[Body]) -> str:
    """Why the Job failed; its latest pod tells more than the Job itself."""
    condition = next((c for c in _conditions(job) if c["type"] == "Failed"), {})
    match condition.get("reason"):
        case "DeadlineExceeded":
            deadline_s = job["spec"].get("activeDeadlineSeconds")
            return f"planning was not finished within {deadline_s} s"
        case "BackoffLimitExceeded":
            times = int(job["spec"].get("backoffLimit", 0)) + 1
            often = "failed" if times == 1 else f"failed {times} times"
            return f"planning {often}: {_latest(pods) or 'its pods are gone'}"
        case reason:
            said = str(condition.get("message") or reason or "no reason given")
            return f"planning failed: {_latest(pods) or said}"


def pending_reason(pods: Iterable[Body]) -> str:
    """What the latest pod that has not started waits for; empty if all have started."""
    begun = (pod for pod in pods if pod.get("status", {}).get("phase") not in _ENDED)
    return next(
        filter(None, map(_pending_reason_of, sorted(begun, key=_created_at, reverse=True))), ""
    )


def absence_state(job: Body) -> tuple[str, bool, bool]:
    """What makes a Job without pods another one: its uid, whether it is deleted, and started."""
    metadata, status = job["metadata"], job.get("status") or {}
    is_deleted, has_started = "deletionTimestamp" in metadata, "startTime" in status
    return str(metadata.get("uid")), is_deleted, has_started


def absence_reason(job: Body, seen_s: float) -> str:
    """Why a Job without pods goes no further; empty while that may be in the making.

    `seen_s`: for how long its `absence_state` has been seen. Times in the Job are of other clocks.
    """
    metadata = job["metadata"]
    named = f"{metadata['name']} -n {metadata.get('namespace', '')}"
    _, is_deleted, has_started = absence_state(job)
    if is_deleted:
        kept = ", ".join(metadata.get("finalizers") or ()) or "none is named"
        said = f"an earlier Job is being deleted, and finalizers keep it ({kept})"
        return f"{said}: `kubectl describe job {named}`" if seen_s > AT_WORK_S else ""
    if job.get("spec", {}).get("suspend"):
        resumed = """--type=merge -p '{"spec":{"suspend":false}}'"""
        said = "its Job was suspended by a queue, a webhook or a person, and waits for them"
        return f"{said}; to resume it: `kubectl patch job {named} {resumed}`"
    ended = {c["type"] for c in _conditions(job) if c["status"] == "True"} & {"Complete", "Failed"}
    if not ended and has_started and seen_s > AT_WORK_S:
        said = "its pod is not created, as a quota, a limit or a policy refuses it"
        return f"{said}: `kubectl describe job {named}`"
    return ""


def pod_failure(pod: Body) -> str:
    """Why the pod failed; empty if it did not."""
    status = pod.get("status", {})
    if any(c["type"] == "DisruptionTarget" and c["status"] == "True" for c in _conditions(pod)):
        return "its pod was removed from its node (evicted, drained or preempted)"
    for container in status.get("containerStatuses") or ():
        terminated = (container.get("state") or {}).get("terminated")
        if terminated and terminated.get("exitCode"):
            return _termination(terminated, _memory_limit(pod, container["name"]))
    if status.get("phase") == "Failed":
        return str(status.get("message") or status.get("reason") or "its pod failed")
    return ""


def _latest(pods: Sequence[Body]) -> str:
    said = (pod_failure(pod) for pod in sorted(pods, key=_created_at, reverse=True))
    return next(filter(None, said), "")


def _termination(terminated: Body, limit: str) -> str:
    code = terminated["exitCode"]
    if terminated.get("reason") == "OOMKilled" or code == KILLED:
        return f"killed, as a rule for using more memory than its limit{limit}"
    words = str(terminated.get("message") or "").strip()
    last = words.splitlines()[-1][:MESSAGE_CHARS_MAX] if words else ""
    return last or f"exit code {code} without a message"


def _pending_reason_of(pod: Body) -> str:
    for condition in _conditions(pod):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return (
                "its pod cannot be scheduled:"
                f" {condition.get('message') or condition.get('reason')}"
            )
    for container in pod.get("status", {}).get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") not in (None, *_WORKS):
            said = waiting.get("message")
            image = f" (image {container.get('image')})" if "Image" in waiting["reason"] else ""
            return f"its pod waits: {waiting['reason']}{image}" + (f": {said}" if said else "")
    return ""


def _memory_limit(pod: Body, name: str) -> str:
    for container in pod.get("spec", {}).get("containers") or ():
        limit = container.get("resources", {}).get("limits", {}).get("memory")
        if container["name"] == name and limit:
            return f" ({limit})"
    return ""


def _conditions(body: Body) -> Sequence[Body]:
    return body.get("status", {}).get("conditions") or ()


def _created_at(pod: Body) -> tuple[str, str]:
    metadata = pod["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["name"]
