"""`run -f DIR`: what is declared otherwise or no longer, and news that nobody can read.

Nothing is let go in mid-run without a word.
"""

import errno
import json
import os
import time
from pathlib import Path
from threading import Event

import pytest

import manifests
from poolkeeper.cli.commands.run import run_folder
from poolkeeper.cli.commands.run.run_folder import FolderWatch
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.errors import BrokersUnreachable, PoolkeeperError
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.specs import Mode
from unit.cli.commands.run.followed_folders import (
    Loops,
    declare,
    followed,
    look,
    loops,
    watch,
)

__all__ = ["loops", "watch"]

MOVING = Progress("sha256:p", Phase.MOVING, 1, 0, 2, 2, 0, 10)
IN_MID_RUN = Outcome(State.WAITING, progress=MOVING)
ENDED = Outcome(State.PROGRESSED, (Action(ActionKind.RUN_ENDED),), progress=MOVING)
AT_REST = Outcome(State.CONVERGED)


def test_what_is_declared_for_another_address_is_not_done_at_the_one_before(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = loops.of("a")
    before.report(IN_MID_RUN)
    declare(tmp_path, "a", "b", mode="Paused", port=2182)
    look(watch)
    assert before.stop.is_set()
    assert before.desired().cluster.mode is Mode.APPLY
    assert [
        (c.desired().cluster.name, c.desired().cluster.zookeeper.connect, c.stop.is_set())
        for c in loops.configs[2:]
    ] == [("a", "a:2182", False), ("b", "b:2182", False)]
    said = capsys.readouterr().err
    assert "cluster a is reached as it is declared now; if that is another Kafka cluster" in said
    assert "than at a:2181, a run may stay there with its throttles" in said
    assert [c.desired().cluster.mode for c in loops.configs[2:]] == [Mode.PAUSED] * 2


@pytest.mark.parametrize("broken", ["zookeeper: {username: ali", None], ids=["half", "gone"])
def test_a_client_configuration_that_is_wrong_for_a_moment_costs_the_brokers_alone(
    loops: Loops, tmp_path: Path, broken: str | None
) -> None:
    """A session with ZooKeeper that goes on needs no credentials."""
    folder, config = tmp_path / "manifests", tmp_path / "client.yaml"
    folder.mkdir()
    config.write_text("zookeeper: {username: alice, password: p}\n")
    declare(folder, "a")
    spec = {"zookeeper": {"connect": "b:1"}, "brokers": {"bootstrapServers": "127.0.0.1:1"}}
    (folder / "b.yaml").write_text(json.dumps(manifests.body("KafkaCluster", "b", spec)))
    address = ClusterSelection(folders=(folder,), client_config=config)
    FolderWatch(address, "text", lambda line: None).read()
    config.unlink()
    if broken is not None:
        config.write_text(broken)
    assert loops.of("a").connections.brokers() is None
    with pytest.raises(BrokersUnreachable, match=r"client\.yaml"):
        loops.of("b").connections.brokers()


def test_a_folder_without_any_cluster_lets_nothing_go(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loops.of("a").report(IN_MID_RUN)
    declare(tmp_path)
    look(watch)
    said = capsys.readouterr().err
    assert "the manifests hold no KafkaCluster any more" in said
    assert "these manifests are ignored until they are right" in said
    assert loops.of("a").desired().cluster.mode is Mode.APPLY
    assert not any(config.stop.is_set() for config in loops.configs)


def test_documents_of_others_are_told_once_until_they_change(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(tmp_path, "a", "b")
    look(watch)
    assert "note:" not in capsys.readouterr().err  # they were told at the start
    (tmp_path / "more.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\n")
    look(watch)
    told = "note: 2 other documents left alone: ConfigMap of v1, Deployment of apps/v1\n"
    assert capsys.readouterr().err == told


def test_a_topic_whose_group_is_misspelt_is_not_taken_back(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = manifests.topic("t", "p")
    pool = manifests.resource_pool("p", 1, cluster="a")
    (tmp_path / "pool.yaml").write_text(json.dumps(pool))
    (tmp_path / "topic.yaml").write_text(json.dumps(topic))
    look(watch)
    (tmp_path / "topic.yaml").write_text(json.dumps({**topic, "apiVersion": "poolkeeper.oi/v1"}))
    look(watch)
    assert "'poolkeeper.oi/v1' is unknown" in capsys.readouterr().err
    assert [topic.topic for topic in loops.of("a").desired().topics] == ["t"]


def test_a_cluster_that_is_no_longer_declared_ends_its_run_first(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = loops.of("a")
    config.report(IN_MID_RUN)
    declare(tmp_path, "b")
    look(watch)
    assert "cluster a is no longer declared: a run is under way" in capsys.readouterr().err
    desired = config.desired()
    assert (desired.cluster.mode, desired.pools, desired.topics) == (Mode.PAUSED, (), ())
    look(watch)
    assert not config.stop.is_set()
    config.report(ENDED)
    look(watch)
    assert config.stop.is_set()
    assert "cluster a is no longer declared: it is let go" in capsys.readouterr().err


def test_a_cluster_that_is_declared_again_is_kept(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    config = loops.of("a")
    config.report(IN_MID_RUN)
    for names in (("b",), ("a", "b")):
        declare(tmp_path, *names)
        look(watch)
    config.report(ENDED)
    look(watch)
    assert not config.stop.is_set()
    assert config.desired().cluster.mode is Mode.APPLY


def test_a_cluster_at_rest_is_let_go_with_a_word(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = loops.of("a")
    config.report(AT_REST)
    declare(tmp_path, "b")
    look(watch)
    assert config.stop.is_set()
    assert "cluster a is no longer declared: it is let go" in capsys.readouterr().err


def test_a_cluster_at_rest_is_kept_while_a_pass_may_begin_a_run(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    config = loops.of("a")
    config.report(AT_REST)
    assert config.declared().cluster.mode is Mode.APPLY
    declare(tmp_path, "b")
    look(watch)
    assert not config.stop.is_set()
    config.report(IN_MID_RUN)
    assert config.declared().cluster.mode is Mode.PAUSED
    look(watch)
    assert not config.stop.is_set()
    config.report(ENDED)
    look(watch)
    assert config.stop.is_set()


def test_a_cluster_that_was_only_looked_at_is_left_as_it_is(
    loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(tmp_path, "a", "b", mode="PlanOnly")
    watch = followed(tmp_path)
    watch.read()
    config = loops.of("a")
    config.report(IN_MID_RUN)
    declare(tmp_path, "b", mode="PlanOnly")
    look(watch)
    assert config.stop.is_set()
    assert config.desired().cluster.mode is Mode.PLAN_ONLY  # it may look once more before it ends
    said = capsys.readouterr().err
    assert "which stays with its throttles, as the mode is PlanOnly" in said
    assert "cluster a is no longer declared: it is let go" in said


@pytest.mark.parametrize("what", ["missing", "empty", "others"])
def test_a_folder_without_a_cluster_is_refused_at_the_start(tmp_path: Path, what: str) -> None:
    folder = tmp_path / what
    if what != "missing":
        folder.mkdir()
    if what == "others":
        (folder / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    told = {
        "missing": "missing: cannot be read: no such file or directory",
        "empty": "empty: holds no manifests",
        "others": r"the manifests hold no KafkaCluster \(expected one\)",
    }
    with pytest.raises(PoolkeeperError, match=told[what]):
        followed(folder).read()


@pytest.mark.slow
def test_all_clusters_together_have_one_time_to_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hangs = Event()
    monkeypatch.setattr(run_folder.loop, "run_loop", lambda config: hangs.wait(60))
    monkeypatch.setattr(run_folder.timing, "END_S", 0.5)
    declare(tmp_path, *"abcdefghijkl")
    watch = followed(tmp_path)
    watch.read()
    began_s = time.monotonic()
    watch.close()
    assert time.monotonic() - began_s < 3
    hangs.set()


class Unwritable:
    """Standard output whose writes fail."""

    def __init__(self, number: int) -> None:
        self.number = number

    def write(self, text: str) -> int:
        raise OSError(self.number, os.strerror(self.number))

    def flush(self) -> None:
        pass


def test_news_that_nobody_reads_any_more_end_the_command(
    loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "a")
    monkeypatch.setattr("sys.stdout", Unwritable(errno.EPIPE))
    watch = followed(tmp_path)
    watch.read()
    loops.of("a").report(ENDED)
    with pytest.raises(BrokenPipeError):
        watch.reconcile()


def test_work_goes_on_while_news_cannot_be_written(
    loops: Loops,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    declare(tmp_path, "a")
    monkeypatch.setattr("sys.stdout", Unwritable(errno.ENOSPC))
    watch = followed(tmp_path)
    watch.read()
    capsys.readouterr()
    for _ in range(2):
        loops.of("a").report(ENDED)
        look(watch)
    assert capsys.readouterr().err == (
        "warning: standard output: cannot be written (No space left on device): the work goes on\n"
    )


def test_where_a_pass_failed_by_a_bug_is_told(monkeypatch, tmp_path, capsys) -> None:
    ended = Event()

    def fail(config: LoopConfig) -> None:
        try:
            raise KeyError("a bug")
        except KeyError:
            loop.logger.exception("pass of cluster %s failed", config.desired().cluster.name)
        ended.set()

    monkeypatch.setattr(run_folder.loop, "run_loop", fail)
    declare(tmp_path, "a")
    run_folder.watch_folder(ClusterSelection(folders=(tmp_path,)), "text", print, ended)
    told = capsys.readouterr().err
    assert "pass of cluster a failed" in told
    assert "in fail" in told
    assert "KeyError: 'a bug'" in told
