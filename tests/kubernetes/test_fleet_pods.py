"""`poolkeeper fleet run` without an operator, its executors as pods: real ones of Spark.

The driver runs outside of the cluster, in client mode. Nothing is mounted into pods: tables are in
an object store, which driver and executors reach with the same settings.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from chart.releases import OPERATOR
from conditions import until
from control_plane.building import CHECKOUT
from fleet import asking
from planned import IMAGE, QUICK
from poolkeeper.cli.output.left_undone import EXIT_CODE
from poolkeeper.cli.submitted import FILE
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.lake import Lake
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.stages import waves
from poolkeeper.model.desired import Desired
from poolkeeper.resources.write import manifests as write_manifests
from s3_server import Bucket, jars, s3, s3_server
from standalone_spark import environment, spark_home

__all__ = ["s3", "s3_server"]

pytestmark = [pytest.mark.fleet, pytest.mark.long]
EXECUTORS = 2
BEGUN_S = 120.0
DONE_S = 180.0


@pytest.fixture
def declared(zookeeper, tmp_path) -> Iterator[Mapping[str, Desired]]:
    """What is declared of two clusters with a crowded broker, and of one that cannot be reached."""
    with ExitStack() as stack:
        question = asking.question(stack, zookeeper, tmp_path)
        yield {each.cluster: each.desired for each in question.asked if each.cluster != "locked"}


def manifests(declared: Mapping[str, Desired], folder: Path) -> Path:
    bodies = [
        body
        for desired in declared.values()
        for body in (
            write_manifests.cluster_body(desired.cluster),
            *(write_manifests.pool_body(pool) for pool in desired.pools),
        )
    ]
    folder.mkdir()
    (folder / "all.yaml").write_text(write_manifests.text_of(bodies))
    return folder


def settings(namespace: str, s3: Bucket) -> Mapping[str, str]:
    return {
        **s3.conf(),
        "spark.jars": jars(),
        "spark.executorEnv.PYTHONPATH": str(CHECKOUT / "operator"),
        "spark.kubernetes.namespace": namespace,
        "spark.kubernetes.container.image": IMAGE,
        "spark.kubernetes.allocation.batch.delay": "200ms",
        "spark.executor.instances": str(EXECUTORS),
        "spark.executor.memory": "512m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.driver.memory": "512m",
        # Pods share the machine's network here.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        **QUICK,
    }


@pytest.mark.soak
def test_executors_read_and_plan_and_write_the_tables(
    declared, control_plane, kubelet, namespace, tmp_path, s3
):
    kubelet.add_image(IMAGE, OPERATOR)
    folder, out = manifests(declared, tmp_path / "manifests"), s3.uri("fleet")
    server = control_plane.access.server
    conf = (f"--conf={name}={value}" for name, value in settings(namespace, s3).items())
    words = ("-f", folder, "--out", out, "--timeout", "3", "--master", f"k8s://{server}", *conf)
    run = subprocess.Popen(
        [OPERATOR, "fleet", "run", *words],
        env=control_plane.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def running() -> list[str]:
        assert run.poll() is None, run.communicate()
        pods = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        return [pod["metadata"]["name"] for pod in pods if pod["status"].get("phase") == "Running"]

    try:
        until(lambda: len(running()) == EXECUTORS, "the executors run", BEGUN_S)
        said, warned = run.communicate(timeout=DONE_S)
    finally:
        run.kill()
    assert run.returncode == EXIT_CODE, warned
    assert said.splitlines()[0].endswith("2 of 3 clusters, 18 partitions")
    assert "warning: snapshot closed: no ZooKeeper answers at 127.0.0.1:1" in warned
    lake = Lake(ArrowObjects(out, Storage.of(s3.hadoop())))
    (day,) = lake.days("plan")
    for name in ("one", "two"):
        command = [OPERATOR, "plan", "-f", folder, "--cluster", name, "-o", "json"]
        alone = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        made = waves.plan_of(lake, Storage.of(s3.hadoop()), day, name)
        assert json.loads(alone.stdout)["hash"] == made.plan.hash
    assert b"two" in (lake.objects.read(f"report-{day}.html") or b"")
    until(
        lambda: not control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"],
        "the executors are gone",
        60,
    )


@pytest.mark.soak
def test_a_driver_that_is_submitted_is_a_pod_too(
    declared, control_plane, kubelet, namespace, tmp_path, s3
):
    """`spark-submit --deploy-mode cluster`: the package is in the image, tables are in a store."""
    kubelet.add_image(IMAGE, OPERATOR)
    folder = manifests(declared, tmp_path / "manifests")
    control_plane.kubectl("create", "serviceaccount", "driver", "-n", namespace)
    subject = f"--serviceaccount={namespace}:driver"
    control_plane.kubectl(
        *("create", "rolebinding", "driver", "--clusterrole=edit", subject, "-n", namespace)
    )
    driver = "spark.kubernetes.driver."
    conf = {
        **settings(namespace, s3),
        "spark.jars": ",".join(f"local://{jar}" for jar in jars().split(",")),
        "spark.executor.instances": "1",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "driver",
        # No names are resolved here.
        "spark.kubernetes.driver.master": control_plane.access.server,
        "spark.kubernetes.executor.useDriverPodIP": "true",
        # Manifests are where the image has them; here both are this machine.
        f"{driver}volumes.hostPath.manifests.mount.path": "/etc/fleet",
        f"{driver}volumes.hostPath.manifests.options.path": str(folder),
    }
    for name in ("spark.driver.host", "spark.driver.bindAddress"):
        del conf[name]
    given = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    words = ("run", "-f", "/etc/fleet", "--out", s3.uri("fleet"), "--timeout", "3")
    done = subprocess.run(
        [
            *(spark_home() / "bin" / "spark-submit", "--deploy-mode", "cluster"),
            *(
                "--master",
                f"k8s://{control_plane.access.server}",
                *given,
                f"local://{FILE}",
                *words,
            ),
        ],
        env={**environment(), **control_plane.environment()},
        capture_output=True,
        text=True,
        timeout=DONE_S,
        check=False,
    )
    assert done.returncode in (0, EXIT_CODE), done.stderr[-3000:]
    pods = control_plane.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    (pod,) = (each for each in pods if each["metadata"]["labels"]["spark-role"] == "driver")
    said = kubelet.logs(namespace, pod["metadata"]["name"])
    # The exit code of the driver is that of its pod: one cluster cannot be reached.
    (status,) = pod["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == EXIT_CODE, said[-3000:]
    assert "2 of 3 clusters, 18 partitions" in said
    lake = Lake(ArrowObjects(s3.uri("fleet"), Storage.of(s3.hadoop())))
    (day,) = lake.days("plan")
    planned = {name for name, entry in lake.current("plan", day).items() if entry.is_ok}
    assert planned == {"one", "two"}
