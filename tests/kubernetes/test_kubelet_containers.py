"""What a container of the process kubelet sees, may do and is, on a real control plane."""

import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from conditions import until
from control_plane.building import CHECKOUT
from control_plane.kubelet.trials import Json, Pods, bash
from control_plane.planes import ControlPlane


def test_secrets_and_config_maps_are_files_and_the_environment_is_the_pods(pods: Pods) -> None:
    encoded = b64encode(b"hunter2").decode()
    pods.add("secrets", {"metadata": {"name": "login"}, "data": {"password": encoded}})
    pods.add("configmaps", {"metadata": {"name": "settings"}, "data": {"A": "1", "B": "2"}})
    env = [
        {"name": "ONE", "value": "1"},
        {"name": "BOTH", "value": "$(ONE)-$$(ONE)-$(NOT_THERE)"},
        {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
    ]
    main = bash(
        '{ echo "$0 $BOTH $WHO $(hostname) $(cat /new/conf/b /login/password)"; } '
        "> /dev/termination-log",
        args=["$(ONE)"],
        env=env,
        volumeMounts=[
            {"name": "conf", "mountPath": "/new/conf"},
            {"name": "login", "mountPath": "/login"},
        ],
    )
    volumes = [
        {"name": "conf", "configMap": {"name": "settings", "items": [{"key": "B", "path": "b"}]}},
        {"name": "login", "secret": {"secretName": "login", "defaultMode": 0o400}},
    ]
    pods.create("reads", main, volumes=volumes)
    said = "1 1-$(ONE)-$(NOT_THERE) reads reads 2hunter2"
    assert pods.outcome("reads") == f"Succeeded: {said}"
    assert not Path("/new/conf").exists()


def test_a_pod_waits_for_the_secret_that_it_needs(pods: Pods) -> None:
    volume = {"name": "late", "secret": {"secretName": "late"}}
    main = bash("exit $(cat /late/k)", volumeMounts=[{"name": "late", "mountPath": "/late"}])
    pods.create("waits", main, volumes=[volume])
    waiting = {"reason": "ContainerCreating", "message": 'Secret "late" not found'}
    until(lambda: pods.state("waits") == {"waiting": waiting}, "it says what it waits for")
    pods.add("secrets", {"metadata": {"name": "late"}, "stringData": {"k": "0"}})
    assert pods.outcome("waits") == "Succeeded: "


def test_a_changed_config_map_changes_in_running_pods(pods: Pods) -> None:
    pods.add("configmaps", {"metadata": {"name": "live"}, "data": {"k": "old", "gone": ""}})
    main = bash(
        "until [ $(cat /c/k) = new ]; do sleep 0.1; done; ls /c > /dev/termination-log",
        volumeMounts=[{"name": "c", "mountPath": "/c"}],
    )
    pods.create("follows", main, volumes=[{"name": "c", "configMap": {"name": "live"}}])
    pods.await_running("follows")
    path = f"/api/v1/namespaces/{pods.namespace}/configmaps/live"
    pods.plane.request("PATCH", path, {"data": {"k": "new", "gone": None}})
    assert pods.outcome("follows") == "Succeeded: k"


def test_the_token_is_the_service_accounts(pods: Pods) -> None:
    pods.add("serviceaccounts", {"metadata": {"name": "reader"}})
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    group = "/apis/rbac.authorization.k8s.io/v1"
    pods.add("roles", {"metadata": {"name": "reads"}, "rules": rules}, group)
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": pods.namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"}
    binding = {"metadata": {"name": "reads"}, "subjects": [subject], "roleRef": reference}
    pods.add("rolebindings", binding, group)
    script = """
        cd /var/run/secrets/kubernetes.io/serviceaccount
        for what in configmaps secrets; do
            curl -s -o /dev/null -w '%{http_code} ' --max-time 20 --cacert ca.crt \
                -H "Authorization: Bearer $(cat token)" https://$KUBERNETES_SERVICE_HOST:\
$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat namespace)/$what
        done > /dev/termination-log"""
    pods.create("asks", bash(script), serviceAccountName="reader")
    assert pods.outcome("asks") == "Succeeded: 200 403"


def test_a_read_only_root_refuses_writes_but_volumes_take_them(pods: Pods) -> None:
    script = """
        for path in /x /etc/x /usr/x /var/run/x /var/tmp/x /conf/x /tmp/x; do
            touch $path 2>/dev/null && echo -n "$path "
        done > /dev/termination-log; true"""
    mounts = [{"name": "tmp", "mountPath": "/tmp"}, {"name": "conf", "mountPath": "/conf"}]
    main = bash(script, securityContext={"readOnlyRootFilesystem": True}, volumeMounts=mounts)
    volumes = [
        {"name": "tmp", "emptyDir": {}},
        {"name": "conf", "configMap": {"name": "kube-root-ca.crt"}},
    ]
    pods.create("closed", main, volumes=volumes)
    assert pods.outcome("closed") == "Succeeded: /tmp/x"


