"""The check of a pull request in `examples/gitops`, in a real git repository with a bare remote.

The remote's hook stands for the CI: it checks out what was pushed, the base and the snapshots, each
into a folder of its own, as `pull-request.yaml` does, and runs the script. What the script calls is
run by the process of the tests: each process of its own would import everything once more.
"""

import json
import os
import select
import shutil
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import PIPE, STDOUT, CompletedProcess, Popen, run

import pytest
from ruamel.yaml import YAML

from poolkeeper.cli import main

ROOT = Path(__file__).parents[2]
GITOPS = ROOT / "examples" / "gitops"
WHATIF = ROOT / "examples" / "whatif"
DEADLINE_S = 300
MANIFESTS = """\
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: shop}
spec:
  zookeeper: {connect: "zookeeper:2181/kafka"}
  kafkaVersion: "3.9"
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: all}
spec:
  clusterRef: {name: shop}
  brokers: {ids: [1, 2, 3]}
---
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata: {name: customers, namespace: shop}
spec:
  poolRef: {name: all}
  partitions: 2
  replicationFactor: 3
"""
LINE = MANIFESTS.splitlines().index("  replicationFactor: 3") + 1
SNAPSHOT = {
    "version": 1,
    "cluster": {"name": "shop", "id": "gitops-check", "kafkaVersion": "3.9", "controller": 1},
    "brokers": [{"id": id_, "rack": rack} for id_, rack in enumerate("abc", start=1)],
    "topics": [
        {
            "name": "customers",
            "config": {},
            "partitions": [
                {
                    "partition": partition,
                    "replicas": ids,
                    "leader": ids[0],
                    "isr": ids,
                    "bytes": 50_000_000,
                    "bytesInPerSecond": 60_000.0,
                }
                for partition, ids in enumerate(([1, 2], [3, 1]))
            ],
        }
    ],
    "deleting": [],
}
"""Small: a check rehearses its plan once for each kind of fault."""
HOOK = """#!/usr/bin/env bash
set -eu
read -r _ pushed branch
[ "$branch" = refs/heads/change ] || exit 0
rm -rf "$CI_FOLDER"; mkdir -p "$CI_FOLDER"
for part in "change $pushed" "base main" "snapshots snapshots"; do
  set -- $part
  mkdir -p "$CI_FOLDER/$1"
  git --work-tree="$CI_FOLDER/$1" checkout --force "$2" -- .
done
cd "$CI_FOLDER"
code=0
base/ci/check-change.sh change/manifests snapshots out base/manifests || code=$?
echo "$code" > code
"""
ASKING = """#!/usr/bin/env bash
printf '%s\\0' "$PWD" "$@" > "$SERVED/asked"
read -r code < "$SERVED/code"
cat "$SERVED/out"; cat "$SERVED/err" >&2
exit "$code"
"""


