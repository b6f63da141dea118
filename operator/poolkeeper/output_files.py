"""Files that people ask for: written whole or not at all; one that cannot be is `Refused`.

Only opening is bounded: a reader that has opened a pipe may be as slow as it likes.
"""

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from poolkeeper.errors import wrong_file

READER_S = 10.0
"""How long a pipe may be without a reader: people begin both ends one after the other."""
_LOOK_S = 0.05


def open_to_write(file: Path, flags: int, mode: int) -> int:
    """Return the number of a file that is open for writing; made with `mode`, less the umask.

    A pipe that nobody reads is waited for a while. Raises OSError.
    """
    until_s = time.monotonic() + READER_S
    while True:
        try:
            number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | flags, mode)
            break
        except OSError as error:
            if error.errno != errno.ENXIO or not file.is_fifo():
                raise
            if time.monotonic() >= until_s:
                raise OSError(errno.ENXIO, "nobody reads this pipe", str(file)) from error
        time.sleep(_LOOK_S)
    os.set_blocking(number, True)
    return number


def write(file: Path, body: str | bytes, mode: int = 0o666) -> None:
    """Write a file; `mode`: the rights of a new one, less the umask. Raises Refused.

    A regular file is replaced at once and whole. What is none (a device, a pipe, a link) is
    written to: in its place, a file would be something else.
    """
    data = body.encode() if isinstance(body, str) else body
    work = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if _is_replaced(file):
            _write(work, data, mode)
            work.replace(file)
        else:
            _write(file, data, mode)
    except OSError as error:
        _remove(work)
        raise wrong_file(file, f"cannot be written ({error.strerror})") from error
    except BaseException:  # an interrupt
        _remove(work)
        raise


def make_folder(folder: Path) -> tuple[Path, ...]:
    """Make a folder, if it is not there; return those that were made, the outermost first.

    Raises Refused, and leaves none of them.
    """
    made: list[Path] = []
    try:
        missing = [each for each in (folder, *folder.parents) if not os.path.exists(each)]
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):
                each.mkdir()
                made.append(each)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        remove_folders(made)
        raise wrong_file(folder, f"cannot be made ({error.strerror})") from error
    except BaseException:  # an interrupt
        remove_folders(made)
        raise
    return tuple(made)


def remove_folders(made: Iterable[Path]) -> None:
    """Remove folders that `make_folder` made, as far as they are empty."""
    for folder in reversed(tuple(made)):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def _is_replaced(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except FileNotFoundError:
        return True


def _write(file: Path, body: bytes, mode: int) -> None:
    number = open_to_write(file, os.O_TRUNC, mode)
    with os.fdopen(number, "wb") as stream:
        stream.write(body)
