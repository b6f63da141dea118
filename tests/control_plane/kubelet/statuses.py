"""What a pod's status says, from the state of its container. Pure.

phase      Pending until the container has run once; Failed and Succeeded only when it will not
           run again; else Running
Ready      the container runs and passes its readiness probe
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from control_plane.kubelet.podspecs import Container, restarts


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not running: not yet, or not again before some time has passed."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Running:
    """Running since `started_at` (RFC 3339)."""

    started_at: str


@dataclass(frozen=True, slots=True)
class Terminated:
    """Ended; exit code 128 + n means signal n."""

    exit_code: int
    reason: str
    message: str
    started_at: str
    finished_at: str


State = Waiting | Running | Terminated
NOT_BEGUN = Waiting("ContainerCreating")


@dataclass(frozen=True, slots=True)
class View:
    """The container as its pod's status shows it; `stopping`: it is not started again."""

    container: Container
    state: State = NOT_BEGUN
    last: Terminated | None = None
    restarts: int = 0
    started: bool = False
    ready: bool = False
    pid: int = 0
    stopping: bool = False

    @property
    def over(self) -> bool:
        """Whether it will not run again."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def phase(self) -> str:
        """Kubernetes' word for the pod."""
        match self.state:
            case Terminated(code) if self.stopping or not restarts(
                self.container.restart_policy, code
            ):
                return "Failed" if code else "Succeeded"
            case Waiting() if self.last is None:
                return "Pending"
        return "Running"


def pod_status(
    view: View, before: Mapping[str, Any], ip: str, started_at: str, now: str
) -> dict[str, Any]:
    """Return the status of the pod; `before` is the one that the API server has.

    A condition keeps its lastTransitionTime for as long as its status stays.
    """
    ready = not view.stopping and view.ready
    over = "PodCompleted" if view.phase == "Succeeded" else "PodFailed" if view.over else ""
    unready = over or "ContainersNotReady"
    known = {each["type"]: each for each in before.get("conditions", ())}
    conditions = [
        _condition("PodScheduled", True, "", known, now),
        _condition("Initialized", True, "", known, now),
        _condition("ContainersReady", ready, unready, known, now),
        _condition("Ready", ready, unready, known, now),
    ]
    return {
        "phase": view.phase,
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": started_at,
        "conditions": conditions,
        "containerStatuses": [_container_status(view)],
    }


def _condition(
    kind: str, holds: bool, reason: str, known: Mapping[str, Mapping[str, Any]], now: str
) -> dict[str, Any]:
    status, old = str(holds), known.get(kind, {})
    since = old.get("lastTransitionTime", now) if old.get("status") == status else now
    # None, since conditions are merged: it removes the reason that was there before.
    cause = None if holds else reason
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": cause}


def _container_status(view: View) -> dict[str, Any]:
    return {
        "name": view.container.name,
        "image": view.container.image,
        "imageID": view.container.image,
        **({"containerID": f"process://{view.pid}"} if view.pid else {}),
        "ready": view.ready,
        "started": view.started,
        "restartCount": view.restarts,
        "state": _state(view.state),
        "lastState": _state(view.last) if view.last else {},
    }


def _state(state: State) -> dict[str, Any]:
    match state:
        case Waiting(reason, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Running(started_at):
            return {"running": {"startedAt": started_at}}
        case Terminated():
            return {
                "terminated": {
                    "exitCode": state.exit_code,
                    "reason": state.reason,
                    "message": state.message,
                    "startedAt": state.started_at,
                    "finishedAt": state.finished_at,
                }
            }
