"""`run -f DIR`: when its folder is read: nothing that is half written is, and all is in the end."""

import json
from pathlib import Path

import pytest

import manifests
from poolkeeper.cli.commands.run import run_folder
from poolkeeper.cli.commands.run.run_folder import FolderWatch
from poolkeeper.errors import Problem
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


def locked(folder: Path) -> Path:
    """Let git be at work in a folder; return its lock."""
    lock = folder / ".git" / "index.lock"
    lock.parent.mkdir()
    lock.touch()
    return lock


def test_a_checkout_that_stands_still_half_way_is_not_read(
    watch: FolderWatch, loops: Loops, tmp_path: Path
) -> None:
    """Git's filters, for large files for example, may take long between two files."""
    declare(tmp_path, "a", "b", mode="Paused")
    lock = locked(tmp_path)
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
    locked(tmp_path)
    for _ in range(run_folder.CHANGING_LOOKS_MAX + 1):
        watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.PAUSED


def test_a_rebase_that_stands_still_lets_no_cluster_go(
    watch: FolderWatch, loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it has stopped, what later commits declare is not there yet."""
    declare(tmp_path, "a", mode="Paused")
    rebase = tmp_path / ".git" / "rebase-merge"
    rebase.mkdir(parents=True)
    for _ in range(run_folder.CHANGING_LOOKS_MAX * 2):
        watch.reconcile()
    assert [loops.of(name).desired().cluster.mode for name in "ab"] == [Mode.APPLY] * 2
    assert not any(config.stop.is_set() for config in loops.configs)
    assert capsys.readouterr().err == (
        f"warning: {tmp_path}: a `git rebase` has not ended there: what was declared before stays"
        f" in force (a, b); to end it, do as `git -C {tmp_path} status` says\n"
    )
    rebase.rmdir()
    watch.reconcile()
    assert loops.of("a").desired().cluster.mode is Mode.PAUSED


def test_a_folder_in_mid_rebase_is_read_once_that_has_ended(
    loops: Loops, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declare(tmp_path, "a")
    rebase = tmp_path / ".git" / "rebase-merge"
    rebase.mkdir(parents=True)
    watch = followed(tmp_path)
    assert [watch.read() for _ in range(3)] == [False] * 3
    assert capsys.readouterr().err == (
        f"warning: {tmp_path}: a `git rebase` has not ended there: it is not read until then;"
        f" to end it, do as `git -C {tmp_path} status` says\n"
    )
    rebase.rmdir()
    assert watch.read()
    assert loops.of("a").desired().cluster.mode is Mode.APPLY


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
