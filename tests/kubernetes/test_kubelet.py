"""The process kubelet under the real scheduler and controllers: how pods live and end."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from conditions import until
from control_plane.kubelet import Kubelet
from control_plane.kubelet.trials import FOREVER, Json, Pods, bash, descendants, pod
from control_plane.planes import ControlPlane
from poolkeeper import errors
from poolkeeper.sandbox.servers import processes

EVERY_SECOND = {"periodSeconds": 1, "timeoutSeconds": 5}


def test_a_job_completes_with_its_termination_message(pods: Pods) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [
        bash("echo working; echo -n '42 moves' > /dev/termination-log")
    ]}}  # fmt: skip
    job = {"metadata": {"name": "plan"}, "spec": {"backoffLimit": 0, "template": template}}
    pods.add("jobs", job, "/apis/batch/v1")
    namespace = pods.namespace
    pods.plane.kubectl("wait", "--for=condition=Complete", "job/plan", "-n", namespace)
    (name,) = pods.names()
    assert pods.outcome(name) == "Succeeded: 42 moves"
    assert pods.kubelet.logs(namespace, name) == "working\n"


def test_a_failing_container_says_its_exit_code_and_the_end_of_its_log(pods: Pods) -> None:
    last_words = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    pods.create("fails", bash("echo no such topic; exit 3", **last_words))
    assert pods.outcome("fails") == "Failed: no such topic"
    assert pods.state("fails")["terminated"]["exitCode"] == 3


def test_a_message_longer_than_4096_bytes_loses_its_beginning(pods: Pods) -> None:
    pods.create("long", bash("{ echo lost; printf 'x%.0s' {1..4096}; } > /dev/termination-log"))
    assert pods.outcome("long") == "Succeeded: " + "x" * 4096


def test_a_deployment_is_available_only_once_its_probe_says_so(pods: Pods, tmp_path: Path) -> None:
    gate = tmp_path / "open"
    volume = {"name": "gate", "hostPath": {"path": str(tmp_path)}}
    server = bash(
        "exec python3 -m http.server --directory /gate --bind $POD_IP 8080",
        env=[{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        ports=[{"name": "web", "containerPort": 8080}],
        volumeMounts=[{"name": "gate", "mountPath": "/gate"}],
        readinessProbe={"httpGet": {"path": "/open", "port": "web"}, **EVERY_SECOND},
    )
    spec = {
        "replicas": 2,  # the same port twice: each on its own address
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [server], "volumes": [volume]},
        },
    }
    pods.add("deployments", {"metadata": {"name": "web"}, "spec": spec}, "/apis/apps/v1")
    until(lambda: len(pods.names()) == 2, "two pods")
    for name in pods.names():
        pods.await_log(name, "404")  # the probe was answered, with a no
        assert pods.container(name)["ready"] is False
    path = f"/apis/apps/v1/namespaces/{pods.namespace}/deployments/web"
    assert pods.plane.request("GET", path)["status"].get("availableReplicas", 0) == 0
    gate.touch()
    until(
        lambda: pods.plane.request("GET", path)["status"].get("availableReplicas") == 2,
        "both are available",
    )
    gate.unlink()
    until(
        lambda: pods.plane.request("GET", path)["status"].get("availableReplicas", 0) == 0,
        "none is available any more",
    )


def serving_container(**probes: Json) -> Json:
    """A container that, once there is /gate/go, serves what else is at /gate."""
    return bash(
        "echo waiting; until [ -e /gate/go ]; do sleep 0.1; done; "
        f"python3 -m http.server --directory /gate --bind $(hostname -i) 9000 & {FOREVER}",
        volumeMounts=[{"name": "gate", "mountPath": "/gate"}],
        **{name: {**probe, **EVERY_SECOND} for name, probe in probes.items()},
    )


def test_a_failing_liveness_probe_restarts_the_container(pods: Pods, tmp_path: Path) -> None:
    for name in ("go", "well"):
        (tmp_path / name).touch()
    main = serving_container(
        startupProbe={"httpGet": {"path": "/well", "port": 9000}, "failureThreshold": 60},
        livenessProbe={"httpGet": {"path": "/well", "port": 9000}, "failureThreshold": 1},
    )
    volume = {"name": "gate", "hostPath": {"path": str(tmp_path)}}
    policy = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 5}
    pods.create("hangs", main, volumes=[volume], **policy)
    until(lambda: pods.container("hangs").get("ready"), "it is ready", 60)
    assert pods.container("hangs")["restartCount"] == 0
    (tmp_path / "well").unlink()
    until(lambda: pods.container("hangs")["restartCount"] == 1, "it is restarted", 60)
    last = pods.container("hangs")["lastState"]["terminated"]
    assert (last["exitCode"], last["reason"]) == (0, "Completed")  # SIGTERM was enough
    log = partial(pods.kubelet.logs, pods.namespace, "hangs")
    until(lambda: log().count("waiting") == 2, "it begins again")


def test_a_startup_probe_holds_the_liveness_probe_back(pods: Pods, tmp_path: Path) -> None:
    main = serving_container(
        startupProbe={"httpGet": {"port": 9000}, "failureThreshold": 60},
        livenessProbe={"httpGet": {"port": 9000}, "failureThreshold": 1},
    )
    pods.create("slow", main, volumes=[{"name": "gate", "hostPath": {"path": str(tmp_path)}}])
    pods.await_log("slow", "waiting")
    until(lambda: pods.container("slow").get("started") is False, "it has not started")
    assert pods.container("slow")["restartCount"] == 0
    (tmp_path / "go").touch()
    until(lambda: pods.container("slow")["ready"], "it is ready", 60)
    assert pods.container("slow")["restartCount"] == 0


def test_a_pod_that_asks_for_what_this_kubelet_does_not_do_waits_and_says_so(pods: Pods) -> None:
    init = {"name": "init", "image": "none", "command": ["true"]}
    hook = {"preStop": {"exec": {"command": ["true"]}}}
    pods.create("more", bash("echo never", lifecycle=hook), initContainers=[init])
    message = "this kubelet does not know container.lifecycle, initContainers"
    waiting = {"reason": "CreateContainerConfigError", "message": message}
    until(lambda: pods.state("more") == {"waiting": waiting}, "it says what it cannot have")
    assert pods.get("more")["status"]["phase"] == "Pending"


def test_sigterm_is_heard(pods: Pods) -> None:
    script = f"trap 'echo bye; exit 0' TERM; echo up; {FOREVER.partition(';')[2]}"
    pods.create("polite", bash(script), terminationGracePeriodSeconds=60)
    pods.await_log("polite", "up")
    pods.delete("polite")
    until(lambda: pods.names() == [], "the pod is gone")
    assert pods.kubelet.logs(pods.namespace, "polite") == "up\nbye\n"


def test_who_ignores_sigterm_is_killed_after_the_grace_with_all_descendants(pods: Pods) -> None:
    script = "trap '' TERM; sleep 1000 & echo up; wait"
    pods.create("stubborn", bash(script), terminationGracePeriodSeconds=2)
    pods.await_log("stubborn", "up")
    pid = pods.kubelet.pid(pods.namespace, "stubborn")
    family = [processes.identify(each) for each in [pid, *descendants(pid)]]
    pods.delete("stubborn")
    metadata = pods.get("stubborn")["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 2  # still there, as it has time left
    until(lambda: pods.names() == [], "the pod is gone")
    until(lambda: not any(each and processes.is_alive(each) for each in family), "all have ended")


def test_a_force_deleted_pods_processes_end_at_once(pods: Pods) -> None:
    pods.create("forced", bash("trap '' TERM; echo up; sleep infinity"))
    pods.await_log("forced", "up")
    running = processes.identify(pods.kubelet.pid(pods.namespace, "forced"))
    path = f"/api/v1/namespaces/{pods.namespace}/pods/forced"
    pods.plane.request("DELETE", path, {"gracePeriodSeconds": 0})
    assert running is not None
    until(lambda: not processes.is_alive(running), "it has ended")


def test_a_killed_process_is_started_again(pods: Pods) -> None:
    pods.create("again", bash(f"echo up; {FOREVER}"), restartPolicy="OnFailure")
    pods.await_running("again")
    first = pods.kubelet.pid(pods.namespace, "again")
    os.kill(first, signal.SIGKILL)
    until(lambda: pods.container("again")["restartCount"] == 1, "it was restarted")
    until(lambda: "running" in pods.state("again"), "it runs again")
    assert pods.container("again")["lastState"]["terminated"]["exitCode"] == 137
    assert pods.kubelet.pid(pods.namespace, "again") != first


def test_a_crashing_container_backs_off(pods: Pods) -> None:
    pods.create("crashes", bash("exit 1"), restartPolicy="Always")
    until(
        lambda: pods.state("crashes").get("waiting", {}).get("reason") == "CrashLoopBackOff",
        "it backs off",
    )
    assert pods.get("crashes")["status"]["phase"] == "Running"


def test_an_unknown_image_is_waited_for(pods: Pods, tmp_path: Path) -> None:
    image = f"example.test/late-{pods.namespace}:1"
    pods.create("late", {"name": "main", "image": image, "args": ["hello"]})
    message = f'there is no image "{image}" here'
    waiting = {"reason": "ImagePullBackOff", "message": message}
    until(lambda: pods.state("late") == {"waiting": waiting}, "it says what it waits for")
    assert pods.get("late")["status"]["phase"] == "Pending"
    entry = tmp_path / "entry"
    entry.write_text('#!/bin/bash\necho "$@" > /dev/termination-log\n')
    entry.chmod(0o755)
    pods.kubelet.add_image(image, entry)
    assert pods.outcome("late") == "Succeeded: hello"


def test_logs_and_pids_of_what_never_ran_are_refused(pods: Pods) -> None:
    with pytest.raises(errors.Refused, match=r"never ran here"):
        pods.kubelet.logs(pods.namespace, "nobody")
    pods.create("ends", bash("true"))
    pods.outcome("ends")
    with pytest.raises(errors.Unavailable, match=r"no container of .*/ends runs now"):
        pods.kubelet.pid(pods.namespace, "ends")


def kill_kubelet(kubelet: Kubelet) -> None:
    kubelet.process.signal(signal.SIGKILL)
    kubelet.process.wait(60)


@pytest.fixture
def own_kubelet(control_plane: ControlPlane, namespace: str) -> Iterator[Kubelet]:
    """A kubelet of this test alone, and with it the Node, which a killed one leaves behind."""
    with Kubelet.start(control_plane, {}, name=f"node-{namespace}") as own:
        yield own
    if own.name in control_plane.kubectl("get", "nodes").stdout:
        control_plane.request("DELETE", f"/api/v1/nodes/{own.name}")


@pytest.mark.parametrize("end", [kill_kubelet, Kubelet.stop], ids=["killed", "stopped"])
def test_nothing_outlives_the_kubelet(
    control_plane: ControlPlane,
    own_kubelet: Kubelet,
    namespace: str,
    end: Callable[[Kubelet], None],
) -> None:
    own, pods = own_kubelet, Pods(control_plane, own_kubelet, namespace)
    script = "trap '' TERM; setsid sleep 1000 & sleep 1000 & echo up; wait"
    for name, security in (("root", {}), ("user", {"runAsUser": 1000})):
        main = bash(script, securityContext=security)
        pods.create(name, main, nodeName=own.name)
        pods.await_log(name, "up")
    family = {own.process.pid, *descendants(own.process.pid)}
    alive = [processes.identify(pid) for pid in family]
    assert len(family) == 9  # the kubelet; twice keeper, bash and two sleeps
    end(own)
    until(lambda: not any(each and processes.is_alive(each) for each in alive), "all have ended")


STARTS_A_KUBELET = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from control_plane.kubelet import Kubelet
kubelet = Kubelet.start(SimpleNamespace(kubeconfig=Path(sys.argv[1])), {}, name=sys.argv[2])
print(kubelet.process.pid, flush=True)
time.sleep(600)
"""


