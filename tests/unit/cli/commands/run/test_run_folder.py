"""`run -f DIR` and what is no longer declared: nothing is let go in mid-run without a word."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import manifests
from poolkeeper.cli.commands.run import run_folder
from poolkeeper.cli.commands.run.run_folder import FolderWatch
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.controller.loops import loop
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.specs import Mode

MOVING = Progress("sha256:p", Phase.MOVING, 1, 0, 2, 2, 0, 10)
IN_MID_RUN = Outcome(State.WAITING, progress=MOVING)
ENDED = Outcome(State.PROGRESSED, (Action(ActionKind.RUN_ENDED),), progress=MOVING)
AT_REST = Outcome(State.CONVERGED)


class Loops:
    """The loops that a folder's threads would run, by cluster."""

    def __init__(self) -> None:
        self.configs: list[loop.LoopConfig] = []

    def run(self, config: loop.LoopConfig) -> None:
        self.configs.append(config)
        config.stop.wait(60)

    def of(self, name: str) -> loop.LoopConfig:
        return next(c for c in self.configs if c.desired().cluster.name == name)


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loops]:
    found = Loops()
    monkeypatch.setattr(run_folder.loop, "run_loop", found.run)
    yield found
    for config in found.configs:
        config.end()


def declare(folder: Path, *clusters: str, mode: str = "Apply") -> None:
    for file in folder.iterdir():
        file.unlink()
    (folder / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    for name in clusters:
        spec = {"zookeeper": {"connect": f"{name}:2181"}, "mode": mode}
        body = manifests.body("KafkaCluster", name, spec)
        (folder / f"{name}.yaml").write_text(json.dumps(body))


@pytest.fixture
def watch(tmp_path: Path, loops: Loops) -> FolderWatch:
    declare(tmp_path, "a", "b")
    found = FolderWatch(ClusterSelection(folders=(tmp_path,)), "text", lambda line: None)
    found.read()
    return found


def test_a_folder_without_any_cluster_lets_nothing_go(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loops.of("a").report(IN_MID_RUN)
    declare(tmp_path)
    watch.reconcile()
    said = capsys.readouterr().err
    assert "the manifests hold no KafkaCluster any more" in said
    assert "these manifests are ignored until they are right" in said
    assert loops.of("a").desired().cluster.mode is Mode.APPLY
    assert not any(config.stop.is_set() for config in loops.configs)


def test_a_cluster_that_is_no_longer_declared_ends_its_run_first(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = loops.of("a")
    config.report(IN_MID_RUN)
    declare(tmp_path, "b")
    watch.reconcile()
    assert "cluster a is no longer declared: a run is under way" in capsys.readouterr().err
    desired = config.desired()
    assert (desired.cluster.mode, desired.pools, desired.topics) == (Mode.PAUSED, (), ())
    watch.reconcile()
    assert not config.stop.is_set()
    config.report(ENDED)
    watch.reconcile()
    assert config.stop.is_set()
    assert "cluster a is no longer declared: it is let go" in capsys.readouterr().err


def test_a_cluster_that_is_declared_again_is_kept(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    config = loops.of("a")
    config.report(IN_MID_RUN)
    for names in (("b",), ("a", "b")):
        declare(tmp_path, *names)
        watch.reconcile()
    config.report(ENDED)
    watch.reconcile()
    assert not config.stop.is_set()
    assert config.desired().cluster.mode is Mode.APPLY


def test_a_cluster_at_rest_is_let_go_with_a_word(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = loops.of("a")
    config.report(AT_REST)
    declare(tmp_path, "b")
    watch.reconcile()
    assert config.stop.is_set()
    assert "cluster a is no longer declared: it is let go" in capsys.readouterr().err


def test_a_cluster_that_was_only_looked_at_is_left_as_it_is(
    loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(tmp_path, "a", "b", mode="PlanOnly")
    watch = FolderWatch(ClusterSelection(folders=(tmp_path,)), "text", lambda line: None)
    watch.read()
    config = loops.of("a")
    config.report(IN_MID_RUN)
    declare(tmp_path, "b", mode="PlanOnly")
    watch.reconcile()
    assert config.stop.is_set()
    assert "which stays with its throttles, as the mode is PlanOnly" in capsys.readouterr().err
