"""Both Dockerfiles are built for real, by buildah, and what they make is run as a pod runs it.

The bases that they name are in registries that a machine of tests may not reach. Debian's own
packages stand in for them: a system with Python, and one with Java and Maven.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SECONDS_MAX = 1200
NEEDED = ("buildah", "debootstrap")
PYTHON = "python3,python3-venv,python-is-python3,ca-certificates"
JAVA = "openjdk-17-jre-headless,maven,ca-certificates"
JAVA_HOME = "opt/java/openjdk"
"""Where the base that Dockerfile.planner names has Java."""
OF_THIS_MACHINE = ("/etc/pip.conf", "/etc/ssl/certs")
"""How packages are reached from here; an image that is built elsewhere has its own way."""
PARTITIONS = 54

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3 * SECONDS_MAX)]

Buildah = Callable[..., str]


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """Return what runs buildah on images of its own, which go with the test."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        pytest.fail(f"apt-get install --no-install-recommends {' '.join(missing)}")
    kept = tmp_path_factory.mktemp("images")
    own = ("buildah", "--storage-driver", "vfs", "--root", kept / "root", "--runroot", kept / "run")

    def run(*words: str | Path, code: int = 0) -> str:
        return _run([*own, *words], code)

    yield run
    run("rm", "--all")
    run("rmi", "--all", "--force")
    shutil.rmtree(kept)


@pytest.fixture(scope="module")
def python_base(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> str:
    return _base(buildah, "python", _system(PYTHON, tmp_path_factory.mktemp("python")))


@pytest.fixture(scope="module")
def java_base(buildah: Buildah, tmp_path_factory: pytest.TempPathFactory) -> str:
    system = _system(JAVA, tmp_path_factory.mktemp("java"))
    installed = next((system / "usr/lib/jvm").glob("java-17-openjdk-*"))
    # Debian's has links into other folders, of which a copy of this one would have none.
    shutil.copytree(installed, system / JAVA_HOME, ignore_dangling_symlinks=True)
    return _base(buildah, "java", system)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder that pods may write to, with manifests and a snapshot of their cluster."""
    shutil.copytree(REPOSITORY / "examples/manifests", tmp_path / "manifests")
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots/demo.json").write_text(json.dumps(_snapshot()))
    tmp_path.chmod(0o777)
    for each in tmp_path.rglob("*"):
        each.chmod(0o777)
    return tmp_path


def test_the_operators_image_plans(buildah: Buildah, python_base: str, data: Path) -> None:
    _build(buildah, "operator", "Dockerfile", f"BASE={python_base}")
    buildah("from", "--name", "operator-pod", "operator")

    def inside(*words: str, code: int = 0) -> str:
        mounted = ("--volume", f"{data}:/data:ro")
        return buildah("run", "--isolation", "chroot", *mounted, "operator-pod", *words, code=code)

    assert inside("id", "-u").strip() == "65532"
    assert inside("poolkeeper", "version").startswith("poolkeeper ")
    inside("python", "-c", "import poolkeeper.controller.operator, pyarrow")
    inside("python", "-c", "import pyspark", code=1)
    told = inside(
        *("poolkeeper", "plan", "-f", "/data/manifests"),
        *("--snapshot", "/data/snapshots/demo.json"),
        code=2,
    )
    assert "t1" in told


def test_the_planners_image_runs_spark(
    buildah: Buildah, python_base: str, java_base: str, data: Path
) -> None:
    bases = (f"BASE={python_base}", f"JAVA={java_base}", f"MAVEN={java_base}")
    _build(buildah, "planner", "Dockerfile.planner", *bases)
    buildah("from", "--name", "planner-pod", "planner")

    def inside(*words: str) -> str:
        mounted = ("--volume", f"{data}:/data")
        return buildah("run", "--isolation", "chroot", *mounted, "planner-pod", *words)

    jars = inside("sh", "-c", "ls /opt/poolkeeper/lib/python3*/site-packages/pyspark/jars")
    assert "hadoop-aws-" in jars
    # Nothing here knows an address for the name of this machine, as in a container without a pod.
    told = inside(
        *("poolkeeper", "fleet", "run", "-f", "/data/manifests", "--snapshots", "/data/snapshots"),
        *("--out", "/data/lake", "--rate", "1Gi"),
    )
    assert f"1 of 1 cluster, {PARTITIONS} partitions" in told
    assert list((data / "lake").glob("report-*.html"))


def _build(buildah: Buildah, name: str, dockerfile: str, *arguments: str) -> None:
    mounted = [f"{path}:{path}:ro" for path in OF_THIS_MACHINE if Path(path).exists()]
    buildah(
        *("bud", "--isolation", "chroot", "--tag", name, "--file", REPOSITORY / dockerfile),
        *(word for mount in mounted for word in ("--volume", mount)),
        *(word for argument in arguments for word in ("--build-arg", argument)),
        REPOSITORY,
    )


def _base(buildah: Buildah, name: str, system: Path) -> str:
    """Make an image of a system in a folder, which goes; return the image's name."""
    container = buildah("from", "scratch").strip()
    buildah("add", "--quiet", container, system, "/")
    tag = f"localhost/{name}-base"
    buildah("commit", "--quiet", "--rm", container, tag)
    shutil.rmtree(system)
    return tag


def _system(packages: str, folder: Path) -> Path:
    """Install a small Debian of this machine's release with some packages into a folder."""
    release = dict(
        line.split("=", 1)
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        if "=" in line
    )["VERSION_CODENAME"].strip('"')
    targets = _run(["apt-get", "indextargets", "--format", "$(RELEASE) $(SITE)"])
    sites = [line.split()[1] for line in targets.splitlines() if line.split()[0] == release]
    packages = f"--include={packages}"
    _run(["debootstrap", "--variant=minbase", packages, release, folder, sites[0]])
    return folder


def _run(words: Sequence[str | Path], code: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == code, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def _snapshot() -> dict[str, object]:
    """The cluster of examples/manifests as Kafka itself would have laid it out."""
    brokers = [{"id": id_, "rack": "abc"[(id_ - 1) % 3]} for id_ in range(1, 10)]
    topics = [
        {
            "name": f"t{number}",
            "partitions": [
                {
                    "partition": partition,
                    "replicas": [1 + (partition + number + place) % 9 for place in range(3)],
                    "bytes": 1_000_000,
                }
                for partition in range(PARTITIONS // 9)
            ],
        }
        for number in range(1, 10)
    ]
    return {"version": 1, "cluster": {"name": "demo"}, "brokers": brokers, "topics": topics}