class Served:
    """A `poolkeeper` on the path that asks this process to run the command, by two pipes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        command = folder / "bin" / "poolkeeper"
        command.write_text(ASKING)
        command.chmod(0o755)
        for pipe in ("asked", "code"):
            os.mkfifo(folder / pipe)

    def while_running(self, process: Popen[str]) -> str:
        """Answer until the process has ended; return what it printed."""
        deadline = time.monotonic() + DEADLINE_S
        # Both are open to the end: each asks with one write, and may have died before its answer.
        asked, answers = (os.open(self.folder / pipe, os.O_RDWR) for pipe in ("asked", "code"))
        try:
            while process.poll() is None:
                assert time.monotonic() < deadline, "the check has not ended"
                if select.select([asked], [], [], 0.02)[0]:
                    code = self._answer(os.read(asked, 65_536).decode().split("\0")[:-1])
                    os.write(answers, f"{code}\n".encode())
        finally:
            os.close(asked)
            os.close(answers)
            process.kill()
        return process.communicate()[0]

    def _answer(self, asked: list[str]) -> int:
        with (
            chdir(asked[0]),
            (self.folder / "out").open("w") as out,
            (self.folder / "err").open("w") as err,
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            return main.main(asked[1:])


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Repository":
    served = Served(tmp_path / "served")
    monkeypatch.setenv("PATH", f"{served.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SERVED", str(served.folder))
    monkeypatch.setenv("CI_FOLDER", str(tmp_path / "ci"))
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{name}_NAME", "somebody")
        monkeypatch.setenv(f"{name}_EMAIL", "somebody@example.com")
    return Repository(tmp_path, served)


class Repository:
    """A bare remote with a hook, and a clone of it to work in."""

    def __init__(self, folder: Path, served: Served) -> None:
        self.folder, self.served = folder, served
        self.clone = folder / "clone"
        remote = folder / "remote.git"
        _git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
        _git(folder, "clone", "--quiet", str(remote), str(self.clone))
        _git(self.clone, "checkout", "--quiet", "-B", "snapshots")
        (self.clone / "shop.json").write_text(json.dumps(SNAPSHOT))
        self.commit_and_push("snapshots")
        _git(self.clone, "checkout", "--quiet", "--orphan", "main")
        _git(self.clone, "rm", "--quiet", "--force", "-r", ".")
        (self.clone / "manifests").mkdir()
        (self.clone / "manifests" / "shop.yaml").write_text(MANIFESTS)
        (self.clone / "ci").mkdir()
        shutil.copy(GITOPS / "check-change.sh", self.clone / "ci")
        self.commit_and_push("main")
        hook = remote / "hooks" / "post-receive"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        _git(self.clone, "checkout", "--quiet", "-b", "change")

    def commit_and_push(self, branch: str) -> str:
        """Commit all, push it, and return what the remote's hook printed."""
        _git(self.clone, "add", "--all")
        _git(self.clone, "commit", "--quiet", "--message", f"Edit {branch}")
        push = ["git", "push", "--quiet", "--force", "origin", branch]
        with Popen(push, cwd=self.clone, stdout=PIPE, stderr=STDOUT, text=True) as pushing:
            printed = self.served.while_running(pushing)
        assert pushing.returncode == 0, printed
        return printed

    def edit(self, old: str, new: str) -> None:
        """Replace a text of the manifests, which is there."""
        path = self.clone / "manifests" / "shop.yaml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def checked(self) -> tuple[int, str, set[str]]:
        """Push the change; return the check's exit code, its comment, and the files it left."""
        printed = self.commit_and_push("change")
        code = self.folder / "ci" / "code"
        assert code.exists(), printed
        out = self.folder / "ci" / "out"
        files = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
        return int(code.read_text()), (out / "comment.md").read_text(), files


def test_a_pull_request_gets_its_plan_and_its_rehearsal_as_a_comment(
    repository: Repository,
) -> None:
    repository.edit("ids: [1, 2, 3]}", "ids: [1, 2, 3]}\n  demote: [3]")
    code, comment, files = repository.checked()
    assert code == 0, comment
    assert comment.startswith("# Plan for cluster shop\n")
    assert "- Rehearsed: it takes " in comment
    assert "- Worst single fault: " in comment
    assert {"shop/plan.json", "shop/plan.html", "shop/rehearsal.html"} <= files


WEST = """\
---
apiVersion: poolkeeper.dev/v1alpha1
kind: KafkaCluster
metadata: {name: west}
spec: {zookeeper: {connect: "zookeeper:2181/west"}}
---
apiVersion: poolkeeper.dev/v1alpha1
kind: ResourcePool
metadata: {name: western}
spec:
  clusterRef: {name: west}
  brokers: {ids: [1]}
"""


def test_the_comment_names_a_cluster_that_could_not_be_checked(repository: Repository) -> None:
    repository.edit(MANIFESTS, MANIFESTS.replace("replicationFactor: 3", "replicationFactor: 2"))
    with (repository.clone / "manifests" / "shop.yaml").open("a") as manifests:
        manifests.write(WEST)
    code, comment, _ = repository.checked()
    assert code == 0, comment
    assert [line for line in comment.splitlines() if "no snapshot" in line] == [
        "> Cluster west has no snapshot: what the change does to it was not checked."
    ]