def test_what_a_container_writes_to_its_root_stays_its_own(pods: Pods) -> None:
    mark = Path("/etc") / f"mark-{pods.namespace}"
    pods.create("writes", bash(f"touch {mark} && ls {mark} > /dev/termination-log"))
    assert pods.outcome("writes") == f"Succeeded: {mark}"
    assert not mark.exists()


RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 65532,
    "runAsGroup": 65533,
    "fsGroup": 65534,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CLOSED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def test_a_restricted_pod_runs_as_its_user_without_powers(pods: Pods, tmp_path: Path) -> None:
    entry = tmp_path / "entry"  # in a folder that is only root's, like this interpreter
    entry.write_text("""#!/bin/bash
        { id -u; id -g; id -G; grep -E 'CapBnd|CapEff|NoNewPrivs' /proc/self/status; } |
            xargs > /dev/termination-log
        echo out > /dev/stdout && touch /data/x && stat -c %g /data/x >> /dev/termination-log
        cat /var/run/secrets/kubernetes.io/serviceaccount/token > /dev/null
    """)
    entry.chmod(0o755)
    pods.kubelet.add_image("restricted", entry)
    main = {
        "name": "main",
        "image": "restricted",
        "securityContext": CLOSED,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [{"name": "data", "emptyDir": {}}]
    pods.create("modest", main, securityContext=RESTRICTED, volumes=volumes)
    none = "0000000000000000"
    assert pods.outcome("modest") == (
        f"Succeeded: 65532 65533 65533 65534 CapEff: {none} CapBnd: {none} NoNewPrivs: 1\n65534"
    )


@pytest.mark.parametrize(
    "over",
    [
        pytest.param((), id="as it is"),
        pytest.param((str(CHECKOUT.parent),), id="below a volume that would hide the image"),
    ],
)
def test_our_own_program_runs_as_another_user(pods: Pods, over: tuple[str, ...]) -> None:
    program = Path(sys.executable).with_name("poolkeeper")
    pods.kubelet.add_image("poolkeeper", program)
    main = {"name": "main", "image": "poolkeeper", "args": ["--help"], "securityContext": CLOSED}
    main["volumeMounts"] = [{"name": "over", "mountPath": path} for path in over]
    volumes = [{"name": "over", "emptyDir": {}}]
    pods.create("ours", main, securityContext=RESTRICTED, volumes=volumes)
    assert pods.outcome("ours") == "Succeeded: "
    here = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    assert pods.kubelet.logs(pods.namespace, "ours") == here.stdout


def test_below_a_volume_the_image_is_what_it_is_elsewhere(
    pods: Pods, control_plane: ControlPlane
) -> None:
    """What is only root's is for all there, and no pod's folder can be seen."""
    entry = control_plane.folder / "entry"
    entry.write_text(f"""#!/bin/bash
        {{ id -u; ls -A {pods.kubelet.folder}/pods | wc -l; }} | xargs > /dev/termination-log
    """)
    entry.chmod(0o755)
    pods.kubelet.add_image("below", entry)
    mount = {"name": "over", "mountPath": str(CHECKOUT.parent)}
    main = {"name": "main", "image": "below", "securityContext": CLOSED, "volumeMounts": [mount]}
    volumes = [{"name": "over", "emptyDir": {}}]
    pods.create("below", main, securityContext=RESTRICTED, volumes=volumes)
    assert pods.outcome("below") == "Succeeded: 65532 0"


@pytest.mark.parametrize(
    ("security", "reason", "message"),
    [
        pytest.param(
            {"runAsNonRoot": True},
            ("waiting", "CreateContainerConfigError"),
            "container main has runAsNonRoot and its image would run as root: set runAsUser",
            id="non-root-but-no-user",
        ),
        pytest.param(
            {"runAsUser": 1000},
            ("terminated", "StartError"),
            "user 1000 may not read or execute {entry} as it lies on this machine",
            id="the-user-may-not-execute-the-entry-point",
        ),
    ],
)
def test_who_cannot_run_says_why(
    pods: Pods, tmp_path: Path, security: Json, reason: tuple[str, str], message: str
) -> None:
    entry = tmp_path / "entry"
    entry.write_text("#!/bin/bash\n")
    entry.chmod(0o700)
    pods.kubelet.add_image(f"private-{pods.namespace}", entry)
    main = {"name": "main", "image": f"private-{pods.namespace}", "securityContext": security}
    pods.create("cannot", main)
    kind, word = reason

    def state() -> Json:
        return pods.state("cannot").get(kind, {})

    until(lambda: state().get("reason") == word, f"it is {kind}: {word}")
    assert state()["message"] == message.format(entry=entry)
