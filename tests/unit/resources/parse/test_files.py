"""Which files a folder stands for, and what tells that they may have changed."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from conditions import until
from poolkeeper.resources.parse import files
from poolkeeper.resources.parse.files import Stamp


def looks(folder: Path) -> Stamp:
    stamp = files.stamp([folder])
    assert stamp == files.stamp([folder])
    return stamp


def test_the_stamp_changes_when_a_file_comes_changes_or_goes(tmp_path: Path) -> None:
    file = tmp_path / "inner" / "a.yaml"
    file.parent.mkdir()
    stamps = [looks(tmp_path)]
    for text in ("a: 1", "a: 22"):
        file.write_text(text)
        stamps.append(looks(tmp_path))
    file.unlink()
    assert len(set(stamps)) == 3
    assert looks(tmp_path) == stamps[0]


def test_the_stamp_is_of_manifests_alone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1")
    before = looks(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index.json").write_text("1")
    (tmp_path / "README.md").write_text("1")
    assert looks(tmp_path) == before


def test_a_file_of_the_same_size_and_time_in_its_place_changes_the_stamp(tmp_path: Path) -> None:
    file, other = tmp_path / "a.yaml", tmp_path / ".a.yaml.new"
    for path in (file, other):
        path.write_text("a: 1")
        os.utime(path, ns=(1, 1))
    before = looks(tmp_path)
    other.rename(file)
    assert looks(tmp_path) != before


def test_a_mount_that_is_swapped_as_kubernetes_does_it_changes_the_stamp(tmp_path: Path) -> None:
    for name in ("..1", "..2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text("a: 1")
        os.utime(tmp_path / name / "a.yaml", ns=(1, 1))
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    before = looks(tmp_path)
    (tmp_path / "..new").symlink_to("..2")
    (tmp_path / "..new").rename(tmp_path / "..data")
    assert looks(tmp_path) != before


def test_what_cannot_be_looked_at_is_part_of_the_stamp(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    there = looks(folder)
    folder.rmdir()
    gone = looks(folder)
    assert gone not in ((), there)
    folder.mkdir()
    (folder / "a.yaml").symlink_to("nowhere")
    assert looks(folder) not in (gone, there)


def test_a_folder_that_vanishes_under_the_look_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    scan = os.scandir

    def scandir(path: str) -> object:
        if str(path).endswith("inner"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert files.stamp([tmp_path]) == ((str(tmp_path / "inner"), 2),)


def test_links_to_folders_are_followed_and_nothing_is_read_twice(tmp_path: Path) -> None:
    """As in a mount of Kubernetes whose items have paths."""
    mount, team = tmp_path / "m", tmp_path / "m" / "..1" / "team"
    team.mkdir(parents=True)
    (team / "a.yaml").write_text("a: 1")
    (mount / "..data").symlink_to("..1")
    (mount / "team").symlink_to("..data/team")
    (mount / "team" / "again").symlink_to("..")  # a circle
    (mount / "the-same").symlink_to("team")
    before = looks(mount)
    assert files.texts([mount]) == ({str(mount / "team" / "a.yaml"): "a: 1"}, [])
    (team / "a.yaml").write_text("a: 22")
    assert looks(mount) != before


@pytest.mark.parametrize("name", ["team", "team-1.0"])
def test_a_link_to_a_folder_that_is_gone_takes_nothing_back_in_silence(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "a.yaml").write_text("a: 1")
    (tmp_path / ".hidden").symlink_to("nowhere")
    (tmp_path / name).symlink_to("nowhere")
    found, problems = files.texts([tmp_path])
    assert [*found] == [str(tmp_path / "a.yaml")]
    assert [problem.file for problem in problems] == [str(tmp_path / name)]


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize("worktree", [False, True])
def test_git_is_at_work_until_its_checkout_is_done(tmp_path: Path, worktree: bool) -> None:
    work, seen, go_on = tmp_path / "work", tmp_path / "seen", tmp_path / "go_on"
    folder, file, link = work / "manifests", work / "manifests" / "a.yaml", tmp_path / "link"
    main = tmp_path / "main" if worktree else work
    git(tmp_path, "init", "-q", str(main))
    (main / "manifests").mkdir()
    (main / "manifests" / "a.yaml").write_text("as committed")
    (main / ".gitattributes").write_text("*.yaml filter=slow\n")
    git(main, "add", ".")
    git(main, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    if worktree:
        git(main, "worktree", "add", "-q", str(work))
    link.symlink_to(folder)
    file.unlink()
    assert not files.is_git_at_work([link])
    slow = f"touch {seen}; while ! test -e {go_on}; do sleep 0.05; done; cat"
    words = ["git", "-c", f"filter.slow.smudge={slow}", "reset", "-q", "--hard"]
    with subprocess.Popen(words, cwd=work) as working:
        try:
            until(seen.exists, "git writes a file", 30)
            assert files.is_git_at_work([link])
        finally:
            go_on.touch()
    assert (working.returncode, file.read_text()) == (0, "as committed")
    assert not files.is_git_at_work([link])


@pytest.mark.parametrize("worktree", [False, True])
@pytest.mark.parametrize(
    ("command", "ends"),
    [
        (("rebase", "other"), ("rebase", "--abort")),
        (("rebase", "--apply", "other"), ("rebase", "--abort")),
        (("rebase", "--exec", "false", "HEAD~1"), ("rebase", "--abort")),
        (("cherry-pick", "other"), ("cherry-pick", "--abort")),
        (("revert", "HEAD~1"), ("revert", "--abort")),
        (("merge", "other"), ("merge", "--abort")),
        (("bisect", "start", "HEAD", "HEAD~2"), ("bisect", "reset")),
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_a_git_command_of_several_steps_is_known_until_it_ends(
    tmp_path: Path, command: tuple[str, ...], ends: tuple[str, ...], worktree: bool
) -> None:
    main, work = tmp_path / "main", tmp_path / ("work" if worktree else "main")
    person = ("-c", "user.name=a", "-c", "user.email=a@b")
    git(tmp_path, "init", "-q", str(main))

    def commit(text: str) -> None:
        (main / "a.yaml").write_text(text)
        git(main, "add", ".")
        git(main, *person, "commit", "-qm", text)

    commit("first")
    git(main, "checkout", "-qb", "other")
    commit("of another")
    git(main, "checkout", "-qb", "ours", "HEAD~1")
    for text in ("second", "third"):
        commit(text)
    if worktree:
        git(main, "checkout", "-q", "other")
        git(main, "worktree", "add", "-q", str(work), "ours")
    link = tmp_path / "link"
    link.symlink_to(work)
    assert files.unfinished_git_command([link]) is None
    stopped = subprocess.run(["git", *person, *command], cwd=work, capture_output=True, timeout=60)
    assert stopped.returncode == 0 or command[0] != "bisect", stopped.stderr
    found = files.unfinished_git_command([tmp_path / "gone", link])
    assert found == (f"git {command[0]}", link)
    assert not files.is_git_at_work([link])
    git(work, *ends)
    assert files.unfinished_git_command([link]) is None


def test_git_is_not_at_work_where_it_cannot_be(tmp_path: Path) -> None:
    assert not files.is_git_at_work([tmp_path, tmp_path / "gone"])
    (tmp_path / ".git").write_bytes(b"gitdir: \x00\xff")
    assert not files.is_git_at_work([tmp_path])
    assert files.unfinished_git_command([tmp_path]) is None


@pytest.fixture
def in_a_folder_that_is_gone(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "gone").mkdir()
    with chdir(tmp_path / "gone"):
        (tmp_path / "gone").rmdir()
        yield


@pytest.mark.usefixtures("in_a_folder_that_is_gone")
def test_where_the_current_folder_is_gone_its_files_are() -> None:
    paths = [Path("manifests")]
    assert files.stamp(paths) == (("manifests", errno.ENOENT),)
    assert not files.is_git_at_work(paths)
    assert not files.is_among(Path("plan.json"), paths)
    found, problems = files.texts(paths)
    assert (found, [problem.file for problem in problems]) == ({}, ["manifests"])
