"""What a pod's status says, from the states of its containers. Pure.

    phase      Pending until every init container is done and every container has run once;
               Failed and Succeeded only when nothing will run again; else Running
    Ready      every container runs and passes its readiness probe

`due` is the other half of a pod's life: which containers may start now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
INITIALIZING = Waiting("PodInitializing")


@dataclass(frozen=True, slots=True)
class View:
    """One container as its status shows it. `begun`: it was told to start, whatever came of it."""

    container: Container
    state: State = NOT_BEGUN
    last: Terminated | None = None
    restarts: int = 0
    started: bool = False
    ready: bool = False
    pid: int = 0
    begun: bool = False

    @property
    def over(self) -> bool:
        """Whether it has ended and will not be started again."""
        policy = self.container.restart_policy
        return isinstance(self.state, Terminated) and not restarts(policy, self.state.exit_code)

    @property
    def succeeded(self) -> bool:
        """Whether it is over and well."""
        return self.over and isinstance(self.state, Terminated) and self.state.exit_code == 0


@dataclass(frozen=True, slots=True)
class Views:
    """All containers of a pod, each in the order of the pod object."""

    inits: tuple[View, ...]
    mains: tuple[View, ...]
    stopping: bool = field(default=False)

    @property
    def initialized(self) -> bool:
        """Whether every init container has done its part."""
        return all(
            view.started if view.container.sidecar else view.succeeded for view in self.inits
        )

    @property
    def over(self) -> bool:
        """Whether nothing of the pod will run again."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def phase(self) -> str:
        """Kubernetes' word for the whole pod."""
        ended = all(isinstance(view.state, Terminated) for view in self.mains)
        if any(view.over and not view.succeeded for view in self.inits):
            return "Failed"
        if all(view.over for view in self.mains) or (self.stopping and ended):
            well = all(
                isinstance(v.state, Terminated) and not v.state.exit_code for v in self.mains
            )
            return "Succeeded" if well else "Failed"
        if not self.initialized or any(_never_ran(view) for view in self.mains):
            return "Pending"
        return "Running"


def due(views: Views) -> tuple[str, ...]:
    """Return the names of the containers to start now.

    The first init container that is not done; once all are, every container.
    """
    if views.stopping:
        return ()
    for view in views.inits:
        if not view.begun:
            return (view.container.name,)
        if not (view.started if view.container.sidecar else view.succeeded):
            return ()
    return tuple(view.container.name for view in views.mains if not view.begun)


def pod_status(
    views: Views, before: Mapping[str, Any], ip: str, started_at: str, now: str
) -> dict[str, Any]:
    """Return the status of the pod; `before` is the one that the API server has.

    A condition keeps its lastTransitionTime for as long as its status stays.
    """
    ready = not views.stopping and all(view.ready for view in views.mains)
    over = "PodCompleted" if views.phase == "Succeeded" else "PodFailed" if views.over else ""
    unready = over or "ContainersNotReady"
    known = {each["type"]: each for each in before.get("conditions", ())}
    conditions = [
        _condition("PodScheduled", True, "", known, now),
        _condition("Initialized", views.initialized, "ContainersNotInitialized", known, now),
        _condition("ContainersReady", ready, unready, known, now),
        _condition("Ready", ready, unready, known, now),
    ]
    status: dict[str, Any] = {
        "phase": views.phase,
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": started_at,
        "conditions": conditions,
        "containerStatuses": _container_statuses(views.mains, views.initialized),
    }
    if views.inits:
        status["initContainerStatuses"] = _container_statuses(views.inits, True)
    return status


def _never_ran(view: View) -> bool:
    return isinstance(view.state, Waiting) and view.last is None


def _condition(
    kind: str, holds: bool, reason: str, known: Mapping[str, Mapping[str, Any]], now: str
) -> dict[str, Any]:
    status, old = str(holds), known.get(kind, {})
    since = old.get("lastTransitionTime", now) if old.get("status") == status else now
    # None, since conditions are merged: it removes the reason that was there before.
    cause = None if holds else reason
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": cause}


def _container_statuses(views: Sequence[View], initialized: bool) -> list[dict[str, Any]]:
    return [_container_status(view, initialized) for view in views]


def _container_status(view: View, initialized: bool) -> dict[str, Any]:
    state = view.state if initialized or view.begun else INITIALIZING
    return {
        "name": view.container.name,
        "image": view.container.image,
        "imageID": view.container.image,
        **({"containerID": f"process://{view.pid}"} if view.pid else {}),
        "ready": view.ready,
        "started": view.started,
        "restartCount": view.restarts,
        "state": _state(state, view.pid),
        "lastState": _state(view.last, view.pid) if view.last else {},
    }


def _state(state: State, pid: int) -> dict[str, Any]:
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
