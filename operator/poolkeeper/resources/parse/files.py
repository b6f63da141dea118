"""The files that a path stands for, and their text.

A folder stands for all `*.yaml`, `*.yml` and `*.json` files in it and its folders. Hidden files and
folders are skipped: `.git`, and the old versions that Kubernetes keeps in its mounts. Links to
files and to folders are followed: in a mount whose items have paths, a folder is a link. A file or
folder that is reached twice is read once. A link that leads nowhere counts as a file that cannot be
read: it may have led to a folder, and what was declared there is not taken back in silence.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from poolkeeper.errors import Problem
from poolkeeper.text import size

SUFFIXES = (".yaml", ".yml", ".json")
BYTES_MAX = 64 * 1024 * 1024
_INDEX_LOCK = "index.lock"
_UNFINISHED = {
    "rebase-merge": "git rebase",
    "rebase-apply/applying": "git am",
    "rebase-apply": "git rebase",
    "CHERRY_PICK_HEAD": "git cherry-pick",
    "REVERT_HEAD": "git revert",
    "MERGE_HEAD": "git merge",
    "BISECT_START": "git bisect",
}
"""What stands in git's folder from a command's begin to its end, in this order of looking."""

Stamp = tuple[tuple[str | int, ...], ...]


def stamp(paths: Sequence[Path]) -> Stamp:
    """A value that changes whenever a text may have changed, from a look at the files alone.

    A file or folder that cannot be looked at is part of it, with the number of the error. A file
    that takes the place of another one changes it, even with the same size and time.
    """
    found: list[tuple[str | int, ...]] = []
    for path in paths:
        try:
            for name in _files(path):
                found.append(_stamp_of_file(name))
        except OSError as error:
            found.append((str(error.filename or path), error.errno or 0))
    return tuple(found)


def _stamp_of_file(name: str) -> tuple[str | int, ...]:
    try:
        found = os.stat(name)
    except OSError as error:
        return name, error.errno or 0
    return name, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def real_path(path: str | Path) -> str:
    """The path without links; as it is where the current folder is gone, and no path leads on.

    Links in a circle stay as they are, where `Path.resolve` raises.
    """
    try:
        return os.path.realpath(path)
    except OSError:
        return str(path)


def is_git_at_work(paths: Sequence[Path]) -> bool:
    """Whether git writes one of the paths now: it keeps its index locked until all is there.

    Between two files of a checkout it may stand still for any time, as its filters do.
    """
    return any(_stands(git / _INDEX_LOCK) for _, git in _git_folders(paths))


def unfinished_git_command(paths: Sequence[Path]) -> tuple[str, Path] | None:
    """A git command that has not ended, and the path that it is in; None if there is none.

    Where it stands at a conflict, at a step of its own, or at a commit to be looked at, the files
    are those of no branch: a rebase has not yet brought what later commits declare. Its index is
    not locked meanwhile.
    """
    found = (
        (command, path)
        for path, git in _git_folders(paths)
        for name, command in _UNFINISHED.items()
        if _stands(git / name)
    )
    return next(found, None)


def _git_folders(paths: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """The paths, each with the folder in which git keeps what it knows of its checkout."""
    for path in paths:
        real = Path(real_path(path))
        found = (_git_folder(folder) for folder in (real, *real.parents))
        git = next((git for git in found if git is not None), None)
        if git is not None:
            yield path, git


def _git_folder(folder: Path) -> Path | None:
    git = folder / ".git"
    try:
        if git.is_file():  # of a worktree or a submodule
            return folder / git.read_text(errors="replace").removeprefix("gitdir:").strip()
        return git if git.is_dir() else None
    except (OSError, ValueError):  # as far as it may be looked at
        return None


def _stands(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def texts(paths: Sequence[Path]) -> tuple[dict[str, str], list[Problem]]:
    """The text of every file by its name as reached, and a problem for each unreadable one."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    seen: set[str] = set()
    for path in paths:
        try:
            names = list(_files(path))
        except OSError as error:
            problems.append(_unreadable(error.filename or str(path), error))
            continue
        if not names:
            message = f"holds no manifests (expected files {', '.join('*' + s for s in SUFFIXES)})"
            problems.append(Problem(str(path), 0, "", message))
        for name in names:
            real = real_path(name)
            if real in seen:
                continue
            seen.add(real)
            content = _text(name)
            if isinstance(content, Problem):
                problems.append(content)
            else:
                found[name] = content
    return found, problems


def text_of(path: Path) -> str | Problem:
    """The text of one file, or the problem that it cannot be read."""
    return _text(str(path))


def is_among(file: Path, paths: Sequence[Path]) -> bool:
    """Whether a file is one of those that the paths stand for, or would be if it were there."""
    real = Path(real_path(file))
    return any(_holds(path, real) for path in paths)


def _holds(path: Path, real: Path) -> bool:
    root = Path(real_path(path))
    try:
        if any(real_path(name) == str(real) for name in _files(path)):
            return True
    except OSError:  # whoever reads the path tells
        return False
    if not root.is_dir() or not real.is_relative_to(root):
        return False
    is_hidden = any(part.startswith(".") for part in real.relative_to(root).parts)
    return real.name.endswith(SUFFIXES) and not is_hidden and not real.exists()


def _files(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield str(path)
        return

    def stop(error: OSError) -> None:
        raise error

    seen: set[str] = set()
    for folder, inner, names in os.walk(path, onerror=stop, followlinks=True):
        if (real := real_path(folder)) in seen:
            inner.clear()
            continue
        seen.add(real)
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in sorted(names):
            found = Path(folder, name)
            if not name.startswith(".") and (name.endswith(SUFFIXES) or _leads_nowhere(found)):
                yield str(found)


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _text(name: str) -> str | Problem:
    try:
        path = Path(name)
        if path.exists() and not path.is_file():
            return Problem(name, 0, "", "is no regular file (expected one)")
        if path.stat().st_size > BYTES_MAX:
            return Problem(name, 0, "", f"has more than {size(BYTES_MAX)}")
        content = path.read_bytes()
    except OSError as error:
        return _unreadable(name, error)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{content[error.start]:02x} is not UTF-8 (expected UTF-8)"
        return Problem(name, line, "", message)


def _unreadable(name: str, error: OSError) -> Problem:
    reason = (error.strerror or str(error)).lower()
    return Problem(name, 0, "", f"cannot be read: {reason} (expected a file or a folder)")