def test_the_comment_names_documents_of_others_and_a_near_miss_is_no_other(
    repository: Repository,
) -> None:
    others = "---\napiVersion: v1\nkind: ConfigMap\n---\napiVersion: apps/v1\nkind: Deployment\n"
    with (repository.clone / "manifests" / "shop.yaml").open("a") as manifests:
        manifests.write(others)
    repository.edit("replicationFactor: 3", "replicationFactor: 2")
    code, comment, _ = repository.checked()
    assert code == 0, comment
    told = "> Documents of others are left alone: ConfigMap of v1, Deployment of apps/v1."
    assert comment.splitlines()[0] == told

    repository.edit("poolkeeper.dev/v1alpha1\nkind: Topic", "poolkeeper.io/v1alpha1\nkind: Topic")
    code, comment, _ = repository.checked()
    assert code == 1
    assert "apiVersion: 'poolkeeper.io/v1alpha1' is unknown" in comment


NEW = """\
---
apiVersion: poolkeeper.dev/v1alpha1
kind: Topic
metadata: {name: new}
spec: {poolRef: {name: all}, partitions: 1, replicationFactor: 2}
"""


def test_a_topic_to_create_is_something_that_the_change_adds(repository: Repository) -> None:
    """Nobody approves a creation, so that plans with it and without it have one hash."""
    with (repository.clone / "manifests" / "shop.yaml").open("a") as manifests:
        manifests.write(NEW)
    code, comment, _ = repository.checked()
    assert code == 0, comment
    assert "1 topic to create" in comment
    assert "adds nothing" not in comment


def test_what_must_not_be_merged_fails_the_check_and_the_comment_says_why(
    repository: Repository,
) -> None:
    repository.edit("replicationFactor: 3", "replicationFactor: three")
    code, comment, files = repository.checked()
    assert (code, files) == (1, {"comment.md"})
    assert comment.startswith("# The manifests are wrong\n")
    assert f"manifests/shop.yaml:{LINE}: spec.replicationFactor" in comment

    repository.edit("replicationFactor: three", "replicationFactor: 3")
    repository.edit(
        'kafkaVersion: "3.9"',
        'kafkaVersion: "3.9"\n  execution: {throttle: {mode: Fixed, rate: 20Ki}}',
    )
    code, comment, _ = repository.checked()
    assert code == 1
    # Another throttle moves nothing else.
    assert comment.startswith("> The change itself adds nothing to this plan: it waits already.\n")
    assert "## The rehearsal ends badly\n" in comment
    assert "the partitions take in more than its rate" in comment


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("partitions: 2", "partitions: 1", "partitions never shrink"),
        ("ids: [1, 2, 3]}", "ids: [1, 2, 33]}", "broker 33 is not live and holds nothing"),
    ],
)
def test_what_can_never_be_done_fails_the_check(
    repository: Repository, old: str, new: str, told: str
) -> None:
    repository.edit(old, new)
    code, comment, _ = repository.checked()
    assert code == 1
    assert "## Some of what is declared can never be done\n" in comment
    assert told in comment


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "check-change.sh MANIFESTS SNAPSHOTS OUT [BASE]"),
        (("nowhere", ".", "out"), "check-change: nowhere is not a folder"),
        ((str(WHATIF / "manifests"), ".", "out"), "check-change: . holds no snapshot"),
    ],
    ids=["without arguments", "a folder that is not there", "no snapshot"],
)
def test_a_check_that_cannot_be_made_says_so(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    done = run(
        [str(GITOPS / "check-change.sh"), *arguments],
        cwd=tmp_path,
        env=environment,
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 3
    assert said in done.stdout


def test_the_workflow_runs_the_script_with_what_the_repository_of_manifests_has() -> None:
    workflow = YAML(typ="safe").load((GITOPS / "pull-request.yaml").read_text())
    (job,) = workflow["jobs"].values()
    folders = [step["with"]["path"] for step in job["steps"] if "checkout" in step.get("uses", "")]
    assert folders == ["change", "base", "snapshots"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert "base/ci/check-change.sh change/manifests snapshots out base/manifests" in runs


def _git(folder: Path, *arguments: str) -> CompletedProcess[str]:
    done = run(
        ["git", *arguments],
        cwd=folder,
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stdout
    return done