def test_the_kubelet_and_its_pods_end_with_the_process_that_started_it(
    control_plane: ControlPlane, namespace: str
) -> None:
    name = f"node-{namespace}"
    command = [sys.executable, "-c", STARTS_A_KUBELET, str(control_plane.kubeconfig), name]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        body = pod(namespace, "orphan", bash(FOREVER), nodeName=name)
        control_plane.request("POST", f"/api/v1/namespaces/{namespace}/pods", body)
        until(lambda: len(descendants(pid)) >= 3, "keeper, bash and its sleep run")
        family = [processes.identify(each) for each in (pid, *descendants(pid))]
        owner.kill()
    until(lambda: not any(each and processes.is_alive(each) for each in family), "all have ended")
    control_plane.request("DELETE", f"/api/v1/nodes/{name}")


def runs(kubelet: Kubelet, namespace: str, pod: str) -> bool:
    try:
        return bool(kubelet.pid(namespace, pod))
    except (errors.Refused, errors.Unavailable):
        return False


def test_pods_that_lost_their_kubelet_run_again_under_the_next(
    control_plane: ControlPlane, own_kubelet: Kubelet, namespace: str
) -> None:
    name = own_kubelet.name
    before = Pods(control_plane, own_kubelet, namespace)
    before.create("lives", bash(FOREVER), nodeName=name)
    before.await_running("lives")
    kill_kubelet(own_kubelet)
    with Kubelet.start(control_plane, {}, name=name) as second:
        until(lambda: runs(second, namespace, "lives"), "it runs again")
        before.delete("lives")
        until(lambda: before.names() == [], "and can be deleted")


def test_the_kubelet_goes_on_after_the_api_server_was_away(pods: Pods) -> None:
    pods.create("before", bash(f"echo up; {FOREVER}"))
    pods.await_log("before", "up")
    pid = pods.kubelet.pid(pods.namespace, "before")
    pods.plane.api_server.kill()
    pods.plane.api_server.start()
    pods.create("after", bash("echo -n fine > /dev/termination-log"))
    assert pods.outcome("after") == "Succeeded: fine"
    assert pods.kubelet.pid(pods.namespace, "before") == pid


def test_a_node_that_was_taken_for_lost_is_ready_again(
    control_plane: ControlPlane, own_kubelet: Kubelet
) -> None:
    """An outage of the API server that outlasts the Lease looks like the death of every kubelet."""
    node = f"/api/v1/nodes/{own_kubelet.name}"

    def is_ready() -> bool:
        conditions = control_plane.request("GET", node)["status"]["conditions"]
        return {each["type"]: each["status"] for each in conditions}["Ready"] == "True"

    until(is_ready, "the node is ready")
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": ""}
    control_plane.request("PATCH", f"{node}/status", {"status": {"conditions": [lost]}})
    assert not is_ready()
    until(is_ready, "the node is ready again")
