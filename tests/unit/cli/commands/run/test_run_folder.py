"""`run -f DIR`: what changes in the folder, what is no longer declared, and news nobody can read.

Nothing is let go in mid-run without a word, and nothing that is half written is read.
"""

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

import manifests
from poolkeeper.cli.commands.run import run_folder
from poolkeeper.cli.commands.run.run_folder import FolderWatch
from poolkeeper.cli.input.options import ClusterSelection
from poolkeeper.controller.loops import loop
from poolkeeper.errors import BrokersUnreachable, PoolkeeperError, Problem
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


def declare(folder: Path, *clusters: str, mode: str = "Apply", port: int = 2181) -> None:
    for file in folder.iterdir():
        file.unlink()
    (folder / "other.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    for name in clusters:
        spec = {"zookeeper": {"connect": f"{name}:{port}"}, "mode": mode}
        body = manifests.body("KafkaCluster", name, spec)
        (folder / f"{name}.yaml").write_text(json.dumps(body))


def look(watch: FolderWatch) -> None:
    """Look at the folder until what changed there has not changed for one look."""
    for _ in range(2):
        watch.reconcile()


def followed(*folders: Path) -> FolderWatch:
    return FolderWatch(ClusterSelection(folders=folders), "text", lambda line: None)


@pytest.fixture
def watch(tmp_path: Path, loops: Loops) -> FolderWatch:
    declare(tmp_path, "a", "b")
    found = followed(tmp_path)
    found.read()
    return found


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


def test_a_folder_is_read_once_it_has_not_changed_for_one_look(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    config = loops.of("a")
    for mode in ("PlanOnly", "Paused"):
        declare(tmp_path, "a", "b", mode=mode)
        watch.reconcile()
        assert config.desired().cluster.mode is Mode.APPLY
    watch.reconcile()
    assert config.desired().cluster.mode is Mode.PAUSED


def test_a_folder_that_changes_while_it_is_read_is_read_again(
    watch: FolderWatch, loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "a", mode="Paused")
    watch.reconcile()
    texts = run_folder.files.texts

    def beside_a_checkout(paths):
        found = texts(paths)
        declare(tmp_path, "a", "b", mode="PlanOnly")
        monkeypatch.setattr(run_folder.files, "texts", texts)
        return found

    monkeypatch.setattr(run_folder.files, "texts", beside_a_checkout)
    watch.reconcile()
    assert [loops.of(name).desired().cluster.mode for name in "ab"] == [Mode.APPLY] * 2
    assert not any(config.stop.is_set() for config in loops.configs)
    look(watch)
    assert [loops.of(name).desired().cluster.mode for name in "ab"] == [Mode.PLAN_ONLY] * 2


def test_a_folder_that_changes_while_it_is_read_first_is_read_again(
    loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "a")
    texts = run_folder.files.texts
    changes = iter(range(run_folder.CHANGING_LOOKS_MAX * 2))

    def while_it_changes(paths):
        found = texts(paths)
        (tmp_path / "busy.json").write_text(
            '{"apiVersion": "v1", "kind": "ConfigMap"}' + " " * next(changes)
        )
        return found

    monkeypatch.setattr(run_folder.files, "texts", while_it_changes)
    watch = followed(tmp_path)
    reads = [watch.read() for _ in range(run_folder.CHANGING_LOOKS_MAX)]
    assert reads == [*[False] * (run_folder.CHANGING_LOOKS_MAX - 1), True]
    assert loops.of("a").desired().cluster.mode is Mode.APPLY


def test_wrong_manifests_are_not_read_again_before_they_change(
    watch: FolderWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, texts = [], run_folder.files.texts
    monkeypatch.setattr(run_folder.files, "texts", lambda p: read.append(p) or texts(p))
    (tmp_path / "a.json").write_text("{")
    for _ in range(5):
        watch.reconcile()
    assert len(read) == 1


def test_a_file_that_could_not_be_read_is_tried_again(
    watch: FolderWatch, loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "a", "b", mode="Paused")
    texts, fails = run_folder.files.texts, Problem("a.json", 0, "", "cannot be read: stale")
    monkeypatch.setattr(run_folder.files, "texts", lambda paths: (texts(paths)[0], [fails]))
    look(watch)
    monkeypatch.setattr(run_folder.files, "texts", texts)
    watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.PAUSED


def test_a_checkout_that_stands_still_half_way_is_not_read(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    """Git's filters, for large files for example, may take long between two files."""
    declare(tmp_path, "a", "b", mode="Paused")
    lock = tmp_path / ".git" / "index.lock"
    lock.parent.mkdir()
    lock.touch()
    for _ in range(5):
        watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.APPLY
    lock.unlink()
    watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.PAUSED


def test_a_lock_that_a_dead_git_left_holds_nothing_up_for_ever(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    declare(tmp_path, "a", "b", mode="Paused")
    lock = tmp_path / ".git" / "index.lock"
    lock.parent.mkdir()
    lock.touch()
    for _ in range(run_folder.CHANGING_LOOKS_MAX + 1):
        watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.PAUSED


@pytest.mark.slow
def test_a_pool_that_is_lost_is_not_told_for_each_of_its_topics(
    watch: FolderWatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2_000):
        body = manifests.body("Topic", f"t{number}", {"poolRef": {"name": "p"}}, "shop")
        (tmp_path / f"t{number:04}.json").write_text(json.dumps(body))
    (tmp_path / "z.json").write_text('{"apiVersion": "poolkeeper.dev/v1alpha1", "kind": "Tpic"}')
    look(watch)
    said = capsys.readouterr().err
    assert said.count("pool 'p' does not exist") == run_folder.PROBLEMS_MAX
    assert "'Tpic' is unknown" in said
    assert "1,990 more problems: `poolkeeper validate` names all" in said
    assert "what was declared before stays in force (a, b)" in said


def test_a_folder_that_never_rests_is_read_in_the_end(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    declare(tmp_path, "a", "b", mode="Paused")
    for number in range(run_folder.CHANGING_LOOKS_MAX):
        (tmp_path / "busy.json").write_text(
            '{"apiVersion": "v1", "kind": "ConfigMap"}' + " " * number
        )
        watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.PAUSED


def test_a_folder_that_is_gone_changes_nothing_and_its_return_is_told(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = tmp_path.with_name("away")
    tmp_path.rename(away)
    look(watch)
    look(watch)
    said = capsys.readouterr().err
    assert said.count("cannot be read: no such file or directory") == 1
    assert "what was declared before stays in force (a, b)" in said
    away.rename(tmp_path)
    look(watch)
    look(watch)
    assert capsys.readouterr().err == ("warning: the manifests are right again, and are followed\n")
    assert not any(config.stop.is_set() for config in loops.configs)


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
    for _ in range(2):
        loops.of("a").report(ENDED)
        look(watch)
    assert capsys.readouterr().err == (
        "warning: standard output: cannot be written (No space left on device): the work goes on\n"
    )


def test_a_full_disk_below_standard_error_ends_nothing(
    watch: FolderWatch, loops: Loops, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr", Unwritable(errno.ENOSPC))
    declare(tmp_path)
    look(watch)
    assert not any(config.stop.is_set() for config in loops.configs)


def test_where_a_pass_failed_by_a_bug_is_told(monkeypatch, tmp_path, capsys) -> None:
    ended = Event()

    def fail(config: loop.LoopConfig) -> None:
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
